package report

import (
	"context"
	"strconv"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

// ValueOf is a value of all runs of a Query.
type ValueOf struct {
	Column filter.Column
	Runs   runs.Analysis
	at     int // index of the column
}

// Text reports whether the value is a text: a parameter, or a text of the summary.
func (v ValueOf) Text() bool { return v.Column.Field != filter.Metric }

// Label returns the name of the value.
func (v ValueOf) Label() string {
	if v.Text() {
		return v.Column.Name
	}
	return v.Column.Name + " (" + v.Column.Stat + ")"
}

// Columns returns the values of a metric as numbers and all others as texts, in the order of the
// runs. The other result is nil.
func (v ValueOf) Columns() (numbers []*scalar.Value, texts []*string) {
	if len(v.Runs.Nums) == 0 {
		return nil, nil
	}
	return v.Runs.Metrics[v.at], v.Runs.Texts[v.at]
}

// Values returns the values for a chart.
func (v ValueOf) Values() chart.Values {
	label := plain.Line(v.Label(), 80)
	numbers, texts := v.Columns()
	if v.Text() {
		return chart.ParamValues(label, texts)
	}
	return chart.MetricValues(label, numbers)
}

// ReadValues returns values of the newest runs that match a filter, at most
// runs.MaxImportanceRuns. Each name is a parameter or a metric in the search language. It returns
// INVALID_PAYLOAD if a name or the filter can't be parsed.
func ReadValues(db *store.View, experimentID, where string, names ...string) (all []ValueOf, err error) {
	text := ""
	for i, name := range names {
		columns, err := new(filter.Parser).Columns(name)
		if err != nil || len(columns) != 1 {
			field := []string{"x", "y"}[i]
			return nil, domain.Invalid(field, "The value %s must be one parameter or metric, for example param.lr or metric.loss.min.", field)
		}
		v := ValueOf{Column: columns[0]}
		if i > 0 && all[0].Column == columns[0] {
			v.at = all[0].at
		} else if text != "" {
			text, v.at = text+", "+name, i
		} else {
			text = name
		}
		all = append(all, v)
	}
	found, err := db.Runs.Analysis(runs.AnalysisQuery{ExperimentID: experimentID, Filter: where, Columns: text})
	for i := range all {
		all[i].Runs = found
	}
	return all, err
}

// values fills part with bars, dots or a histogram of the values of all runs that match the filter.
// The first runs have colours.
func (r *Builder) values(ctx context.Context, b block, part *Part) error {
	limit := defaultRuns
	if n, err := strconv.Atoi(b.fields["runs"]); err == nil && n >= 0 {
		limit = min(n, MaxRuns)
	}
	names := []string{b.fields["x"]}
	if b.kind == "scatter" {
		names = append(names, b.fields["y"])
	}
	var name string
	var all []ValueOf
	var list []runs.Iteration
	err := r.DB.View(ctx, r.Actor, func(db *store.View) error {
		e, err := blockExperiment(db, r.ProjectID, b.fields["experiment"])
		if err != nil {
			return err
		}
		name = e.Name
		if all, err = ReadValues(db, e.ID, b.fields["filter"], names...); err != nil || limit == 0 {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		where := b.fields["filter"]
		if some := b.fields["highlight"]; some != "" {
			where = some
		}
		found, err := db.Runs.Iterations(e.ID, runs.IterationQuery{Page: domain.Page{Limit: limit}, Filter: where, Sort: b.order(o)})
		list = found.Data
		return err
	})
	if err != nil {
		return err
	}
	found := all[0].Runs
	if len(found.Nums) == 0 {
		part.Wrong = "No run of " + name + " passes the filter."
		return nil
	}
	at := make(map[string]int, len(found.IDs))
	for i, id := range found.IDs {
		at[id] = i
	}
	colors := map[int]chart.Run{}
	for _, run := range r.Runs(list) {
		if i, ok := at[run.ID]; ok {
			colors[i] = chart.Run{Name: run.Name, Class: run.Class}
			part.Runs = append(part.Runs, run)
		}
	}
	x := all[0].Values()
	known := chart.Known(x)
	var p *chart.Plot
	switch b.kind {
	case "bar":
		p = chart.RunBars(x, colors)
	case "histogram":
		p = chart.RunHistogram(x, colors)
	default:
		y := all[1].Values()
		known = chart.Known(x, y)
		p = chart.Dots(x, y, colors)
	}
	if p == nil {
		part.Runs, part.Wrong = nil, "No run of "+name+" has finite values of "+x.Label+"."
		if len(all) > 1 {
			part.Wrong = "No run of " + name + " has finite values of both " + x.Label + " and " + all[1].Values().Label + "."
		}
		return nil
	}
	part.Plots = []*chart.Plot{p}
	part.Note = coverage(known, len(found.Nums), found.Total, len(part.Runs))
	return nil
}

// coverage describes how many runs a chart of values shows. Of the runs that match the filter,
// total in number, the newest read were read, and known of these have the values.
func coverage(known, read, total, colored int) string {
	text := plain.Counted(known, "run", "runs")
	switch {
	case known < read && read < total:
		text += " of the newest " + humanize.Comma(int64(read)) + " (" + humanize.Comma(int64(total)) + " pass the filter); the others have no finite value"
	case known < read:
		text = humanize.Comma(int64(known)) + " of " + plain.Counted(read, "run", "runs") + "; the others have no finite value"
	case read < total:
		text = "The newest " + humanize.Comma(int64(read)) + " of " + plain.Counted(total, "run", "runs")
	}
	if colored < known {
		text += "; " + strconv.Itoa(colored) + " in colour"
	}
	return text + "."
}
