package store

import (
	"context"
	"fmt"
	"time"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
)

// BlobStore returns the backend of that name; UNAVAILABLE when it is not
// configured or can't be opened.
func (db *DB) BlobStore(name artifact.Backend) (blob.Store, error) {
	s, err := db.base.Artifacts.Backend(name)
	return s, files.AsError(err)
}

// DefaultBackend returns the backend of new bytes.
func (db *DB) DefaultBackend() artifact.Backend { return db.base.Artifacts.DefaultBackend() }

// UsedBackends returns the default backend and those that have blobs.
func (db *DB) UsedBackends(ctx context.Context) ([]artifact.Backend, error) {
	return db.base.Artifacts.UsedBackends(ctx)
}

// Probe checks that a backend can be used. It returns the error of the backend.
func (db *DB) Probe(ctx context.Context, name artifact.Backend) error {
	return db.base.Artifacts.Probe(ctx, name)
}

// Collect deletes resumable uploads that have expired and blobs that no artifact
// has any more, as the server does by itself. It returns how many blobs it
// deleted, and goes on after one that it can't delete.
func (db *DB) Collect(ctx context.Context) (deleted int, err error) {
	return db.base.Artifacts.CollectUnused(ctx)
}

// CollectOrphans reports all orphans in the backends that are configured, after
// it has deleted them if remove is set. Others may read and write meanwhile.
// Staged bytes count when they have rested for age; so do the claims of commands
// that were killed. Bytes that may still be in use are reported as kept.
func (db *DB) CollectOrphans(ctx context.Context, age time.Duration, remove bool, found func(artifact.Orphan)) error {
	return db.base.Artifacts.Collect(ctx, artifact.Collection{Age: age, Scan: true, DryRun: !remove, Found: found})
}

// CollectStaged deletes what uploads that were interrupted have left in a
// backend at least age ago. It returns how many there were and their bytes.
func (db *DB) CollectStaged(ctx context.Context, name artifact.Backend, age time.Duration) (n int, size int64, err error) {
	return db.base.Artifacts.CollectStaged(ctx, name, age)
}

// PlanMigration returns the blobs to be moved to a backend, after it has made
// sure that the backend works.
func (db *DB) PlanMigration(ctx context.Context, to artifact.Backend) (artifact.Migration, error) {
	return db.base.Artifacts.PlanMigration(ctx, to)
}

// MigrateArtifacts moves blobs to a backend, as artifact.Store.Migrate describes.
func (db *DB) MigrateArtifacts(ctx context.Context, m artifact.Migration, copied func(n int64), done func(artifact.Moved)) error {
	return db.base.Artifacts.Migrate(ctx, m, copied, done)
}

// CheckArtifacts proves that the bytes of each artifact are there and have the
// right size; with deep that they have the right hash, for which all of them are
// read. Others may go on reading and writing. progress, which may be nil, is
// called while they are read. Orphans do not count as a problem.
func (db *DB) CheckArtifacts(ctx context.Context, deep bool, progress func(done, total int64)) ([]Problem, error) {
	var found []Problem
	var failed error
	broken, err := db.base.Artifacts.Check(ctx, deep, progress, func(d artifact.Damage) {
		text, err := db.describeDamage(ctx, d)
		if err != nil {
			failed = err
			return
		}
		found = append(found, Problem{Text: text})
	})
	for _, text := range broken {
		found = append(found, Problem{Text: text})
	}
	return found, domain.FirstError(err, failed)
}

// describeDamage returns a sentence that names an artifact with damaged bytes.
func (db *DB) describeDamage(ctx context.Context, d artifact.Damage) (string, error) {
	type named struct {
		ID   string `db:"id"`
		Name string `db:"name"`
		Uses int    `db:"uses"`
		Num  int64  `db:"num"` // of the oldest, which is the one named
	}
	a, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (a named, err error) {
		err = tx.Get(&a, `SELECT
				id,
				name,
				count(*) AS uses,
				min(num) AS num
			FROM resource WHERE blob_id = ? GROUP BY blob_id`, d.ID)
		return a, err
	})
	if err != nil {
		return "", err
	}
	others := ""
	if a.Uses > 1 {
		others = fmt.Sprintf(" and %d more", a.Uses-1)
	}
	return fmt.Sprintf("Artifact %q (%s)%s in %s: %v", a.Name, a.ID, others, d.Backend, d.Err), nil
}

// wrongPieces looks for inline blobs whose pieces do not add up.
func wrongPieces(t *domain.Tx) ([]Problem, error) {
	texts, err := artifact.CheckInline(t.Tx)
	var found []Problem
	for _, text := range texts {
		found = append(found, Problem{Text: text})
	}
	return found, err
}
