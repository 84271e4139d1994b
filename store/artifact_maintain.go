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

// BlobStore returns the backend with a name. It returns UNAVAILABLE if the backend is not
// configured or can't be opened.
func (db *DB) BlobStore(name artifact.Backend) (blob.Store, error) {
	s, err := db.base.Artifacts.Backend(name)
	return s, files.AsError(err)
}

// DefaultBackend returns the backend that new artifacts are stored in.
func (db *DB) DefaultBackend() artifact.Backend { return db.base.Artifacts.DefaultBackend() }

// UsedBackends returns the default backend and all backends that hold blobs.
func (db *DB) UsedBackends(ctx context.Context) ([]artifact.Backend, error) {
	return db.base.Artifacts.UsedBackends(ctx)
}

// Probe checks that a backend can be used and returns its error.
func (db *DB) Probe(ctx context.Context, name artifact.Backend) error {
	return db.base.Artifacts.Probe(ctx, name)
}

// Collect deletes expired resumable uploads and blobs that no artifact refers to, as the server
// does in the background. It returns the number of deleted blobs. If a blob can't be deleted, it
// continues with the next one.
func (db *DB) Collect(ctx context.Context) (deleted int, err error) {
	return db.base.Artifacts.CollectUnused(ctx)
}

// CollectOrphans calls found for each orphan in the configured backends, after deleting it if
// remove is set. Others may read and write at the same time. Staged bytes count as orphans if
// they are older than age; so do the claims of killed commands. Bytes that may still be in use
// are reported as kept.
func (db *DB) CollectOrphans(ctx context.Context, age time.Duration, remove bool, found func(artifact.Orphan)) error {
	return db.base.Artifacts.Collect(ctx, artifact.Collection{Age: age, Scan: true, DryRun: !remove, Found: found})
}

// CollectStaged deletes the bytes that interrupted uploads left in a backend at least age ago. It
// returns the number of such uploads and of their bytes.
func (db *DB) CollectStaged(ctx context.Context, name artifact.Backend, age time.Duration) (n int, size int64, err error) {
	return db.base.Artifacts.CollectStaged(ctx, name, age)
}

// PlanMigration checks that a backend works and returns the blobs that have to be moved to it.
func (db *DB) PlanMigration(ctx context.Context, to artifact.Backend) (artifact.Migration, error) {
	return db.base.Artifacts.PlanMigration(ctx, to)
}

// MigrateArtifacts moves blobs to a backend, as artifact.Store.Migrate describes.
func (db *DB) MigrateArtifacts(ctx context.Context, m artifact.Migration, copied func(n int64), done func(artifact.Moved)) error {
	return db.base.Artifacts.Migrate(ctx, m, copied, done)
}

// CheckArtifacts checks that the content of each artifact exists and has the right size. With
// deep it reads all contents and checks their hashes, too. Others may read and write at the same
// time. progress, which may be nil, is called during the reading. Orphans are not problems.
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
		Num  int64  `db:"num"` // of the oldest artifact, which the sentence names
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

// wrongPieces returns the inline blobs whose pieces do not add up to their size.
func wrongPieces(t *domain.Tx) ([]Problem, error) {
	texts, err := artifact.CheckInline(t.Tx)
	var found []Problem
	for _, text := range texts {
		found = append(found, Problem{Text: text})
	}
	return found, err
}
