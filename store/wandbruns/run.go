package wandbruns

import (
	"context"
	"strings"

	"tracker/store/access"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb"
)

// maxWandbName bounds the id of a run in W&B, in bytes.
const maxWandbName = 1000

// WandbExperiment is the name of the experiment that the runs of a project of W&B are
// in.
const WandbExperiment = "default"

// wandbTx returns what W&B's clients say as the transaction sees it.
func wandbTx(tx *access.Tx) wandb.Tx {
	return wandb.Tx{Tx: tx.Points(), Now: tx.Now, Take: func(bytes int64) error { return access.Take(tx.Context(), bytes) }}
}

// wandbRun returns what is known of a run.
func wandbRun(tx *access.Tx, it access.IterationRef) (wandb.Run, error) {
	return wandbTx(tx).Run(it.Num, it.ID)
}

// wandbID returns the id of the iteration that a run of W&B is.
func wandbID(projectID, name string) string {
	return transfer.ID("wandb", "run", projectID, name).String()
}

// WandbRunOf returns what W&B's clients have said about an iteration. Needs read.
func (v *View) WandbRunOf(id string) (wandb.Run, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, access.RightRead)
	if err != nil {
		return wandb.Run{}, err
	}
	return wandbRun(v.tx, it.IterationRef)
}

// WandbProject returns the id of the project with this name or id: of several with the
// name one that the actor was given the right to add to, or else one that it was given
// the right to read, or else the oldest. NOT_FOUND when there is none. It needs no
// right, since whatever is done with the id does.
func (v *View) WandbProject(name string) (string, error) {
	return wandbProjectNamed(v.tx, v.tx.Actor, name)
}

func wandbProjectNamed(tx *access.Tx, actor access.Actor, name string) (id string, err error) {
	err = tx.Row(`SELECT project.id FROM project
		LEFT JOIN user_permission ON user_permission.project_id = project.id AND user_permission.user_id = ?
		WHERE (project.name = ? OR project.id = ?) AND project.deleted_date IS NULL
		ORDER BY
			coalesce(user_permission.create_permission, 0) DESC,
			coalesce(user_permission.read_permission, 0) DESC,
			project.created_date,
			project.id
		LIMIT 1`, actor.UserID, transfer.FitName(name), name).Scan(&id)
	return id, access.OrNotFound(err, "project")
}

// WandbIteration returns the id of the iteration that is the run with a name in a
// project, both as W&B's clients name them; NOT_FOUND when there is none. It needs no
// right, since whatever is done with the id does.
func (v *View) WandbIteration(project, name string) (string, error) {
	projectID, err := wandbProjectNamed(v.tx, v.tx.Actor, project)
	if err != nil {
		return "", err
	}
	return wandbIteration(v.tx, projectID, name)
}

func wandbIteration(tx *access.Tx, projectID, name string) (id string, err error) {
	err = tx.Row(`SELECT iteration.id FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id IN (?, ?) AND experiment.project_id = ? AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL
		ORDER BY iteration.id = ? DESC LIMIT 1`,
		wandbID(projectID, name), strings.ToLower(name), projectID, wandbID(projectID, name)).Scan(&id)
	return id, access.OrNotFound(err, "run")
}

// WandbChange is what SaveWandbRun writes; nil leaves a field as it is.
type WandbChange struct {
	ID      string // of the iteration; "" for the run with Name in Project
	Project string
	Name    string

	DisplayName, Notes, Group, JobType, Config, Summary, Host, Program, Remote, Commit, Sweep *string
	Tags                                                                                      []string
	State                                                                                     *string
}

// WandbSaved is the run as it is after SaveWandbRun.
type WandbSaved struct {
	wandb.Run
	ID       string // of the iteration
	Inserted bool
}

// SaveWandbRun writes what a client says about a run. A run that does not exist is
// made, with its experiment and project; one that its client has ended is opened
// again, unless it is named by ID. Names, texts and values that are too long are cut,
// which Run.Lost says. Needs create, and update where something is replaced.
// CONFLICT when the run is in the trash.
func (db *DB) SaveWandbRun(ctx context.Context, actor access.Actor, c WandbChange) (WandbSaved, error) {
	if len(c.Name) > maxWandbName {
		return WandbSaved{}, access.Invalid("name", "The id of a run has up to %d bytes.", maxWandbName)
	}
	return access.Write(ctx, db.base, actor, func(tx *access.Tx) (WandbSaved, error) {
		it, inserted, err := wandbTarget(tx, c)
		if err != nil {
			return WandbSaved{}, err
		}
		w, err := wandbRun(tx, it.IterationRef)
		if err != nil {
			return WandbSaved{}, err
		}
		if inserted {
			w.RunID = c.Name
		}
		if err := changeWandbRun(tx, it, &w, c, inserted); err != nil {
			return WandbSaved{}, err
		}
		tx.NoteIteration(it.IterationRef)
		return WandbSaved{w, it.ID, inserted}, wandbTx(tx).Save(it.Num, w)
	})
}

