package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// An incomplete resumable upload stores its bytes in a file. The name of the file is the id of the
// upload. The record of the upload is a row of the upload table. Package artifact reads and writes
// only the columns received, updated_date and resource_id of the upload table.
const (
	// UploadAge is the time from the last part to the expiry of an upload. The progress of a
	// complete upload can be requested until the upload expires.
	UploadAge = 24 * time.Hour

	// WritePart syncs the upload file after every syncBytes bytes and about every syncPause. A
	// part with a checksum is synced once, at its end. Only synced bytes count as received. If
	// the server is killed, the bytes since the last sync are lost.
	syncBytes = 64 << 20
	syncPause = 30 * time.Second

	// maxUploadWait is the maximum time that a request waits for the lock of an upload. A
	// request that is completing the upload can't be interrupted.
	maxUploadWait = 20 * time.Second
)

// These errors are returned by the methods for resumable uploads.
var (
	// ErrUploadBusy is returned if another request is completing the upload.
	ErrUploadBusy = errors.New("another request is completing this upload")
	// ErrUploadGone is returned if the upload or its file does not exist.
	ErrUploadGone = errors.New("the bytes of this upload are gone")
	// ErrChecksum is returned if a part does not match its checksum.
	ErrChecksum = errors.New("the part does not match its checksum")
	// ErrTooLong is returned if a part extends beyond the end of the upload.
	ErrTooLong = errors.New("the part exceeds the size of the upload")
)

// Part is one part of a resumable upload.
type Part struct {
	Offset int64     // position of the first byte; all earlier bytes must have arrived
	Body   io.Reader // content of the part; WritePart reads Body to its end
	// Hash computes the checksum of Body, and Sum is the expected checksum. A part with a
	// checksum is accepted or rejected as a whole. Hash is nil for a part without a checksum.
	Hash hash.Hash
	Sum  []byte
	// Interrupt makes a blocked read of Body return. It is called when a newer request waits
	// for the upload.
	Interrupt func()
}

// LockUpload locks an upload for one request. If another request holds the lock, LockUpload
// interrupts that request and waits for the lock. It returns ErrUploadBusy after maxUploadWait.
// interrupt is called if another request waits for the lock. It must return immediately.
func (s *Store) LockUpload(ctx context.Context, id string, interrupt func()) (release func(), err error) {
	return s.uploads.acquire(ctx, id, interrupt)
}

// WritePart adds a part to an upload with a total of size bytes. p.Offset must be the number of
// bytes received before the part. The caller must hold the lock of the upload.
//
// WritePart returns the number of bytes received after the part. If all bytes have arrived, it does
// not record the number, because the caller must complete the upload first. It returns an error
// from p.Body unchanged. Bytes that were read before the error are kept if p has no checksum.
func (s *Store) WritePart(ctx context.Context, id string, size int64, p Part) (received int64, err error) {
	ctx = context.WithoutCancel(ctx) // keep the received bytes if the client disconnects
	received = p.Offset
	f, err := s.openUpload(id, received)
	if err != nil {
		return received, err
	}
	defer f.Close()
	src := &source{r: io.LimitReader(p.Body, size-p.Offset)}
	var dst io.Writer = f
	if p.Hash != nil {
		dst = io.MultiWriter(f, p.Hash)
	}
	end := received // size of the file
	for more := true; more; {
		n, err := copySlice(dst, src)
		end += n
		if err != nil && src.err == nil {
			return received, err // error of the disk
		}
		more = err == nil && n > 0
		if more && p.Hash != nil {
			continue
		}
		if err := f.Sync(); err != nil {
			return received, err
		}
		whole := p.Hash == nil || src.err == nil && bytes.Equal(p.Hash.Sum(nil), p.Sum)
		if whole && end > received && end < size {
			if err = s.recordReceived(ctx, id, end); err != nil {
				return received, err
			}
			received = end
		}
		switch {
		case src.err != nil:
			return received, src.err
		case !more && !whole:
			return received, ErrChecksum
		}
	}
	if n, _ := io.ReadFull(p.Body, make([]byte, 1)); n > 0 {
		return received, ErrTooLong
	}
	return end, nil
}

// copySlice copies bytes until it has copied syncBytes or syncPause has passed.
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

