package wandb

import (
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/transfer"
)

// maxName is the maximum size in bytes of a W&B run id.
const maxName = 1000

// ExperimentName is the name of the experiment that contains a project's W&B runs.
const ExperimentName = "default"

// wandbTx returns a Tx that uses the transaction tx.
func wandbTx(tx *domain.Tx) Tx {
	return Tx{Tx: tx.Points(), Now: tx.Now, Take: func(bytes int64) error { return domain.Take(tx.Context(), bytes) }}
}

// wandbRun returns the W&B data of an iteration.
func wandbRun(tx *domain.Tx, it domain.IterationRef) (Run, error) {
	return wandbTx(tx).Run(it.Num, it.ID)
}

// wandbID returns the iteration id of the W&B run with the given name.
func wandbID(projectID, name string) string {
	return transfer.ID("wandb", "run", projectID, name).String()
}

// RunOf returns the W&B data of an iteration. The actor needs the right to read.
func (v *View) RunOf(id string) (Run, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return Run{}, err
	}
	return wandbRun(v.tx, it.IterationRef)
}

// IDOf returns the id that a W&B client uses for an iteration, or "" for an iteration of another
// client. The actor needs the right to read.
func (v *View) IDOf(id string) (string, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return "", err
	}
	var name string
	err = v.tx.Row(`SELECT coalesce((SELECT name FROM wandb_run WHERE iteration_num = ?), '')`, it.Num).Scan(&name)
	return name, err
}

// Project returns the id of the project with the given name or id, as domain.Tx.ProjectNamed does.
//
// The actor needs no right, because every method that accepts the id checks the rights.
func (v *View) Project(name string) (string, error) {
	return wandbProjectNamed(v.tx, v.tx.Actor, name)
}

func wandbProjectNamed(tx *domain.Tx, actor domain.Actor, name string) (id string, err error) {
	return tx.ProjectNamed(actor, name, transfer.FitName(name))
}

// Iteration returns the iteration id of a run. project and name are the names that W&B's
// clients send. It returns NOT_FOUND if the run does not exist. The actor needs no right,
// because every method that accepts the id checks the rights.
func (v *View) Iteration(project, name string) (string, error) {
	projectID, err := wandbProjectNamed(v.tx, v.tx.Actor, project)
	if err != nil {
		return "", err
	}
	return wandbIteration(v.tx, projectID, name)
}

func wandbIteration(tx *domain.Tx, projectID, name string) (id string, err error) {
	err = tx.Row(`SELECT iteration.id FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id IN (?, ?) AND experiment.project_id = ? AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL
		ORDER BY iteration.id = ? DESC LIMIT 1`,
		wandbID(projectID, name), strings.ToLower(name), projectID, wandbID(projectID, name)).Scan(&id)
	return id, domain.OrNotFound(err, "run")
}

// Change holds the new values for SaveRun. A nil field is not changed.
type Change struct {
	ID      string // iteration id; "" selects the run by Project and Name
	Project string
	Name    string
	Writer  string // id of the client if several clients write to the run; "" if not

	DisplayName, Notes, Group, JobType, Config, Summary, Host, Program, Remote, Commit, Sweep *string
	Tags                                                                                      []string
	State                                                                                     *string
}

// Saved is a run that SaveRun has written.
type Saved struct {
	Run
	ID       string // iteration id
	Inserted bool
}

// SaveRun writes the fields of a run that a client has sent. If the run does not exist, SaveRun
// creates the run, its experiment and its project. If the client has ended the run, SaveRun reopens
// the run, except when c.ID is set. Names and values that are too long are truncated, which
// Run.Lost reports.
//
// SaveRun returns CONFLICT if the run is in the trash. The actor needs the right to create.
// Replacing a value also requires the right to update.
func (db *DB) SaveRun(ctx context.Context, actor domain.Actor, c Change) (Saved, error) {
	if len(c.Name) > maxName {
		return Saved{}, domain.Invalid("name", "The id of a run can have at most %d bytes.", maxName)
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Saved, error) {
		it, inserted, err := wandbTarget(tx, c)
		if err != nil {
			return Saved{}, err
		}
		w, err := wandbRun(tx, it.IterationRef)
		if err != nil {
			return Saved{}, err
		}
		if inserted {
			w.RunID = c.Name
		}
		if err := changeRun(tx, it, &w, c, inserted); err != nil {
			return Saved{}, err
		}
		return Saved{w, it.ID, inserted}, wandbTx(tx).Save(it.Num, w)
	})
}

