package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracker/store/sqlite"
)

// smallDisk mounts a file system of size bytes and returns its path. It returns "" if the user
// has no permission to mount.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size))
	if errors.Is(err, unix.EPERM) {
		t.Logf("this user may not mount: %v", err)
		return ""
	}
	wantOK(t, err)
	t.Cleanup(func() { wantOK(t, unix.Unmount(dir, 0)) })
	return dir
}

// fill writes to a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	wantOK(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else {
			wantOK(t, err)
		}
	}
}

// waitForSize waits until a file has size want.
func waitForSize(t *testing.T, path string, want int64) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		info, err := os.Stat(path)
		if err == nil && info.Size() == want || errors.Is(err, os.ErrNotExist) && want == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not get %d bytes: %v, %v", path, want, info, err)
		}
	}
}

// When the disk is full, only jobs that free space can use the reserve.
func TestReserve(t *testing.T) {
	const size = 4 << 20
	dir := smallDisk(t, 32<<20)
	if dir == "" {
		return
	}
	path := filepath.Join(dir, "notes.db")
	ballast := filepath.Join(dir, "ballast")
	db := open(t, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: true, Reserve: size, ReservePause: 50 * time.Millisecond,
		FreeSpace: func(dir string) (int64, error) {
			var s unix.Statfs_t
			err := unix.Statfs(dir, &s)
			return int64(s.Bavail) * s.Bsize, err
		}})
	waitForSize(t, path+".reserve", size)
	insert := func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (text) VALUES (hex(randomblob(2000)))`)
		return err
	}
	for range 500 {
		wantOK(t, db.Write(ctx, sqlite.Change, insert))
	}
	fill(t, ballast)
	var err error
	for range 5000 {
		if err = db.Write(ctx, sqlite.Change, insert); err != nil {
			break
		}
	}
	if !sqlite.IsFull(err) {
		t.Fatalf("the disk never was full: %v", err)
	}
	empty := func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`DELETE FROM note`)
		return err
	}
	if err := db.Write(ctx, sqlite.Change, empty); !sqlite.IsFull(err) {
		t.Errorf("a job that may not use the reserve says %v", err)
	}
	waitForSize(t, path+".reserve", size)
	wantOK(t, db.Write(ctx, sqlite.Change|sqlite.Freeing, empty))
	if n := len(texts(t, db)); n != 0 {
		t.Errorf("%d notes are left", n)
	}
	waitForSize(t, path+".reserve", 0)
	wantOK(t, os.Remove(ballast))
	waitForSize(t, path+".reserve", size)
	wantOK(t, db.Write(ctx, sqlite.Change, insert))
}

// When the disk is full, jobs that mark rows for deletion can repeatedly use a part of the
// reserve, but half of it is left for jobs that free space.
func TestReserveForMarking(t *testing.T) {
	const size = 4 << 20
	dir := smallDisk(t, 32<<20)
	if dir == "" {
		return
	}
	path := filepath.Join(dir, "notes.db")
	db := open(t, sqlite.Options{Path: path, Schema: schemaOf(notes), Exclusive: true, Reserve: size,
		FreeSpace: func(string) (int64, error) { return 1 << 40, nil }})
	waitForSize(t, path+".reserve", size)
	insert := func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (text) VALUES (hex(randomblob(2000)))`)
		return err
	}
	for range 500 {
		wantOK(t, db.Write(ctx, sqlite.Change, insert))
	}
	fill(t, filepath.Join(dir, "ballast"))
	mark := func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`UPDATE note SET text = text || 'x'`)
		return err
	}
	// Other jobs use up the space that a Marking job has released.
	for marks := 0; ; marks++ {
		var err error
		for err == nil {
			err = db.Write(ctx, sqlite.Change, insert)
		}
		if !sqlite.IsFull(err) {
			t.Fatal(err)
		}
		if err = db.Write(ctx, sqlite.Change|sqlite.Marking, func(tx *sqlite.Tx) error {
			_, err := tx.Exec(`UPDATE note SET text = 'x' || text WHERE rowid < 10`)
			return err
		}); err != nil {
			if !sqlite.IsFull(err) || marks == 0 {
				t.Fatalf("after %d marks: %v", marks, err)
			}
			break
		}
		if marks > 1000 {
			t.Fatal("marks never end")
		}
	}
	if err := db.Write(ctx, sqlite.Change|sqlite.Marking, mark); !sqlite.IsFull(err) {
		t.Errorf("a large mark says %v", err)
	}
	info, err := os.Stat(path + ".reserve")
	wantOK(t, err)
	if info.Size() < size/2 {
		t.Errorf("%d bytes of the reserve are left, want %d", info.Size(), size/2)
	}
	wantOK(t, db.Write(ctx, sqlite.Change|sqlite.Freeing, func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`DELETE FROM note`)
		return err
	}))
	if n := len(texts(t, db)); n != 0 {
		t.Errorf("%d notes are left", n)
	}
}
