package wandb

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb/sweep"
)

// SweepState is the state of a sweep. It determines whether agents get new runs.
type SweepState string

// States of a sweep.
const (
	SweepPending  SweepState = "PENDING" // no agent has asked for a run
	SweepRunning  SweepState = "RUNNING"
	SweepPaused   SweepState = "PAUSED"
	SweepFinished SweepState = "FINISHED" // agents get no new runs; open runs continue
	SweepCanceled SweepState = "CANCELED" // agents get no new runs; open runs were ended
)

// Sweep is a hyperparameter search. The runs of a sweep are the iterations whose parameter
// "sweep" has the sweep id as its value.
type Sweep struct {
	SweepTrials
	projectID    string
	ExperimentID string
	Name         string // "" if the sweep has no name
	Text         string // configuration as the client sent it
	State        SweepState
	CreatedDate  scalar.Time
	UpdatedDate  scalar.Time
}

// Filter returns a filter for the runs of the sweep, in the search language.
func (s Sweep) Filter() string { return `param.sweep = "` + s.ID + `"` }

// Title returns the name of the sweep. If the sweep has no name, Title returns the id.
func (s Sweep) Title() string {
	if s.Name == "" && s.Config.Name != "" {
		return transfer.FitName(s.Config.Name)
	}
	return cmp.Or(s.Name, s.ID)
}

// Objective returns the objective of the sweep, or nil if the sweep has no metric.
func (s Sweep) Objective() *goal.Objective {
	if s.Config.Metric.Name == "" {
		return nil
	}
	wanted := goal.Minimize
	if s.Config.Metric.Maximize {
		wanted = goal.Maximize
	}
	return &goal.Objective{Metric: transfer.FitName(s.Config.Metric.Name), Goal: wanted}
}

const sweepColumns = `
	wandb_sweep.num,
	experiment.project_id,
	wandb_sweep.id,
	wandb_sweep.experiment_id,
	wandb_sweep.name,
	wandb_sweep.config,
	wandb_sweep.state,
	wandb_sweep.created_date,
	wandb_sweep.updated_date,
	(SELECT count(*) FROM wandb_trial WHERE wandb_trial.sweep_num = wandb_sweep.num),
	(SELECT count(*) FROM wandb_trial WHERE wandb_trial.sweep_num = wandb_sweep.num AND wandb_trial.state = 'DONE')`

func (s *Sweep) scan(row interface{ Scan(...any) error }) error {
	err := row.Scan(&s.Num, &s.projectID, &s.ID, &s.ExperimentID, &s.Name, &s.Text, &s.State, &s.CreatedDate, &s.UpdatedDate, &s.Given, &s.Done)
	if err == nil {
		s.Config, err = sweep.Parse(s.Text)
	}
	return err
}

// Sweep returns the sweep with the given id. The actor needs the right to read.
func (v *View) Sweep(id string) (Sweep, error) {
	return allowSweep(v.tx, v.tx.Actor, id, domain.RightRead)
}

// Sweep calls View.Sweep in a new read transaction.
func (db *DB) Sweep(ctx context.Context, actor domain.Actor, id string) (Sweep, error) {
	return view(ctx, db, actor, func(v *View) (Sweep, error) { return v.Sweep(id) })
}

// SweepRuns selects runs of a sweep. The zero value selects all.
type SweepRuns struct {
	Agent string // selects the runs that this agent executed, if it is not ""
	Prior bool   // selects the runs that existed before the sweep
}

// SweepRunNums returns the project of a sweep and the row numbers of the selected runs, oldest
// first. It returns at most MaxRuns runs. The actor needs the right to read.
func (db *DB) SweepRunNums(ctx context.Context, actor domain.Actor, id string, of SweepRuns) (projectID string, nums []int64, err error) {
	err = db.base.Ask(ctx, func(tx *domain.Tx) error {
		s, err := allowSweep(tx, actor, id, domain.RightRead)
		if err != nil {
			return err
		}
		projectID = s.projectID
		return tx.Select(&nums, `SELECT iteration.num
			FROM iteration
			JOIN experiment ON experiment.id = iteration.experiment_id
			JOIN wandb_run ON wandb_run.iteration_num = iteration.num
			WHERE experiment.project_id = ?1 AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL
				AND wandb_run.about ->> 'sweep' = ?2
				AND (?3 = '' OR wandb_run.name IN (SELECT name FROM wandb_trial WHERE sweep_num = ?4 AND agent = ?3))
				AND (NOT ?6 OR iteration.created_date < ?7)
			ORDER BY iteration.created_date, iteration.num LIMIT ?5`, s.projectID, s.ID, of.Agent, s.Num, MaxRuns, of.Prior, s.CreatedDate)
	})
	return projectID, nums, err
}

