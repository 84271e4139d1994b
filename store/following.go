package store

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"tracker/blob"
)

// following reads a content wherever it is: when its bytes have gone from one
// backend because they were moved to another, it goes on there.
type following struct {
	io.ReadSeekCloser
	ctx     context.Context
	db      *DB
	backend Backend
	blob    blob.Blob
	at      int64
}

func (f *following) Read(p []byte) (int, error) {
	n, err := f.ReadSeekCloser.Read(p)
	if n == 0 && (errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrDamaged)) {
		moved, failed := f.follow()
		if failed != nil || !moved {
			return 0, err
		}
		n, err = f.ReadSeekCloser.Read(p)
	}
	f.at += int64(n)
	return n, err
}

func (f *following) Seek(offset int64, whence int) (int64, error) {
	at, err := f.ReadSeekCloser.Seek(offset, whence)
	if err == nil {
		f.at = at
	}
	return at, err
}

// follow opens the content in another backend, if it is there.
func (f *following) follow() (bool, error) {
	name, err := read(f.ctx, f.db, func(tx *tx) (name Backend, err error) {
		err = tx.row(`SELECT backend
			FROM blob
			WHERE hash = ? AND backend <> ? AND deleting = 0
			AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)`, f.blob.Hash, f.backend).Scan(&name)
		return name, err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s, err := f.db.BlobStore(name)
	if err != nil {
		return false, err
	}
	content, err := s.Open(f.ctx, f.blob)
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
