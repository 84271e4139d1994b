package store

import (
	"context"
	"strings"

	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb"
)

// maxWandbName bounds the id of a run in W&B, in bytes.
const maxWandbName = 1000

// WandbExperiment is the name of the experiment that the runs of a project of W&B are
// in.
const WandbExperiment = "default"

// wandb returns what W&B's clients say as the transaction sees it.
func (tx *tx) wandb() wandb.Tx {
	return wandb.Tx{Tx: tx.points(), Now: tx.now, Take: func(bytes int64) error { return Take(tx.Context(), bytes) }}
}

// wandbRun returns what is known of a run.
func (tx *tx) wandbRun(it iterationRef) (wandb.Run, error) { return tx.wandb().Run(it.num, it.id) }

// wandbID returns the id of the iteration that a run of W&B is.
func wandbID(projectID, name string) string {
	return transfer.ID("wandb", "run", projectID, name).String()
}

// WandbRunOf returns what W&B's clients have said about an iteration. Needs read.
func (v *View) WandbRunOf(id string) (wandb.Run, error) {
	it, err := v.tx.allowIteration(v.actor, id, rightRead)
	if err != nil {
		return wandb.Run{}, err
	}
	return v.tx.wandbRun(it.iterationRef)
}

// WandbProject returns the id of the project with this name or id: of several with the
// name one that the actor was given the right to add to, or else one that it was given
// the right to read, or else the oldest. NOT_FOUND when there is none. It needs no
// right, since whatever is done with the id does.
func (v *View) WandbProject(name string) (string, error) {
	return v.tx.wandbProjectNamed(v.actor, name)
}

func (tx *tx) wandbProjectNamed(actor Actor, name string) (id string, err error) {
	err = tx.Row(`SELECT project.id FROM project
		LEFT JOIN user_permission ON user_permission.project_id = project.id AND user_permission.user_id = ?
		WHERE (project.name = ? OR project.id = ?) AND project.deleted_date IS NULL
		ORDER BY
			coalesce(user_permission.create_permission, 0) DESC,
			coalesce(user_permission.read_permission, 0) DESC,
			project.created_date,
			project.id
		LIMIT 1`, actor.UserID, transfer.FitName(name), name).Scan(&id)
	return id, orNotFound(err, "project")
}

// WandbIteration returns the id of the iteration that is the run with a name in a
// project, both as W&B's clients name them; NOT_FOUND when there is none. It needs no
// right, since whatever is done with the id does.
func (v *View) WandbIteration(project, name string) (string, error) {
	projectID, err := v.tx.wandbProjectNamed(v.actor, project)
	if err != nil {
		return "", err
	}
	return v.tx.wandbIteration(projectID, name)
}

