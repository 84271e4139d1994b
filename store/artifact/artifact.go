// Package artifact stores and deletes the bytes of artifacts. An artifact is a record with a name.
// A blob is a sequence of bytes that is identified by its hash. Several artifacts can share a blob.
// An orphan is stored data, such as a blob, that no record uses.
//
// Bytes are stored in a backend: the database itself, a folder or an object store. The blob table
// has a row for each blob, which names the blob's backend. The caller stores the artifact records
// in the resource table. Package artifact uses only the column resource.blob_id.
//
// To add an artifact, the caller calls Receive, which stages the bytes. Commit then claims the
// blob and puts the bytes in place. Finally, the transaction that inserts the record calls Use
// on the claim. To delete an artifact, BeginDelete hides the record. Finish then deletes the
// bytes and the record.
//
// A crash can leave orphans, which Collect deletes. A crash never leaves a record without its
// bytes.
package artifact

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tracker/blob"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Options holds the arguments of New.
type Options struct {
	// Database has the tables blob, blob_pin, blob_inline, blob_piece, upload
	// and resource.
	Database *sqlite.DB
	// Backends holds the configured backends.
	Backends Backends
	// UploadDir is the folder for the bytes of incomplete resumable uploads. The store creates
	// the folder at the first upload.
	UploadDir string
	// Now returns the current time.
	Now func() time.Time
	// Logger logs errors that can't be returned to a caller.
	Logger *slog.Logger
}

// Store stores and deletes the bytes of artifacts. Its methods are safe for concurrent use.
type Store struct {
	db       *sqlite.DB
	backends *backends
	dir      string // folder of resumable uploads
	clock    func() time.Time
	log      *slog.Logger

	collecting sync.Mutex    // held during a collection
	wake       chan struct{} // starts a background collection
	uploads    uploadLocks
	unfinished unfinished
}

// New returns a store with the given options. A server must call Recover before it calls other
// methods.
func New(o Options) *Store {
	s := &Store{db: o.Database, dir: o.UploadDir, clock: o.Now, log: o.Logger, wake: make(chan struct{}, 1)}
	s.backends = newBackends(s, o.Backends)
	return s
}

func (s *Store) now() scalar.Time { return scalar.TimeOf(s.clock()) }

// The caller may repeat an operation that failed with one of these errors. Methods can also return
// a *blob.Error, an error from SQLite, or an error from a reader that the caller passed.
var (
	// ErrDeleting is returned if a blob with the same hash is being deleted.
	ErrDeleting = errors.New("the same bytes are being deleted; try again in a moment")
	// ErrClaimLost is returned if the staged bytes were deleted, or if the claim ended before
	// the record was inserted.
	ErrClaimLost = errors.New("the bytes were collected before their record was inserted; send them again")
)

// BackendError reports that the backend Name is not configured.
type BackendError struct{ Name Backend }

func (e *BackendError) Error() string { return "the backend " + string(e.Name) + " is not configured" }

// read runs fn in a read transaction and returns the result of fn.
func read[T any](ctx context.Context, s *Store, fn func(*sqlite.Tx) (T, error)) (out T, err error) {
	err = s.db.Read(ctx, func(tx *sqlite.Tx) error {
		out, err = fn(tx)
		return err
	})
	return out, err
}

// write runs fn in a write transaction and returns the result of fn. It writes with
// sqlite.Upkeep, because no sqlite.Participant caches the tables of this package.
func write[T any](ctx context.Context, s *Store, fn func(*sqlite.Tx) (T, error)) (T, error) {
	return writeAs(ctx, s, sqlite.Upkeep, fn)
}

// free runs fn in a write transaction that is part of a deletion. A deletion can use the
// reserved disk space when the disk is full.
func free[T any](ctx context.Context, s *Store, fn func(*sqlite.Tx) (T, error)) (T, error) {
	return writeAs(ctx, s, sqlite.Upkeep|sqlite.Freeing, fn)
}

func writeAs[T any](ctx context.Context, s *Store, kind sqlite.Kind, fn func(*sqlite.Tx) (T, error)) (T, error) {
	var out T
	err := s.db.Write(ctx, kind, func(tx *sqlite.Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// change runs fn in a write transaction. It is like write, but fn returns no result.
func change(ctx context.Context, s *Store, fn func(*sqlite.Tx) error) error {
	return s.db.Write(ctx, sqlite.Upkeep, fn)
}

// backendError returns the *blob.Error that err wraps, or err itself if err wraps no *blob.Error.
// The message of a *blob.Error is written for the operator of the server.
func backendError(err error) error {
	var own *blob.Error
	if errors.As(err, &own) {
		return own
	}
	return err
}
