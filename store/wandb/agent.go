package wandb

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// Command tells an agent to start a run, to stop a run or to exit.
type Command struct {
	Type     string // "run", "stop" or "exit"
	Run      string // name of the run
	Settings string // settings of the run as a JSON object
	Program  string // program of the run; "" if the agent calls a function
}

// trial is a run that was assigned to an agent, with its iteration.
type trial struct {
	Trial
	it       *domain.IterationState // nil until the run starts after its assignment
	lastSeen scalar.Time
}

// agentSeparator separates the two parts of an agent id: the sweep id and the agent name.
const agentSeparator = "-"

// CreateAgent returns the id of a new agent of a sweep. The id ends with name. The actor needs
// the right to create.
func (db *DB) CreateAgent(ctx context.Context, actor domain.Actor, sweepID, name string) (id string, err error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (string, error) {
		s, err := allowSweep(tx, actor, sweepID, domain.RightCreate)
		return s.ID + agentSeparator + name, err
	})
}

// Heartbeat records which runs an agent executes and returns commands for the agent. running lists
// the names of these runs, and name is the name for a new run. The actor needs the right to create.
//
// A run that was assigned to an agent but has not started is assigned again: to the same agent if
// it asks again, because a response can get lost, and after LostAfter to any agent that asks. A
// preempted run is assigned to the first agent that asks, before any run with new settings.
//
// If the sweep was canceled, the agent gets the exit command only after its runs have ended, so the
// command never ends a run that has started.
func (db *DB) Heartbeat(ctx context.Context, actor domain.Actor, agent, name string, running []string) ([]Command, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) ([]Command, error) {
		sweepID, _, _ := strings.Cut(agent, agentSeparator)
		s, err := allowSweep(tx, actor, sweepID, domain.RightCreate)
		if err != nil {
			return nil, err
		}
		open, err := openTrials(tx, s)
		if err != nil {
			return nil, err
		}
		if open, err = updateTrials(tx, &s, open, agent, running); err != nil {
			return nil, err
		}
		if err := endRuns(tx, s, open); err != nil {
			return nil, err
		}
		commands, begun, err := stopRuns(tx, s, running)
		if err != nil {
			return nil, err
		}
		switch {
		case s.State == SweepCanceled && !begun, (s.State == SweepCanceled || s.State == SweepFinished) && len(running) == 0:
			return append(commands, Command{Type: "exit"}), nil
		case len(running) > 0, s.State == SweepPaused, s.State == SweepFinished:
			return commands, nil
		}
		t, err := nextTrial(tx, s, open, agent, name)
		if err != nil || t != nil {
			if s.State == SweepPending && err == nil {
				err = setSweepState(tx, s, SweepRunning)
			}
			if err != nil {
				return nil, err
			}
			return append(commands, Command{Type: "run", Run: t.Name, Settings: t.Settings, Program: s.Config.Program}), nil
		}
		if len(open) == 0 {
			err = setSweepState(tx, s, SweepFinished)
		}
		return append(commands, Command{Type: "exit"}), err
	})
}

func setSweepState(tx *domain.Tx, s Sweep, state SweepState) error {
	_, err := tx.Exec(`UPDATE wandb_sweep SET state = ?, updated_date = ? WHERE num = ?`, state, tx.Now, s.Num)
	return err
}

// openTrials returns the runs of a sweep that have not ended.
func openTrials(tx *domain.Tx, s Sweep) ([]trial, error) {
	open, err := wandbTx(tx).OpenTrials(s.SweepTrials)
	if err != nil {
		return nil, err
	}
	all := make([]trial, len(open))
	for i, t := range open {
		all[i].Trial = t
		if all[i].it, all[i].lastSeen, err = runOfTrial(tx, s, t.Name); err != nil {
			return nil, err
		}
		if all[i].lastSeen < t.Given {
			all[i].it = nil // the iteration belongs to an earlier attempt
		}
	}
	return all, nil
}