// HasSweep reports whether an experiment has a sweep. The actor needs the right to read.
func (v *View) HasSweep(experimentID string) (bool, error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return false, err
	}
	return v.tx.Has(`SELECT 1 FROM wandb_sweep WHERE experiment_id = ?`, experimentID)
}

// maxSweeps is the maximum number of sweeps in a list.
const maxSweeps = 200

// maxSweepText is the approximate maximum size in bytes of all configurations in a list of
// sweeps. Parsing a configuration takes memory of about thirty times its size.
const maxSweepText = 1 << 20

// Sweeps returns the sweeps of a project, newest first. If experimentID is not "", it returns only
// sweeps of that experiment. It returns at most maxSweeps sweeps. The list ends early if the
// configurations together exceed maxSweepText. The actor needs the right to read.
func (v *View) Sweeps(projectID, experimentID string) ([]Sweep, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	rows, err := v.tx.Rows(`SELECT `+sweepColumns+`
		FROM wandb_sweep
		JOIN experiment ON experiment.id = wandb_sweep.experiment_id
		WHERE experiment.project_id = ?1 AND (?2 = '' OR experiment.id = ?2) AND experiment.deleted_date IS NULL
		ORDER BY wandb_sweep.num DESC LIMIT ?3`, projectID, experimentID, maxSweeps)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Sweep
	for size := 0; size <= maxSweepText && rows.Next(); {
		var s Sweep
		if err := s.scan(rows); err != nil {
			return nil, err
		}
		size += len(s.Text)
		all = append(all, s)
	}
	return all, rows.Err()
}

// SweepBest is the best run of a sweep and its value of the metric.
type SweepBest struct {
	runs.Iteration
	Metric string
	Value  scalar.Value
}

// SweepBest returns the best run of a sweep. It returns nil if no run has a value for the metric.
// The actor needs the right to read.
func (v *View) SweepBest(s Sweep) (*SweepBest, error) {
	o := s.Objective()
	if o == nil {
		return nil, nil
	}
	for _, key := range s.MetricKeys() {
		o.Metric = key
		l, err := runs.In(v.tx).Iterations(s.ExperimentID, runs.IterationQuery{Page: domain.Page{Limit: 1}, Filter: s.Filter(), Sort: o.Order(), Columns: o.Value()})
		if err != nil {
			return nil, err
		}
		for _, it := range l.Data {
			for _, value := range it.Metrics {
				return &SweepBest{it, key, value}, nil
			}
		}
	}
	return nil, nil
}

// SweepBest calls View.SweepBest in a new read transaction.
func (db *DB) SweepBest(ctx context.Context, actor domain.Actor, s Sweep) (*SweepBest, error) {
	return view(ctx, db, actor, func(v *View) (*SweepBest, error) { return v.SweepBest(s) })
}

// allowSweep returns the sweep with the given id. It returns an error if the sweep does not exist
// or if actor lacks the right want in its project.
func allowSweep(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (s Sweep, err error) {
	err = s.scan(tx.Row(`SELECT `+sweepColumns+`
		FROM wandb_sweep
		JOIN experiment ON experiment.id = wandb_sweep.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE wandb_sweep.id = ? AND `+tx.Found("experiment", "project"), strings.ToLower(id)))
	if err != nil {
		return s, domain.OrNotFound(err, "sweep")
	}
	return s, tx.Allow(actor, s.projectID, want)
}

// SweepChange holds the new values for SaveSweep. A nil field is not changed.
type SweepChange struct {
	ID      string // id of an existing sweep; "" creates a sweep
	NewID   string // used for a new sweep
	Project string // used for a new sweep
	Config  *string
	Name    *string
	State   *string
	Runs    []string // names of existing runs to add to a new sweep
}

// SaveSweep creates or changes a sweep. It creates the experiment and the project of a new sweep if
// necessary. The state CANCELED ends the runs of the sweep. SaveSweep returns INVALID_PAYLOAD if
// the configuration can't be parsed, or if it is changed after runs were assigned to agents. A new
// sweep requires the right to create, a change the right to update.
func (db *DB) SaveSweep(ctx context.Context, actor domain.Actor, c SweepChange) (Sweep, error) {
	if c.Config != nil {
		if _, err := sweep.Parse(*c.Config); err != nil {
			return Sweep{}, refusedConfig(err)
		}
	}
	if c.State != nil {
		switch SweepState(*c.State) {
		case SweepPending, SweepRunning, SweepPaused, SweepFinished, SweepCanceled:
		default:
			return Sweep{}, domain.Invalid("state", "The state of a sweep is one of PENDING, RUNNING, PAUSED, FINISHED and CANCELED, not %s.", scalar.Quote(*c.State))
		}
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Sweep, error) {
		if c.ID == "" {
			if err := insertSweep(tx, c); err != nil {
				return Sweep{}, err
			}
			return allowSweep(tx, actor, c.NewID, domain.RightCreate)
		}
		if err := updateSweep(tx, c); err != nil {
			return Sweep{}, err
		}
		return allowSweep(tx, actor, c.ID, domain.RightUpdate)
	})
}

