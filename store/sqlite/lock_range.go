package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// rangeStart is the offset of the byte of the database file that the serving process locks. A
// lock file is found by the path of the database, but a file that is mounted into two
// containers has two paths. SQLite does not read, write or lock a byte at such an offset.
const rangeStart = 1 << 62

// lockDatabase takes the lock on the database file f itself. The lock ends when f is closed.
// It returns a *FileError if a process serves the file, under whatever path. It does nothing
// on systems and file systems without such locks.
func lockDatabase(f *os.File) error {
	for attempt := 1; ; attempt++ {
		err := lockRange(f, true)
		if !errors.Is(err, errLocked) {
			return err
		}
		if attempt == lockAttempts { // a command that asks holds a shared lock for a moment
			return servedElsewhere(f)
		}
		time.Sleep(lockPause)
	}
}

// refuseOtherPath returns a *FileError if the database file f is served under another path.
// A second path has its own write-ahead log, and two logs damage the file.
func refuseOtherPath(f *os.File, path string) error {
	for attempt := 1; ; attempt++ {
		err := lockRange(f, false)
		if err == nil {
			return unlockRange(f)
		}
		if !errors.Is(err, errLocked) {
			return err
		}
		// A server takes the lock file first and releases it last.
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