// wandbTarget returns the iteration that a change is about. It is made when there is
// none.
func wandbTarget(tx *access.Tx, c WandbChange) (it access.IterationState, inserted bool, err error) {
	if c.ID != "" {
		it, err = tx.AllowIteration(tx.Actor, c.ID, access.RightUpdate)
		return it, false, err
	}
	projectID, err := wandbProject(tx, c.Project)
	if err != nil {
		return it, false, err
	}
	id, err := wandbIteration(tx, projectID, c.Name)
	if err == nil {
		it, err = tx.AllowIteration(tx.Actor, id, access.RightCreate)
		return it, false, err
	}
	if access.AsError(err).Code != access.CodeNotFound {
		return it, false, err
	}
	id = wandbID(projectID, c.Name)
	if deleted, err := tx.Has(`SELECT 1 FROM iteration WHERE id = ?`, id); err != nil || deleted {
		return it, false, access.FirstError(err, &access.Error{Code: access.CodeConflict, Field: "id",
			Message: "The run " + scalar.Quote(c.Name) + " is in the trash; restore it there, or start one with another id."})
	}
	experimentID, err := wandbExperiment(tx, projectID)
	if err != nil {
		return it, false, err
	}
	name := transfer.FitName(c.Name)
	if _, err := runs.InsertIteration(tx, experimentID, runs.NewIteration{ID: &id, Name: &name}); err != nil {
		return it, false, err
	}
	it, err = tx.AllowIteration(tx.Actor, id, access.RightCreate)
	return it, true, err
}

// wandbProject returns the id of the project that a run of this name belongs to, which
// is made when the actor may not add to one that has the name.
func wandbProject(tx *access.Tx, name string) (string, error) {
	id, err := wandbProjectNamed(tx, tx.Actor, name)
	if err == nil {
		err = tx.Allow(tx.Actor, id, access.RightCreate)
	}
	if err == nil {
		return id, nil
	}
	if code := access.AsError(err).Code; code != access.CodeNotFound && code != access.CodeProjectPermissionRequired {
		return "", err
	}
	created, err := tx.InsertProject(tx.Actor, access.NewProject{Name: transfer.FitName(name)})
	return created.ID, err
}

// wandbExperiment returns the id of the experiment of W&B's runs in a project, which is
// made when there is none and opened when it was ended.
func wandbExperiment(tx *access.Tx, projectID string) (string, error) {
	if err := tx.AllowProject(tx.Actor, projectID, access.RightCreate); err != nil {
		return "", err
	}
	id, err := tx.FirstOr("experiment", transfer.ID("experiment", projectID, WandbExperiment).String(), func(id string) error {
		_, err := tx.Exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date) VALUES (?, ?, ?, '', ?, ?)`,
			id, projectID, WandbExperiment, access.InProgress, tx.Now)
		return err
	}, `SELECT id FROM experiment WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
		WandbExperiment, projectID)
	if err == nil {
		_, err = tx.Exec(`UPDATE experiment SET status = ?, end_date = NULL WHERE id = ? AND status <> ?`, access.InProgress, id, access.InProgress)
	}
	return id, err
}

// changeWandbRun writes the fields of a change.
func changeWandbRun(tx *access.Tx, it access.IterationState, w *wandb.Run, c WandbChange, inserted bool) error {
	replaces := false
	set := func(field *string, to *string) {
		if to == nil {
			return
		}
		text := *to
		if text != "" {
			text = transfer.FitName(text)
		}
		if text != *field {
			replaces = replaces || *field != ""
			*field = text
		}
	}
	before := w.Parameters()
	set(&w.Group, c.Group)
	set(&w.JobType, c.JobType)
	set(&w.Host, c.Host)
	set(&w.Program, c.Program)
	set(&w.Sweep, c.Sweep)
	if c.Config != nil {
		w.SetConfig(*c.Config)
	}
	if c.Summary != nil {
		if err := wandbTx(tx).SetSummary(it.Num, w, *c.Summary, it.Ended()); err != nil {
			return err
		}
	}
	changed, err := wandbTx(tx).SetParameters(it.Num, before, w)
	if err != nil {
		return err
	}
	replaces = replaces || changed
	if c.DisplayName != nil && strings.TrimSpace(*c.DisplayName) != "" || c.Notes != nil {
		var name, notes *string
		if c.DisplayName != nil && strings.TrimSpace(*c.DisplayName) != "" {
			name = new(w.FitName("run", *c.DisplayName))
		}
		if c.Notes != nil {
			if notes = new(transfer.FitText(*c.Notes)); len(*notes) < len(*c.Notes) {
				w.Lose("The notes were cut: they may have %d bytes.", access.MaxText)
			}
		}
		n, err := tx.Exec(`UPDATE iteration SET name = coalesce(?1, name), notes = coalesce(?2, notes)
			WHERE num = ?3 AND (name IS NOT coalesce(?1, name) OR notes IS NOT coalesce(?2, notes))`, name, notes, it.Num)
		if err != nil {
			return err
		}
		replaces = replaces || n > 0
	}
	if c.Tags != nil {
		changed, err := wandbTx(tx).SetTags(it.Num, w, c.Tags)
		if err != nil {
			return err
		}
		replaces = replaces || changed
	}
	if c.Remote != nil || c.Commit != nil || c.Program != nil {
		p := runs.SnapshotPatch{GitRemote: fitted(c.Remote), GitSHA: fitted(c.Commit), Entrypoint: fitted(c.Program)}
		if err := runs.PatchSnapshot(tx, it, &p); err != nil {
			return err
		}
	}
	reopened, err := setState(tx, it, w, c)
	if err != nil {
		return err
	}
	if !inserted && (replaces || reopened) {
		return tx.Allow(tx.Actor, it.ProjectID, access.RightUpdate)
	}
	return nil
}

