package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"
)

// Backup writes a copy of the database as it is at one moment to path, while
// others go on writing. The copy is verified and on disk when it returns. It
// refuses to overwrite a file.
func (db *DB) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path) // SQLite reads file:x as a URL
	if err != nil {
		return err
	}
	if err := mustNotExist(path); err != nil {
		return err
	}
	return copyError(path, vacuumInto(ctx, db.path, path))
}

// copyError says in one sentence that a copy at path found no room.
func copyError(path string, err error) error {
	if !isFull(err) {
		return err
	}
	return fmt.Errorf("there is no room on the disk for %s: free some, or choose another place (%w)", path, err)
}

func mustNotExist(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return Errorf(CodeConflict, "%s is there already; choose another name or remove it first.", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// vacuumInto copies the database src to dst, which must not exist: under
// another name until it is known to be whole.
func vacuumInto(ctx context.Context, src, dst string) (err error) {
	f, err := createPartial(dst)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s for the copy: make it first, or choose another place", filepath.Dir(dst))
	}
	if err != nil {
		return err
	}
	partial := f.Name()
	defer func() {
		if err != nil {
			os.Remove(partial)
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	pool, err := sqlx.Open("sqlite", dsn(src))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, `VACUUM INTO ?`, partial)
	if err = errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if err := Verify(ctx, partial); err != nil {
		return err
	}
	return publish(partial, dst)
}

// createPartial makes an empty file beside dst, under a name that nobody else
// uses: a copy that was killed does not stand in the way of the next one.
func createPartial(dst string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(dst), filepath.Base(dst)+".*.partial")
}

// publish makes the file partial durable under its name dst.
func publish(partial, dst string) error {
	if err := syncFile(partial); err != nil {
		return err
	}
	if err := mustNotExist(dst); err != nil {
		return err
	}
	if err := os.Rename(partial, dst); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dst))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Verify proves that the file at path is a sound database of tracker that
// this program can open, without changing it. A file with a write-ahead log
// beside it is refused: it is only a part of a database.
func Verify(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Errorf(CodeNotFound, "There is no file %s.", path)
	} else if err != nil {
		return err
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return Errorf(CodeConflict, "%s is in use or was not closed; make a copy of it with `tracker backup` first.", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	pool, err := sqlx.Open("sqlite", dsn(abs, readerPragmas...))
	if err != nil {
		return err
	}
	defer pool.Close()
	c, err := openConn(ctx, pool)
	if err != nil {
		return backupError(abs, err)
	}
	defer c.close()
	t := &tx{conn: c, ctx: ctx}
	all, err := migrations()
	if err != nil {
		return err
	}
	version, err := schemaVersion(t, abs, len(all))
	if err != nil {
		return backupError(abs, err)
	}
	if version == 0 {
		return Errorf(CodeInvalidPayload, "%s is an empty file, not a database of tracker.", path)
	}
	problems, err := t.integrity()
	if err != nil {
		return backupError(abs, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s is damaged: %s", path, problems[0].Text)
	}
	return nil
}

// backupError is openError for a file that is to be restored: to restore a
// backup would be no advice.
func backupError(path string, err error) error {
	if isDamaged(err) {
		return fmt.Errorf("%s is damaged or not a SQLite database; choose another backup (%w)", path, err)
	}
	return openError(path, err)
}

// Restore puts the backup src in the place of the database dst and returns
// where the former one was put, "" when there was none. It refuses while a
// server has dst, and over a database unless force is set.
func Restore(ctx context.Context, src, dst string, force bool, now time.Time) (aside string, err error) {
	if dst, err = resolve(dst); err != nil {
		return "", err
	}
	if err := Verify(ctx, src); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return "", err
	}
	lock, err := lockFile(lockPath(dst))
	if err != nil {
		return "", err
	}
	defer lock.release()
	if err := mustNotExist(dst); err != nil && !force {
		return "", Errorf(CodeConflict, "%s is there already; --force restores over it and keeps it beside.", dst)
	}
	partial, err := createPartial(dst)
	if err != nil {
		return "", err
	}
	defer os.Remove(partial.Name())
	if err := copyFile(src, partial); err != nil {
		return "", copyError(dst, err)
	}
	if aside, err = putAside(ctx, dst, dst+".before-restore-"+stamp(now)); err != nil {
		return "", err
	}
	return aside, publish(partial.Name(), dst)
}

// putAside renames a database that nobody serves, with what its write-ahead
// log holds. It returns "" when there is none.
func putAside(ctx context.Context, path, aside string) (string, error) {
	if err := mustNotExist(aside); err != nil {
		return "", err
	}
	_, err := os.Lstat(path)
	there := !errors.Is(err, fs.ErrNotExist)
	if there {
		if pool, err := sqlx.Open("sqlite", dsn(path)); err == nil {
			_, _ = pool.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
			pool.Close()
		}
	}
	// A log that could not be brought in, or has lost its database, goes along:
	// SQLite would take it for that of the next file of this name.
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

// copyFile copies a file to dst, and closes that.
func copyFile(src string, dst *os.File) error {
	in, err := os.Open(src)
	if err != nil {
		return errors.Join(err, dst.Close())
	}
	defer in.Close()
	_, err = io.Copy(dst, in)
	return errors.Join(err, dst.Close())
}
