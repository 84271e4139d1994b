package search

import (
	"database/sql"
	"errors"

	"tracker/store/sqlite"
)

// changes is what a transaction of the writer changes of what searches read.
type changes struct {
	experiments map[string]bool
	all         bool // anything may have changed
	within      bool // the job under way has called Within
}

// maxChanged bounds the experiments whose last change is known. Beyond it all count as
// changed.
const maxChanged = 10_000

// Touch records that something changes in an experiment. It and Within are for the writer
// only.
func (o *Orders) Touch(experimentID string) {
	if o.pending.experiments == nil {
		o.pending.experiments = map[string]bool{}
	}
	o.pending.experiments[experimentID] = true
}

// Within records that a Change job changes nothing that searches read but in the
// experiments that it touches. A job that does not call it counts as a change of all.
func (o *Orders) Within() { o.pending.within = true }

// Changed records what a Change job has changed.
func (o *Orders) Changed() {
	o.pending.all = o.pending.all || !o.pending.within
	o.pending.within = false
}

// RolledBack forgets the job under way. What it has touched counts as changed.
func (o *Orders) RolledBack(int64) { o.pending.within = false }

// Load counts a change of all experiments when another process has changed the file.
func (o *Orders) Load(_ *sqlite.Tx, foreign bool) error {
	o.pending.all = o.pending.all || foreign
	return nil
}

// Committed counts the transaction.
func (o *Orders) Committed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commits++
	if o.pending.all || len(o.changed)+len(o.pending.experiments) > maxChanged {
		o.all = o.commits
		clear(o.changed)
	} else {
		if o.changed == nil {
			o.changed = map[string]uint64{}
		}
		for id := range o.pending.experiments {
			o.changed[id] = o.commits
		}
	}
	clear(o.pending.experiments)
	o.pending.all = false
}

// last returns the number of the last commit that may have changed one of the
// experiments. o.mu is held.
func (o *Orders) last(experimentIDs []string) uint64 {
	last := o.all
	for _, id := range experimentIDs {
		last = max(last, o.changed[id])
	}
	return last
}

// Commits returns the number of commits so far. A snapshot that is taken afterwards shows
// all of them.
func (o *Orders) Commits() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.commits
}

// Foreign is a participant of the commits of a process that has not the lock of the file.
// It counts them in table counter, so that the process with the lock knows in each
// snapshot that there were some.
type Foreign struct{ sqlite.Passive }

// Flush counts the transaction.
func (Foreign) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
	if stage == sqlite.AroundJob {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO counter (name, value) VALUES ('foreign_commits', 1)
		ON CONFLICT (name) DO UPDATE SET value = value + 1`)
	return err
}

// foreignCommits returns the number of commits of processes without the lock.
func (s *Snapshot) foreignCommits() (n int64, err error) {
	err = s.Row(`SELECT value FROM counter WHERE name = 'foreign_commits'`).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
