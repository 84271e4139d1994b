package artifact

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"tracker/blob"
	"tracker/store/sqlite"
)

// MaxMoves is the maximum number of times that one call of Read looks for bytes that were
// moved.
const MaxMoves = 10

// Open returns a reader for the bytes of a blob. The caller must close the reader. Open returns
// blob.ErrNotFound if the backend does not contain the blob. If the blob is moved to another
// backend, the reader continues in that backend. Bytes that are read from beginning to end are
// checked as described for blob.Verified.
func (s *Store) Open(ctx context.Context, name Backend, b blob.Blob) (io.ReadSeekCloser, error) {
	from, err := s.Backend(name)
	if err != nil {
		return nil, err
	}
	content, err := from.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	return blob.Verified(&followingReader{ReadSeekCloser: content, ctx: ctx, store: s, backend: name, blob: b}, b), nil
}

// followingReader reads a blob. If the blob is moved to another backend, the reader continues
// in that backend.
type followingReader struct {
	io.ReadSeekCloser
	ctx     context.Context
	store   *Store
	backend Backend
	blob    blob.Blob
	at      int64
}

func (f *followingReader) Read(p []byte) (int, error) {
	n, err := f.ReadSeekCloser.Read(p)
	for range MaxMoves {
		if n > 0 || !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, blob.ErrDamaged) {
			break
		}
		found, failed := f.follow()
		if failed != nil || !found {
			return 0, err
		}
		n, err = f.ReadSeekCloser.Read(p)
	}
	f.at += int64(n)
	return n, err
}

func (f *followingReader) Seek(offset int64, whence int) (int64, error) {
	at, err := f.ReadSeekCloser.Seek(offset, whence)
	if err == nil {
		f.at = at
	}
	return at, err
}

// follow looks up the blob and opens it, preferably in another backend. It reports whether a
// backend contains the blob.
func (f *followingReader) follow() (bool, error) {
	name, err := read(f.ctx, f.store, func(tx *sqlite.Tx) (name Backend, err error) {
		err = tx.Row(`SELECT backend
			FROM blob
			WHERE hash = ? AND deleting = 0
			AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
			ORDER BY backend = ? LIMIT 1`, f.blob.Hash, f.backend).Scan(&name)
		return name, err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, err := f.store.Backend(name)
	if err != nil {
		return false, err
	}
	content, err := b.Open(f.ctx, f.blob)
	if errors.Is(err, blob.ErrNotFound) {
		return true, nil // the blob was moved again
	}
	if err != nil {
		return false, err
	}
	if _, err := content.Seek(f.at, io.SeekStart); err != nil {
		return false, errors.Join(err, content.Close())
	}
	former := f.ReadSeekCloser
	f.ReadSeekCloser, f.backend = content, name
	return true, former.Close()
}
