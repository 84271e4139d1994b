package search_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/storetest"
	"tracker/store/users"
)

// groupRun holds the expected fields of a run.
type groupRun struct {
	id, lr string // lr is "" if the run has none
	tags   []string
	last   []float64 // the last value of loss, empty if it was not logged
	old    bool
}

// groupRuns creates runs with few different values of lr and tags. Some losses are NaN or
// infinite.
func groupRuns(t *testing.T, b *bed, n int) []groupRun {
	t.Helper()
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	rng := rand.New(rand.NewPCG(5, 5))
	var all []groupRun
	for i := range n {
		r := groupRun{id: b.NewIteration(t), lr: []string{"0.1", "0.10", "adam", "20", ""}[rng.IntN(5)], old: i%2 == 0}
		if r.lr != "" {
			must(b.Runs.CreateParameter(ctx, domain.System, r.id, "lr", scalar.Text(r.lr)))(t)
		}
		must(b.Runs.CreateParameter(ctx, domain.System, r.id, "old", scalar.Text(fmt.Sprint(r.old))))(t)
		for _, tag := range []string{"a", "b"} {
			if rng.IntN(3) == 0 {
				must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, r.id, tag))(t)
				r.tags = append(r.tags, tag)
			}
		}
		if rng.IntN(5) > 0 {
			v := 1e6 + rng.NormFloat64()
			switch rng.IntN(8) {
			case 0:
				v = math.NaN()
			case 1:
				v = math.Inf(1)
			}
			r.last = []float64{v}
			for _, v := range []float64{7, v} {
				must(b.Runs.CreateMetric(ctx, domain.System, r.id, points.Sample{Key: "loss", Value: scalar.Value(v)}))(t)
			}
		}
		all = append(all, r)
	}
	return all
}

// spreadOf returns mean and deviation of the finite losses, computed in two passes.
func spreadOf(runs []groupRun) (n int, mean, sd float64) {
	var values []float64
	for _, r := range runs {
		for _, v := range r.last {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				values = append(values, v)
				mean += v
			}
		}
	}
	n = len(values)
	mean /= float64(n)
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	return n, mean, math.Sqrt(sd / float64(n-1))
}

func keyOf(g search.Group) string {
	var key []string
	for _, v := range g.Values {
		if v == nil {
			key = append(key, "none")
		} else {
			key = append(key, *v)
		}
	}
	return strings.Join(key, " ")
}

func checkGroups(t *testing.T, got []search.Group, want map[string][]groupRun) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d groups, want %d", len(got), len(want))
	}
	for _, g := range got {
		runs := want[keyOf(g)]
		n, mean, sd := spreadOf(runs)
		s, ok := g.Metrics["loss"]
		switch {
		case g.Iterations != len(runs):
			t.Errorf("%s has %d runs, want %d", keyOf(g), g.Iterations, len(runs))
		case ok != (n > 0), s.N != n:
			t.Errorf("%s has n = %d, want %d", keyOf(g), s.N, n)
		case n > 0 && math.Abs(float64(*s.Mean)-mean) > 1e-6:
			t.Errorf("%s has the mean %v, want %v", keyOf(g), *s.Mean, mean)
		case (s.SD != nil) != (n > 1):
			t.Errorf("%s has a deviation: %t, of %d values", keyOf(g), s.SD != nil, n)
		case n > 1 && math.Abs(float64(*s.SD)-sd) > 1e-6*sd:
			t.Errorf("%s has the deviation %v, want %v", keyOf(g), *s.SD, sd)
		}
	}
}