// wandbTarget returns the iteration that the change c applies to. It creates the iteration if
// necessary. inserted reports whether it did.
func wandbTarget(tx *domain.Tx, c Change) (it domain.IterationState, inserted bool, err error) {
	if c.ID != "" {
		it, err = tx.AllowIteration(tx.Actor, c.ID, domain.RightUpdate)
		return it, false, err
	}
	projectID, err := wandbProject(tx, c.Project)
	if err != nil {
		return it, false, err
	}
	id, err := wandbIteration(tx, projectID, c.Name)
	if err == nil {
		it, err = tx.AllowIteration(tx.Actor, id, domain.RightCreate)
		return it, false, err
	}
	if domain.AsError(err).Code != domain.CodeNotFound {
		return it, false, err
	}
	id = wandbID(projectID, c.Name)
	if deleted, err := tx.Has(`SELECT 1 FROM iteration WHERE id = ?`, id); err != nil || deleted {
		return it, false, domain.FirstError(err, &domain.Error{Code: domain.CodeConflict, Field: "id",
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
	it, err = tx.AllowIteration(tx.Actor, id, domain.RightCreate)
	return it, true, err
}

// wandbProject returns the id of the project with the given name. If no such project exists, or
// if the actor may not create in it, wandbProject creates a project.
func wandbProject(tx *domain.Tx, name string) (string, error) {
	id, err := wandbProjectNamed(tx, tx.Actor, name)
	if err == nil {
		err = tx.Allow(tx.Actor, id, domain.RightCreate)
	}
	if err == nil {
		return id, nil
	}
	if code := domain.AsError(err).Code; code != domain.CodeNotFound && code != domain.CodeProjectPermissionRequired {
		return "", err
	}
	created, err := tx.InsertProject(tx.Actor, domain.NewProject{Name: transfer.FitName(name)})
	return created.ID, err
}

// wandbExperiment returns the id of the experiment that contains a project's W&B runs. It
// creates the experiment if necessary. If the experiment has ended, wandbExperiment reopens it.
func wandbExperiment(tx *domain.Tx, projectID string) (string, error) {
	if err := tx.AllowProject(tx.Actor, projectID, domain.RightCreate); err != nil {
		return "", err
	}
	id, err := tx.FirstOr("experiment", transfer.ID("experiment", projectID, ExperimentName).String(), func(id string) error {
		return tx.InsertExperiment(id, projectID, ExperimentName, "")
	}, `SELECT id FROM experiment WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
		ExperimentName, projectID)
	if err == nil {
		_, err = tx.Exec(`UPDATE experiment SET status = ?, end_date = NULL WHERE id = ? AND status <> ?`, domain.InProgress, id, domain.InProgress)
	}
	return id, err
}

// changeRun writes the fields of the change c to an iteration.
func changeRun(tx *domain.Tx, it domain.IterationState, w *Run, c Change, inserted bool) error {
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
	isNew := false // whether c comes from a new writer
	if c.Writer != "" {
		var err error
		if isNew, err = wandbTx(tx).addWriter(it.Num, c.Writer); err != nil {
			return err
		}
		w.Shared = true
	}
	if w.Shared {
		c.join(w)
	}
	set(&w.Group, c.Group)
	set(&w.JobType, c.JobType)
	set(&w.Host, c.Host)
	set(&w.Program, c.Program)
	set(&w.Sweep, c.Sweep)
	if c.Config != nil {
		w.SetConfig(*c.Config)
		if err := tx.SetProperties(tx.Actor, it.Properties(), definitions(w.Config)); err != nil {
			return err
		}
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
				w.Lose("The notes were cut to %d bytes.", domain.MaxText)
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
	if c.Writer != "" && !isNew && it.Ended() && c.State == nil {
		return nil // another writer has ended the run
	}
	reopened, err := setState(tx, it, w, c)
	if err != nil {
		return err
	}
	if !inserted && (replaces || reopened) {
		return tx.AllowRun(tx.Actor, it.ProjectID, it.Num, domain.RightUpdate)
	}
	return nil
}

// join adapts c to the run w with several writers, so that a writer adds to the data of the others.
// Settings and summary values are added or replaced, but not deleted. The first host and program are
// kept; the snapshot of the run comes from the primary writer.
func (c *Change) join(w *Run) {
	if c.Config != nil {
		c.Config = new(merged(w.Config, *c.Config, "_wandb"))
	}
	if c.Summary != nil {
		c.Summary = new(merged(w.Summary, *c.Summary))
	}
	if w.Host != "" {
		c.Host = nil
	}
	if w.Program != "" {
		c.Program, c.Remote, c.Commit = nil, nil, nil
	}
}

// fitted returns s as valid UTF-8, truncated to domain.MaxText bytes. It returns nil if s is nil.
func fitted(s *string) *string {
	if s == nil {
		return nil
	}
	return new(transfer.FitText(*s))
}

// setState sets the state that c requests. If c requests no state and selects the run by name,
// setState reopens the run if its client has ended it or if it was ended and lost.
func setState(tx *domain.Tx, it domain.IterationState, w *Run, c Change) (changed bool, err error) {
	p := runs.IterationPatch{Reopen: true}
	switch {
	case c.State != nil:
		status, ok := wandbStates[*c.State]
		if !ok {
			return false, domain.Invalid("state", "The state of a run is one of pending, running, finished, failed, crashed, killed and preempted, not %s.", scalar.Quote(*c.State))
		}
		p.Status = &status
		w.Complete = status != domain.Running
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
		lost := domain.Silent(lastSeen, tx.Now)
		if !it.Ended() {
			tx.Seen = append(tx.Seen, it.Num)
			if !lost {
				return false, nil
			}
			w.Preempting = false // a lost run starts again; SetEnd removes its stop request
			return false, runs.SetEnd(tx, it.IterationRef, runs.End{Status: it.Status, Message: it.ErrorMessage})
		}
		if !w.Complete && !lost {
			return false, nil // the run was ended on the server, and the client does not know yet
		}
		p.Status = new(domain.Running)
		w.Complete, w.Preempting = false, false
	}
	if *p.Status == it.Status {
		return false, nil
	}
	if *p.Status == domain.Running {
		p.ErrorMessage = new("")
	}
	return true, runs.UpdateIteration(tx, tx.Actor, it.ID, p)
}

// wandbStates maps the run states of W&B to iteration statuses.
var wandbStates = map[string]domain.IterationStatus{
	"pending": domain.Running, "running": domain.Running, "finished": domain.Succeeded, "failed": domain.Failed, "crashed": domain.Failed,
	"killed": domain.Killed, "preempted": domain.Killed, "preempting": domain.Running,
}

// Snapshot describes the machine and the code of a run as reported by a client. An unknown field is
// "".
type Snapshot struct{ GitSHA, GitRemote, Entrypoint, Command, Hostname, Runtime string }

// SetSnapshot updates the snapshot of an iteration with the known fields of s. The actor needs
// the right to create.
func (db *DB) SetSnapshot(ctx context.Context, actor domain.Actor, id string, s Snapshot) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		it, err := tx.AllowIteration(actor, id, domain.RightCreate)
		if err != nil {
			return err
		}
		snapshotID := domain.NewID()
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
		return err
	})
}
