package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/storetest"
	"tracker/store/users"
)

// searches returns all reads that accept a filter. Each of them returns the names of the matching
// runs.
func (b *bed) searches(actor domain.Actor, where string) map[string]func() ([]string, error) {
	q := runs.IterationQuery{Page: domain.FirstPage, Filter: where, Sort: "-metric.loss, last_seen", Columns: "metric.loss, metric.loss.mean"}
	names := func(all []runs.Iteration) (found []string) {
		for _, i := range all {
			found = append(found, i.Name)
		}
		return found
	}
	return map[string]func() ([]string, error){
		"listing": func() ([]string, error) {
			l, err := b.Runs.Iterations(ctx, actor, b.Experiment, q)
			return names(l.Data), err
		},
		"walk": func() (found []string, err error) {
			err = b.Runs.WalkIterations(ctx, actor, b.Experiment, q, func(all []runs.Iteration) error {
				found = append(found, names(all)...)
				return nil
			})
			return found, err
		},
		"ids": func() ([]string, error) {
			ids, err := storetest.IterationIDs(ctx, b.DB, actor, b.Experiment, q)
			var found []string
			for _, id := range ids {
				i, err := b.Runs.Iteration(ctx, actor, id)
				if err != nil {
					return nil, err
				}
				found = append(found, i.Name)
			}
			return found, err
		},
		"groups": func() (found []string, err error) {
			l, err := storetest.Groups(ctx, b.DB, actor, b.Experiment, runs.GroupQuery{Page: domain.FirstPage, By: "param.name", Filter: where,
				Sort: "-metric.loss", Columns: "metric.loss"})
			for _, g := range l.Data {
				found = append(found, *g.Values[0])
			}
			return found, err
		},
	}
}

// named creates a run with the given name, which is also the value of a parameter, and the given
// loss.
func (b *bed) named(t testing.TB, name string, loss float64) string {
	t.Helper()
	id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &name}))(t).ID
	must(b.Runs.CreateParameter(ctx, domain.System, id, "name", scalar.Text(name)))(t)
	must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: scalar.Value(loss)}))(t)
	return id
}

// A search finds points that were logged just before. It queues no write, because the test blocks
// the writer.
func TestSearchQueuesNoWrite(t *testing.T) {
	var c commits
	b := newBedWith(t, store.Options{Exclusive: true, OnCommit: c.Add})
	a := b.named(t, "a", 1)
	b.named(t, "b", 2)
	b.named(t, "c", 9)
	b.Clock.Add(time.Hour)
	must(b.Runs.CreateMetric(ctx, domain.System, a, points.Sample{Key: "loss", Value: 3}))(t)
	release := hold(t, b.DB)
	c.Take()
	where := fmt.Sprintf(`metric.loss < 4 and metric.loss.count >= 1 and (name = "b" or last_seen >= "%s")`, b.Clock.Time())
	for name, search := range b.searches(domain.System, where) {
		if got := must(search())(t); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s finds %q", name, got)
		}
	}
	l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage,
		Filter: "name = 'a'", Columns: "metric.loss, metric.loss.mean, metric.loss.count"}))(t)
	if got := fmt.Sprint(l.Data[0].Metrics); got != fmt.Sprint(map[string]scalar.Value{"loss": 3, "loss.mean": 2, "loss.count": 2}) {
		t.Errorf("the columns are %s", got)
	}
	if same := must(b.Runs.SameParams(ctx, domain.System, b.Experiment, "metric.loss = 3", []string{"name"}))(t); len(same) != 1 {
		t.Errorf("the one run with this loss has a parameter of several values: %q", same)
	}
	if n := b.QueueLength(); n != 0 {
		t.Errorf("%d writes wait", n)
	}
	if all := c.Take(); len(all) > 0 {
		t.Errorf("there were the commits %+v", all)
	}
	release()
}

// The permission is checked first.
func TestSearchChecksThePermissionFirst(t *testing.T) {
	b := newBed(t)
	b.named(t, "a", 1)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "nobody", Password: "12345678"}))(t)
	hold(t, b.DB)
	for name, search := range b.searches(domain.Actor{UserID: user.ID}, "metric.loss > 0") {
		found, err := search()
		if code := codeOf(err); code != domain.CodeProjectPermissionRequired || len(found) > 0 {
			t.Errorf("%s: %q (%v)", name, found, err)
		}
	}
	_, err := b.Runs.SameParams(ctx, domain.Actor{UserID: user.ID}, b.Experiment, "metric.loss > 0", []string{"name"})
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	if n := b.QueueLength(); n != 0 {
		t.Errorf("%d writes wait", n)
	}
}

