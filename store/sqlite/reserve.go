package sqlite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// reserve is a file beside the database that occupies space on the disk. When the disk is full,
// even a deletion fails, because it writes to the write-ahead log. If a Freeing job finds the
// disk full, the writer releases the space of the reserve and repeats the job.
//
// The reserve is written again once enough space is free.
type reserve struct {
	path  string
	size  int64
	free  func(dir string) (int64, error)
	pause time.Duration
	mu    sync.Mutex // guards changes of the file
}

const (
	reservePause = 10 * time.Second // default pause between two attempts to write the reserve
	reserveSpace = 4                // the reserve is written if this many times its size is free
	reserveParts = 8                // number of parts of the reserve; a Marking job gets one part
)

// ReservePath returns the path of the reserve of the database at path.
func ReservePath(path string) string { return path + ".reserve" }

func newReserve(o Options, path string) *reserve {
	r := &reserve{path: ReservePath(path), size: o.Reserve, free: o.FreeSpace, pause: o.ReservePause}
	if r.pause == 0 {
		r.pause = reservePause
	}
	return r
}

// release frees disk space of the reserve. If all is set, it frees all space. Otherwise it frees
// one part, provided that at least half of the reserve remains. It reports whether it has freed
// any space.
func (r *reserve) release(all bool) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.path)
	if err != nil || info.Size() == 0 {
		return false
	}
	left := int64(0)
	if !all {
		left = info.Size() - r.size/reserveParts
	}
	if !all && left < r.size/2 {
		return false
	}
	return os.Truncate(r.path, left) == nil
}

// run writes the reserve whenever the reserve is incomplete and the disk has enough space. It
// calls the function failed with each error. run ends when ctx ends.
func (r *reserve) run(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(r.pause)
	defer tick.Stop()
	for {
		if err := r.write(); err != nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *reserve) write() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.path)
	if err == nil && info.Size() == r.size {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n, err := r.free(filepath.Dir(r.path)); err != nil || n < reserveSpace*r.size {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// Write random bytes, because some file systems do not store zeros.
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), r.size)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Truncate(r.path, 0))
	}
	return nil
}
