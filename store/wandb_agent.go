package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"

	"tracker/store/wandb"
)

// WandbCommand is what an agent is to do.
type WandbCommand struct {
	Type     string // run, stop or exit
	Run      string // the name of the run
	Settings string // JSON, an object
	Program  string // that the agent starts, "" for its own function
}

// trial is a run that was given to an agent.
type trial struct {
	wandb.Trial
	it       *iterationState // nil until the run begins after it was given
	lastSeen Time
}

// agentSeparator is between the id of a sweep and the rest of the id of an agent.
const agentSeparator = "-"

// CreateWandbAgent returns the id of a new agent of a sweep, which ends in name. Needs
// create.
func (db *DB) CreateWandbAgent(ctx context.Context, actor Actor, sweepID, name string) (id string, err error) {
	return read(ctx, db, func(tx *tx) (string, error) {
		s, err := tx.allowSweep(actor, sweepID, rightCreate)
		return s.ID + agentSeparator + name, err
	})
}

// WandbHeartbeat takes note of the runs that an agent carries out, by their names, and
// returns what it is to do. name is that of a run that may be given to it. Needs create.
//
// A run that was given to an agent and that did not begin is given again: to the same
// agent when it asks again, so that a lost answer loses no run, and after LostAfter to
// another one. A run that was preempted is given again at once, to the agent that asks
// first, before runs with new settings.
func (db *DB) WandbHeartbeat(ctx context.Context, actor Actor, agent, name string, running []string) ([]WandbCommand, error) {
	return write(ctx, db, actor, func(tx *tx) ([]WandbCommand, error) {
		sweepID, _, _ := strings.Cut(agent, agentSeparator)
		s, err := tx.allowSweep(actor, sweepID, rightCreate)
		if err != nil {
			return nil, err
		}
		open, err := tx.openTrials(s)
		if err != nil {
			return nil, err
		}
		if open, err = tx.settleTrials(&s, open, agent, running); err != nil {
			return nil, err
		}
		commands, err := tx.stopRuns(s, open, running)
		if err != nil {
			return nil, err
		}
		switch {
		case s.State == SweepCanceled, s.State == SweepFinished && len(running) == 0:
			return append(commands, WandbCommand{Type: "exit"}), nil
		case len(running) > 0, s.State == SweepPaused, s.State == SweepFinished:
			return commands, nil
		}
		t, err := tx.nextTrial(s, open, agent, name)
		if err != nil || t != nil {
			if s.State == SweepPending && err == nil {
				err = tx.setSweepState(s, SweepRunning)
			}
			if err != nil {
				return nil, err
			}
			return append(commands, WandbCommand{Type: "run", Run: t.Name, Settings: t.Settings, Program: s.Config.Program}), nil
		}
		if len(open) == 0 {
			err = tx.setSweepState(s, SweepFinished)
		}
		return append(commands, WandbCommand{Type: "exit"}), err
	})
}

func (tx *tx) setSweepState(s WandbSweep, state SweepState) error {
	_, err := tx.Exec(`UPDATE wandb_sweep SET state = ?, updated_date = ? WHERE num = ?`, state, tx.now, s.Num)
	return err
}

// openTrials returns the runs of a sweep that have not ended.
func (tx *tx) openTrials(s WandbSweep) ([]trial, error) {
	open, err := tx.wandb().OpenTrials(s.Sweep)
	if err != nil {
		return nil, err
	}
	all := make([]trial, len(open))
	for i, t := range open {
		all[i].Trial = t
		if all[i].it, all[i].lastSeen, err = tx.runOfTrial(s, t.Name); err != nil {
			return nil, err
		}
		if all[i].lastSeen < t.Given {
			all[i].it = nil // a former attempt, which does not count
		}
	}
	return all, nil
}

