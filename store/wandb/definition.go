package wandb

import (
	"slices"

	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/json"
	"tracker/store/runs"
	"tracker/store/wandb/format"
)

// metricRecord is an element of the list m in the configuration of a run. W&B's clients use the
// field numbers of their MetricRecord message as names.
type metricRecord struct {
	Name       string `json:"1"`
	Glob       string `json:"2"`
	StepMetric string `json:"4"`
	StepIndex  int    `json:"5"` // place of the step metric in the list, from 1; 0 for none
	Options    []int  `json:"6"`
	Summary    []int  `json:"7"`
	Goal       int    `json:"8"`
}

// Values in a metricRecord.
const (
	hiddenOption = 2
	minSummary   = 1
	maxSummary   = 2
)

// definitions returns the properties with the metric definitions in the configuration of a run,
// at most domain.MaxProperties. It ignores definitions that can't be read or stored.
func definitions(config string) (all []domain.Property) {
	own := format.MemberOf(format.MemberOf(config, "_wandb"), "value")
	var records []metricRecord
	if json.Unmarshal([]byte(format.MemberOf(own, "m")), &records) != nil {
		return nil
	}
	for _, r := range records {
		pattern := r.Name
		if pattern == "" {
			pattern = r.Glob
		}
		d := runs.Definition{StepMetric: r.StepMetric, Hidden: slices.Contains(r.Options, hiddenOption), Goal: goal.Goal(format.GoalOf(r.Goal, slices.Contains(r.Summary, minSummary), slices.Contains(r.Summary, maxSummary)))}
		if at := r.StepIndex - 1; d.StepMetric == "" && at >= 0 && at < len(records) {
			d.StepMetric = records[at].Name
		}
		p := d.Property(pattern)
		if pattern == "" || d == (runs.Definition{}) || domain.CheckKey(p.Key) != nil || len(all) == domain.MaxProperties {
			continue
		}
		all = append(all, p)
	}
	return all
}
