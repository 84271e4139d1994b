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

// SweepState is the state of a sweep. It determines whether agents are given new runs.
type SweepState string

// The states of a sweep.
const (
	SweepPending  SweepState = "PENDING" // no agent has asked for a run
	SweepRunning  SweepState = "RUNNING"
	SweepPaused   SweepState = "PAUSED"
	SweepFinished SweepState = "FINISHED" // no new runs; open runs continue
	SweepCanceled SweepState = "CANCELED" // no new runs; open runs were ended
)

// Sweep is a search for good settings. Its runs are iterations whose parameter sweep is the id of
// the sweep.
type Sweep struct {
	SweepTrials
	projectID    string
	ExperimentID string
	Name         string // "" for none
	Text         string // the configuration, as the client sent it
	State        SweepState
	CreatedDate  scalar.Time
	UpdatedDate  scalar.Time
}

// Filter returns a filter for the runs of a sweep, in the language of searches.
func (s Sweep) Filter() string { return `param.sweep = "` + s.ID + `"` }

// Title returns the name of a sweep or, if it has none, its id.
func (s Sweep) Title() string {
	if s.Name == "" && s.Config.Name != "" {
		return transfer.FitName(s.Config.Name)
	}
	return cmp.Or(s.Name, s.ID)
}

// Objective returns the objective of a sweep, or nil if it has none.
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

// Sweep returns the sweep with an id. Needs read.
func (v *View) Sweep(id string) (Sweep, error) {
	return allowSweep(v.tx, v.tx.Actor, id, domain.RightRead)
}

// Sweep is View.Sweep.
func (db *DB) Sweep(ctx context.Context, actor domain.Actor, id string) (Sweep, error) {
	return view(ctx, db, actor, func(v *View) (Sweep, error) { return v.Sweep(id) })
}

// SweepRunNums returns the project of a sweep and the numbers of its runs, oldest first, up to
// MaxRuns. If agent is not "", it returns only the runs of this agent. Needs read.
func (db *DB) SweepRunNums(ctx context.Context, actor domain.Actor, id, agent string) (projectID string, nums []int64, err error) {
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
			ORDER BY iteration.created_date, iteration.num LIMIT ?5`, s.projectID, s.ID, agent, s.Num, MaxRuns)
	})
	return projectID, nums, err
}

// HasSweep reports whether an experiment has a sweep. Needs read.
func (v *View) HasSweep(experimentID string) (bool, error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return false, err
	}
	return v.tx.Has(`SELECT 1 FROM wandb_sweep WHERE experiment_id = ?`, experimentID)
}

// maxSweeps is the largest number of sweeps of a project that are listed.
const maxSweeps = 200

// maxSweepText is the number of bytes of configurations after which a list of sweeps ends.
// Parsing a configuration takes about thirty times its size.
const maxSweepText = 1 << 20

// Sweeps lists the sweeps of a project, newest first. If experimentID is not "", it lists only
// sweeps of this experiment. It lists up to maxSweeps, and fewer if the sum of their
// configurations exceeds maxSweepText. Needs read.
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

// SweepBest is the best run of a sweep.
type SweepBest struct {
	runs.Iteration
	Metric string
	Value  scalar.Value
}

// SweepBest returns the best run of a sweep, or nil if no run has a value of the metric. Needs
// read.
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

// SweepBest is View.SweepBest.
func (db *DB) SweepBest(ctx context.Context, actor domain.Actor, s Sweep) (*SweepBest, error) {
	return view(ctx, db, actor, func(v *View) (*SweepBest, error) { return v.SweepBest(s) })
}

// allowSweep returns the sweep after checking that it exists and that actor has the right in its
// project.
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

// SweepChange holds the fields that SaveSweep sets; nil leaves a field as it is.
type SweepChange struct {
	ID      string // "" for a new sweep
	NewID   string // of a new sweep
	Project string // of a new sweep
	Config  *string
	Name    *string
	State   *string
	Runs    []string // names of runs of the project that become runs of a new sweep
}

// SaveSweep creates a sweep, with its experiment and project, or changes one. Canceling a sweep
// ends its runs. Needs create for a new sweep, else update. It returns INVALID_PAYLOAD if the
// configuration can't be parsed, or if it is changed after runs were given to agents.
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

// addToSweep adds a run to a sweep.
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
		return domain.Invalid("config", "The sweep has already given %d runs to agents, so its configuration can't be changed; start another sweep.", s.Given)
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

// canceled is the error message of the runs of a canceled sweep.
const canceled = "the sweep was canceled"

// killRun ends a run. Its client learns that when it sends something.
func killRun(tx *domain.Tx, it domain.IterationState, message string) error {
	if it.Ended() {
		return nil
	}
	tx.Seen = append(tx.Seen, it.Num)
	return runs.SetEnd(tx, it.IterationRef, runs.End{Status: domain.Killed, Message: message, Date: &tx.Now})
}