// TestGroups compares groups with groups that plain Go code computes from the same runs. It also
// compares their members with the listing.
func TestGroups(t *testing.T) {
	b := newBed(t)
	found := groupRuns(t, b, 150)
	lr := func(r groupRun) []string { return []string{cmp.Or(r.lr, "none")} }
	tags := func(r groupRun) []string {
		if len(r.tags) == 0 {
			return []string{"none"}
		}
		return r.tags
	}
	both := func(r groupRun) (all []string) {
		for _, tag := range tags(r) {
			all = append(all, lr(r)[0]+" "+tag)
		}
		return all
	}
	for _, c := range []struct {
		by, filter string
		of         func(groupRun) []string
		keep       func(groupRun) bool
	}{
		{"param.lr", "", lr, func(groupRun) bool { return true }},
		{"tag", "", tags, func(groupRun) bool { return true }},
		{"param.lr, tag", "param.old = 'true'", both, func(r groupRun) bool { return r.old }},
	} {
		want := map[string][]groupRun{}
		for _, r := range found {
			if c.keep(r) {
				for _, key := range c.of(r) {
					want[key] = append(want[key], r)
				}
			}
		}
		q := runs.GroupQuery{Page: domain.Page{Limit: 100}, By: c.by, Filter: c.filter, Columns: "metric.loss, metric.loss.min"}
		l := must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, q))(t)
		if l.Total != len(want) {
			t.Errorf("%s: %d groups in all, want %d", c.by, l.Total, len(want))
		}
		checkGroups(t, l.Data, want)
		for i, g := range l.Data {
			if g.Rank != i {
				t.Errorf("%s: group %d has rank %d", c.by, i, g.Rank)
			}
			members := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.Page{Limit: 1000},
				Filter: c.filter, Sort: "-created", Group: &runs.Grouped{By: c.by, Values: g.Values}}))(t)
			var got, ids []string
			for _, i := range members.Data {
				got = append(got, i.ID)
			}
			for _, r := range want[keyOf(g)] {
				ids = append(ids, r.id)
			}
			slices.Sort(got)
			slices.Sort(ids)
			if !slices.Equal(got, ids) || members.Total != len(ids) {
				t.Errorf("%s has the members %v, want %v", keyOf(g), got, ids)
			}
		}
		// Pages with two groups each have the same groups.
		var paged []search.Group
		for q.Limit = 2; q.Offset < l.Total; q.Offset += 2 {
			paged = append(paged, must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, q))(t).Data...)
		}
		checkGroups(t, paged, want)
		if behind := must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, q))(t); behind.Total != l.Total || len(behind.Data) != 0 {
			t.Errorf("behind the end there are %+v", behind)
		}
	}
}

// groupsInOrder returns the keys of the groups.
func (b *bed) groupsInOrder(t *testing.T, by, sort string) string {
	t.Helper()
	l := must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, runs.GroupQuery{Page: domain.FirstPage, By: by, Sort: sort}))(t)
	var all []string
	for _, g := range l.Data {
		all = append(all, keyOf(g))
	}
	return strings.Join(all, ",")
}

func TestGroupOrder(t *testing.T) {
	b := newBed(t)
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	for _, r := range []struct {
		lr   string
		loss float64
	}{{"10", 1}, {"9", 2}, {"adam", 3}, {"9", 6}, {"", 5}} {
		id := b.NewIteration(t)
		if r.lr != "" {
			must(b.Runs.CreateParameter(ctx, domain.System, id, "lr", scalar.Text(r.lr)))(t)
		}
		must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: scalar.Value(r.loss)}))(t)
		b.Clock.Add(1e9)
	}
	for sort, want := range map[string]string{
		"":             "9,10,adam,none",
		"param.lr":     "9,10,adam,none",
		"-param.lr":    "10,9,adam,none",
		"-name":        "10,9,adam,none",
		"metric.loss":  "10,adam,9,none",
		"-metric.loss": "none,9,adam,10",
		"-created":     "none,9,adam,10",
		"created":      "10,9,adam,none",
		"status":       "9,10,adam,none",
	} {
		if got := b.groupsInOrder(t, "param.lr", sort); got != want {
			t.Errorf("by %q the groups are %s, want %s", sort, got, want)
		}
	}
	for _, q := range []runs.GroupQuery{{By: ""}, {By: "metric.loss"}, {By: "param.a, param.a"}, {By: "tag, tag"},
		{By: "param.a, param.b, param.c, param.d, param.e, param.f, param.g"}, {By: "tag", Filter: "x ="}, {By: "tag", Sort: "x"}, {By: "tag", Columns: "x"}} {
		_, err := storetest.Groups(ctx, b.DB, domain.System, b.Experiment, q)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
	_, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Group: &runs.Grouped{By: "tag"}})
	wantCode(t, err, domain.CodeInvalidPayload)
	nobody := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "nobody", Password: "12345678"}))(t)
	_, err = storetest.Groups(ctx, b.DB, domain.Actor{UserID: nobody.ID}, b.Experiment, runs.GroupQuery{By: "tag"})
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	_, err = b.Runs.SameParams(ctx, domain.Actor{UserID: nobody.ID}, b.Experiment, "", nil)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
}

