package report

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/ui/chart"
)

// maxMembers is the maximum number of runs in the means of a chart.
const maxMembers = 1000

// figure is a chart of a block.
type figure struct {
	fields map[string]string
	limit  int // maximum number of runs or groups
	keys   []string
	view   chart.View

	runs    []runs.Iteration
	groups  []Run      // nil for a chart of runs
	members [][]string // IDs of the runs in each group
}

// read reads the fields of a chart that do not depend on data.
func (f *figure) read() error {
	for key := range strings.SplitSeq(f.fields["metrics"], ",") {
		if key = strings.TrimSpace(key); key != "" && len(f.keys) < maxPlots {
			f.keys = append(f.keys, key)
		}
	}
	if len(f.keys) == 0 {
		return errNoMetric
	}
	for _, axis := range []struct {
		name string
		log  *bool
	}{{"x", &f.view.LogX}, {"y", &f.view.LogY}} {
		switch f.fields[axis.name] {
		case "", "linear":
		case "log":
			*axis.log = true
		default:
			return domain.Invalid(axis.name, "The scale of %s must be linear or log.", axis.name)
		}
	}
	switch f.fields["outliers"] {
	case "", "auto":
	case "show", "ignore":
		f.view.Outliers = f.fields["outliers"]
	default:
		return domain.Invalid("outliers", "The value of outliers must be auto, show or ignore.")
	}
	switch metric, ok := strings.CutPrefix(f.fields["axis"], "metric:"); {
	case ok:
		f.view.X, f.view.Against = chart.ByMetric, strings.TrimSpace(metric)
	case f.fields["axis"] == "" || f.fields["axis"] == "step":
	case f.fields["axis"] == chart.ByAge || f.fields["axis"] == chart.ByTime:
		f.view.X = f.fields["axis"]
	default:
		return domain.Invalid("axis", "The axis must be step, relative, time, or metric: with the name of a metric.")
	}
	if text := f.fields["smooth"]; text != "" {
		weight, err := strconv.ParseFloat(text, 64)
		if err != nil || !(weight >= 0 && weight < 1) {
			return domain.Invalid("smooth", "The value of smooth must be a number from 0 to 0.999.")
		}
		f.view.Smooth = weight
	}
	var err error
	if f.view.From, f.view.To, err = f.ends("zoom"); err != nil {
		return err
	}
	f.view.Low, f.view.High, err = f.ends("range")
	return err
}

// ends reads two numbers with a tilde between them. It returns nil if the field is empty.
func (f *figure) ends(name string) (low, high *float64, err error) {
	if f.fields[name] == "" {
		return nil, nil, nil
	}
	first, second, _ := strings.Cut(f.fields[name], "~")
	a, err1 := strconv.ParseFloat(strings.TrimSpace(first), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(second), 64)
	if err1 != nil || err2 != nil || !(a < b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return nil, nil, domain.Invalid(name, "The value of %s must be two numbers with ~ between them, for example 0~1000.", name)
	}
	return &a, &b, nil
}

// useDefinitions sets the X axis of a chart without an axis to the step metric that all of its
// metrics have in their definitions.
func (f *figure) useDefinitions(db *store.View, experimentID string) error {
	if f.fields["axis"] != "" {
		return nil
	}
	all, err := db.Runs.Definitions(experimentID)
	if err != nil {
		return err
	}
	axis := all.Of(f.keys[0]).StepMetric
	if slices.ContainsFunc(f.keys, func(key string) bool { return all.Of(key).StepMetric != axis }) || axis == "" {
		return nil
	}
	f.view.X, f.view.Against = chart.ByMetric, axis
	return nil
}

// find reads the runs or the groups of a chart.
func (f *figure) find(db *store.View, experimentID, sort string) error {
	if err := f.useDefinitions(db, experimentID); err != nil {
		return err
	}
	if f.fields["group"] == "" {
		found, err := db.Runs.Iterations(experimentID, runs.IterationQuery{Page: domain.Page{Limit: f.limit}, Filter: f.fields["filter"], Sort: sort})
		f.runs = found.Data
		return err
	}
	by, err := new(filter.Parser).Group(f.fields["group"])
	if err != nil {
		return domain.Refused(err)
	}
	var wanted [][]*string
	if text := f.fields["values"]; text != "" && (json.Unmarshal([]byte(text), &wanted) != nil || len(wanted) > MaxRuns) {
		return domain.Invalid("values", "The values must be a list of up to %d groups in JSON.", MaxRuns)
	}
	limit := f.limit
	if wanted != nil {
		limit = domain.MaxLimit
	}
	found, err := db.Runs.Groups(experimentID, runs.GroupQuery{Page: domain.Page{Limit: limit}, By: f.fields["group"], Filter: f.fields["filter"], Sort: sort})
	if err != nil {
		return err
	}
	f.groups = []Run{}
	used := map[int]bool{}
	for _, g := range found.Data {
		if wanted != nil && !hasValues(wanted, g.Values) || len(f.groups) == f.limit {
			continue
		}
		list, err := db.Runs.Iterations(experimentID, runs.IterationQuery{Page: domain.Page{Limit: maxMembers / max(1, min(f.limit, len(found.Data)))},
			Filter: f.fields["filter"], Sort: "-created", Group: &runs.Grouped{By: f.fields["group"], Values: g.Values}})
		if err != nil {
			return err
		}
		var names, ids []string
		for i, v := range g.Values {
			switch {
			case v != nil:
				names = append(names, *v)
			case by[i].Field.Mixed():
				names = append(names, "no "+by[i].Name)
			default:
				names = append(names, "no tag")
			}
		}
		running := false
		for _, one := range list.Data {
			ids, running = append(ids, one.ID), running || one.Status == domain.Running
		}
		color := g.Rank % chart.Colors
		for n := 0; used[color] && n < chart.Colors; n++ {
			color = (color + 1) % chart.Colors
		}
		used[color] = true
		f.groups = append(f.groups, Run{Name: strings.Join(names, " · ") + " (" + strconv.Itoa(g.Iterations) + ")",
			Class: "c" + strconv.Itoa(color), Running: running})
		f.members = append(f.members, ids)
	}
	return nil
}

