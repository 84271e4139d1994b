//go:build linux || darwin

package sqlite

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockRange takes a lock on byte rangeStart of f without waiting. It returns errLocked if
// another open file has a conflicting lock. The lock belongs to the open file, not to the
// process: unlike SQLite's locks, it is not released when another descriptor of the file is
// closed.
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

// The bytes of the file on which each connection of SQLite has a shared lock.
const sharedFirst, sharedSize = 0x40000002, 510

// holder returns the id of a process that has the database file f open with SQLite, and
// whether there is one. The id is not positive if the process is in another container or on
// another computer.
func holder(f *os.File) (pid int, found bool) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: sharedFirst, Len: sharedSize}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil || l.Type == unix.F_UNLCK {
		return 0, false
	}
	return int(l.Pid), true
}