// Metrics are read in parts if one statement can't join all of them.
func TestGroupsOfManyMetrics(t *testing.T) {
	b := newBed(t)
	var columns []string
	for i := range 70 {
		key := fmt.Sprintf("m%02d", i)
		must(b.Runs.CreateMetric(ctx, domain.System, b.Iteration, points.Sample{Key: key, Value: scalar.Value(i)}))(t)
		columns = append(columns, "metric."+key)
	}
	l := must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, runs.GroupQuery{Page: domain.FirstPage, By: "tag",
		Filter: "metric.m01 >= 0", Sort: "-metric.m02", Columns: strings.Join(columns, ",")}))(t)
	if len(l.Data) != 1 || len(l.Data[0].Metrics) != 70 || *l.Data[0].Metrics["m69"].Mean != 69 {
		t.Errorf("the groups are %+v", l)
	}
}

// A matching run is listed below its parent if the parent also matches.
func TestFoldedIterations(t *testing.T) {
	b := newBed(t)
	child := func(name, parent string) string {
		t.Helper()
		return must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &name, ParentIterationID: &parent}))(t).ID
	}
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, runs.IterationPatch{Name: new("root")}))
	one := child("one", b.Iteration)
	child("two", b.Iteration)
	child("one-a", one)
	child("one-b", one)
	for _, c := range []struct {
		filter string
		parent *string
		want   string
	}{
		{"", nil, "root:2"},
		{"", &b.Iteration, "one:2 two:0"},
		{"", &one, "one-a:0 one-b:0"},
		{"name contains 'one'", nil, "one:2"},
		{"name contains '-'", nil, "one-a:0 one-b:0"},
		{"not name contains '-a'", &one, "one-b:0"},
		{"name = 'root' or name contains '-'", nil, "one-a:0 one-b:0 root:0"},
	} {
		q := runs.IterationQuery{Page: domain.FirstPage, Filter: c.filter, Sort: "name", Fold: true, Parent: c.parent}
		l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, q))(t)
		var got []string
		for _, i := range l.Data {
			got = append(got, fmt.Sprintf("%s:%d", i.Name, i.Children))
		}
		if text := strings.Join(got, " "); text != c.want || l.Total != len(got) {
			t.Errorf("%q: %s of %d, want %s", c.filter, text, l.Total, c.want)
		}
	}
	_, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Fold: true, Parent: new("none")})
	wantCode(t, err, domain.CodeNotFound)
}

func TestSameParams(t *testing.T) {
	b := newBed(t)
	other := b.NewIteration(t)
	for _, p := range [][3]string{{b.Iteration, "same", "1"}, {other, "same", "1"}, {b.Iteration, "digits", "0.1"},
		{other, "digits", "0.10"}, {b.Iteration, "lacking", "1"}} {
		must(b.Runs.CreateParameter(ctx, domain.System, p[0], p[1], scalar.Text(p[2])))(t)
	}
	keys := []string{"lacking", "none", "digits", "same"}
	for filter, want := range map[string][]string{"": {"none", "same"}, "param.lacking = 1": keys, "name = 'x'": keys} {
		if got := must(b.Runs.SameParams(ctx, domain.System, b.Experiment, filter, keys))(t); !slices.Equal(got, want) {
			t.Errorf("%q: the same are %v, want %v", filter, got, want)
		}
	}
	_, err := b.Runs.SameParams(ctx, domain.System, b.Experiment, "oops =", keys)
	wantCode(t, err, domain.CodeInvalidPayload)
}
