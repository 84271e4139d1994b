package sqlite

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// claim writes a name for this process into the owner table. If another process replaces the
// name, this process has lost the database and must not write.
//
// The lock file alone does not prevent two owners. If the locked file is removed, a second process
// creates and locks a new lock file.
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
		_, _ = tx.Exec(`ROLLBACK`) // fails if SQLite has already rolled back
	}
	return err
}

// checkOwner returns ErrTaken if another process has claimed the database.
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

// opened identifies the files of an open database. If another program moves, deletes or
// overwrites these files, writes after that would be lost at the next start.
type opened struct {
	// These descriptors must stay open until SQLite has closed the database. Closing any
	// descriptor of db or shm releases SQLite's locks on the file. Without these locks, the
	// next program that reads the database would remove the log.
	db, wal, shm *os.File
	infos        []os.FileInfo // results of os.Stat for companions, set by remember
	last         atomic.Pointer[contents]
	buffer       []byte // page buffer of checkContents
}

// companions are the suffixes of the three file names: database, write-ahead log and log index.
var companions = []string{"", "-wal", "-shm"}

// remember records the identity and the contents of the open files. The write-ahead log must
// exist. notices reports whether checkContents will detect that a program has overwritten the
// files.
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

// close closes the three files.
func (o *opened) close() error {
	var errs []error
	for _, f := range []*os.File{o.db, o.wal, o.shm} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// checkFile returns ErrMoved if the named file is not the file with the recorded info.
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

// refuseHardLinks returns a *FileError if the file has several hard links. SQLite uses a
// separate write-ahead log for each name, and two logs would damage the file.
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
