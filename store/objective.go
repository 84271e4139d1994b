package store

import "tracker/store/goal"

// The metric by which the runs of an experiment are compared, and its goal.
type (
	Goal      = goal.Goal
	Objective = goal.Objective
)

// The goals.
const (
	Minimize = goal.Minimize
	Maximize = goal.Maximize
)

// NoObjective is the objective of an experiment whose runs are not compared.
const NoObjective = goal.None

// ParseObjective reads "minimize NAME" or "maximize NAME". nil for NoObjective, and for "",
// which leaves it to goal.Guess. INVALID_PAYLOAD when it can't be read.
func ParseObjective(text string) (*Objective, error) {
	if text == "" || text == NoObjective {
		return nil, nil
	}
	o, ok := goal.Parse(text)
	if !ok || checkKey(o.Metric) != nil {
		return nil, Invalid("objective", `The objective is "minimize" or "maximize", a space and the name of a metric, or "none"; leave it empty to have it guessed.`)
	}
	return &o, nil
}

// Objective returns the objective of an experiment: the one that was chosen, or the one
// that the names of its metrics suggest, up to MaxLimit of them. nil for none. Needs read.
func (v *View) Objective(e Experiment) (*Objective, error) {
	if e.Objective != "" {
		return ParseObjective(e.Objective)
	}
	kind := MetricKey
	keys, err := v.Keys(e.ID, KeyQuery{Page: Page{Limit: MaxLimit}, Kind: &kind})
	if err != nil {
		return nil, err
	}
	return goal.Guess(keys.Data), nil
}
