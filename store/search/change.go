package search

import (
	"database/sql"
	"errors"

	"tracker/store/sqlite"
)

// Touch records that the current transaction changes an iteration of the experiment, or rows
// that refer to the iteration. The writer must call Touch for every change of data that
// searches read, before the commit. Only the writer may call Touch.
func (o *Orders) Touch(experimentID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.changed) >= maxChanged {
		o.changed, o.all = nil, o.commits+1
	}
	if o.changed == nil {
		o.changed = map[string]uint64{}
	}
	o.changed[experimentID] = o.commits + 1
}

// Load marks all experiments as changed if another process has changed the file.
func (o *Orders) Load(_ *sqlite.Tx, foreign bool) error {
	if foreign {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = o.commits + 1
	}
	return nil
}

// Committed increments the number of commits.
func (o *Orders) Committed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commits++
}

// last returns the number of the last commit that might have changed one of the given
// experiments. The caller must hold o.mu.
func (o *Orders) last(experimentIDs []string) uint64 {
	last := o.all
	for _, id := range experimentIDs {
		last = max(last, o.changed[id])
	}
	return last
}

// Commits returns the number of commits so far. A snapshot that begins after the call includes
// all counted commits.
func (o *Orders) Commits() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.commits
}

// Foreign is the participant of a process that does not hold the lock of the file. It counts the
// commits of the process in the counter table. The process that holds the lock detects the
// counted commits in a snapshot.
type Foreign struct{ sqlite.Passive }

// Flush adds 1 to the number of commits in the counter table.
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
