package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"tracker/store/json"
	"tracker/store/sweep"
	"tracker/store/transfer"
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
	number   int
	name     string
	agent    string
	point    string
	settings string
	state    string
	given    Time
	brackets []float64       // the best values at the brackets so far
	judged   int             // how many of them were compared with other runs
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
			return append(commands, WandbCommand{Type: "run", Run: t.name, Settings: t.settings, Program: s.Config.Program}), nil
		}
		if len(open) == 0 {
			err = tx.setSweepState(s, SweepFinished)
		}
		return append(commands, WandbCommand{Type: "exit"}), err
	})
}

func (tx *tx) setSweepState(s WandbSweep, state SweepState) error {
	_, err := tx.Exec(`UPDATE wandb_sweep SET state = ?, updated_date = ? WHERE num = ?`, state, tx.now, s.num)
	return err
}

// openTrials returns the runs of a sweep that have not ended.
func (tx *tx) openTrials(s WandbSweep) ([]trial, error) {
	rows, err := tx.Rows(`SELECT number, name, agent, point, settings, state, given_date, brackets
		FROM wandb_trial WHERE sweep_num = ? AND state <> 'DONE' ORDER BY number`, s.num)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []trial
	for rows.Next() {
		var t trial
		var brackets string
		if err := rows.Scan(&t.number, &t.name, &t.agent, &t.point, &t.settings, &t.state, &t.given, &brackets); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(brackets), &t.brackets); err != nil {
			return nil, err
		}
		t.judged = len(t.brackets)
		all = append(all, t)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for i := range all {
		if err := tx.findTrial(s, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// findTrial looks for the iteration of a trial. One that was not seen since the trial was
// given is that of a former attempt, which does not count.
func (tx *tx) findTrial(s WandbSweep, t *trial) error {
	it := iterationState{iterationRef: iterationRef{id: wandbID(s.projectID, t.name)}}
	err := tx.Row(`SELECT iteration.last_seen, `+iterationStateColumns+`
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE iteration.id = ?`, it.id).Scan(append([]any{&t.lastSeen}, it.into()...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	t.lastSeen = tx.db.lastSeen.latest(it.num, t.lastSeen)
	if t.lastSeen >= t.given {
		t.it = &it
	}
	return err
}

// settleTrials takes note of which runs an agent carries out and which have ended, and
// returns those that have not.
func (tx *tx) settleTrials(s *WandbSweep, all []trial, agent string, running []string) (open []trial, err error) {
	lost := tx.now - Time(LostAfter.Milliseconds())
	for _, t := range all {
		mine := t.agent == agent
		runs := slices.Contains(running, t.name)
		if t.state == "GIVEN" && (mine && runs || t.it != nil) {
			t.state = "STARTED"
		}
		if err := tx.measure(*s, &t); err != nil {
			return nil, err
		}
		again := false
		if t.it != nil && !t.it.deleted && (t.it.ended() || !runs && t.lastSeen < lost) {
			if again, err = tx.settlePreempted(*t.it); err != nil {
				return nil, err
			}
		}
		switch {
		case again:
			if err := tx.queueTrial(*s, &t); err != nil {
				return nil, err
			}
		case t.it != nil && (t.it.ended() || t.it.deleted || !runs && t.lastSeen < lost):
			t.state = "DONE"
		case t.it == nil && t.state == "STARTED" && (mine && !runs || !mine && t.given < lost):
			t.state = "DONE" // it made no run, or made it without the server
		}
		value := sql.NullFloat64{}
		if t.state == "DONE" && t.it != nil {
			if value.Float64, err = tx.bestOf(*s, t.it.num); err != nil {
				return nil, err
			}
			value.Valid = !math.IsNaN(value.Float64)
		}
		brackets, err := json.Marshal(t.brackets)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(`UPDATE wandb_trial SET state = ?1, brackets = ?2, value = ?3
			WHERE sweep_num = ?4 AND number = ?5 AND (state <> ?1 OR brackets <> ?2)`, t.state, string(brackets), value, s.num, t.number); err != nil {
			return nil, err
		}
		if t.state != "DONE" {
			open = append(open, t)
		}
	}
	return open, nil
}

// metricKeys returns the names that the metric of a sweep may have here: nested ones have
// slashes, and what is only in the summary has its prefix.
func metricKeys(s WandbSweep) []string {
	name := s.Config.Metric.Name
	if name == "" {
		return nil
	}
	nested := strings.ReplaceAll(name, ".", "/")
	return []string{transfer.FitName(name), transfer.FitName(nested), transfer.FitName(summaryPrefix + name), transfer.FitName(summaryPrefix + nested)}
}

// bestOf returns the best value of the metric of a run, NaN when it has none.
func (tx *tx) bestOf(s WandbSweep, num int64) (float64, error) {
	keys := metricKeys(s)
	if keys == nil {
		return math.NaN(), nil
	}
	all, err := tx.points().Statistics(num)
	if err != nil {
		return 0, err
	}
	for _, key := range keys {
		for _, m := range all {
			if m.Key != key || m.Min == nil {
				continue
			}
			if s.Config.Metric.Maximize {
				return float64(*m.Max), nil
			}
			return float64(*m.Min), nil
		}
	}
	return math.NaN(), nil
}

// errEnough ends a walk over points.
var errEnough = errors.New("enough")

// measure keeps the best values of a run at the brackets that it has come to.
func (tx *tx) measure(s WandbSweep, t *trial) error {
	h := s.Config.Early
	if h == nil || t.it == nil {
		return nil
	}
	best, n := math.NaN(), 0
	at := make([]float64, 0, len(h.Brackets))
	for _, key := range metricKeys(s)[:2] {
		err := tx.points().Each(t.it.num, key, func(_ string, _ Step, v Value, _ Time) error {
			x := float64(v)
			if math.IsNaN(best) || !math.IsNaN(x) && x < best != s.Config.Metric.Maximize {
				best = x
			}
			n++
			for len(at) < len(h.Brackets) && n >= h.Brackets[len(at)] {
				at = append(at, encodable(best, s.Config.Metric))
			}
			if len(at) == len(h.Brackets) || n == maxMeasured {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if n > 0 {
			break
		}
	}
	t.brackets = at
	return nil
}

// maxMeasured is the number of values up to which brackets are looked at.
const maxMeasured = 50_000

// encodable returns a value that JSON has: the worst one for NaN and infinities.
func encodable(x float64, m sweep.Metric) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		if m.Maximize {
			return -math.MaxFloat64
		}
		return math.MaxFloat64
	}
	return x
}

// stopRuns ends those runs that are stopped early, and returns the commands to stop the
// runs of an agent that were ended here.
func (tx *tx) stopRuns(s WandbSweep, open []trial, running []string) (commands []WandbCommand, err error) {
	var former [][]float64
	if s.Config.Early != nil {
		if former, err = tx.allBrackets(s); err != nil {
			return nil, err
		}
	}
	for _, t := range open {
		if t.it == nil || t.it.ended() {
			continue
		}
		for i := t.judged; i < len(t.brackets); i++ {
			var others []float64
			for number, brackets := range former {
				if number != t.number && len(brackets) > i {
					others = append(others, brackets[i])
				}
			}
			if !s.Config.Early.Stops(s.Config.Metric, t.brackets[i], others) {
				continue
			}
			if err := tx.killWandb(*t.it, "stopped early by the sweep"); err != nil {
				return nil, err
			}
			break
		}
	}
	for _, name := range running {
		t := trial{name: name}
		if err := tx.findTrial(s, &t); err != nil {
			return nil, err
		}
		if t.it == nil || t.it.status != Killed {
			continue
		}
		w, err := tx.wandbRun(t.it.iterationRef)
		if err != nil {
			return nil, err
		}
		if !w.Complete {
			commands = append(commands, WandbCommand{Type: "stop", Run: name})
		}
	}
	return commands, nil
}

// allBrackets returns the values at the brackets of all runs of a sweep, by number.
func (tx *tx) allBrackets(s WandbSweep) ([][]float64, error) {
	var texts []string
	if err := tx.Select(&texts, `SELECT brackets FROM wandb_trial WHERE sweep_num = ? ORDER BY number`, s.num); err != nil {
		return nil, err
	}
	all := make([][]float64, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// nextTrial returns a run for an agent, nil when there are no more.
func (tx *tx) nextTrial(s WandbSweep, open []trial, agent, name string) (*trial, error) {
	lost := tx.now - Time(LostAfter.Milliseconds())
	for i := range open {
		t := &open[i]
		if t.state == "GIVEN" && (t.agent == agent || t.agent == "" || t.given < lost) {
			t.given = max(tx.now, t.given)
			_, err := tx.Exec(`UPDATE wandb_trial SET agent = ?, given_date = ? WHERE sweep_num = ? AND number = ?`, agent, t.given, s.num, t.number)
			return t, err
		}
	}
	var seen []sweep.Observation
	if s.Config.Method == sweep.Bayes {
		var err error
		if seen, err = tx.observations(s); err != nil {
			return nil, err
		}
	}
	h := fnv.New64a()
	h.Write([]byte(s.ID)) // never fails
	p, settings, ok := s.Config.Next(rand.New(rand.NewPCG(h.Sum64(), uint64(s.Given))), s.Given, seen)
	if !ok {
		return nil, nil
	}
	point, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(settings, json.Deterministic(true), json.AllowInvalidUTF8(true))
	if err != nil {
		return nil, Invalid("config", "The values of the sweep can't be written as JSON.")
	}
	t := &trial{number: s.Given, name: name, agent: agent, point: string(point), settings: string(args)}
	_, err = tx.Exec(`INSERT INTO wandb_trial (sweep_num, number, name, agent, point, settings, state, given_date, brackets)
		VALUES (?, ?, ?, ?, ?, ?, 'GIVEN', ?, '[]')`, s.num, t.number, t.name, t.agent, t.point, t.settings, tx.now)
	return t, err
}

// observations returns the runs of a sweep that have ended, the oldest first.
func (tx *tx) observations(s WandbSweep) ([]sweep.Observation, error) {
	var rows []struct {
		Point string   `db:"point"`
		Value *float64 `db:"value"`
	}
	if err := tx.Select(&rows, `SELECT point, value FROM wandb_trial WHERE sweep_num = ? AND state = 'DONE' ORDER BY number`, s.num); err != nil {
		return nil, err
	}
	all := make([]sweep.Observation, len(rows))
	for i, row := range rows {
		all[i].Value = *cmp.Or(row.Value, new(math.NaN()))
		if err := json.Unmarshal([]byte(row.Point), &all[i].Point); err != nil {
			return nil, err
		}
	}
	return all, nil
}
