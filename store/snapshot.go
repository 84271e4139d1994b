package store

import (
	"context"

	"tracker/store/json"
)

// Snapshot is the code and the environment of a run.
type Snapshot struct {
	ID          string `json:"id" db:"id"`
	IterationID string `json:"iteration_id" db:"iteration_id"`
	NewSnapshot
	CreatedDate Time `json:"created_date" db:"created_date"`
}

// NewSnapshot holds the arguments of CreateSnapshot; all are optional.
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

const snapshotColumns = `
	snapshot.id,
	iteration.id AS iteration_id,
	snapshot.git_sha,
	snapshot.git_dirty,
	snapshot.git_remote,
	snapshot.git_diff,
	snapshot.entrypoint,
	snapshot.command,
	snapshot.hostname,
	snapshot.runtime,
	snapshot.dependencies,
	snapshot.created_date
	FROM snapshot JOIN iteration ON iteration.num = snapshot.iteration_num`

// Snapshot returns the code and environment of a run; NOT_FOUND when none was
// recorded. Needs read.
func (v *View) Snapshot(iterationID string) (s Snapshot, err error) {
	it, err := v.tx.allowIteration(v.actor, iterationID, rightRead)
	if err != nil {
		return s, err
	}
	err = v.tx.Get(&s, `SELECT `+snapshotColumns+` WHERE snapshot.iteration_num = ?`, it.num)
	return s, orNotFound(err, "snapshot of this iteration")
}

// Snapshots returns the code and environment of those of up to MaxLimit runs that
// have recorded them, by the id of the iteration. NOT_FOUND when a run does not
// exist. Needs read for all of them.
func (v *View) Snapshots(iterationIDs []string) (map[string]Snapshot, error) {
	states, err := v.tx.allowIterations(v.actor, iterationIDs, rightRead)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(numsOf(states))
	if err != nil {
		return nil, err
	}
	var size int64
	err = v.tx.Row(`SELECT coalesce(sum(octet_length(git_diff) + octet_length(dependencies) + octet_length(command) + octet_length(runtime) + ?), 0)
		FROM snapshot
		WHERE iteration_num IN (SELECT value FROM json_each(?))`, iterationBytes, string(list)).Scan(&size)
	if err == nil && size > MaxAnswerBytes {
		err = Invalid("id", "The environments of these runs have more than %d MiB; ask for fewer runs.", MaxAnswerBytes>>20)
	}
	if err == nil {
		err = Take(v.tx.Context(), size)
	}
	if err != nil {
		return nil, err
	}
	var rows []Snapshot
	err = v.tx.Select(&rows, `SELECT `+snapshotColumns+`
		WHERE snapshot.iteration_num IN (SELECT value FROM json_each(?))`, string(list))
	all := map[string]Snapshot{}
	for _, s := range rows {
		all[s.IterationID] = s
	}
	return all, err
}

// Snapshot is View.Snapshot.
func (db *DB) Snapshot(ctx context.Context, actor Actor, iterationID string) (Snapshot, error) {
	return view(ctx, db, actor, func(v *View) (Snapshot, error) { return v.Snapshot(iterationID) })
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
		_, err = tx.Exec(`INSERT OR REPLACE INTO snapshot
			(iteration_num, id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			it.num, id, n.GitSHA, n.GitDirty, n.GitRemote, n.GitDiff, n.Entrypoint, n.Command, n.Hostname,
			n.Runtime, n.Dependencies, tx.now)
		tx.noteIteration(it.iterationRef)
		return Created{ID: id}, err
	})
}