func refusedConfig(err error) error {
	if wrong, ok := errors.AsType[*sweep.Error](err); ok {
		return domain.Invalid("config", "%s", wrong.Message)
	}
	return err
}

func insertSweep(tx *domain.Tx, c SweepChange) error {
	if c.Config == nil {
		return domain.Invalid("config", "A new sweep needs a configuration.")
	}
	projectID, err := wandbProject(tx, c.Project)
	if err != nil {
		return err
	}
	experimentID, err := wandbExperiment(tx, projectID)
	if err != nil {
		return err
	}
	name := ""
	if c.Name != nil {
		name = transfer.FitText(*c.Name)
	}
	if _, err := tx.Exec(`INSERT INTO wandb_sweep (id, experiment_id, name, config, state, created_date, updated_date)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, c.NewID, experimentID, name, *c.Config, SweepPending, tx.Now, tx.Now); err != nil {
		return err
	}
	for _, run := range c.Runs {
		if err := addToSweep(tx, projectID, run, c.NewID); err != nil {
			return err
		}
	}
	return nil
}

// addToSweep adds an existing run to a sweep.
func addToSweep(tx *domain.Tx, projectID, run, sweepID string) error {
	id, err := wandbIteration(tx, projectID, run)
	if err != nil {
		return err
	}
	it, err := tx.AllowIteration(tx.Actor, id, domain.RightUpdate)
	if err != nil {
		return err
	}
	w, err := wandbRun(tx, it.IterationRef)
	if err != nil {
		return err
	}
	if err := changeRun(tx, it, &w, Change{ID: id, Sweep: &sweepID}, false); err != nil {
		return err
	}
	return wandbTx(tx).Save(it.Num, w)
}

func updateSweep(tx *domain.Tx, c SweepChange) error {
	s, err := allowSweep(tx, tx.Actor, c.ID, domain.RightUpdate)
	if err != nil {
		return err
	}
	if c.Config != nil && *c.Config != s.Text && s.Given > 0 {
		return domain.Invalid("config", "The sweep has already assigned %d runs to agents, so its configuration can't be changed; start another sweep.", s.Given)
	}
	var name *string
	if c.Name != nil {
		name = new(transfer.FitText(*c.Name))
	}
	if _, err := tx.Exec(`UPDATE wandb_sweep SET
			name         = coalesce(?, name),
			config       = coalesce(?, config),
			state        = coalesce(?, state),
			updated_date = ?
		WHERE num = ?`, name, c.Config, c.State, tx.Now, s.Num); err != nil {
		return err
	}
	if c.State == nil || SweepState(*c.State) != SweepCanceled {
		return nil
	}
	trials, err := openTrials(tx, s)
	for i := range trials {
		if it := trials[i].it; err == nil && it != nil {
			err = killRun(tx, *it, canceled)
		}
	}
	return err
}

// canceled is the error message of runs in a canceled sweep.
const canceled = "the sweep was canceled"

// killRun ends a run with the status KILLED. The client learns of this when it next sends data.
func killRun(tx *domain.Tx, it domain.IterationState, message string) error {
	if it.Ended() {
		return nil
	}
	tx.Seen = append(tx.Seen, it.Num)
	return runs.SetEnd(tx, it.IterationRef, runs.End{Status: domain.Killed, Message: message, Date: &tx.Now})
}
