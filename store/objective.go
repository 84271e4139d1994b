package store

import (
	"tracker/store/access"
	"tracker/store/goal"
)

// ParseObjective reads "minimize NAME" or "maximize NAME". It returns nil for NoObjective,
// and for "", which leaves it to goal.Guess, and INVALID_PAYLOAD for any other text.
func ParseObjective(text string) (*Objective, error) {
	if text == "" || text == NoObjective {
		return nil, nil
	}
	o, ok := goal.Parse(text)
	if !ok || access.CheckKey(o.Metric) != nil {
		return nil, access.Invalid("objective", `The objective is "minimize" or "maximize", a space and the name of a metric, or "none"; leave it empty to have it guessed.`)
	}
	return &o, nil
}

// Objective returns the objective of an experiment: the one that was chosen, or the one
// that the names of its metrics suggest, up to MaxLimit of them. It returns nil for none.
// Needs read.
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
