package store

import (
	"context"
	"io"

	"tracker/blob"
)

// Received is the bytes of an artifact that are durable but have no name yet.
// Whoever receives them discards them when done, also after they have become a
// resource's.
type Received struct {
	blob.Blob
	db      *DB
	backend Backend
	staged  blob.Staged
}

// Discard removes the bytes unless a resource has them. What it can't remove
// is left for a collection.
func (r *Received) Discard() {
	if err := r.staged.Discard(); err != nil {
		r.db.log.Warn("the bytes of an upload that was given up are still there", "backend", r.backend, "error", err)
	}
}

// AllowUpload fails unless actor may add an artifact to the experiment now, so
// that nobody sends gigabytes in vain.
func (db *DB) AllowUpload(ctx context.Context, actor Actor, experimentID string) error {
	return db.ask(ctx, func(tx *tx) error {
		e, err := tx.allowExperiment(actor, experimentID, rightCreate)
		if err == nil {
			err = e.open()
		}
		return err
	})
}

// AllowReplace fails unless actor may give the artifact other bytes now.
func (db *DB) AllowReplace(ctx context.Context, actor Actor, id string) error {
	return db.ask(ctx, func(tx *tx) error {
		r, err := tx.allowResource(actor, id, rightUpdate)
		if err == nil {
			err = r.experiment.open()
		}
		return err
	})
}

// AllowUpdate fails unless actor may change the artifact.
func (db *DB) AllowUpdate(ctx context.Context, actor Actor, id string) error {
	return db.ask(ctx, func(tx *tx) error {
		_, err := tx.allowResource(actor, id, rightUpdate)
		return err
	})
}

// Receive reads the bytes of an artifact to their end and keeps them aside in
// the default backend. The actor must have been allowed to send them, and what
// comes of them is checked again. An error of r is returned as it is.
// PAYLOAD_TOO_LARGE when there are more than the limit; INVALID_PAYLOAD when
// want is not "" and is not their SHA-256 in lowercase hex.
func (db *DB) Receive(ctx context.Context, r io.Reader, want string) (*Received, error) {
	s, err := db.BlobStore(db.DefaultBackend())
	if err != nil {
		return nil, err
	}
	src := &source{r: r, left: db.opts.MaxUpload, limited: db.opts.MaxUpload > 0}
	staged, err := s.Stage(ctx, src)
	if src.err != nil {
		err = src.err
	}
	if err != nil {
		return nil, blobError(err)
	}
	got := &Received{Blob: staged.Blob(), db: db, backend: db.DefaultBackend(), staged: staged}
	if want != "" && want != got.Hash {
		got.Discard()
		return nil, Invalid("data", "The bytes that arrived have the SHA-256 %s and not the one that was announced; send them again.", got.Hash)
	}
	return got, nil
}

// CheckSize fails when an artifact of size bytes is larger than the limit, or
// than the room where it would be kept: PAYLOAD_TOO_LARGE, STORAGE_FULL.
func (db *DB) CheckSize(size int64) error {
	if limit := db.opts.MaxUpload; limit > 0 && size > limit {
		return errTooLarge(limit)
	}
	s, err := db.BlobStore(db.DefaultBackend())
	if err != nil {
		return err
	}
	if r, ok := s.(blob.Roomy); ok && size > 0 {
		room, err := r.Room()
		if err != nil {
			return blobError(err)
		}
		if size > room {
			return Errorf(CodeStorageFull, "There is room for %d more bytes where artifacts are kept, and this needs %d; free some and send it again. Nothing was stored.", room, size)
		}
	}
	return nil
}

// MaxUpload is the size in bytes of the largest artifact; 0 for no limit.
func (db *DB) MaxUpload() int64 { return db.opts.MaxUpload }

func errTooLarge(limit int64) error {
	return Errorf(CodePayloadTooLarge, "An artifact may have at most %d bytes here; SERVICE_MAX_UPLOAD sets the limit.", limit)
}

// source reads what a caller sends. It keeps its error, to tell a sender that
// has gone from a backend that fails.
type source struct {
	r       io.Reader
	read    int64
	left    int64
	limited bool
	err     error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.read += int64(n)
	if s.limited && s.read > s.left {
		s.err = errTooLarge(s.left)
		return 0, s.err
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// put makes received bytes those of a resource: it claims them, puts them in
// their place, and runs fn, which writes the record, with the number of their
// blob. Nothing is left of them when one of these fails.
func put[T any](ctx context.Context, db *DB, actor Actor, r *Received, fn func(tx *tx, blobID int64) (T, error)) (T, error) {
	var out T
	p, err := db.pin(ctx, r.backend, r.Blob)
	if err != nil {
		return out, err
	}
	if err = blobError(r.staged.Commit(ctx)); err == nil {
		out, err = write(ctx, db, actor, func(tx *tx) (T, error) {
			if err := tx.unpin(p); err != nil {
				return out, err
			}
			return fn(tx, p.blob)
		})
	}
	if err != nil {
		db.release(ctx, p)
	}
	return out, err
}