// runOfTrial returns the iteration of the run with the given name and the time when it was last
// seen. The iteration is nil if it does not exist.
func runOfTrial(tx *domain.Tx, s Sweep, name string) (_ *domain.IterationState, lastSeen scalar.Time, err error) {
	it := domain.IterationState{IterationRef: domain.IterationRef{ID: wandbID(s.projectID, name)}}
	err = tx.Row(`SELECT iteration.last_seen, `+domain.IterationStateColumns+`
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE iteration.id = ?`, it.ID).Scan(append([]any{&lastSeen}, it.Into()...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	return &it, tx.DB.LastSeen.Latest(it.Num, lastSeen), err
}

// updateTrials updates the states of trials from the states of the iterations and from running, the
// names of the runs that the agent executes. It returns the trials that have not ended.
func updateTrials(tx *domain.Tx, s *Sweep, all []trial, agent string, running []string) (open []trial, err error) {
	for _, t := range all {
		mine := t.Agent == agent
		runs := slices.Contains(running, t.Name)
		if t.State == TrialGiven && (mine && runs || t.it != nil) {
			t.State = TrialStarted
		}
		if t.it != nil {
			if err := wandbTx(tx).Measure(s.SweepTrials, &t.Trial, t.it.Num); err != nil {
				return nil, err
			}
		}
		again := false
		if t.it != nil && !t.it.Deleted && (t.it.Ended() || !runs && domain.Silent(t.lastSeen, tx.Now)) {
			if again, err = endPreempted(tx, *t.it); err != nil {
				return nil, err
			}
		}
		switch {
		case again:
			if err := wandbTx(tx).Queue(s.SweepTrials, &t.Trial, t.lastSeen); err != nil {
				return nil, err
			}
			t.it = nil
		case t.it != nil && (t.it.Ended() || t.it.Deleted || !runs && domain.Silent(t.lastSeen, tx.Now)):
			t.State = TrialDone
		case t.it == nil && t.State == TrialStarted && (mine && !runs || !mine && domain.Silent(t.Given, tx.Now)):
			t.State = TrialDone // the run was never sent to this server
		}
		best := math.NaN()
		if t.State == TrialDone && t.it != nil {
			if best, err = wandbTx(tx).Best(s.SweepTrials, t.it.Num); err != nil {
				return nil, err
			}
		}
		if err := wandbTx(tx).SaveTrial(s.SweepTrials, t.Trial, best); err != nil {
			return nil, err
		}
		if t.State != TrialDone {
			open = append(open, t)
		}
	}
	return open, nil
}

// endRuns ends the runs that the sweep stops early. If the sweep was canceled, endRuns ends all
// open runs.
func endRuns(tx *domain.Tx, s Sweep, open []trial) error {
	var alive []Trial
	its := map[int]*domain.IterationState{}
	for _, t := range open {
		if t.it != nil && !t.it.Ended() {
			alive = append(alive, t.Trial)
			its[t.Number] = t.it
		}
	}
	message := canceled
	if s.State != SweepCanceled {
		var err error
		if alive, err = wandbTx(tx).Early(s.SweepTrials, alive); err != nil {
			return err
		}
		message = "stopped early by the sweep"
	}
	for _, t := range alive {
		if err := killRun(tx, *its[t.Number], message); err != nil {
			return err
		}
	}
	return nil
}

// stopRuns returns a stop command for each run that was ended on the server but whose client still
// sends data. If the agent calls a function, it does the same for a run with a stop request,
// because the client does not interrupt the function. begun reports whether all runs in running
// have started.
//
// A client that is finishing its run gets no stop command, because it could then wait forever.
func stopRuns(tx *domain.Tx, s Sweep, running []string) (commands []Command, begun bool, err error) {
	begun = true
	for _, name := range running {
		it, _, err := runOfTrial(tx, s, name)
		if err != nil {
			return nil, false, err
		}
		if it == nil {
			begun = false
			continue
		}
		at := it.EndDate
		if it.Status == domain.Running && s.Config.Program == "" {
			if err := tx.Row(`SELECT stop_requested FROM iteration WHERE num = ?`, it.Num).Scan(&at); err != nil {
				return nil, false, err
			}
		} else if it.Status != domain.Killed {
			continue
		}
		if at == nil {
			continue
		}
		w, err := wandbRun(tx, it.IterationRef)
		if err != nil {
			return nil, false, err
		}
		if w.Complete {
			continue
		}
		before := w.Ended
		if w.LogsOn(*at) {
			commands = append(commands, Command{Type: "stop", Run: name})
		}
		if w.Ended != before {
			if err := wandbTx(tx).Save(it.Num, w); err != nil {
				return nil, false, err
			}
		}
	}
	return commands, begun, nil
}

// nextTrial assigns a run to an agent and returns the run. It returns nil if no run is left.
func nextTrial(tx *domain.Tx, s Sweep, open []trial, agent, name string) (*Trial, error) {
	for i := range open {
		t := &open[i].Trial
		if t.State == TrialGiven && (t.Agent == agent || t.Agent == "" || domain.Silent(t.Given, tx.Now)) {
			return t, wandbTx(tx).GiveAgain(s.SweepTrials, t, agent)
		}
	}
	t, err := wandbTx(tx).NextTrial(s.SweepTrials, agent, name)
	return t, refusedConfig(err)
}
