package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tracker/blob"
	"tracker/store/sqlite"
)

// Migration describes a planned move of all blobs to one backend.
type Migration struct {
	To    Backend
	Blobs int   // number of blobs to move
	Bytes int64 // total size of the blobs to move

	last int64 // id of the newest blob when the migration was planned
}

// Moved is the result of the migration of one blob.
type Moved struct {
	blob.Blob
	From Backend
	// Err is the reason why the blob was not moved. Possible reasons are missing or damaged
	// bytes, deleted records, and a running deletion of the same bytes in the new backend.
	Err error
	// Gone is set if no record uses the blob anymore.
	Gone bool
}

// isElsewhere is an SQL condition on a row of the blob table. It is true if a record uses the blob
// and the blob's backend is different from the parameter.
const isElsewhere = `blob.backend <> ?
	AND blob.deleting = 0
	AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)`

// PlanMigration checks that the target backend works. It returns the number and the total size
// of the blobs in other backends. The migration does not include blobs that are added later.
func (s *Store) PlanMigration(ctx context.Context, to Backend) (Migration, error) {
	if err := s.Probe(ctx, to); err != nil {
		return Migration{}, err
	}
	return read(ctx, s, func(tx *sqlite.Tx) (Migration, error) {
		m := Migration{To: to}
		err := tx.Row(`SELECT
				count(*),
				coalesce(sum(size_bytes), 0),
				coalesce(max(id), 0)
			FROM blob WHERE `+isElsewhere, to).Scan(&m.Blobs, &m.Bytes, &m.last)
		return m, err
	})
}

// Migrate moves blobs to the backend m.To, one after the other. It copies the bytes of a blob,
// reads the copy back and checks the hash of the copy. Then it makes the blob's records use the
// copy, in one transaction. Finally, it deletes the former bytes.
//
// Other goroutines and processes can read and write during the migration. An interrupted
// migration can be repeated. Migrate calls copied with the number of bytes copied since the
// last call. It calls done after each blob. Both functions can be nil. Migrate stops and
// returns the error if a backend fails.
func (s *Store) Migrate(ctx context.Context, m Migration, copied func(n int64), done func(Moved)) error {
	dst, err := s.Backend(m.To)
	if err != nil {
		return backendError(err)
	}
	for after := int64(0); ; {
		page, err := read(ctx, s, func(tx *sqlite.Tx) (page []blobRow, err error) {
			err = tx.Select(&page, `SELECT
					id,
					backend,
					hash,
					size_bytes
				FROM blob WHERE `+isElsewhere+` AND id > ? AND id <= ? ORDER BY id LIMIT 100`, m.To, after, m.last)
			return page, err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, from := range page {
			after = from.ID
			moved, err := s.moveBlob(ctx, from, m.To, dst, copied)
			if err != nil {
				return err
			}
			if done != nil {
				done(moved)
			}
		}
	}
}

// moveBlob moves one blob to the backend dst. It returns an error if a backend or the database
// fails. An error that concerns only the blob is in Moved.Err.
func (s *Store) moveBlob(ctx context.Context, from blobRow, to Backend, dst blob.Store, copied func(int64)) (Moved, error) {
	moved := Moved{Blob: from.blob(), From: from.Backend}
	err := s.copyBlob(ctx, from, to, dst, copied)
	if err == nil {
		// A cancelled context must not interrupt the deletion.
		if _, err := s.DeleteUnused(context.WithoutCancel(ctx), from.ID); err != nil {
			s.log.Warn("could not delete the former bytes of an artifact; the next collection of orphans will delete them",
				"backend", from.Backend, "hash", from.Hash, "error", backendError(err))
		}
		return moved, nil
	}
	if used, failed := s.hasRecord(ctx, from.ID); failed != nil {
		return moved, failed
	} else if !used {
		moved.Gone = true
		return moved, nil
	}
	var source *sourceError
	if errors.As(err, &source) || errors.Is(err, ErrDeleting) || errors.Is(err, errRecordsDeleted) {
		moved.Err = backendError(err)
		return moved, nil
	}
	return moved, backendError(err)
}

// sourceError reports that a blob can't be moved, because its bytes are missing or damaged.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// asSourceError wraps err in a *sourceError if err concerns a single blob. It returns other
// errors unchanged.
func asSourceError(err error) error {
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrDamaged) || sqlite.IsDamaged(err) {
		return &sourceError{err}
	}
	return err
}

// errRecordsDeleted is returned if all records of a blob were deleted or hidden while the blob
// was copied.
var errRecordsDeleted = errors.New("the artifacts with these bytes were being deleted; run the command again for the rest")

// copyBlob copies the bytes of a blob to the backend dst and makes its records use the copy.
func (s *Store) copyBlob(ctx context.Context, from blobRow, to Backend, dst blob.Store, copied func(int64)) error {
	want := from.blob()
	staged, err := s.stageCopy(ctx, from.Backend, want, dst, copied)
	if err != nil {
		return err
	}
	defer func() {
		if err := staged.Discard(); err != nil {
			s.log.Warn("could not delete staged bytes; the next collection of orphans will delete them", "backend", to, "error", err)
		}
	}()
	claim, err := s.claim(ctx, to, want)
	if err != nil {
		return err
	}
	end := claim.keep()
	err = staged.Commit(ctx)
	if err == nil {
		err = blob.Verify(ctx, dst, want)
	}
	end()
	if err == nil {
		err = change(ctx, s, func(tx *sqlite.Tx) error {
			blobID, err := claim.Use(tx)
			if err != nil {
				return err
			}
			n, err := tx.Exec(`UPDATE resource SET blob_id = ? WHERE blob_id = ?
				AND (SELECT deleting FROM blob WHERE id = resource.blob_id) = 0`, blobID, from.ID)
			if err == nil && n == 0 {
				err = errRecordsDeleted
			}
			return err
		})
	}
	if err != nil {
		claim.Release(ctx)
	}
	return err
}

// stageCopy stages a copy of a blob in the backend dst.
func (s *Store) stageCopy(ctx context.Context, from Backend, want blob.Blob, dst blob.Store, copied func(int64)) (blob.Staged, error) {
	b, err := s.Backend(from)
	if err != nil {
		return nil, err
	}
	content, err := b.Open(ctx, want)
	if err != nil {
		return nil, asSourceError(err)
	}
	defer content.Close()
	src := &source{r: content}
	var r io.Reader = src
	if copied != nil {
		r = io.TeeReader(src, counter(copied))
	}
	staged, err := dst.Stage(ctx, r)
	if src.err != nil {
		return nil, asSourceError(src.err)
	}
	if err != nil {
		return nil, err
	}
	if got := staged.Blob(); got != want {
		err := &sourceError{fmt.Errorf("the content of %s has the hash %s; restore it from a backup, or upload it again", want.Hash, got.Hash)}
		return nil, errors.Join(err, staged.Discard())
	}
	return staged, nil
}

// counter is an io.Writer that discards its input. Write calls the function with the number of bytes.
type counter func(int64)

func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}

// hasRecord reports whether a record uses the blob. Hidden records do not count.
func (s *Store) hasRecord(ctx context.Context, id int64) (bool, error) {
	return read(ctx, s, func(tx *sqlite.Tx) (used bool, err error) {
		err = tx.Row(`SELECT EXISTS (SELECT 1 FROM resource
			JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
			WHERE resource.blob_id = ?)`, id).Scan(&used)
		return used, err
	})
}
