package wandb

import (
	"cmp"
	"database/sql"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"tracker/store/json"
	"tracker/store/sqlite"
	"tracker/store/transfer"
	"tracker/store/wandb/sweep"
)

// SweepTrials holds the fields of a sweep that the methods for trials need.
type SweepTrials struct {
	Num    int64
	ID     string // eight letters and digits
	Given  int    // number of trials
	Done   int    // number of trials that have ended
	Config sweep.Config
}

// Trial is a run that was assigned to an agent.
type Trial struct {
	Number   int
	Name     string // name of the run
	Agent    string
	Settings string // settings of the run as a JSON object
	State    TrialState
	Given    Time
	Brackets []float64 // best metric value at each bracket reached by the run
	Judged   int       // number of brackets at which the run has been compared with others
}

// TrialState is the state of a trial.
type TrialState string

// States of a trial.
const (
	TrialGiven   TrialState = "GIVEN" // assigned, but the run has not started
	TrialStarted TrialState = "STARTED"
	TrialDone    TrialState = "DONE"
)

// OpenTrials returns the trials of a sweep that have not ended.
func (tx Tx) OpenTrials(s SweepTrials) ([]Trial, error) {
	var all []Trial
	rows, err := tx.Rows(`SELECT number, name, agent, settings, state, given_date, brackets
		FROM wandb_trial WHERE sweep_num = ? AND state <> 'DONE' ORDER BY number`, s.Num)
	err = sqlite.Each(rows, err, func() error {
		var t Trial
		var brackets string
		if err := rows.Scan(&t.Number, &t.Name, &t.Agent, &t.Settings, &t.State, &t.Given, &brackets); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(brackets), &t.Brackets); err != nil {
			return err
		}
		t.Judged = len(t.Brackets)
		all = append(all, t)
		return nil
	})
	return all, err
}

