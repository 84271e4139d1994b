//go:build linux || darwin

package sqlite

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockRange locks the byte rangeStart of f without waiting. It returns errLocked if another
// open file has a conflicting lock.
//
// The lock belongs to the open file and not to the process. Unlike SQLite's locks, the lock
// remains when another descriptor of the same file is closed.
func lockRange(f *os.File, exclusive bool) error {
	kind := int16(unix.F_RDLCK)
	if exclusive {
		kind = unix.F_WRLCK
	}
	return setRange(f, kind)
}

func unlockRange(f *os.File) error { return setRange(f, unix.F_UNLCK) }

func setRange(f *os.File, kind int16) error {
	l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: rangeStart, Len: 1}
	err := unix.FcntlFlock(f.Fd(), setOpenFileLock, &l)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return errLocked
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
		return nil // the system does not support these locks
	}
	return err
}

// sharedFirst and sharedSize are the range of bytes in the database file that each SQLite
// connection locks with a shared lock.
const sharedFirst, sharedSize = 0x40000002, 510

// holder finds a process that has opened the database file f with SQLite. found reports whether
// there is such a process. pid is not positive if the process runs in another container or on
// another computer.
func holder(f *os.File) (pid int, found bool) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: sharedFirst, Len: sharedSize}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil || l.Type == unix.F_UNLCK {
		return 0, false
	}
	return int(l.Pid), true
}
