package store

import (
	"context"
	"errors"
	"io"

	"tracker/blob"
	"tracker/store/artifact"
)

// Types of package artifact, for the callers of this one.
type (
	// Backend names a place for the bytes of artifacts.
	Backend = artifact.Backend
	// Backends are the places for bytes that a database is opened with.
	Backends = artifact.Backends
	// Received is the bytes of an artifact that have no record yet.
	Received = artifact.Received
	// Orphan is bytes that no record needs.
	Orphan = artifact.Orphan
	// OrphanKind is the kind of an orphan.
	OrphanKind = artifact.OrphanKind
	// Migration describes the blobs to be moved to a backend.
	Migration = artifact.Migration
	// Moved is the result of a migration for one blob.
	Moved = artifact.Moved
	// UploadPart is a part of a resumable upload.
	UploadPart = artifact.Part
)

// The backends. Inline is the database itself.
const (
	Inline     = artifact.Inline
	Filesystem = artifact.Filesystem
	S3         = artifact.S3
)

// The kinds of orphans, and how long staged bytes rest before they are one.
const (
	OrphanBlob   = artifact.OrphanBlob
	OrphanStaged = artifact.OrphanStaged
	OrphanUpload = artifact.OrphanUpload
	StagedAge    = artifact.StagedAge
)

// UploadAge is how long a resumable upload rests before it expires, and how long
// one that has become an artifact can still be asked for.
const UploadAge = artifact.UploadAge

// AllowUpload fails unless actor may add an artifact to the experiment now, so
// that gigabytes are not sent for nothing.
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
		r, err := tx.allowArtifact(actor, id, rightUpdate)
		if err == nil {
			err = r.experiment.open()
		}
		return err
	})
}

// AllowUpdate fails unless actor may change the artifact.
func (db *DB) AllowUpdate(ctx context.Context, actor Actor, id string) error {
	return db.ask(ctx, func(tx *tx) error {
		_, err := tx.allowArtifact(actor, id, rightUpdate)
		return err
	})
}

// Receive reads the bytes of an artifact to their end and stages them in the
// default backend. The actor must have been allowed to send them, and is checked
// again with the record. An error of r is returned unchanged. PAYLOAD_TOO_LARGE
// when there are more than the limit; INVALID_PAYLOAD when want is not "" and is
// not their SHA-256 in lowercase hex.
func (db *DB) Receive(ctx context.Context, r io.Reader, want string) (*Received, error) {
	if limit := db.opts.MaxUpload; limit > 0 {
		r = &limitedReader{r: r, limit: limit}
	}
	got, err := db.artifacts.Receive(ctx, r)
	if err != nil {
		return nil, artifactError(err)
	}
	if want != "" && want != got.Hash {
		got.Discard()
		return nil, errHash(got.Hash)
	}
	return got, nil
}

func errHash(got string) error {
	return Invalid("data", "The bytes that arrived have the SHA-256 %s and not the one that was announced; send them again.", got)
}

// CheckSize fails when an artifact of size bytes is larger than the limit, or
// than the free space of the default backend: PAYLOAD_TOO_LARGE, STORAGE_FULL.
func (db *DB) CheckSize(size int64) error {
	if limit := db.opts.MaxUpload; limit > 0 && size > limit {
		return errTooLarge(limit)
	}
	if size <= 0 {
		return nil
	}
	free, known, err := db.artifacts.FreeSpace()
	if err == nil && known && size > free {
		return Errorf(CodeStorageFull, "There is room for %d more bytes where artifacts are kept, and this needs %d; free some and send it again. Nothing was stored.", free, size)
	}
	return artifactError(err)
}

// MaxUpload returns the size in bytes of the largest artifact; 0 for no limit.
func (db *DB) MaxUpload() int64 { return db.opts.MaxUpload }

func errTooLarge(limit int64) error {
	return Errorf(CodePayloadTooLarge, "An artifact may have at most %d bytes here; send a smaller one, or have the limit of the server raised.", limit)
}

// limitedReader fails when there are more bytes than limit.
type limitedReader struct {
	r           io.Reader
	read, limit int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.read += int64(n); l.read > l.limit {
		return 0, errTooLarge(l.limit)
	}
	return n, err
}

// put calls fn to write the record of an artifact, with the id of the blob of received
// bytes. The bytes are removed when it fails.
func put[T any](ctx context.Context, db *DB, actor Actor, r *Received, fn func(tx *tx, blobID int64) (T, error)) (T, error) {
	var out T
	claim, err := r.Commit(ctx)
	if err != nil {
		return out, artifactError(err)
	}
	out, err = write(ctx, db, actor, func(tx *tx) (T, error) {
		blobID, err := claim.Use(tx.Tx)
		if err != nil {
			return out, err
		}
		return fn(tx, blobID)
	})
	if err != nil {
		claim.Release(ctx)
	}
	return out, artifactError(err)
}

// artifactError returns an error of package artifact or of a backend as an
// *Error. The message of the backend becomes the cause, which is only logged.
func artifactError(err error) error {
	var e *Error
	var missing *artifact.BackendError
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, artifact.ErrDeleting):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The same bytes are being removed just now; send them again in a moment."}
	case errors.Is(err, artifact.ErrClaimLost):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The bytes were removed before they became an artifact, as unfinished uploads are; send them again."}
	case errors.As(err, &missing):
		return Errorf(CodeUnavailable, "The backend %s is not set up here; an administrator must give its settings to the server.", missing.Name)
	case errors.Is(err, blob.ErrFull):
		return &Error{Code: CodeStorageFull, Err: err,
			Message: "There is no room for the bytes where artifacts are kept; free some and send them again. Nothing was stored."}
	case errors.Is(err, blob.ErrRefused):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The place where artifacts are kept refuses the server; an administrator must look at its bucket or folder and at the credentials. The log says more."}
	case errors.Is(err, blob.ErrUnavailable):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The place where artifacts are kept does not answer; try again in a moment."}
	case errors.Is(err, blob.ErrDamaged):
		return &Error{Code: CodeServerError, Err: err,
			Message: "The bytes of this artifact are damaged; upload them again, or have an administrator restore them from a backup."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The place where artifacts are kept took too long, or the request was given up."}
	}
	return err
}