// runOfTrial returns the iteration that the run with a name is, nil when there is none,
// and when it was last seen.
func (tx *tx) runOfTrial(s WandbSweep, name string) (_ *iterationState, lastSeen Time, err error) {
	it := iterationState{iterationRef: iterationRef{id: wandbID(s.projectID, name)}}
	err = tx.Row(`SELECT iteration.last_seen, `+iterationStateColumns+`
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE iteration.id = ?`, it.id).Scan(append([]any{&lastSeen}, it.into()...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	return &it, tx.db.lastSeen.Latest(it.num, lastSeen), err
}

// settleTrials takes note of which runs an agent carries out and which have ended, and
// returns those that have not.
func (tx *tx) settleTrials(s *WandbSweep, all []trial, agent string, running []string) (open []trial, err error) {
	lost := tx.now - Time(LostAfter.Milliseconds())
	for _, t := range all {
		mine := t.Agent == agent
		runs := slices.Contains(running, t.Name)
		if t.State == wandb.TrialGiven && (mine && runs || t.it != nil) {
			t.State = wandb.TrialStarted
		}
		if t.it != nil {
			if err := tx.wandb().Measure(s.Sweep, &t.Trial, t.it.num); err != nil {
				return nil, err
			}
		}
		again := false
		if t.it != nil && !t.it.deleted && (t.it.ended() || !runs && t.lastSeen < lost) {
			if again, err = tx.settlePreempted(*t.it); err != nil {
				return nil, err
			}
		}
		switch {
		case again:
			if err := tx.wandb().Queue(s.Sweep, &t.Trial, t.lastSeen); err != nil {
				return nil, err
			}
			t.it = nil
		case t.it != nil && (t.it.ended() || t.it.deleted || !runs && t.lastSeen < lost):
			t.State = wandb.TrialDone
		case t.it == nil && t.State == wandb.TrialStarted && (mine && !runs || !mine && t.Given < lost):
			t.State = wandb.TrialDone // it made no run, or made it without the server
		}
		best := math.NaN()
		if t.State == wandb.TrialDone && t.it != nil {
			if best, err = tx.wandb().Best(s.Sweep, t.it.num); err != nil {
				return nil, err
			}
		}
		if err := tx.wandb().SaveTrial(s.Sweep, t.Trial, best); err != nil {
			return nil, err
		}
		if t.State != wandb.TrialDone {
			open = append(open, t)
		}
	}
	return open, nil
}

// stopRuns ends those runs that are stopped early, and returns the commands to stop the
// runs of an agent that were ended here.
func (tx *tx) stopRuns(s WandbSweep, open []trial, running []string) (commands []WandbCommand, err error) {
	var alive []wandb.Trial
	its := map[int]iterationState{}
	for _, t := range open {
		if t.it != nil && !t.it.ended() {
			alive = append(alive, t.Trial)
			its[t.Number] = *t.it
		}
	}
	stopped, err := tx.wandb().Early(s.Sweep, alive)
	if err != nil {
		return nil, err
	}
	for _, t := range stopped {
		if err := tx.killWandb(its[t.Number], "stopped early by the sweep"); err != nil {
			return nil, err
		}
	}
	for _, name := range running {
		it, _, err := tx.runOfTrial(s, name)
		if err != nil {
			return nil, err
		}
		if it == nil || it.status != Killed {
			continue
		}
		w, err := tx.wandbRun(it.iterationRef)
		if err != nil {
			return nil, err
		}
		if !w.Complete {
			commands = append(commands, WandbCommand{Type: "stop", Run: name})
		}
	}
	return commands, nil
}

// nextTrial returns a run for an agent, nil when there are no more.
func (tx *tx) nextTrial(s WandbSweep, open []trial, agent, name string) (*wandb.Trial, error) {
	lost := tx.now - Time(LostAfter.Milliseconds())
	for i := range open {
		t := &open[i].Trial
		if t.State == wandb.TrialGiven && (t.Agent == agent || t.Agent == "" || t.Given < lost) {
			return t, tx.wandb().GiveAgain(s.Sweep, t, agent)
		}
	}
	t, err := tx.wandb().NextTrial(s.Sweep, agent, name)
	return t, refusedConfig(err)
}
