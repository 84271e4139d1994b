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

// countPause is the minimum time between two counted commits.
const countPause = 5 * time.Second

// writeCount detects a deleted write-ahead log. The log holds the latest commits. If it was
// deleted, the file opens in the state of the last checkpoint, and SQLite reports no error.
//
// A server counts commits, at most one commit per countPause. It stores the count in the counter
// table. After the commit, it also stores the count in the lock file, which is not a part of the
// database. If the count in the database is below the count in the lock file, commits were lost,
// or the database is an older copy.
type writeCount struct {
	sqlite.Passive
	db   *DB
	n    int64
	next time.Time
	new  bool // the current transaction has increased the count
}

// countLossMessage is the message for a database that has lost commits.
const countLossMessage = "The database lacks the latest writes: its write-ahead log (%s-wal) was deleted, or it is an older copy. Stop the server and put the log back, if there is one; otherwise restore the missing data from a backup."

// Load reads the count from the database.
func (c *writeCount) Load(tx *sqlite.Tx, _ bool) (err error) {
	c.n, err = countOf(tx)
	return err
}

// Flush increases the count in the database if at least countPause has passed since the last
// increase.
func (c *writeCount) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
	if stage != sqlite.BeforeCommit || c.db.base.Now().Before(c.next) {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO counter (name, value) VALUES ('write_count', ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, c.n+1)
	c.new = err == nil
	return err
}

// Committed writes the new count to the lock file.
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

// RolledBack discards the increase of the current transaction.
func (c *writeCount) RolledBack(int64) { c.new = false }

// countOf returns the count in the database.
func countOf(tx *sqlite.Tx) (n int64, err error) {
	err = tx.Row(`SELECT value FROM counter WHERE name = 'write_count'`).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// hasLostWrites reports whether note, the count in the lock file, is above the count in the
// database. The caller must read note before the snapshot is taken.
func hasLostWrites(tx *domain.Tx, note string) (bool, error) {
	n, err := countOf(tx.Tx)
	want, failed := strconv.ParseInt(note, 10, 64)
	return failed == nil && want > n, err
}

// lostWrites returns a problem if hasLostWrites reports true.
func lostWrites(tx *domain.Tx, note string) ([]Problem, error) {
	lost, err := hasLostWrites(tx, note)
	if err != nil || !lost {
		return nil, err
	}
	return []Problem{{Text: fmt.Sprintf(countLossMessage, tx.DB.Kernel.Path())}}, nil
}

// logLostWrites logs a warning if commits were lost. Open calls it for a server.
func (db *DB) logLostWrites(tx *domain.Tx) error {
	lost, err := hasLostWrites(tx, db.base.Kernel.FormerNote())
	if err == nil && lost {
		db.base.Log.Warn(fmt.Sprintf(countLossMessage, db.Path()))
	}
	return err
}
