package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tracker/store/sqlite"
)

// A file system that was shut down after an error can still serve reads from memory, but can't
// store anything.
func TestPingOnAFileSystemThatWasShutDown(t *testing.T) {
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	f, err := os.Create(image)
	wantOK(t, err)
	wantOK(t, errors.Join(f.Truncate(32<<20), f.Close()))
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Logf("this user can't do %v: %v %s", command, err, out)
			return
		}
	}
	defer func() { wantOK(t, exec.Command("umount", dir).Run()) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "notes.db"), Schema: schemaOf(notes), Exclusive: true})
	wantOK(t, err)
	defer db.Close() // fails, like every call
	wantOK(t, db.Write(ctx, sqlite.Change, add("before")))
	for range 20 { // so that all connections have cached the data that Ping reads
		wantOK(t, db.Ping(ctx))
	}

	folder, err := os.Open(dir)
	wantOK(t, err)
	const shutdown, withoutLog = 0x8004587d, uint32(2) // EXT4_IOC_SHUTDOWN and its flag
	how := withoutLog
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, folder.Fd(), shutdown, uintptr(unsafe.Pointer(&how)))
	wantOK(t, folder.Close())
	if errno != 0 {
		t.Logf("this file system can't be shut down: %v", errno)
		return
	}
	if err := db.Ping(ctx); err == nil {
		t.Error("Ping finds nothing wrong")
	}
	if err := db.Write(ctx, sqlite.Change, add("after")); err == nil {
		t.Error("a write on it is acknowledged")
	}
}
