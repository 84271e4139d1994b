package store

import "context"

// Snapshot is the code and the environment of a run.
type Snapshot struct {
	ID          string `json:"id" db:"id"`
	IterationID string `json:"iteration_id" db:"iteration_id"`
	NewSnapshot
	CreatedDate Time `json:"created_date" db:"created_date"`
}

// NewSnapshot is what CreateSnapshot takes; all of it is optional.
type NewSnapshot struct {
	GitSHA       string `json:"git_sha" db:"git_sha"`
	GitDirty     *bool  `json:"git_dirty" db:"git_dirty"`
	GitRemote    string `json:"git_remote" db:"git_remote"`
	GitDiff      string `json:"git_diff" db:"git_diff"`
	Entrypoint   string `json:"entrypoint" db:"entrypoint"`
	Command      string `json:"command" db:"command"`
	Hostname     string `json:"hostname" db:"hostname"`
	Runtime      string `json:"runtime" db:"runtime"`
	Dependencies string `json:"dependencies" db:"dependencies"`
}

// Snapshot returns the code and environment of a run; NOT_FOUND when none was
// recorded. Needs read.
func (db *DB) Snapshot(ctx context.Context, actor Actor, iterationID string) (Snapshot, error) {
	return read(ctx, db, func(tx *tx) (s Snapshot, err error) {
		it, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return s, err
		}
		err = tx.get(&s, `SELECT
				id,
				git_sha,
				git_dirty,
				git_remote,
				git_diff,
				entrypoint,
				command,
				hostname,
				runtime,
				dependencies,
				created_date
			FROM snapshot WHERE iteration_num = ?`, it.num)
		s.IterationID = iterationID
		return s, orNotFound(err, "snapshot of this iteration")
	})
}

// CreateSnapshot records the code and environment of a run, in place of what
// was recorded before. Needs update; the iteration must not have ended.
func (db *DB) CreateSnapshot(ctx context.Context, actor Actor, iterationID string, n NewSnapshot) (Created, error) {
	err := firstError(
		checkText("git_sha", n.GitSHA),
		checkText("git_remote", n.GitRemote),
		checkText("git_diff", n.GitDiff),
		checkText("entrypoint", n.Entrypoint),
		checkText("command", n.Command),
		checkText("hostname", n.Hostname),
		checkText("runtime", n.Runtime),
		checkText("dependencies", n.Dependencies))
	if err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		it, err := tx.allowOpenIteration(actor, iterationID, rightUpdate)
		if err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.exec(`INSERT OR REPLACE INTO snapshot
			(iteration_num, id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			it.num, id, n.GitSHA, n.GitDirty, n.GitRemote, n.GitDiff, n.Entrypoint, n.Command, n.Hostname,
			n.Runtime, n.Dependencies, tx.now)
		tx.noteIteration(it.iterationRef)
		return Created{ID: id}, err
	})
}
