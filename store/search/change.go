package search

import (
	"database/sql"
	"errors"

	"tracker/store/sqlite"
)

const (
	// maxChanged bounds the number of iterations whose last change is stored. If it is
	// exceeded, all experiments count as changed.
	maxChanged = 10_000
	// maxChangedIn is the same bound for one experiment.
	maxChangedIn = 500
)

// changes are the changes of a transaction of the writer to data that searches read.
type changes struct {
	iterations map[touched]bool
	all        bool // anything may have changed
}

// touched is an iteration that a transaction changes.
type touched struct {
	experimentID string
	num          int64
}

// experimentChanges holds the last changes in an experiment.
type experimentChanges struct {
	last       uint64           // commit of the last one
	whole      uint64           // iterations holds all changes after this commit
	iterations map[int64]uint64 // commit of the last change of each, by number
}

// Touch records that the current transaction changes an iteration: its row, or rows that
// belong to it. Only the writer may call Touch. It must do so for every change of data that
// searches read.
func (o *Orders) Touch(experimentID string, num int64) {
	if o.pending.iterations == nil {
		o.pending.iterations = map[touched]bool{}
	}
	o.pending.iterations[touched{experimentID, num}] = true
}

// Load records a change of all experiments if another process has changed the file.
func (o *Orders) Load(_ *sqlite.Tx, foreign bool) error {
	o.pending.all = o.pending.all || foreign
	return nil
}

// Flush publishes the changes of the transaction before it is committed, so that a snapshot
// that shows the commit does not find an order without it. If the transaction fails, it
// still counts as a change.
func (o *Orders) Flush(_ *sqlite.Tx, stage sqlite.Stage) error {
	if stage == sqlite.AroundJob {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	commit := o.commits + 1
	if o.pending.all {
		o.changeAll(commit)
	}
	for t := range o.pending.iterations {
		o.change(t, commit)
	}
	clear(o.pending.iterations)
	o.pending.all = false
	return nil
}

// Committed counts the commit.
func (o *Orders) Committed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commits++
}

// changeAll records that anything may have changed. o.mu must be held.
func (o *Orders) changeAll(commit uint64) {
	o.all, o.size = commit, 0
	clear(o.changed)
}

// change records that an iteration has changed. o.mu must be held.
func (o *Orders) change(t touched, commit uint64) {
	c := o.changed[t.experimentID]
	if c == nil {
		if o.changed == nil {
			o.changed = map[string]*experimentChanges{}
		}
		c = &experimentChanges{iterations: map[int64]uint64{}}
		o.changed[t.experimentID] = c
	}
	c.last = commit
	if _, ok := c.iterations[t.num]; !ok {
		if len(c.iterations) >= maxChangedIn {
			c.whole = commit
			o.size -= len(c.iterations)
			clear(c.iterations)
			return
		}
		o.size++
	}
	c.iterations[t.num] = commit
	if o.size > maxChanged || len(o.changed) > maxChanged {
		o.changeAll(commit)
	}
}

// last returns the number of the last commit that may have changed one of the
// experiments. o.mu must be held.
func (o *Orders) last(experimentIDs []string) uint64 {
	last := o.all
	for _, id := range experimentIDs {
		if c := o.changed[id]; c != nil {
			last = max(last, c.last)
		}
	}
	return last
}

// whole returns the number of the last commit whose changes in the experiments are not
// all known by iteration. o.mu must be held.
func (o *Orders) whole(experimentIDs []string) uint64 {
	whole := o.all
	for _, id := range experimentIDs {
		if c := o.changed[id]; c != nil {
			whole = max(whole, c.whole)
		}
	}
	return whole
}

// since returns the iterations of the experiments that have changed after a commit, which
// must be at least whole. o.mu must be held.
func (o *Orders) since(experimentIDs []string, commit uint64) (nums []int64) {
	for _, id := range experimentIDs {
		if c := o.changed[id]; c != nil && c.last > commit {
			for num, at := range c.iterations {
				if at > commit {
					nums = append(nums, num)
				}
			}
		}
	}
	return nums
}

// Commits returns the number of commits so far. A snapshot that is taken afterwards shows
// all of them.
func (o *Orders) Commits() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.commits
}

// Foreign is a participant for a process that does not have the lock of the file. It counts
// its commits in table counter, so that the process with the lock can detect them in each
// snapshot.
type Foreign struct{ sqlite.Passive }

// Flush counts the commit.
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