// SaveTrial writes the state and the brackets of a trial, and best, the best value of the metric,
// which is NaN if the trial has no value.
func (tx Tx) SaveTrial(s SweepTrials, t Trial, best float64) error {
	brackets, err := json.Marshal(t.Brackets)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE wandb_trial SET state = ?1, brackets = ?2, value = ?3
		WHERE sweep_num = ?4 AND number = ?5 AND (state <> ?1 OR brackets <> ?2)`,
		t.State, string(brackets), sql.NullFloat64{Float64: best, Valid: !math.IsNaN(best)}, s.Num, t.Number)
	return err
}

// GiveAgain assigns a trial whose run has not started to an agent again.
func (tx Tx) GiveAgain(s SweepTrials, t *Trial, agent string) error {
	t.Agent, t.Given = agent, max(tx.Now, t.Given)
	_, err := tx.Exec(`UPDATE wandb_trial SET agent = ?, given_date = ? WHERE sweep_num = ? AND number = ?`, t.Agent, t.Given, s.Num, t.Number)
	return err
}

// Queue removes the agent from a trial, so that another agent can get the trial. The assignment
// time becomes later than lastSeen, so that the previous attempt no longer counts.
func (tx Tx) Queue(s SweepTrials, t *Trial, lastSeen Time) error {
	t.State, t.Agent, t.Given, t.Brackets, t.Judged = TrialGiven, "", max(tx.Now, lastSeen)+1, nil, 0
	_, err := tx.Exec(`UPDATE wandb_trial SET agent = '', given_date = ? WHERE sweep_num = ? AND number = ?`, t.Given, s.Num, t.Number)
	return err
}

// NextTrial creates a trial with the given name for an agent. It returns nil if no settings are
// left.
func (tx Tx) NextTrial(s SweepTrials, agent, name string) (*Trial, error) {
	var seen []sweep.Observation
	if s.Config.Method == sweep.Bayes {
		var err error
		if seen, err = tx.observations(s); err != nil {
			return nil, err
		}
	}
	h := fnv.New64a()
	h.Write([]byte(s.ID)) // never returns an error
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
		return nil, errSettings
	}
	t := &Trial{Number: s.Given, Name: name, Agent: agent, Settings: string(args), State: TrialGiven, Given: tx.Now}
	_, err = tx.Exec(`INSERT INTO wandb_trial (sweep_num, number, name, agent, point, settings, state, given_date, brackets)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, '[]')`, s.Num, t.Number, t.Name, t.Agent, string(point), t.Settings, t.State, t.Given)
	return t, err
}

var errSettings = &sweep.Error{Message: "The values of the sweep can't be written as JSON."}

// observations returns the results of a sweep's ended trials, oldest first.
func (tx Tx) observations(s SweepTrials) ([]sweep.Observation, error) {
	var rows []struct {
		Point string   `db:"point"`
		Value *float64 `db:"value"`
	}
	if err := tx.Select(&rows, `SELECT point, value FROM wandb_trial WHERE sweep_num = ? AND state = 'DONE' ORDER BY number`, s.Num); err != nil {
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

// MetricKeys returns the possible keys of the metric to optimize. The names in the key of a nested
// value can be joined with slashes, and a value that exists only in the summary has the prefix
// SummaryPrefix. MetricKeys returns nil if the sweep has no metric.
func (s SweepTrials) MetricKeys() []string {
	name := s.Config.Metric.Name
	if name == "" {
		return nil
	}
	nested := strings.ReplaceAll(name, ".", "/")
	return []string{transfer.FitName(name), transfer.FitName(nested), transfer.FitName(SummaryPrefix + name), transfer.FitName(SummaryPrefix + nested)}
}

// Best returns the best value of the sweep's metric in an iteration. It returns NaN if the
// iteration has no value for it.
func (tx Tx) Best(s SweepTrials, num int64) (float64, error) {
	keys := s.MetricKeys()
	if keys == nil {
		return math.NaN(), nil
	}
	all, err := tx.Statistics(num)
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

// errEnough ends the reading of points.
var errEnough = errors.New("enough")

// Measure sets t.Brackets to the best values at the brackets that the run has reached. num is
// the row number of the run's iteration.
func (tx Tx) Measure(s SweepTrials, t *Trial, num int64) error {
	h := s.Config.Early
	if h == nil {
		return nil
	}
	best, n := math.NaN(), 0
	at := make([]float64, 0, len(h.Brackets))
	for _, key := range s.MetricKeys()[:2] {
		err := tx.Each(num, key, func(_ string, _ Step, v Value, _ Time) error {
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
	t.Brackets = at
	return nil
}

// maxMeasured is the maximum number of metric values that Measure reads.
const maxMeasured = 50_000

// encodable returns x if JSON can encode it. For NaN and infinities, it returns the worst
// finite value.
func encodable(x float64, m sweep.Metric) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		if m.Maximize {
			return -math.MaxFloat64
		}
		return math.MaxFloat64
	}
	return x
}

// Early returns the open trials to stop. It compares each trial with the others at the brackets
// that the trial has reached since its last comparison.
func (tx Tx) Early(s SweepTrials, open []Trial) (stopped []Trial, err error) {
	if s.Config.Early == nil {
		return nil, nil
	}
	var texts []string
	if err := tx.Select(&texts, `SELECT brackets FROM wandb_trial WHERE sweep_num = ? ORDER BY number`, s.Num); err != nil {
		return nil, err
	}
	all := make([][]float64, len(texts)) // by trial number
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			return nil, err
		}
	}
	for _, t := range open {
		for i := t.Judged; i < len(t.Brackets); i++ {
			var others []float64
			for number, brackets := range all {
				if number != t.Number && len(brackets) > i {
					others = append(others, brackets[i])
				}
			}
			if s.Config.Early.Stops(s.Config.Metric, t.Brackets[i], others) {
				stopped = append(stopped, t)
				break
			}
		}
	}
	return stopped, nil
}
