package sqlite

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks f without waiting. It returns errLocked if another process has a conflicting
// lock. Windows does not allow other processes to read a locked byte. The locked byte is
// therefore far after the process id, which other processes must be able to read.
func tryLock(f *os.File, exclusive bool) error {
	return lockByte(f, exclusive, math.MaxUint32-1)
}

// lockRange locks the byte rangeStart of f without waiting. It returns errLocked if another
// process has a conflicting lock.
func lockRange(f *os.File, exclusive bool) error { return lockByte(f, exclusive, rangeStart) }

func lockByte(f *os.File, exclusive bool, at uint64) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, overlapped(at))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

func unlockRange(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, overlapped(rangeStart))
}

func overlapped(at uint64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)}
}

// holder returns false, because Windows does not report the holder of a lock.
func holder(*os.File) (pid int, found bool) { return 0, false }

// closeFirst reports whether the files in opened must be closed before SQLite's connections. On
// Windows, SQLite can't delete the log while another descriptor of the log is open.
const closeFirst = true

// SyncDir does nothing. NTFS journals file names, and Go can't flush a directory on Windows.
func SyncDir(string) error { return nil }

// links returns 1, because the number of hard links is not available.
func links(os.FileInfo) uint64 { return 1 }
