package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tracker/store/domain"
	"tracker/store/sqlite"
)

// countPause is the time between two commits that are counted.
const countPause = 5 * time.Second

// writeCount notices a write-ahead log that was deleted. The log has what was
// written last; without it the file opens as it was at the last checkpoint, and
// nothing is amiss in it. So a server counts commits, at most one each countPause,
// in table counter and after the commit in the lock file, which is not a part of
// the database. A file with a lower count than the lock file has lost commits, or
// is an older copy.
type writeCount struct {
	sqlite.Passive
	db   *DB
	n    int64
	next time.Time
	new  bool // the transaction has counted
}

// countLossMessage describes a database that has lost commits.
const countLossMessage = "The database lacks what was written last: its write-ahead log (%s-wal) was deleted, or it is an older copy. Stop the server and put the log back, if there is one; otherwise restore what is missing from a backup."

// Load reads the count.
func (c *writeCount) Load(tx *sqlite.Tx, _ bool) (err error) {
	c.n, err = countOf(tx)
	return err
}

// Flush counts the transaction, if the last one was long enough ago.
func (c *writeCount) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
	if stage != sqlite.BeforeCommit || c.db.base.Now().Before(c.next) {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO counter (name, value) VALUES ('write_count', ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, c.n+1)
	c.new = err == nil
	return err
}

// Committed writes the count beside the database.
func (c *writeCount) Committed() {
	if !c.new {
		return
	}
	c.new = false
	c.n++
	c.next = c.db.base.Now().Add(countPause)
	if err := c.db.base.Kernel.SetNote(strconv.FormatInt(c.n, 10)); err != nil {
		c.db.base.Log.Warn("the count of commits could not be written to the lock file", "error", err)
	}
}

// RolledBack forgets the count of the transaction.
func (c *writeCount) RolledBack(int64) { c.new = false }

// countOf returns the count that the database has.
func countOf(tx *sqlite.Tx) (n int64, err error) {
	err = tx.Row(`SELECT value FROM counter WHERE name = 'write_count'`).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// hasLostWrites reports whether the lock file has a higher count than the
// database. note must have been read before the snapshot was taken.
func hasLostWrites(tx *domain.Tx, note string) (bool, error) {
	n, err := countOf(tx.Tx)
	want, failed := strconv.ParseInt(note, 10, 64)
	return failed == nil && want > n, err
}

// lostWrites is hasLostWrites as a problem.
func lostWrites(tx *domain.Tx, note string) ([]Problem, error) {
	lost, err := hasLostWrites(tx, note)
	if err != nil || !lost {
		return nil, err
	}
	return []Problem{{Text: fmt.Sprintf(countLossMessage, tx.DB.Kernel.Path())}}, nil
}

// logLostWrites logs, at the start of a server, that commits were lost.
func (db *DB) logLostWrites(tx *domain.Tx) error {
	lost, err := hasLostWrites(tx, db.base.Kernel.FormerNote())
	if err == nil && lost {
		db.base.Log.Warn(fmt.Sprintf(countLossMessage, db.Path()))
	}
	return err
}
