package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tracker/blob"
)

// Migration is what there is to move to a backend.
type Migration struct {
	To       Backend
	Contents int   // whose bytes lie elsewhere
	Bytes    int64 // of all of them

	last int64 // the newest blob when it was planned
}

// Moved is what became of one content of a migration.
type Moved struct {
	blob.Blob
	From Backend
	// Err is why the bytes stay where they are: they are missing or damaged
	// there, or the same bytes are being removed from where they should go.
	Err error
	// Gone says that no artifact has the content any more.
	Gone bool
}

// elsewhere is true in SQL for a blob that artifacts have and that is not in a
// backend, which it binds.
const elsewhere = `blob.backend <> ?
	AND blob.deleting = 0
	AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)`

// PlanMigration tells what there is to move to a backend, after it has made
// sure that the backend works. What artifacts get later is no part of it.
func (db *DB) PlanMigration(ctx context.Context, to Backend) (Migration, error) {
	if err := db.Probe(ctx, to); err != nil {
		return Migration{}, err
	}
	return read(ctx, db, func(tx *tx) (Migration, error) {
		m := Migration{To: to}
		err := tx.row(`SELECT
				count(*),
				coalesce(sum(size_bytes), 0),
				coalesce(max(id), 0)
			FROM blob WHERE `+elsewhere, to).Scan(&m.Contents, &m.Bytes, &m.last)
		return m, err
	})
}

// Probe makes sure that a backend can be used; what it says is the backend's
// own sentence.
func (db *DB) Probe(ctx context.Context, name Backend) error {
	s, err := db.BlobStore(name)
	if p, ok := s.(interface{ Ping(context.Context) error }); ok && err == nil {
		err = p.Ping(ctx)
	}
	return plainly(err)
}

// plainly is what a backend said itself: the sentence for a caller of the API
// does not name the setting to correct.
func plainly(err error) error {
	var own *blob.Error
	if errors.As(err, &own) {
		return own
	}
	return err
}

