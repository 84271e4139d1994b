package artifact

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tracker/blob"
	"tracker/store/sqlite"
)

// Backend is the name of a backend.
type Backend string

// These are the known backends. Inline is the database itself.
const (
	Inline     Backend = "inline"
	Filesystem Backend = "filesystem"
	S3         Backend = "s3"
)

// Backends holds the configured backends. A change of Default affects new blobs only, because
// the backend of each blob is recorded.
type Backends struct {
	// Default is the backend for new blobs. "" means Inline.
	Default Backend
	// Open maps each backend except Inline to the function that opens the backend. The store
	// calls the function when it first needs the backend.
	Open map[Backend]func() (blob.Store, error)
}

// backends opens each backend once.
type backends struct {
	Backends
	mu     sync.Mutex
	opened map[Backend]blob.Store
}

func newBackends(s *Store, b Backends) *backends {
	if b.Default == "" {
		b.Default = Inline
	}
	return &backends{Backends: b, opened: map[Backend]blob.Store{Inline: inline{s}}}
}

// DefaultBackend returns the backend for new blobs.
func (s *Store) DefaultBackend() Backend { return s.backends.Default }

// Backend returns the backend with the given name and opens the backend if necessary. It
// returns a *BackendError if the backend is not configured.
func (s *Store) Backend(name Backend) (blob.Store, error) {
	b := s.backends
	b.mu.Lock()
	defer b.mu.Unlock()
	if opened, ok := b.opened[name]; ok {
		return opened, nil
	}
	open, ok := b.Open[name]
	if !ok {
		return nil, &BackendError{name}
	}
	opened, err := open()
	if err != nil {
		return nil, err
	}
	b.opened[name] = opened
	return opened, nil
}

// URI returns the address of the blob with the given hash. It returns "" if the backend can't
// be opened.
func (s *Store) URI(name Backend, hash string) string {
	b, err := s.Backend(name)
	if err != nil {
		return ""
	}
	return b.URI(hash)
}

// Probe checks that the backend with the given name works. It returns the backend's error.
func (s *Store) Probe(ctx context.Context, name Backend) error {
	b, err := s.Backend(name)
	if p, ok := b.(interface{ Ping(context.Context) error }); ok && err == nil {
		err = p.Ping(ctx)
	}
	return backendError(err)
}

// FreeSpace returns the number of bytes available for a new blob in the default backend. ok is
// false if the backend does not report its free space.
func (s *Store) FreeSpace() (n int64, ok bool, err error) {
	b, err := s.Backend(s.DefaultBackend())
	if err != nil {
		return 0, false, err
	}
	r, ok := b.(blob.SpaceReporter)
	if !ok {
		return 0, false, nil
	}
	n, err = r.FreeSpace()
	return n, err == nil, err
}

// UsedBackends returns the default backend and all backends that contain blobs.
func (s *Store) UsedBackends(ctx context.Context) ([]Backend, error) {
	return read(ctx, s, func(tx *sqlite.Tx) (all []Backend, err error) {
		err = tx.Select(&all, `SELECT DISTINCT backend FROM blob UNION SELECT ? ORDER BY 1`, s.DefaultBackend())
		return all, err
	})
}

// configured returns the names of all configured backends.
func (s *Store) configured() []Backend {
	return append([]Backend{Inline}, slices.Sorted(maps.Keys(s.backends.Open))...)
}

// inUse returns the backend with the given name. If the backend can't be opened, inUse returns an
// error if the backend contains blobs, and nil, nil otherwise.
func (s *Store) inUse(ctx context.Context, name Backend) (blob.Store, error) {
	b, err := s.Backend(name)
	if err == nil {
		return b, nil
	}
	used, failed := read(ctx, s, func(tx *sqlite.Tx) (used bool, err error) {
		err = tx.Row(`SELECT EXISTS (SELECT 1 FROM blob WHERE backend = ?)`, name).Scan(&used)
		return used, err
	})
	if failed != nil || !used {
		return nil, failed
	}
	return nil, fmt.Errorf("%s: %w", name, backendError(err))
}
