package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Snapshot describes the code and the environment of a run.
type Snapshot struct {
	ID          string `json:"id" db:"id"`
	IterationID string `json:"iteration_id" db:"iteration_id"`
	NewSnapshot
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
}

// NewSnapshot holds the arguments of CreateSnapshot. All fields are optional.
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

// Snapshot returns the code and the environment of a run. It returns NOT_FOUND if the run has
// not recorded them. The actor needs the right to read.
func (v *View) Snapshot(iterationID string) (s Snapshot, err error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return s, err
	}
	err = v.tx.Get(&s, `SELECT `+snapshotColumns+` WHERE snapshot.iteration_num = ?`, it.Num)
	return s, domain.OrNotFound(err, "snapshot")
}

// Snapshots returns the code and the environment of runs, by iteration id. It omits runs
// without a snapshot. It returns NOT_FOUND if a run does not exist. At most MaxLimit ids are
// allowed. The actor needs the right to read every run.
func (v *View) Snapshots(iterationIDs []string) (map[string]Snapshot, error) {
	states, err := v.tx.AllowIterations(v.tx.Actor, iterationIDs, domain.RightRead)
	if err != nil {
		return nil, err
	}
	list := sqlite.JSON(domain.NumsOf(states))
	var size int64
	err = v.tx.Row(`SELECT coalesce(sum(octet_length(git_diff) + octet_length(dependencies) + octet_length(command) + octet_length(runtime) + ?), 0)
		FROM snapshot
		WHERE iteration_num IN (SELECT value FROM json_each(?))`, iterationBytes, list).Scan(&size)
	if err == nil && size > domain.MaxAnswerBytes {
		err = domain.Invalid("id", "The environments of these runs have more than %d MiB; request fewer runs.", domain.MaxAnswerBytes>>20)
	}
	if err == nil {
		err = domain.Take(v.tx.Context(), size)
	}
	if err != nil {
		return nil, err
	}
	var rows []Snapshot
	err = v.tx.Select(&rows, `SELECT `+snapshotColumns+`
		WHERE snapshot.iteration_num IN (SELECT value FROM json_each(?))`, list)
	all := map[string]Snapshot{}
	for _, s := range rows {
		all[s.IterationID] = s
	}
	return all, err
}

// Snapshot calls View.Snapshot in a new read transaction.
func (db *DB) Snapshot(ctx context.Context, actor domain.Actor, iterationID string) (Snapshot, error) {
	return view(ctx, db, actor, func(v *View) (Snapshot, error) { return v.Snapshot(iterationID) })
}

// CreateSnapshot records the code and the environment of a run. It replaces an earlier
// snapshot. The iteration must not have ended. The actor needs the right to update.
func (db *DB) CreateSnapshot(ctx context.Context, actor domain.Actor, iterationID string, n NewSnapshot) (domain.Created, error) {
	err := domain.FirstError(
		domain.CheckText("git_sha", n.GitSHA),
		domain.CheckText("git_remote", n.GitRemote),
		domain.CheckText("git_diff", n.GitDiff),
		domain.CheckText("entrypoint", n.Entrypoint),
		domain.CheckText("command", n.Command),
		domain.CheckText("hostname", n.Hostname),
		domain.CheckText("runtime", n.Runtime),
		domain.CheckText("dependencies", n.Dependencies))
	if err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		it, err := tx.AllowOpenIteration(actor, iterationID, domain.RightUpdate)
		if err != nil {
			return domain.Created{}, err
		}
		id := domain.NewID()
		_, err = tx.Exec(`INSERT OR REPLACE INTO snapshot
			(iteration_num, id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			it.Num, id, n.GitSHA, n.GitDirty, n.GitRemote, n.GitDiff, n.Entrypoint, n.Command, n.Hostname,
			n.Runtime, n.Dependencies, tx.Now)
		return domain.Created{ID: id}, err
	})
}
