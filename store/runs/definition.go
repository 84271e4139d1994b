package runs

import (
	"context"
	"iter"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/json"
	"tracker/store/scalar"
)

// afterDefinitions is the smallest text after all texts that begin with scalar.DefinitionPrefix,
// because a slash follows a full stop in Unicode.
const afterDefinitions = "tracker.metric/"

// definingRuns is the number of an experiment's newest iterations whose definitions are read.
const definingRuns = 20

// maxDefinitions is the maximum number of definitions that are read at once.
const maxDefinitions = 2000

// SummaryMetrics begins the names of metrics that hold the numbers of a summary. They have one
// value each, so pages do not draw them at first.
const SummaryMetrics = "summary/"

// Definition holds what a script has declared about a metric.
type Definition struct {
	StepMetric string    `json:"step_metric,omitzero"` // metric for the X axis of charts, "" for the step
	Hidden     bool      `json:"hidden,omitzero"`      // whether charts omit the metric at first
	Goal       goal.Goal `json:"goal,omitzero"`        // "" if unknown
}

// ParseDefinition parses the value of a property whose key begins with scalar.DefinitionPrefix.
func ParseDefinition(text string) (d Definition, err error) {
	if err := json.Unmarshal([]byte(text), &d, json.RejectUnknownMembers(true)); err != nil {
		return d, domain.Invalid("value", `A definition of a metric is an object with step_metric, hidden and goal, such as {"step_metric":"epoch"}.`)
	}
	if d.Goal != "" {
		err = domain.OneOf("goal", d.Goal, goal.Minimize, goal.Maximize)
	}
	return d, err
}

// Property returns the property that stores the definition for a name or pattern.
func (d Definition) Property(pattern string) domain.Property {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // the type has only texts and a boolean
	}
	return domain.Property{Key: scalar.DefinitionPrefix + pattern, Value: string(text)}
}

// checkDefinitions returns an error if a property is an invalid definition.
func checkDefinitions(all []domain.Property) error {
	for _, p := range all {
		if strings.HasPrefix(p.Key, scalar.DefinitionPrefix) {
			if _, err := ParseDefinition(p.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Definitions holds definitions by name or pattern.
type Definitions map[string]Definition

// Of returns the definition of a metric. A definition by name takes precedence over patterns,
// and a long pattern takes precedence over a short pattern. The result is the zero value if no
// definition applies. Patterns do not apply to system metrics, and no metric is its own step
// metric.
func (all Definitions) Of(metric string) (d Definition) {
	d, ok := all[metric]
	if !ok && !strings.HasPrefix(metric, "system/") {
		// The patterns that match are the beginnings of the name, longest first.
		pattern := append([]byte(metric), 0)
		for n := len(metric); n >= 0 && !ok; n-- {
			pattern[n] = '*'
			d, ok = all[string(pattern[:n+1])]
		}
	}
	if d.StepMetric == metric {
		d.StepMetric = ""
	}
	return d
}

// Among returns the definitions that apply to the given metrics, by metric. It omits metrics
// without a definition.
func (all Definitions) Among(metrics iter.Seq[string]) map[string]Definition {
	found := map[string]Definition{}
	for metric := range metrics {
		if d := all.Of(metric); d != (Definition{}) {
			found[metric] = d
		}
	}
	return found
}

// Objective returns the objective that the definitions name. It is nil unless exactly one metric
// has a goal.
func (all Definitions) Objective() (o *goal.Objective) {
	for name, d := range all {
		if d.Goal == "" || strings.HasSuffix(name, "*") {
			continue
		}
		if o != nil {
			return nil
		}
		o = &goal.Objective{Metric: name, Goal: d.Goal}
	}
	return o
}

// Definitions returns the definitions of an experiment's metrics. If runs differ, the newest run
// with a definition of the name or pattern determines it. Definitions reads only the newest runs.
// The actor needs the right to read.
func (v *View) Definitions(experimentID string) (Definitions, error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	return readDefinitions(v.tx, `SELECT num FROM iteration WHERE experiment_id = ? AND `+domain.NotTrashed("iteration")+`
		ORDER BY num DESC LIMIT ?`, experimentID, definingRuns)
}

// Definitions calls View.Definitions in a new read transaction.
func (db *DB) Definitions(ctx context.Context, actor domain.Actor, experimentID string) (Definitions, error) {
	return view(ctx, db, actor, func(v *View) (Definitions, error) { return v.Definitions(experimentID) })
}

// readDefinitions returns the definitions of the iterations whose numbers a query selects.
func readDefinitions(tx *domain.Tx, nums string, args ...any) (Definitions, error) {
	all := Definitions{}
	err := EachText(tx, `SELECT iteration_num, key, value FROM (`+nums+`) AS n CROSS JOIN property ON iteration_num = n.num
		WHERE key >= ? AND key < ? ORDER BY iteration_num DESC LIMIT ?`,
		func(_ int64, key, value string) {
			pattern := strings.TrimPrefix(key, scalar.DefinitionPrefix)
			if _, known := all[pattern]; known {
				return
			}
			if d, err := ParseDefinition(value); err == nil { // archives can contain any value
				all[pattern] = d
			}
		}, slices.Concat(args, []any{scalar.DefinitionPrefix, afterDefinitions, maxDefinitions})...)
	return all, err
}
