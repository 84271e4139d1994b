package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
)

// Backup writes a consistent copy of the database to path. Other transactions can continue
// during the backup. When Backup returns nil, the copy is verified and on disk. It returns a
// *FileError if path exists.
func (db *DB) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path) // SQLite would read file:x as a URL
	if err != nil {
		return err
	}
	if err := mustNotExist(path); err != nil {
		return err
	}
	if err := db.writable(); err != nil {
		return err
	}
	return copyError(path, db.opts.Schema.copy(ctx, db.path, path))
}

// copyError returns err. If the disk was too full for the copy at path, it returns a *FileError
// with the problem NoRoom.
func copyError(path string, err error) error {
	if !IsFull(err) {
		return err
	}
	return fileError(NoRoom, err, "not enough disk space for %s: free some space, or choose another location", path)
}

func mustNotExist(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return fileError(Exists, nil, "%s already exists; choose another name or remove it first", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copy copies the database src to dst. It returns an error if dst exists. The copy has a
// temporary name until it is complete and verified.
func (s Schema) copy(ctx context.Context, src, dst string) (err error) {
	f, err := createPartial(dst)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s for the copy does not exist: create it, or choose another location", filepath.Dir(dst))
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
	pool, err := sqlx.Open("sqlite", DSN(src))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, `VACUUM INTO ?`, partial)
	if err = errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if err := s.Verify(ctx, partial); err != nil {
		return err
	}
	return publish(partial, dst)
}

// createPartial creates an empty file with a unique name beside dst. Because the name is
// unique, the partial copy of a killed process does not block the next copy.
func createPartial(dst string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(dst), filepath.Base(dst)+".*.partial")
}

// publish renames the file partial to dst and makes the new name durable. It returns a
// *FileError if dst exists.
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
	return SyncDir(filepath.Dir(dst))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
