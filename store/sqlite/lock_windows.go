package sqlite

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes a lock on f without waiting. It returns errLocked when another
// process has one that excludes it. Windows forbids reading a locked range, so
// the byte that is locked lies far after the process id that others want to read.
func tryLock(f *os.File, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := &windows.Overlapped{Offset: math.MaxUint32 - 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// SyncDir does nothing: NTFS journals names by itself, and a folder can't be
// flushed through this interface.
func SyncDir(string) error { return nil }

// links returns 1: the names of a file are not counted here.
func links(os.FileInfo) uint64 { return 1 }
