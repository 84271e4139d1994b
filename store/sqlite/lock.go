package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// fileLock is the lock of the process that serves a database. The locked file contains the
// process id. When the process ends, for whatever reason, the operating system releases the lock.
// The lock file itself is never removed.
type fileLock struct {
	f      *os.File
	former string // note of the previous lock holder
}

var errLocked = errors.New("locked")

const (
	lockAttempts = 20
	lockPause    = 10 * time.Millisecond
	maxLockText  = 64 // maximum number of bytes to read from a lock file
)

// LockPath returns the path of the lock file of the database at path.
func LockPath(path string) string { return path + ".lock" }

// lockFile takes the lock of the database at path. If another process holds the lock, lockFile
// returns a *FileError that names the process.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(LockPath(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// Retry, because DB.Served of another process holds a shared lock for a moment.
	for attempt := 0; attempt < lockAttempts; attempt++ {
		if err = tryLock(f, true); !errors.Is(err, errLocked) {
			break
		}
		time.Sleep(lockPause)
	}
	if errors.Is(err, errLocked) {
		owner, readErr := io.ReadAll(io.LimitReader(f, maxLockText))
		f.Close()
		who := "another process"
		if pid, _, _ := strings.Cut(string(owner), "\n"); readErr == nil && pid != "" {
			who = "process " + pid
		}
		return nil, fileError(Served, nil, "the database %s is already being served by %s; use that server, or stop it first", path, who)
	}
	former := readNote(f)
	if err == nil {
		err = writeOwner(f, former) // keep the note, which describes the database
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return &fileLock{f, former}, nil
}

// Served reports whether any process holds the lock of the file, including this process.
func (db *DB) Served() (bool, error) {
	if db.lock != nil {
		return true, nil
	}
	return lockFileHeld(db.path)
}

// lockFileHeld reports whether any process holds the lock of the database at path.
func lockFileHeld(path string) (bool, error) {
	f, err := os.Open(LockPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = tryLock(f, false) // a shared lock, so several processes can ask at once
	if errors.Is(err, errLocked) {
		return true, nil
	}
	return false, err
}

// writeOwner writes two lines to a lock file: the id of this process, and the note.
func writeOwner(f *os.File, note string) error {
	text := fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), note)
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// readNote returns the note in a lock file. It returns "" if there is no note or if the file
// can't be read.
func readNote(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxLockText))
	if err != nil {
		return ""
	}
	_, note, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(note)
}

// SetNote writes a short note to the lock file. This process must hold the lock. The note is
// not part of the database and is not synced to disk.
func (db *DB) SetNote(note string) error { return writeOwner(db.lock.f, note) }

// FormerNote returns the note of the previous lock holder.
func (db *DB) FormerNote() string {
	if db.lock == nil {
		return ""
	}
	return db.lock.former
}

// Note returns the note in the lock file. It was written by the current or the last lock holder.
func (db *DB) Note() string {
	f, err := os.Open(LockPath(db.path))
	if err != nil {
		return ""
	}
	defer f.Close()
	return readNote(f)
}

func (l *fileLock) release() error { return l.f.Close() }
