package store

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes an exclusive lock on f without waiting; errLocked when it is
// taken. Windows forbids reading a locked range, so the byte that is locked
// lies far behind the process id that others want to read.
func lock(f *os.File) error {
	at := &windows.Overlapped{Offset: math.MaxUint32 - 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// syncDir does nothing: NTFS journals names by itself, and a folder can't be
// flushed through this interface.
func syncDir(string) error { return nil }
