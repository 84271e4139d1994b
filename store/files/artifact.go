package files

import (
	"context"
	"errors"
	"io"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/domain"
)

// AllowUpload checks that actor may add an artifact to the experiment. Handlers call
// AllowUpload before they receive the bytes, to avoid useless large uploads.
func (db *DB) AllowUpload(ctx context.Context, actor domain.Actor, experimentID string) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		_, err := tx.AllowOpenExperiment(actor, experimentID, domain.RightCreate)
		return err
	})
}

// AllowReplace checks that actor may replace the bytes of an artifact.
func (db *DB) AllowReplace(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		r, err := tx.AllowArtifact(actor, id, domain.RightUpdate)
		if err == nil {
			err = r.Experiment.Open()
		}
		return err
	})
}

// AllowUpdate checks that actor may change the record of an artifact.
func (db *DB) AllowUpdate(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		_, err := tx.AllowArtifact(actor, id, domain.RightUpdate)
		return err
	})
}

// Receive reads the bytes of an artifact from r until EOF and stages them in the default backend.
// The caller must have checked that the actor may add the bytes. The method that writes the record
// checks the right again. Receive returns an error from r unchanged.
//
// Receive returns PAYLOAD_TOO_LARGE if r has more bytes than Options.MaxUpload. want is the
// SHA-256 in lowercase hex, or "". Receive returns INVALID_PAYLOAD if the bytes do not match
// want.
func (db *DB) Receive(ctx context.Context, r io.Reader, want string) (*artifact.Received, error) {
	if limit := db.base.Options.MaxUpload; limit > 0 {
		r = LimitReader(r, limit)
	}
	got, err := db.base.Artifacts.Receive(ctx, r)
	if err != nil {
		return nil, AsError(err)
	}
	if want != "" && want != got.Hash {
		got.Discard()
		return nil, errHash(got.Hash)
	}
	return got, nil
}

func errHash(got string) error {
	return domain.Invalid("data", "The received content has the SHA-256 %s, which differs from the expected one; send it again.", got)
}

// CheckSize checks an artifact's size in bytes. It returns PAYLOAD_TOO_LARGE if size exceeds the
// upload limit. It returns STORAGE_FULL if size exceeds the free space of the default backend.
func (db *DB) CheckSize(size int64) error {
	if limit := db.base.Options.MaxUpload; limit > 0 && size > limit {
		return errTooLarge(limit)
	}
	if size <= 0 {
		return nil
	}
	free, known, err := db.base.Artifacts.FreeSpace()
	if err == nil && known && size > free {
		return domain.Errorf(domain.CodeStorageFull, "The artifact storage has only %d bytes left, but the artifact has %d; free some space and send it again. Nothing was stored.", free, size)
	}
	return AsError(err)
}

// MaxUpload returns the maximum size of an artifact in bytes; 0 means no limit.
func (db *DB) MaxUpload() int64 { return db.base.Options.MaxUpload }

func errTooLarge(limit int64) error {
	return domain.Errorf(domain.CodePayloadTooLarge, "An artifact can have at most %d bytes on this server; send a smaller one, or ask an admin to raise the limit.", limit)
}

// LimitReader returns a reader of r's bytes. Its Read returns PAYLOAD_TOO_LARGE if r has more
// than limit bytes.
func LimitReader(r io.Reader, limit int64) io.Reader { return &limitedReader{r: r, limit: limit} }

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

// put commits the staged bytes r to their backend. It then calls fn with the id of the blob; fn
// must write the record. If fn returns an error, put releases the bytes.
func put[T any](ctx context.Context, db *DB, actor domain.Actor, r *artifact.Received, fn func(tx *domain.Tx, blobID int64) (T, error)) (T, error) {
	var out T
	claim, err := r.Commit(ctx)
	if err != nil {
		return out, AsError(err)
	}
	out, err = domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (T, error) {
		blobID, err := claim.Use(tx.Tx)
		if err != nil {
			return out, err
		}
		return fn(tx, blobID)
	})
	if err != nil {
		claim.Release(ctx)
	}
	return out, AsError(err)
}

// AsError converts an error from package artifact or a backend to a *domain.Error. A backend's
// error becomes the cause, which is only logged. AsError returns other errors unchanged.
func AsError(err error) error {
	var e *domain.Error
	var missing *artifact.BackendError
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, artifact.ErrDeleting):
		return &domain.Error{Code: domain.CodeUnavailable, Err: err,
			Message: "The same content is being removed right now; send it again in a moment."}
	case errors.Is(err, artifact.ErrClaimLost):
		return &domain.Error{Code: domain.CodeUnavailable, Err: err,
			Message: "The content was removed as an unfinished upload before the artifact was created; send it again."}
	case errors.As(err, &missing):
		return domain.Errorf(domain.CodeUnavailable, "The artifact backend %s is not configured; an administrator must configure it.", missing.Name)
	case errors.Is(err, blob.ErrFull):
		return &domain.Error{Code: domain.CodeStorageFull, Err: err,
			Message: "The artifact storage is full; free some space and send the content again. Nothing was stored."}
	case errors.Is(err, blob.ErrRefused):
		return &domain.Error{Code: domain.CodeUnavailable, Err: err,
			Message: "The artifact storage denies access; an administrator must check the bucket or folder and the credentials. The log has details."}
	case errors.Is(err, blob.ErrUnavailable):
		return &domain.Error{Code: domain.CodeUnavailable, Err: err,
			Message: "The artifact storage does not answer; try again in a moment."}
	case errors.Is(err, blob.ErrDamaged):
		return &domain.Error{Code: domain.CodeServerError, Err: err,
			Message: "The content of this artifact is damaged; upload it again, or ask an administrator to restore it from a backup."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &domain.Error{Code: domain.CodeUnavailable, Err: err,
			Message: "The artifact storage took too long, or the request was canceled."}
	}
	return err
}