// MigrateArtifacts moves the bytes of artifacts to a backend, one content after
// the other, while others read and write. The bytes are copied, read back from
// their new place and compared with their hash; then the artifacts change over
// in one transaction, and only then the former bytes go. Ended at any moment it
// can be run again. copied is called with the number of bytes that have been
// copied since the last call, done after each content; both may be nil. It ends
// early when a backend fails.
func (db *DB) MigrateArtifacts(ctx context.Context, m Migration, copied func(n int64), done func(Moved)) error {
	dst, err := db.BlobStore(m.To)
	if err != nil {
		return plainly(err)
	}
	for after := int64(0); ; {
		page, err := read(ctx, db, func(tx *tx) (page []removal, err error) {
			err = tx.all(&page, `SELECT
					id,
					backend,
					hash,
					size_bytes
				FROM blob WHERE `+elsewhere+` AND id > ? AND id <= ? ORDER BY id LIMIT 100`, m.To, after, m.last)
			return page, err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, b := range page {
			after = b.ID
			moved, err := db.moveBlob(ctx, b, m.To, dst, copied)
			if err != nil {
				return err
			}
			if done != nil {
				done(moved)
			}
		}
	}
}

// moveBlob moves one content. It fails when a backend does.
func (db *DB) moveBlob(ctx context.Context, from removal, to Backend, dst blob.Store, copied func(int64)) (Moved, error) {
	moved := Moved{Blob: blob.Blob{Hash: from.Hash, Size: from.Size}, From: from.Backend}
	err := db.copyBlob(ctx, from, to, dst, copied)
	if err == nil {
		// What is left to do must not be undone halfway by an interrupt.
		if _, err := db.removeBlob(context.WithoutCancel(ctx), from.ID); err != nil {
			db.log.Warn("the former bytes of an artifact could not be removed; `tracker artifacts gc` tries again",
				"backend", from.Backend, "hash", from.Hash, "error", plainly(err))
		}
		return moved, nil
	}
	if used, failed := db.blobUsed(ctx, from.ID); failed != nil {
		return moved, failed
	} else if !used {
		moved.Gone = true
		return moved, nil
	}
	var lost *lostError
	if errors.As(err, &lost) || errors.Is(err, errDeleting) || errors.Is(err, errChangedHands) {
		moved.Err = plainly(err)
		return moved, nil
	}
	return moved, plainly(err)
}

// lostError says that bytes can't be moved since they are not there, or are not
// what they should be.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// lost marks an error of a source that speaks of one content only.
func lost(err error) error {
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrDamaged) || isDamaged(err) {
		return &lostError{err}
	}
	return err
}

// errChangedHands says that the artifacts of a blob went, or were about to,
// when it had been copied.
var errChangedHands = errors.New("the artifacts with these bytes were being deleted; run it again for those that are still there")

// copyBlob copies the bytes of a blob and makes its artifacts those of the copy.
func (db *DB) copyBlob(ctx context.Context, from removal, to Backend, dst blob.Store, copied func(int64)) error {
	want := blob.Blob{Hash: from.Hash, Size: from.Size}
	staged, err := db.stageBlob(ctx, from.Backend, want, dst, copied)
	if err != nil {
		return err
	}
	defer func() {
		if err := staged.Discard(); err != nil {
			db.log.Warn("bytes that were not moved are still there; `tracker artifacts gc` removes them", "backend", to, "error", err)
		}
	}()
	p, err := db.pin(ctx, to, want)
	if err != nil {
		return err
	}
	end := db.keepPin(p)
	err = staged.Commit(ctx)
	if err == nil {
		err = blob.Verify(ctx, dst, want)
	}
	end()
	if err == nil {
		err = change(ctx, db, System, func(tx *tx) error {
			if err := tx.unpin(p); err != nil {
				return err
			}
			n, err := tx.exec(`UPDATE resource SET blob_id = ? WHERE blob_id = ?
				AND (SELECT deleting FROM blob WHERE id = resource.blob_id) = 0`, p.blob, from.ID)
			if err == nil && n == 0 {
				err = errChangedHands
			}
			return err
		})
	}
	if err != nil {
		db.release(ctx, p)
	}
	return err
}

// stageBlob brings the bytes of a blob to another backend, under no name yet.
func (db *DB) stageBlob(ctx context.Context, from Backend, want blob.Blob, dst blob.Store, copied func(int64)) (blob.Staged, error) {
	src, err := db.BlobStore(from)
	if err != nil {
		return nil, err
	}
	content, err := src.Open(ctx, want)
	if err != nil {
		return nil, lost(err)
	}
	defer content.Close()
	r := &countingReader{r: content, read: copied}
	staged, err := dst.Stage(ctx, r)
	if r.err != nil {
		return nil, lost(r.err)
	}
	if err != nil {
		return nil, err
	}
	if got := staged.Blob(); got != want {
		err := &lostError{fmt.Errorf("the bytes under %s have the hash %s; restore them from a backup, or upload them again", want.Hash, got.Hash)}
		return nil, errors.Join(err, staged.Discard())
	}
	return staged, nil
}

// countingReader tells how much is read, and keeps the error to tell it from
// those of the writer.
type countingReader struct {
	r    io.Reader
	read func(int64) // nil for nobody
	err  error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.read != nil {
		c.read(int64(n))
	}
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// blobUsed tells whether an artifact that is not being removed has a blob.
func (db *DB) blobUsed(ctx context.Context, id int64) (bool, error) {
	return read(ctx, db, func(tx *tx) (used bool, err error) {
		err = tx.row(`SELECT EXISTS (SELECT 1 FROM resource
			JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
			WHERE resource.blob_id = ?)`, id).Scan(&used)
		return used, err
	})
}

// keepPin renews a pin until the function that it returns is called: putting a
// very large content in its place and reading it back can take longer than a
// pin lasts. A renewal that fails is noticed by unpin.
func (db *DB) keepPin(p pin) (end func()) {
	ended := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(pinAge / 4)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				_ = change(context.Background(), db, System, func(tx *tx) error {
					_, err := tx.exec(`UPDATE blob_pin SET expires_date = ? WHERE id = ?`, tx.until(pinAge), p.id)
					return err
				})
			}
		}
	})
	return func() {
		close(ended)
		renewing.Wait()
	}
}
