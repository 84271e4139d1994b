package projects

import (
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/search"
)

// ParseObjective reads "minimize NAME" or "maximize NAME". It returns nil for NoObjective,
// and for "", which leaves it to goal.Guess, and INVALID_PAYLOAD for any other text.
func ParseObjective(text string) (*goal.Objective, error) {
	if text == "" || text == goal.None {
		return nil, nil
	}
	o, ok := goal.Parse(text)
	if !ok || domain.CheckKey(o.Metric) != nil {
		return nil, domain.Invalid("objective", `The objective is "minimize" or "maximize", a space and the name of a metric, or "none"; leave it empty to have it guessed.`)
	}
	return &o, nil
}

// Objective returns the objective of an experiment: the one that was chosen, or the one
// that the names of its metrics suggest, up to MaxLimit of them. It returns nil for none.
// Needs read.
func (v *View) Objective(e Experiment) (*goal.Objective, error) {
	if e.Objective != "" {
		return ParseObjective(e.Objective)
	}
	kind := search.MetricKey
	keys, err := runs.In(v.tx).Keys(e.ID, runs.KeyQuery{Page: domain.Page{Limit: domain.MaxLimit}, Kind: &kind})
	if err != nil {
		return nil, err
	}
	return goal.Guess(keys.Data), nil
}