// recordReceived records that the first n bytes of an upload are on disk.
func (s *Store) recordReceived(ctx context.Context, id string, n int64) error {
	return change(ctx, s, func(tx *sqlite.Tx) error {
		changed, err := tx.Exec(`UPDATE upload SET received = ?, updated_date = ? WHERE id = ?`, n, s.now(), id)
		if err == nil && changed == 0 {
			err = ErrUploadGone
		}
		return err
	})
}

// openUpload opens the file of an upload. It truncates the file to the recorded number of bytes
// and seeks to the end. It returns ErrUploadGone if the file is shorter.
func (s *Store) openUpload(id string, received int64) (f *os.File, err error) {
	path := s.uploadPath(id)
	if received == 0 {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
	if info.Size() < received {
		return nil, ErrUploadGone
	}
	if received == 0 {
		if err := sqlite.SyncDir(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	if err := f.Truncate(received); err != nil {
		return nil, err
	}
	_, err = f.Seek(received, io.SeekStart)
	return f, err
}

// ReceiveUpload stages the bytes of an upload after all bytes have arrived. The caller must
// hold the lock of the upload.
func (s *Store) ReceiveUpload(ctx context.Context, id string, size int64) (*Received, error) {
	f, err := os.Open(s.uploadPath(id))
	if errors.Is(err, fs.ErrNotExist) && size == 0 {
		f, err = os.Open(os.DevNull)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.Receive(ctx, f)
}

// RemoveUpload removes the file of an upload that is complete or whose record was deleted. If
// the removal fails, RemoveUpload logs the error, and a later collection removes the file.
func (s *Store) RemoveUpload(id string) {
	if err := s.removeUploadFile(id); err != nil {
		s.log.Warn("could not remove the file of an upload; will try again in a day", "upload", id, "error", err)
	}
}

func (s *Store) removeUploadFile(id string) error {
	if err := os.Remove(s.uploadPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *Store) uploadPath(id string) string { return filepath.Join(s.dir, id) }

// uploadExpiry returns the date UploadAge ago. An upload is expired if its last part arrived
// before that date.
func (s *Store) uploadExpiry() scalar.Time {
	return s.now() - scalar.Time(UploadAge.Milliseconds())
}

// expiredFiles returns the files that have not changed for UploadAge and do not belong to an
// incomplete upload.
func (s *Store) expiredFiles(ctx context.Context) (all []Orphan, err error) {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || s.clock().Sub(info.ModTime()) < UploadAge || uuid.Validate(f.Name()) != nil {
			continue
		}
		live, err := read(ctx, s, func(tx *sqlite.Tx) (live bool, err error) {
			err = tx.Row(`SELECT EXISTS (SELECT 1 FROM upload WHERE id = ? AND resource_id IS NULL AND updated_date > ?)`,
				f.Name(), s.uploadExpiry()).Scan(&live)
			return live, err
		})
		if err != nil {
			return nil, fmt.Errorf("looking up upload %s: %w", f.Name(), err)
		}
		if !live {
			all = append(all, Orphan{Kind: OrphanUpload, Name: f.Name(), Size: info.Size()})
		}
	}
	return all, nil
}

// uploadLocks holds the locks of uploads. Only one request at a time can hold the lock of an
// upload. A newer request interrupts the older request, because the connection of the older
// request is probably broken.
type uploadLocks struct {
	mu   sync.Mutex
	held map[string]*uploadLock
}

type uploadLock struct {
	interrupt func()
	released  chan struct{}
}

func (l *uploadLocks) acquire(ctx context.Context, id string, interrupt func()) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, maxUploadWait)
	defer cancel()
	mine := &uploadLock{interrupt, make(chan struct{})}
	for {
		l.mu.Lock()
		if l.held == nil {
			l.held = map[string]*uploadLock{}
		}
		other := l.held[id]
		if other == nil {
			l.held[id] = mine
		} else {
			other.interrupt() // called with mu held, so that other is not released during the call
		}
		l.mu.Unlock()
		if other == nil {
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.held, id)
				close(mine.released)
			}, nil
		}
		select {
		case <-other.released:
		case <-ctx.Done():
			return nil, ErrUploadBusy
		}
	}
}
