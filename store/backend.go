package store

import (
	"context"
	"errors"
	"sync"

	"tracker/blob"
)

// Backend names a place for the bytes of artifacts.
type Backend string

// The backends that there are. Inline is the database itself.
const (
	Inline     Backend = "inline"
	Filesystem Backend = "filesystem"
	S3         Backend = "s3"
)

// Backends are the places for bytes that a database is opened with. Each
// resource remembers its own, so that a change of Default strands nothing.
type Backends struct {
	// Default is where new bytes go; "" means Inline.
	Default Backend
	// Open has what opens each of the others, which happens when the first row
	// needs it. Inline needs nothing.
	Open map[Backend]func() (blob.Store, error)
}

// backends opens backends once each.
type backends struct {
	Backends
	mu     sync.Mutex
	opened map[Backend]blob.Store
}

func newBackends(db *DB, b Backends) *backends {
	if b.Default == "" {
		b.Default = Inline
	}
	return &backends{Backends: b, opened: map[Backend]blob.Store{Inline: inline{db}}}
}

// BlobStore returns the backend of that name, which it opens when it is the
// first to ask. UNAVAILABLE when it was not set up or can't be opened.
func (db *DB) BlobStore(name Backend) (blob.Store, error) {
	b := db.backends
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.opened[name]; ok {
		return s, nil
	}
	open, ok := b.Open[name]
	if !ok {
		return nil, Errorf(CodeUnavailable,
			"The backend %s is not set up here; an administrator must give its settings to the server.", name)
	}
	s, err := open()
	if err != nil {
		return nil, blobError(err)
	}
	b.opened[name] = s
	return s, nil
}

// DefaultBackend is where new bytes go.
func (db *DB) DefaultBackend() Backend { return db.backends.Default }

// uri says where bytes lie; "" when their backend can't be opened.
func (db *DB) uri(name Backend, hash string) string {
	s, err := db.BlobStore(name)
	if err != nil {
		return ""
	}
	return s.URI(hash)
}

// blobError turns what a backend says into an error for the caller. Its own
// words are the cause: they speak to whoever runs the server.
func blobError(err error) error {
	var e *Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, blob.ErrFull):
		return &Error{Code: CodeStorageFull, Err: err,
			Message: "There is no room for the bytes where artifacts are kept; free some and send them again. Nothing was stored."}
	case errors.Is(err, blob.ErrRefused):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The place where artifacts are kept refuses the server; an administrator must look at its bucket or folder and at the credentials. The log says more."}
	case errors.Is(err, blob.ErrUnavailable):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The place where artifacts are kept does not answer; try again in a moment."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeUnavailable, Err: err,
			Message: "The place where artifacts are kept took too long, or the request was given up."}
	}
	return err
}
