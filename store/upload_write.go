package store

import (
	"bytes"
	"context"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// An upload is synced, and what has come counts as received, after each
	// syncBytes and about each syncPause: no more is lost when the server is
	// killed in the middle of a request.
	syncBytes = 64 << 20
	syncPause = 30 * time.Second
)

// UploadWrite is a part of an upload.
type UploadWrite struct {
	Offset int64     // where it begins; all bytes before it must be there
	Body   io.Reader // up to its end
	// Hash and Sum are the checksum of Body. With one, the part counts as a
	// whole or not at all. Hash is nil when there is none.
	Hash hash.Hash
	Sum  []byte
	// Interrupt makes a blocked read of Body end. It is called when a newer
	// request wants to work on the upload.
	Interrupt func()
}

var errChecksum = &Error{Code: CodeChecksumMismatch, Field: "Upload-Checksum",
	Message: "The part does not have the checksum that was sent with it; send it again from the same offset."}

// WriteUpload adds a part to an upload. What has come of it is kept when Body
// ends with an error, which is returned as it is. When all bytes are there the
// upload becomes a resource; only then they all count as received. CONFLICT
// when the part does not begin where the upload ends. Needs create; the
// experiment must be in progress.
func (db *DB) WriteUpload(ctx context.Context, actor Actor, id string, w UploadWrite) (Upload, error) {
	open := func(tx *tx) (Upload, error) {
		u, err := tx.upload(actor, id)
		if err != nil || u.ResourceID != nil {
			return u, err
		}
		e, err := tx.allowExperiment(actor, u.ExperimentID, rightCreate)
		if err == nil {
			err = e.open()
		}
		return u, err
	}
	if _, err := read(ctx, db, open); err != nil {
		return Upload{}, err
	}
	release, err := db.uploads.acquire(ctx, id, w.Interrupt)
	if err != nil {
		return Upload{}, err
	}
	defer release()
	u, err := read(ctx, db, open)
	if err != nil {
		return u, err
	}
	if w.Offset != u.Offset {
		return u, &Error{Code: CodeConflict, Field: "Upload-Offset",
			Message: fmt.Sprintf("The upload has %d bytes; go on from there.", u.Offset)}
	}
	if u.ResourceID != nil {
		return u, nil
	}
	if u, err = db.writeUpload(ctx, u, w); err != nil || u.Offset < u.SizeBytes {
		return u, err
	}
	return db.finishUpload(ctx, actor, u)
}

func (db *DB) writeUpload(ctx context.Context, u Upload, w UploadWrite) (Upload, error) {
	ctx = context.WithoutCancel(ctx) // what has come is kept for a client that has gone
	f, err := db.openUpload(u)
	if err != nil {
		return u, err
	}
	defer f.Close()
	src := &source{r: io.LimitReader(w.Body, u.SizeBytes-u.Offset)}
	var dst io.Writer = f
	if w.Hash != nil {
		dst = io.MultiWriter(f, w.Hash)
	}
	end := u.Offset // of the file; that of u is on record
	for more := true; more; {
		n, err := copySlice(dst, src)
		end += n
		if err != nil && src.err == nil {
			return u, err // the disk's
		}
		more = err == nil && n > 0
		if more && w.Hash != nil {
			continue
		}
		if err := f.Sync(); err != nil {
			return u, err
		}
		whole := w.Hash == nil || src.err == nil && bytes.Equal(w.Hash.Sum(nil), w.Sum)
		if whole && end > u.Offset && end < u.SizeBytes {
			if u, err = db.noteReceived(ctx, u, end); err != nil {
				return u, err
			}
		}
		switch {
		case src.err != nil:
			return u, src.err
		case !more && !whole:
			return u, errChecksum
		}
	}
	if n, _ := io.ReadFull(w.Body, make([]byte, 1)); n > 0 {
		return u, Invalid("Upload-Length", "The part goes beyond the %d bytes of the upload; send what is left of them.", u.SizeBytes)
	}
	u.Offset = end
	return u, nil
}

// copySlice copies until syncBytes have come, or what came took syncPause.
func copySlice(dst io.Writer, src io.Reader) (n int64, err error) {
	const step = 1 << 20
	for begin := time.Now(); n < syncBytes && time.Since(begin) < syncPause; {
		var m int64
		m, err = io.CopyN(dst, src, step)
		n += m
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// noteReceived says that the bytes up to end are on disk.
func (db *DB) noteReceived(ctx context.Context, u Upload, end int64) (Upload, error) {
	at, err := write(ctx, db, System, func(tx *tx) (Time, error) {
		n, err := tx.exec(`UPDATE upload SET received = ?, updated_date = ? WHERE id = ?`, end, tx.now, u.ID)
		return tx.now, changedOne(n, err, "upload")
	})
	if err == nil {
		u.Offset, u.UpdatedDate = end, at
	}
	return u, err
}

// openUpload opens the file of an upload and cuts off what is not on record.
func (db *DB) openUpload(u Upload) (f *os.File, err error) {
	path := db.uploadPath(u.ID)
	if u.Offset == 0 {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
	}
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < u.Offset {
		db.dropUpload(context.Background(), u.ID)
		return nil, Errorf(CodeNotFound, "The bytes of this upload are gone; begin it again.")
	}
	if u.Offset == 0 {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	if err := f.Truncate(u.Offset); err != nil {
		return nil, err
	}
	_, err = f.Seek(u.Offset, io.SeekStart)
	return f, err
}
