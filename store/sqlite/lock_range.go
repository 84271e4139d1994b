package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// rangeStart is the offset of the byte that the serving process locks in the database file.
// SQLite does not read, write or lock a byte at this offset.
//
// The lock on this byte complements the lock file, whose path depends on the path of the
// database: two containers can mount the same file under different paths.
const rangeStart = 1 << 62

// lockDatabase takes a lock on the database file f itself. The lock ends when f is closed. It
// returns a *FileError if another process serves the file under any path. It does nothing if
// the system or file system does not support such locks.
func lockDatabase(f *os.File) error {
	for attempt := 1; ; attempt++ {
		err := lockRange(f, true)
		if !errors.Is(err, errLocked) {
			return err
		}
		if attempt == lockAttempts { // refuseOtherPath holds a shared lock for a moment
			return servedElsewhere(f)
		}
		time.Sleep(lockPause)
	}
}

// refuseOtherPath returns a *FileError if the database file f is served under a path other than
// path. SQLite would use a separate write-ahead log for the second path, and two logs would
// damage the file.
func refuseOtherPath(f *os.File, path string) error {
	for attempt := 1; ; attempt++ {
		err := lockRange(f, false)
		if err == nil {
			return unlockRange(f)
		}
		if !errors.Is(err, errLocked) {
			return err
		}
		// A server takes the lock file before this lock, and releases the lock file last.
		if served, err := lockFileHeld(path); served || err != nil {
			return err
		}
		if attempt == lockAttempts {
			return servedElsewhere(f)
		}
		time.Sleep(lockPause)
	}
}

// refuseServed returns a *FileError if a process serves the database file at path.
func refuseServed(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(lockDatabase(f), f.Close())
}

func servedElsewhere(f *os.File) error {
	who := "another process"
	switch pid, found := holder(f); {
	case pid > 0:
		who = fmt.Sprint("process ", pid)
	case found:
		who = "a process of another container or computer"
	}
	return fileError(Served, nil,
		"the database %s is already being served by %s, under another path (a mount or a link), or its lock file was removed; use that server, or stop it first",
		f.Name(), who)
}
