// Package artifact stores and deletes the bytes of artifacts. An artifact is a
// record with a name, a blob is the bytes with one hash, and an orphan is bytes
// that no record uses.
//
// Bytes are stored in a backend: the database itself, a folder or an object store.
// Table blob has a row for each blob with the name of its backend. The caller
// keeps the records in table resource; this package uses only the column
// resource.blob_id.
//
// To add an artifact, Receive stages the bytes, Commit claims their blob and puts them
// in place, and the transaction that inserts the record uses the claim. To delete one,
// BeginDelete hides the record, and Finish deletes the bytes and then the record. A crash
// can leave orphans, which Collect deletes, but never a record without its bytes.
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

// Options configure New.
type Options struct {
	// Database has the tables blob, blob_pin, blob_inline, blob_piece, upload
	// and resource.
	Database *sqlite.DB
	// Backends are the configured backends.
	Backends Backends
	// UploadDir is the folder that holds the received bytes of incomplete
	// resumable uploads. It is created when it is needed.
	UploadDir string
	// Now is the clock.
	Now func() time.Time
	// Logger receives failures that can't be returned to a caller.
	Logger *slog.Logger
}

// Store stores and deletes bytes. Its methods are safe for concurrent use.
type Store struct {
	db       *sqlite.DB
	backends *backends
	dir      string // folder of resumable uploads
	clock    func() time.Time
	log      *slog.Logger

	collecting sync.Mutex    // held by a collection
	wake       chan struct{} // asks the background collection to run
	uploads    uploadLocks
	unfinished unfinished
}

// New returns a store with the given options. A server must call Recover next.
func New(o Options) *Store {
	s := &Store{db: o.Database, dir: o.UploadDir, clock: o.Now, log: o.Logger, wake: make(chan struct{}, 1)}
	s.backends = newBackends(s, o.Backends)
	return s
}

func (s *Store) now() scalar.Time { return scalar.TimeOf(s.clock()) }

// Errors after which a caller may repeat the operation. Other errors are *blob.Error,
// errors of SQLite, or errors of the readers that the caller passes.
var (
	// ErrDeleting is returned while the same bytes are being deleted.
	ErrDeleting = errors.New("the same bytes are being deleted; try again in a moment")
	// ErrClaimLost is returned if the bytes were deleted while they were staged, or
	// may have been deleted before their record was inserted.
	ErrClaimLost = errors.New("the bytes were collected before their record was inserted; send them again")
)

// BackendError reports a backend that is not configured.
type BackendError struct{ Name Backend }

func (e *BackendError) Error() string { return "the backend " + string(e.Name) + " is not configured" }

// read runs fn on a snapshot.
func read[T any](ctx context.Context, s *Store, fn func(*sqlite.Tx) (T, error)) (out T, err error) {
	err = s.db.Read(ctx, func(tx *sqlite.Tx) error {
		out, err = fn(tx)
		return err
	})
	return out, err
}

// write runs fn in the writer. The change counts as upkeep, because no participant
// caches the tables of this package.
func write[T any](ctx context.Context, s *Store, fn func(*sqlite.Tx) (T, error)) (T, error) {
	return writeAs(ctx, s, sqlite.Upkeep, fn)
}

// free is write for a part of a deletion, which may use the reserve when the disk is full.
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

// change is write for an fn without a result.
func change(ctx context.Context, s *Store, fn func(*sqlite.Tx) error) error {
	return s.db.Write(ctx, sqlite.Upkeep, fn)
}

// backendError returns the *blob.Error in err, whose message is for the operator of the
// server, or err if it contains none.
func backendError(err error) error {
	var own *blob.Error
	if errors.As(err, &own) {
		return own
	}
	return err
}
