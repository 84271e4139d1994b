package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrClosed is returned by calls after Close.
var ErrClosed = errors.New("the database is closed")

// The errors after which this process must no longer write to the database.
var (
	// ErrTaken means that another process has taken over the database.
	ErrTaken = errors.New("another process serves the database now")
	// ErrMoved means that another program has moved, deleted or replaced the files.
	ErrMoved = errors.New("the database was moved, deleted or replaced")
	// ErrOverwritten means that another program has overwritten or truncated the files.
	ErrOverwritten = errors.New("the database was overwritten while it was open")
)

// Problem is the kind of problem that a FileError reports.
type Problem int

// The problems of a database file.
const (
	Unusable    Problem = iota // none of the problems below; see FileError.Err
	Unwritable                 // no permission to write to the file or its folder
	Damaged                    // the file is damaged or not a SQLite file
	BadBackup                  // the backup is damaged or not a SQLite file
	BadVersion                 // the schema version of the file is invalid
	NoRoom                     // the disk is full
	Busy                       // another process holds a SQLite lock
	Served                     // another process serves the database
	Foreign                    // the file belongs to another application or has another schema
	Newer                      // the schema of the file is newer than the program
	Empty                      // the file is empty
	InUse                      // the backup has a write-ahead log
	Missing                    // the file does not exist
	Exists                     // the file must not exist, but does
	NotForced                  // a database exists, and only a forced restore replaces it
	Linked                     // the file has several hard links
	Overwritten                // the file was overwritten, and the write-ahead log belongs to its former contents
)

// FileError reports why a database file can't be used.
type FileError struct {
	Path    string
	Problem Problem
	Text    string // message that names the file
	Err     error  // cause of the problem, or nil
}

func (e *FileError) Error() string {
	if e.Err != nil {
		return e.Text + " (" + e.Err.Error() + ")"
	}
	return e.Text
}

// Unwrap returns e.Err.
func (e *FileError) Unwrap() error { return e.Err }

// fileError returns a *FileError. The text of the error is formatted from path, followed by
// args.
func fileError(p Problem, err error, format, path string, args ...any) error {
	return &FileError{path, p, fmt.Sprintf(format, append([]any{path}, args...)...), err}
}

// OpenError returns err as a *FileError that names the database at path.
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

// IsFull reports whether a file could not grow because of a full disk, a quota or a limit on the
// file size.
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

// IsBusy reports whether another process or connection has held a lock for too long.
func IsBusy(err error) bool {
	c := code(err) & 0xff
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// isReadOnly reports whether the program can't write to the file or its folder.
func isReadOnly(err error) bool {
	c := code(err) & 0xff
	return c == sqlite3.SQLITE_READONLY || c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_PERM
}

// isIOError reports whether the disk has failed. A full disk is not a failure.
func isIOError(err error) bool {
	c := code(err) & 0xff
	return !IsFull(err) && (c == sqlite3.SQLITE_IOERR || c == sqlite3.SQLITE_READONLY)
}

// IsDamaged reports whether the file is damaged or not a SQLite database.
func IsDamaged(err error) bool {
	c := code(err) & 0xff
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}
