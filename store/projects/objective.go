package projects

import (
	"slices"

	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/search"
)

// ParseObjective parses "minimize NAME" or "maximize NAME". It returns nil for goal.None and for
// "", which means that goal.Guess chooses the objective. For any other text, it returns
// INVALID_PAYLOAD.
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

// Objective returns the chosen objective of an experiment. If no user chose an objective, it
// returns the objective that the runs' definitions of metrics name, or else the guess of
// goal.Guess, both for up to MaxLimit metrics. It returns nil if the experiment has no objective.
// The actor needs the right to read.
func (v *View) Objective(e Experiment) (*goal.Objective, error) {
	if e.Objective != "" {
		return ParseObjective(e.Objective)
	}
	kind := search.MetricKey
	keys, err := runs.In(v.tx).Keys(e.ID, runs.KeyQuery{Page: domain.Page{Limit: domain.MaxLimit}, Kind: &kind})
	if err != nil {
		return nil, err
	}
	defined, err := runs.In(v.tx).Definitions(e.ID)
	if err != nil {
		return nil, err
	}
	if o := defined.Objective(); o != nil && slices.ContainsFunc(keys.Data, func(k search.Key) bool { return k.Key == o.Metric }) {
		return o, nil
	}
	return goal.Guess(keys.Data), nil
}
