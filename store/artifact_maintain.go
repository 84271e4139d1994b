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

// BlobStore returns the backend with the given name. It returns UNAVAILABLE if the backend is
// not configured or can't be opened.
func (db *DB) BlobStore(name artifact.Backend) (blob.Store, error) {
	s, err := db.base.Artifacts.Backend(name)
	return s, files.AsError(err)
}

// DefaultBackend returns the backend that stores new artifacts.
func (db *DB) DefaultBackend() artifact.Backend { return db.base.Artifacts.DefaultBackend() }

// UsedBackends returns the default backend and all backends that hold blobs.
func (db *DB) UsedBackends(ctx context.Context) ([]artifact.Backend, error) {
	return db.base.Artifacts.UsedBackends(ctx)
}

// Probe checks that the given backend can be used. It returns the error that the backend
// reports.
func (db *DB) Probe(ctx context.Context, name artifact.Backend) error {
	return db.base.Artifacts.Probe(ctx, name)
}

// Collect deletes expired resumable uploads and unused blobs. A blob is unused if no artifact
// refers to it. Collect returns the number of deleted blobs. If it can't delete a blob, it
// continues with the next blob. The server does the same work in the background.
func (db *DB) Collect(ctx context.Context) (deleted int, err error) {
	return db.base.Artifacts.CollectUnused(ctx)
}

// CollectOrphans finds the orphaned bytes in all configured backends and calls found for each
// orphan. If remove is set, CollectOrphans deletes each orphan before it calls found. Staged
// bytes are orphans if they are older than age. Bytes claimed by a killed command are orphans if
// the claim is older than age. If bytes might still be in use, CollectOrphans does not delete
// them and sets Orphan.Kept. Other processes can read and write at the same time.
func (db *DB) CollectOrphans(ctx context.Context, age time.Duration, remove bool, found func(artifact.Orphan)) error {
	return db.base.Artifacts.Collect(ctx, artifact.Collection{Age: age, Scan: true, DryRun: !remove, Found: found})
}

// CollectStaged deletes the staged bytes of interrupted uploads in the given backend if they
// have not changed for age. It returns the number of deleted files or objects and their size in
// bytes.
func (db *DB) CollectStaged(ctx context.Context, name artifact.Backend, age time.Duration) (n int, size int64, err error) {
	return db.base.Artifacts.CollectStaged(ctx, name, age)
}

// PlanMigration checks that the given backend works. It returns the number and size of the
// blobs in other backends.
func (db *DB) PlanMigration(ctx context.Context, to artifact.Backend) (artifact.Migration, error) {
	return db.base.Artifacts.PlanMigration(ctx, to)
}

// MigrateArtifacts moves the blobs of a planned migration to its backend. See
// artifact.Store.Migrate.
func (db *DB) MigrateArtifacts(ctx context.Context, m artifact.Migration, copied func(n int64), done func(artifact.Moved)) error {
	return db.base.Artifacts.Migrate(ctx, m, copied, done)
}

// CheckArtifacts checks that the bytes of each artifact exist and have the right size. If deep is
// set, CheckArtifacts also reads all bytes and checks their hashes. It calls progress with the
// number of bytes checked so far and the total; progress can be nil. Other processes can read and
// write at the same time. CheckArtifacts does not report orphans.
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

// describeDamage returns a sentence that describes a damaged blob and names its oldest
// artifact.
func (db *DB) describeDamage(ctx context.Context, d artifact.Damage) (string, error) {
	type named struct {
		ID   string `db:"id"`
		Name string `db:"name"`
		Uses int    `db:"uses"`
		Num  int64  `db:"num"` // number of the oldest artifact; ID and Name are from its row
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

// wrongPieces returns a problem for each inline blob whose pieces do not add up to its size.
func wrongPieces(t *domain.Tx) ([]Problem, error) {
	texts, err := artifact.CheckInline(t.Tx)
	var found []Problem
	for _, text := range texts {
		found = append(found, Problem{Text: text})
	}
	return found, err
}
