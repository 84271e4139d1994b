package report

import (
	"context"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/pareto"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/ui/chart"
	"tracker/ui/plain"
	"tracker/ui/table"
)

const (
	shownShares = 12 // maximum number of parameters in a table of their importance
	shownFront  = 12 // maximum number of runs of a Pareto front in a table
)

// Share is the importance of a parameter for a metric.
type Share struct {
	Name     string
	Share    string
	Interval string
	Words    string // effect of the parameter, "" if unknown
	Known    bool
}

// listed returns the texts of a field that separates them by commas.
func (b block) listed(name string) (all []string) {
	for one := range strings.SplitSeq(b.fields[name], ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// importance fills part with the importance of an experiment's parameters.
func (r *Builder) importance(ctx context.Context, b block, part *Part) error {
	id, err := r.experimentID(ctx, b)
	if err != nil {
		return err
	}
	metric, aim := strings.Join(b.listed("metrics"), ", "), strings.Join(b.listed("goals"), ", ")
	rows, label, summary, err := r.Importance(ctx, id, metric, aim, b.fields["filter"])
	if err != nil {
		return err
	}
	part.Note = summary
	if len(rows) == 0 {
		return nil
	}
	t := table.Table{Labels: []string{"Parameter"}, Heads: []table.Head{{Name: "Importance for " + label, Number: true}, {Name: "95% interval", Number: true}, {Name: "Effect"}}}
	for _, row := range rows[:min(len(rows), shownShares)] {
		t.Rows = append(t.Rows, table.Row{Labels: []string{row.Name},
			Cells: []table.Cell{{Text: row.Share, Best: row.Known}, {Text: row.Interval}, {Text: row.Words}}})
		part.Links = append(part.Links, Run{Name: row.Name})
	}
	part.Table = &t
	return nil
}

// front fills part with the Pareto front of two metrics.
func (r *Builder) front(ctx context.Context, b block, part *Part) error {
	metrics, goals := b.listed("metrics"), b.listed("goals")
	if len(metrics) != 2 || metrics[0] == metrics[1] {
		return domain.Invalid("metrics", "The chart of trade-offs needs two metrics, separated by a comma.")
	}
	var objectives [2]goal.Objective
	for i, metric := range metrics {
		objectives[i] = goal.Objective{Metric: metric, Goal: goal.Of(metric)}
		if i < len(goals) {
			objectives[i].Goal = goal.Goal(goals[i])
		}
		if objectives[i].Goal == "" {
			objectives[i].Goal = goal.Minimize
		}
		if err := domain.OneOf("goals", objectives[i].Goal, goal.Minimize, goal.Maximize); err != nil {
			return err
		}
	}
	x, y := objectives[0], objectives[1]
	var found runs.Analysis
	err := r.DB.View(ctx, r.Actor, func(db *store.View) error {
		e, err := blockExperiment(db, r.ProjectID, b.fields["experiment"])
		if err != nil {
			return err
		}
		found, err = db.Runs.Analysis(runs.AnalysisQuery{ExperimentID: e.ID, Filter: b.fields["filter"], Columns: x.Value() + ", " + y.Value()})
		return err
	})
	if err != nil {
		return err
	}
	var xs, ys []float64
	if len(found.Metrics) == 2 {
		xs, ys = pareto.Coordinates(found.Metrics[0]), pareto.Coordinates(found.Metrics[1])
	}
	front := pareto.Front(xs, ys, x.Goal, y.Goal)
	if len(front) == 0 {
		part.Wrong = "No run has both metrics."
		return nil
	}
	part.Plots = []*chart.Plot{chart.Front(x.Label(), y.Label(), xs, ys, front)}
	part.Note = plain.Counted(len(front), "run is", "runs are") + " on the front: no other of the " + strconv.Itoa(pareto.Count(xs, ys)) + " runs is at least as good in both metrics and better in one."
	t := table.Table{Labels: []string{"Run on the front"}, Heads: []table.Head{{Name: x.Label(), Number: true}, {Name: y.Label(), Number: true}}, Total: len(front)}
	for _, i := range front[:min(len(front), shownFront)] {
		t.Rows = append(t.Rows, table.Row{Labels: []string{found.Names[i]}, ID: found.IDs[i],
			Cells: []table.Cell{{Known: true, Value: scalar.Value(xs[i])}, {Known: true, Value: scalar.Value(ys[i])}}})
		part.Links = append(part.Links, Run{ID: found.IDs[i], Name: found.Names[i]})
	}
	part.Table = &t
	return nil
}
