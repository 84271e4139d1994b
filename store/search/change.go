package search

import (
	"database/sql"
	"errors"

	"tracker/store/sqlite"
)

const (
	// maxChanged is the maximum number of iterations whose last change is stored. If more
	// iterations have changed, all experiments count as changed.
	maxChanged = 10_000
	// maxChangedIn is the maximum number of iterations of one experiment whose last change is
	// stored.
	maxChangedIn = 500
)

// changes holds the changes that a transaction of the writer makes to data that searches read.
type changes struct {
	iterations map[touched]bool
	all        bool // whether any data might have changed
}

// touched identifies an iteration that a transaction changes.
type touched struct {
	experimentID string
	num          int64
}

// experimentChanges holds the last changes in one experiment. Changes are identified by their
// commit number.
type experimentChanges struct {
	last       uint64           // commit of the last change
	whole      uint64           // iterations includes all changes after this commit
	iterations map[int64]uint64 // commit of each iteration's last change, by iteration number
}

// Touch records that the current transaction changes an iteration's row or rows that refer to
// the iteration. The writer must call Touch for every change of data that searches read. Only
// the writer may call Touch.
func (o *Orders) Touch(experimentID string, num int64) {
	if o.pending.iterations == nil {
		o.pending.iterations = map[touched]bool{}
	}
	o.pending.iterations[touched{experimentID, num}] = true
}

// Load marks all experiments as changed if another process has changed the file.
func (o *Orders) Load(_ *sqlite.Tx, foreign bool) error {
	o.pending.all = o.pending.all || foreign
	return nil
}

// Flush records the changes of the transaction before the commit. The changes are recorded
// before any snapshot can show the commit. The changes of a failed transaction are recorded as
// well.
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

// Committed increments the number of commits.
func (o *Orders) Committed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commits++
}

// changeAll records that any data might have changed. The caller must hold o.mu.
func (o *Orders) changeAll(commit uint64) {
	o.all, o.size = commit, 0
	clear(o.changed)
}

// change records that iteration t has changed. The caller must hold o.mu.
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

// last returns the number of the last commit that might have changed one of the given
// experiments. The caller must hold o.mu.
func (o *Orders) last(experimentIDs []string) uint64 {
	last := o.all
	for _, id := range experimentIDs {
		if c := o.changed[id]; c != nil {
			last = max(last, c.last)
		}
	}
	return last
}

// whole returns the last commit whose changes in the given experiments are not all known by
// iteration. The method since returns all changed iterations of later commits. The caller must
// hold o.mu.
func (o *Orders) whole(experimentIDs []string) uint64 {
	whole := o.all
	for _, id := range experimentIDs {
		if c := o.changed[id]; c != nil {
			whole = max(whole, c.whole)
		}
	}
	return whole
}

// since returns the iterations of the given experiments that have changed after the given
// commit. The commit must be at least whole(experimentIDs). The caller must hold o.mu.
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

// Commits returns the number of commits so far. A snapshot that begins after the call includes
// all counted commits.
func (o *Orders) Commits() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.commits
}

// Foreign is the participant of a process that does not hold the lock of the file. It counts
// the commits of the process in table counter. The process that holds the lock detects the
// counted commits in a snapshot.
type Foreign struct{ sqlite.Passive }

// Flush adds 1 to the number of commits in table counter.
func (Foreign) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
	if stage == sqlite.AroundJob {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO counter (name, value) VALUES ('foreign_commits', 1)
		ON CONFLICT (name) DO UPDATE SET value = value + 1`)
	return err
}

// foreignCommits returns the number of commits of processes without the lock of the file.
func (s *Snapshot) foreignCommits() (n int64, err error) {
	err = s.Row(`SELECT value FROM counter WHERE name = 'foreign_commits'`).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
