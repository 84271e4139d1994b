package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrClosed is returned for calls after Close.
var ErrClosed = errors.New("the database is closed")

// The errors of a database that this process must not write to any more.
var (
	// ErrTaken means that another process has opened the database exclusively.
	ErrTaken = errors.New("another process serves the database now")
	// ErrMoved means that the files were moved, deleted or replaced.
	ErrMoved = errors.New("the database was moved, deleted or replaced")
	// ErrOverwritten means that another program has overwritten or truncated the files.
	ErrOverwritten = errors.New("the database was overwritten while it was open")
)

// Problem is the kind of a FileError.
type Problem int

// The problems of files.
const (
	Unusable    Problem = iota // Err has the cause
	Unwritable                 // this user can't write to the file or its folder
	Damaged                    // damaged, or not a SQLite file
	BadBackup                  // a copy that is damaged, or not a SQLite file
	BadVersion                 // the version of its schema is not valid
	NoRoom                     // the disk is full
	Busy                       // another process holds a lock of SQLite
	Served                     // another process holds the lock file
	Foreign                    // the database of another application
	Newer                      // its schema is newer than the program
	Empty                      // a backup without a schema
	InUse                      // a backup with a write-ahead log
	Missing                    // the file does not exist
	Exists                     // the file exists but must not
	NotForced                  // a database exists, which is replaced only if forced
	Linked                     // the file has several hard links
	Overwritten                // the write-ahead log belongs to other contents
)

// FileError reports why a database file can't be used.
type FileError struct {
	Path    string
	Problem Problem
	Text    string // a sentence that names the file
	Err     error  // the cause, or nil
}

func (e *FileError) Error() string {
	if e.Err != nil {
		return e.Text + " (" + e.Err.Error() + ")"
	}
	return e.Text
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// fileError returns a FileError; format gets the path first.
func fileError(p Problem, err error, format, path string, args ...any) error {
	return &FileError{path, p, fmt.Sprintf(format, append([]any{path}, args...)...), err}
}

// OpenError returns err as a *FileError about the database at path.
func OpenError(path string, err error) error {
	var e *FileError
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), isReadOnly(err):
		return fileError(Unwritable, err,
			"the database %s is not writable: give this user write permission on its folder, or choose another location", path)
	case IsDamaged(err):
		return fileError(Damaged, err, "%s is damaged or not a SQLite database: restore a backup, or choose another file", path)
	case IsFull(err):
		return fileError(NoRoom, err, "not enough disk space for the database %s: free some space and start again", path)
	case IsBusy(err):
		return fileError(Busy, err, "another process has locked the database %s: stop it, or try again in a moment", path)
	}
	return fileError(Unusable, err, "the database %s can't be opened", path)
}

func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return sqlite3.SQLITE_OK
}

// IsDuplicate reports whether err is a uniqueness violation.
func IsDuplicate(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsFull reports whether a file could not grow because the disk is full or a quota
// or limit is reached.
func IsFull(err error) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return true
		}
	}
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_TRUNCATE,
		sqlite3.SQLITE_IOERR_SHMSIZE:
		return true
	}
	return false
}

// IsBusy reports whether another process or connection held a lock for too long.
func IsBusy(err error) bool {
	c := code(err) & 0xff
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// isReadOnly reports whether the file or its folder can't be written to.
func isReadOnly(err error) bool {
	c := code(err) & 0xff
	return c == sqlite3.SQLITE_READONLY || c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_PERM
}

// isIOError reports whether the disk failed for a reason other than being full.
func isIOError(err error) bool {
	c := code(err) & 0xff
	return !IsFull(err) && (c == sqlite3.SQLITE_IOERR || c == sqlite3.SQLITE_READONLY)
}

// IsDamaged reports whether the file is not a valid database.
func IsDamaged(err error) bool {
	c := code(err) & 0xff
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}
