package sqlite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"
)

// Restore replaces the database dst with the backup src. It renames the former database and
// returns its new path, which contains the given time. If there was no database, it returns "".
//
// Restore returns a *FileError if another process serves dst. It also returns a *FileError if
// dst exists and force is not set.
func (s Schema) Restore(ctx context.Context, src, dst string, force bool, now time.Time) (aside string, err error) {
	if dst, err = resolve(dst); err != nil {
		return "", err
	}
	if err := s.Verify(ctx, src); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return "", err
	}
	lock, err := lockFile(dst)
	if err != nil {
		return "", err
	}
	defer lock.release()
	if err := refuseServed(dst); err != nil {
		return "", err
	}
	if err := mustNotExist(dst); err != nil && !force {
		return "", fileError(NotForced, nil, "%s already exists; a forced restore keeps it under another name", dst)
	}
	partial, err := createPartial(dst)
	if err != nil {
		return "", err
	}
	defer os.Remove(partial.Name())
	if err := copyFile(src, partial); err != nil {
		return "", copyError(dst, err)
	}
	if aside, err = putAside(ctx, dst, dst+".before-restore-"+stamp(now), lock.former != overwrittenNote); err != nil {
		return "", err
	}
	if err := publish(partial.Name(), dst); err != nil {
		return aside, err
	}
	return aside, writeOwner(lock.f, "") // remove the note, which describes the former database
}

// putAside renames a database that no process serves, and returns the new path. If merge is
// set, it first copies the write-ahead log into the file. It returns "" if the database does
// not exist.
func putAside(ctx context.Context, path, aside string, merge bool) (string, error) {
	if err := mustNotExist(aside); err != nil {
		return "", err
	}
	_, err := os.Lstat(path)
	there := !errors.Is(err, fs.ErrNotExist)
	if there && merge {
		if pool, err := sqlx.Open("sqlite", DSN(path)); err == nil {
			_, _ = pool.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
			pool.Close()
		}
	}
	// Also rename a log that remains after a failed checkpoint, or that exists without a
	// database. SQLite would apply this log to the next file with the same name.
	for _, suffix := range []string{"-journal", "-wal", "-shm", ""} {
		err := os.Rename(path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if !there {
		return "", nil
	}
	return aside, nil
}

// copyFile copies the file src to dst and closes dst.
func copyFile(src string, dst *os.File) error {
	in, err := os.Open(src)
	if err != nil {
		return errors.Join(err, dst.Close())
	}
	defer in.Close()
	_, err = io.Copy(dst, in)
	return errors.Join(err, dst.Close())
}