// fitted returns a text as the store takes it, nil for nil.
func fitted(s *string) *string {
	if s == nil {
		return nil
	}
	return new(transfer.FitText(*s))
}

// setState opens a run again that its client had ended, or sets the state that a
// change has.
func setState(tx *access.Tx, it access.IterationState, w *wandb.Run, c WandbChange) (changed bool, err error) {
	p := runs.IterationPatch{Reopen: true}
	switch {
	case c.State != nil:
		status, ok := wandbStates[*c.State]
		if !ok {
			return false, access.Invalid("state", "The state of a run is one of pending, running, finished, failed, crashed, killed and preempted, not %s.", scalar.Quote(*c.State))
		}
		p.Status = &status
		w.Complete = status != access.Running
	case c.ID != "":
		if !it.Ended() {
			tx.Seen = append(tx.Seen, it.Num)
		}
		return false, nil
	default:
		var lastSeen scalar.Time
		if err := tx.Row(`SELECT last_seen FROM iteration WHERE num = ?`, it.Num).Scan(&lastSeen); err != nil {
			return false, err
		}
		lastSeen = tx.DB.LastSeen.Latest(it.Num, lastSeen)
		lost := tx.Now-lastSeen >= scalar.Time(access.LostAfter.Milliseconds())
		if !it.Ended() {
			w.Preempting = w.Preempting && !lost // it begins again
			tx.Seen = append(tx.Seen, it.Num)
			return false, nil
		}
		if !w.Complete && !lost {
			return false, nil // it was ended here, and its client has not been told yet
		}
		p.Status = new(access.Running)
		w.Complete, w.Preempting = false, false
	}
	if *p.Status == it.Status {
		return false, nil
	}
	if *p.Status == access.Running {
		p.ErrorMessage = new("")
	}
	return true, runs.UpdateIteration(tx, tx.Actor, it.ID, p)
}

// wandbStates has the statuses by W&B's names of states.
var wandbStates = map[string]access.IterationStatus{
	"pending": access.Running, "running": access.Running, "finished": access.Succeeded, "failed": access.Failed, "crashed": access.Failed,
	"killed": access.Killed, "preempted": access.Killed, "preempting": access.Running,
}

// WandbSnapshot describes the machine and the code of a run, as a client sent it. A field
// that is "" is not known.
type WandbSnapshot struct{ GitSHA, GitRemote, Entrypoint, Command, Hostname, Runtime string }

// SetWandbSnapshot sets the fields of the snapshot of an iteration that are known. Needs
// create.
func (db *DB) SetWandbSnapshot(ctx context.Context, actor access.Actor, id string, s WandbSnapshot) error {
	return access.Change(ctx, db.base, actor, func(tx *access.Tx) error {
		it, err := tx.AllowIteration(actor, id, access.RightCreate)
		if err != nil {
			return err
		}
		snapshotID, err := access.NewID()
		if err != nil {
			return err
		}
		fit := transfer.FitText
		_, err = tx.Exec(`INSERT INTO snapshot (iteration_num, id, git_sha, git_remote, entrypoint, command, hostname, runtime, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (iteration_num) DO UPDATE SET
				git_sha    = coalesce(nullif(excluded.git_sha, ''), git_sha),
				git_remote = coalesce(nullif(excluded.git_remote, ''), git_remote),
				entrypoint = coalesce(nullif(excluded.entrypoint, ''), entrypoint),
				command    = coalesce(nullif(excluded.command, ''), command),
				hostname   = coalesce(nullif(excluded.hostname, ''), hostname),
				runtime    = coalesce(nullif(excluded.runtime, ''), runtime)`,
			it.Num, snapshotID, fit(s.GitSHA), fit(s.GitRemote), fit(s.Entrypoint), fit(s.Command), fit(s.Hostname), fit(s.Runtime), tx.Now)
		tx.NoteIteration(it.IterationRef)
		return err
	})
}
