package sqlite

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// claim writes the name of this process into table owner. A lock file can be
// removed while it is held; then a second process creates a new one. A process
// has lost the database and must not write if its name was replaced in the table.
func (db *DB) claim(tx *Tx) error {
	db.owner = rand.Text()
	if _, err := tx.Exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO owner (id, name) VALUES (1, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name`, db.owner)
	if err == nil {
		_, err = tx.Exec(`COMMIT`)
	}
	if err != nil {
		_, _ = tx.Exec(`ROLLBACK`) // SQLite may have rolled back by itself
	}
	return err
}

// checkOwner returns ErrTaken when another process has claimed the database.
func (db *DB) checkOwner(tx *Tx) error {
	if db.lock == nil {
		return nil
	}
	var name string
	err := tx.Row(`SELECT name FROM owner`).Scan(&name)
	if err == nil && name != db.owner || errors.Is(err, sql.ErrNoRows) {
		return ErrTaken
	}
	return err
}

// opened identifies the files of an open database. Another process can move, delete or
// overwrite them; the next start would not find later writes.
type opened struct {
	// Closing any descriptor of the file or of the index of the log releases SQLite's locks
	// on it. The next program that reads the file would then remove the log.
	db, wal, shm *os.File
	infos        []os.FileInfo // info of these files, set by remember
	last         atomic.Pointer[contents]
	buffer       []byte // for checkContents
}

// companions are the suffixes of the names of the files in opened.
var companions = []string{"", "-wal", "-shm"}

// remember records the identity and the contents of the open files. The write-ahead log must
// exist. It reports whether overwritten files will be detected.
func (o *opened) remember(path string) (notices bool, err error) {
	if o.wal, err = os.Open(path + "-wal"); err != nil {
		return false, err
	}
	if o.shm, err = os.Open(path + "-shm"); err != nil {
		return false, err
	}
	for _, suffix := range companions {
		info, err := os.Stat(path + suffix)
		if err != nil {
			return false, err
		}
		o.infos = append(o.infos, info)
	}
	return o.rememberContents()
}

// check returns ErrMoved if path no longer leads to the open files.
func (o *opened) check(path string) error {
	for i, info := range o.infos {
		if err := checkFile(path+companions[i], info); err != nil {
			return err
		}
	}
	return nil
}

// close closes the files.
func (o *opened) close() error {
	var errs []error
	for _, f := range []*os.File{o.db, o.wal, o.shm} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// checkFile returns ErrMoved if name does not lead to the file was.
func checkFile(name string, was os.FileInfo) error {
	is, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMoved, err)
	}
	if !os.SameFile(is, was) {
		return fmt.Errorf("%w: %s is another file now", ErrMoved, name)
	}
	return nil
}

// refuseHardLinks returns an error for a file with several names: SQLite uses a
// write-ahead log for each name, and two logs damage the file.
func refuseHardLinks(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if n := links(info); n > 1 {
		return fileError(Linked, nil,
			"the database %s has %d hard links, and each would get its own write-ahead log: copy the file, or remove the other links", path, n)
	}
	return nil
}