// A snapshot does not change, even during writes and compactions.
func TestSearchInASnapshot(t *testing.T) {
	for name, meanwhile := range map[string]func(*testing.T, *bed, string){
		"nothing": func(*testing.T, *bed, string) {},
		"a point": func(t *testing.T, b *bed, id string) {
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: 50}))(t)
		},
		"a compaction": func(t *testing.T, b *bed, _ string) { wantOK(t, storetest.Compact(b.DB)) },
		"a point and a compaction": func(t *testing.T, b *bed, id string) {
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: 50}))(t)
			wantOK(t, storetest.Compact(b.DB))
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: 60}))(t)
		},
		"another time": func(t *testing.T, b *bed, id string) {
			for range 2 { // the first round writes the rows, the second one repeats it
				wantOK(t, b.Runs.Heartbeat(ctx, domain.System, id))
			}
		},
		"a deletion": func(t *testing.T, b *bed, id string) {
			wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, id))
			wantOK(t, storetest.Compact(b.DB))
		},
	} {
		for _, exclusive := range []bool{true, false} {
			b := newBed(t)
			id := b.named(t, "a", 1)
			wantOK(t, storetest.Compact(b.DB))
			b.named(t, "b", 2)
			b.Clock.Add(time.Minute)
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: 3}))(t)
			reader := b.DB
			if !exclusive { // like a command that runs beside the server
				reader = open(t, store.Options{Path: b.Path(), Now: b.Clock.Now})
			}
			q := runs.IterationQuery{Page: domain.FirstPage, Filter: "metric.loss.count < 3 and metric.loss < 10", Sort: "metric.loss",
				Columns: "metric.loss, metric.loss.mean, metric.loss.min"}
			if exclusive { // the head only, which other processes can't read
				q.Filter += fmt.Sprintf(` and (name = "b" or last_seen >= "%s")`, b.Clock.Time())
			}
			wantOK(t, reader.View(ctx, domain.System, func(v *store.View) error {
				seen := func() string {
					var all []string
					for _, i := range must(v.Runs.Iterations(b.Experiment, q))(t).Data {
						all = append(all, fmt.Sprint(i.Name, i.Metrics))
					}
					return fmt.Sprint(all)
				}
				before := seen()
				meanwhile(t, b, id)
				if after := seen(); after != before {
					t.Errorf("%s, exclusive %v: %s, then %s", name, exclusive, before, after)
				}
				if want := "[bmap[loss:2 loss.mean:2 loss.min:2] amap[loss:3 loss.mean:2 loss.min:1]]"; before != want {
					t.Errorf("%s, exclusive %v: %s, want %s", name, exclusive, before, want)
				}
				return nil
			}))
		}
	}
}

// A value in memory equals the value in the table exactly.
func TestLateValuesAreExact(t *testing.T) {
	b := newBed(t)
	random := rand.New(rand.NewPCG(5, 5))
	values := []float64{0, math.SmallestNonzeroFloat64, -math.MaxFloat64, math.MaxFloat64, 0.1, 1 << 53, 1<<53 + 2, 1 << 62, 1e22, 1e23,
		math.Inf(1), math.Inf(-1)}
	for len(values) < 300 {
		if v := math.Float64frombits(random.Uint64()); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	for i, v := range values {
		b.Log(t, fmt.Sprint("k", i), 0, 7) // the row of the new series includes this point
		b.Log(t, fmt.Sprint("k", i), 1, v)
	}
	for part := range slices.Chunk(values, filter.MaxKeys) {
		var terms []string
		for _, v := range part {
			terms = append(terms, fmt.Sprintf("metric.k%d = %s", slices.Index(values, v), literal(v)))
		}
		l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: strings.Join(terms, " and ")}))(t)
		if l.Total != 1 {
			t.Errorf("%q does not find the run", terms)
		}
	}
}

func literal(v float64) string {
	if math.IsInf(v, 0) {
		return strings.TrimPrefix(fmt.Sprint(v), "+")
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// The largest search fits into one statement, even if all of its metrics are in memory only.
func TestLargestSearchOfLateMetrics(t *testing.T) {
	b := newBed(t)
	must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, b.Iteration, "tag"))(t)
	var terms, columns []string
	for i := range filter.MaxKeys + 3 {
		key := fmt.Sprint("k", i)
		b.Log(t, key, 0, 7) // the row of the new series includes this point
		b.Log(t, key, 1, 1)
		if i < filter.MaxKeys {
			terms = append(terms, "metric."+key+" = 1")
		}
		columns = append(columns, "metric."+key)
	}
	where := strings.Join(terms, " and ") + ` and (name != "" or last_seen > "2000-01-01")`
	l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: where, Sort: "last_seen"}))(t)
	if l.Total != 1 {
		t.Errorf("%d runs", l.Total)
	}
	g := must(storetest.Groups(ctx, b.DB, domain.System, b.Experiment, runs.GroupQuery{Page: domain.FirstPage, By: "tag", Filter: where,
		Columns: strings.Join(columns, ", ")}))(t)
	if g.Total != 1 || len(g.Data[0].Metrics) != len(columns) {
		t.Errorf("the groups are %+v", g)
	}
}