func (tx *tx) wandbIteration(projectID, name string) (id string, err error) {
	err = tx.Row(`SELECT iteration.id FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id IN (?, ?) AND experiment.project_id = ? AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL
		ORDER BY iteration.id = ? DESC LIMIT 1`,
		wandbID(projectID, name), strings.ToLower(name), projectID, wandbID(projectID, name)).Scan(&id)
	return id, orNotFound(err, "run")
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
func (db *DB) SaveWandbRun(ctx context.Context, actor Actor, c WandbChange) (WandbSaved, error) {
	if len(c.Name) > maxWandbName {
		return WandbSaved{}, Invalid("name", "The id of a run has up to %d bytes.", maxWandbName)
	}
	return write(ctx, db, actor, func(tx *tx) (WandbSaved, error) {
		it, inserted, err := tx.wandbTarget(c)
		if err != nil {
			return WandbSaved{}, err
		}
		w, err := tx.wandbRun(it.iterationRef)
		if err != nil {
			return WandbSaved{}, err
		}
		if inserted {
			w.RunID = c.Name
		}
		if err := tx.changeWandbRun(it, &w, c, inserted); err != nil {
			return WandbSaved{}, err
		}
		tx.noteIteration(it.iterationRef)
		return WandbSaved{w, it.id, inserted}, tx.wandb().Save(it.num, w)
	})
}

// wandbTarget returns the iteration that a change is about. It is made when there is
// none.
func (tx *tx) wandbTarget(c WandbChange) (it iterationState, inserted bool, err error) {
	if c.ID != "" {
		it, err = tx.allowIteration(tx.actor, c.ID, rightUpdate)
		return it, false, err
	}
	projectID, err := tx.wandbProject(c.Project)
	if err != nil {
		return it, false, err
	}
	id, err := tx.wandbIteration(projectID, c.Name)
	if err == nil {
		it, err = tx.allowIteration(tx.actor, id, rightCreate)
		return it, false, err
	}
	if AsError(err).Code != CodeNotFound {
		return it, false, err
	}
	id = wandbID(projectID, c.Name)
	if deleted, err := tx.has(`SELECT 1 FROM iteration WHERE id = ?`, id); err != nil || deleted {
		return it, false, firstError(err, &Error{Code: CodeConflict, Field: "id",
			Message: "The run " + scalar.Quote(c.Name) + " is in the trash; restore it there, or start one with another id."})
	}
	experimentID, err := tx.wandbExperiment(projectID)
	if err != nil {
		return it, false, err
	}
	name := transfer.FitName(c.Name)
	if _, err := tx.insertIteration(experimentID, NewIteration{ID: &id, Name: &name}); err != nil {
		return it, false, err
	}
	it, err = tx.allowIteration(tx.actor, id, rightCreate)
	return it, true, err
}

// wandbProject returns the id of the project that a run of this name belongs to, which
// is made when the actor may not add to one that has the name.
func (tx *tx) wandbProject(name string) (string, error) {
	id, err := tx.wandbProjectNamed(tx.actor, name)
	if err == nil {
		err = tx.allow(tx.actor, id, rightCreate)
	}
	if err == nil {
		return id, nil
	}
	if code := AsError(err).Code; code != CodeNotFound && code != CodeProjectPermissionRequired {
		return "", err
	}
	created, err := tx.insertProject(tx.actor, NewProject{Name: transfer.FitName(name)})
	return created.ID, err
}

// wandbExperiment returns the id of the experiment of W&B's runs in a project, which is
// made when there is none and opened when it was ended.
func (tx *tx) wandbExperiment(projectID string) (string, error) {
	if err := tx.allowProject(tx.actor, projectID, rightCreate); err != nil {
		return "", err
	}
	id, err := tx.firstOr("experiment", transfer.ID("experiment", projectID, WandbExperiment).String(), func(id string) error {
		_, err := tx.Exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date) VALUES (?, ?, ?, '', ?, ?)`,
			id, projectID, WandbExperiment, InProgress, tx.now)
		return err
	}, `SELECT id FROM experiment WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
		WandbExperiment, projectID)
	if err == nil {
		_, err = tx.Exec(`UPDATE experiment SET status = ?, end_date = NULL WHERE id = ? AND status <> ?`, InProgress, id, InProgress)
	}
	return id, err
}

// changeWandbRun writes the fields of a change.
func (tx *tx) changeWandbRun(it iterationState, w *wandb.Run, c WandbChange, inserted bool) error {
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
		if err := tx.wandb().SetSummary(it.num, w, *c.Summary, it.ended()); err != nil {
			return err
		}
	}
	changed, err := tx.wandb().SetParameters(it.num, before, w)
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
				w.Lose("The notes were cut: they may have %d bytes.", MaxText)
			}
		}
		n, err := tx.Exec(`UPDATE iteration SET name = coalesce(?1, name), notes = coalesce(?2, notes)
			WHERE num = ?3 AND (name IS NOT coalesce(?1, name) OR notes IS NOT coalesce(?2, notes))`, name, notes, it.num)
		if err != nil {
			return err
		}
		replaces = replaces || n > 0
	}
	if c.Tags != nil {
		changed, err := tx.wandb().SetTags(it.num, w, c.Tags)
		if err != nil {
			return err
		}
		replaces = replaces || changed
	}
	if c.Remote != nil || c.Commit != nil || c.Program != nil {
		p := SnapshotPatch{GitRemote: fitted(c.Remote), GitSHA: fitted(c.Commit), Entrypoint: fitted(c.Program)}
		if err := tx.patchSnapshot(it, &p); err != nil {
			return err
		}
	}
	reopened, err := tx.setState(it, w, c)
	if err != nil {
		return err
	}
	if !inserted && (replaces || reopened) {
		return tx.allow(tx.actor, it.projectID, rightUpdate)
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
func (tx *tx) setState(it iterationState, w *wandb.Run, c WandbChange) (changed bool, err error) {
	p := IterationPatch{Reopen: true}
	switch {
	case c.State != nil:
		status, ok := wandbStates[*c.State]
		if !ok {
			return false, Invalid("state", "The state of a run is one of pending, running, finished, failed, crashed, killed and preempted, not %s.", scalar.Quote(*c.State))
		}
		p.Status = &status
		w.Complete = status != Running
	case c.ID != "":
		if !it.ended() {
			tx.seen = append(tx.seen, it.num)
		}
		return false, nil
	default:
		var lastSeen Time
		if err := tx.Row(`SELECT last_seen FROM iteration WHERE num = ?`, it.num).Scan(&lastSeen); err != nil {
			return false, err
		}
		lastSeen = tx.db.lastSeen.Latest(it.num, lastSeen)
		lost := tx.now-lastSeen >= Time(LostAfter.Milliseconds())
		if !it.ended() {
			w.Preempting = w.Preempting && !lost // it begins again
			tx.seen = append(tx.seen, it.num)
			return false, nil
		}
		if !w.Complete && !lost {
			return false, nil // it was ended here, and its client has not been told yet
		}
		p.Status = new(Running)
		w.Complete, w.Preempting = false, false
	}
	if *p.Status == it.status {
		return false, nil
	}
	if *p.Status == Running {
		p.ErrorMessage = new("")
	}
	return true, tx.updateIteration(tx.actor, it.id, p)
}

// wandbStates has the statuses by W&B's names of states.
var wandbStates = map[string]IterationStatus{
	"pending": Running, "running": Running, "finished": Succeeded, "failed": Failed, "crashed": Failed,
	"killed": Killed, "preempted": Killed, "preempting": Running,
}

// WandbSnapshot is what a client says about the machine and the code of a run. What is ""
// is not known.
type WandbSnapshot struct{ GitSHA, GitRemote, Entrypoint, Command, Hostname, Runtime string }

// SetWandbSnapshot sets the fields of the snapshot of an iteration that are known. Needs
// create.
func (db *DB) SetWandbSnapshot(ctx context.Context, actor Actor, id string, s WandbSnapshot) error {
	return change(ctx, db, actor, func(tx *tx) error {
		it, err := tx.allowIteration(actor, id, rightCreate)
		if err != nil {
			return err
		}
		snapshotID, err := newID()
		if err != nil {
			return err
		}
		fit := func(text string) string { return transfer.FitText(text) }
		_, err = tx.Exec(`INSERT INTO snapshot (iteration_num, id, git_sha, git_remote, entrypoint, command, hostname, runtime, created_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (iteration_num) DO UPDATE SET
				git_sha    = coalesce(nullif(excluded.git_sha, ''), git_sha),
				git_remote = coalesce(nullif(excluded.git_remote, ''), git_remote),
				entrypoint = coalesce(nullif(excluded.entrypoint, ''), entrypoint),
				command    = coalesce(nullif(excluded.command, ''), command),
				hostname   = coalesce(nullif(excluded.hostname, ''), hostname),
				runtime    = coalesce(nullif(excluded.runtime, ''), runtime)`,
			it.num, snapshotID, fit(s.GitSHA), fit(s.GitRemote), fit(s.Entrypoint), fit(s.Command), fit(s.Hostname), fit(s.Runtime), tx.now)
		tx.noteIteration(it.iterationRef)
		return err
	})
}