func hasValues(all [][]*string, values []*string) bool {
	for _, one := range all {
		same := len(one) == len(values)
		for i := 0; same && i < len(one); i++ {
			same = (one[i] == nil) == (values[i] == nil) && (one[i] == nil || *one[i] == *values[i])
		}
		if same {
			return true
		}
	}
	return false
}

// plots draws the charts of a block.
func (r *Builder) plots(ctx context.Context, f figure, part *Part) error {
	named := map[string]chart.Run{}
	if f.groups == nil {
		part.Runs = r.Runs(f.runs)
		for _, run := range part.Runs {
			named[run.ID] = chart.Run{Name: run.Name, Class: run.Class}
		}
	} else {
		part.Runs = f.groups
		for i, g := range f.groups {
			named[strconv.Itoa(i)] = chart.Run{Name: g.Name, Class: g.Class}
		}
		if len(f.groups) > 0 {
			part.Note = "Each curve is the mean of a group; the band around it is ± one standard deviation."
		}
	}
	q := points.PairQuery{Against: f.view.Against, CurveQuery: points.CurveQuery{Keys: f.keys, Points: plotPoints, X: points.ByStep, Scale: points.Linear}}
	switch f.view.X {
	case chart.ByTime:
		q.X = points.ByTime
	case chart.ByAge:
		q.X = points.SinceStart
	}
	if f.view.LogX && f.view.Against == "" {
		q.Scale = points.Log
	}
	var before []chart.Curve
	// A range of a metric's values is not a range of steps.
	if f.view.From != nil && f.view.Against == "" {
		from, to := int64(math.Floor(*f.view.From)), int64(math.Ceil(*f.view.To))
		if f.view.Smooth > 0 {
			earlier := q
			earlier.To = new(from - 1)
			var err error
			if before, err = r.curves(ctx, f, earlier); err != nil {
				return err
			}
		}
		q.From, q.To = &from, &to
	}
	curves, err := r.curves(ctx, f, q)
	if err != nil {
		return err
	}
	together := f.fields["together"] == "yes"
	var joined []chart.Curve
	for n, key := range f.keys {
		var some []chart.Curve
		for _, c := range curves {
			if c.Key != key {
				continue
			}
			if together {
				// Each metric of a run has its own line style.
				run := named[c.ID]
				c.ID += " " + strconv.Itoa(n)
				named[c.ID] = chart.Run{Name: run.Name + " · " + key, Class: run.Class + chart.Dash(n)}
			}
			some = append(some, c)
		}
		if joined = append(joined, some...); together {
			continue
		}
		if p := chart.New(key, some, named, f.with(some, before)); p != nil {
			part.Plots = append(part.Plots, p)
		}
	}
	if together {
		if p := chart.New(strings.Join(f.keys, ", "), joined, named, f.with(joined, before)); p != nil {
			p.Styled(f.keys)
			part.Plots = append(part.Plots, p)
		}
	}
	if len(part.Plots) == 0 {
		part.Wrong = "None of these runs has values of " + strings.Join(f.keys, ", ") + "."
	}
	return nil
}

// with returns the view of a chart with the earlier parts of its curves.
func (f *figure) with(curves, before []chart.Curve) chart.View {
	v := f.view
	for _, c := range curves {
		var found *chart.Curve
		id, _, _ := strings.Cut(c.ID, " ")
		for i, b := range before {
			if b.ID == id && b.Key == c.Key {
				found = &before[i]
			}
		}
		v.Before = append(v.Before, found)
	}
	return v
}

// curves reads the curves of a chart. The ID of a group's curve is the index of the group.
func (r *Builder) curves(ctx context.Context, f figure, q points.PairQuery) (all []chart.Curve, err error) {
	if f.groups != nil {
		means, err := r.DB.Runs.MeanCurves(ctx, r.Actor, f.members, q)
		for i, some := range means {
			for _, c := range some {
				all = append(all, chart.CurveOfMeans(i, c))
			}
		}
		return all, err
	}
	var ids []string
	for _, i := range f.runs {
		ids = append(ids, i.ID)
	}
	switch {
	case q.Against != "":
		found, err := r.DB.Runs.PairedCurves(ctx, r.Actor, ids, q)
		for _, p := range found {
			all = append(all, chart.CurveOfPairs(p))
		}
		return all, err
	case q.X == points.SinceStart:
		return chart.AgeCurves(ctx, r.DB.Runs, r.Actor, f.runs, q.CurveQuery)
	}
	found, err := r.DB.Runs.Curves(ctx, r.Actor, ids, q.CurveQuery)
	for _, c := range found {
		all = append(all, chart.CurveOf(c, q.X, 0))
	}
	return all, err
}
