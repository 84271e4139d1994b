package runs_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/storetest"
)

// TestRollupsAgreeWithPoints writes, patches and deletes points of long series with all
// methods. It compares the curves with a list of the points.
func TestRollupsAgreeWithPoints(t *testing.T) {
	levels := 0
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := &rollups{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), bed: newBed(t)}
			if r.direct = r.DB; seed%2 == 0 {
				r.direct = open(t, store.Options{Path: r.Path(), Now: r.Clock.Now})
			}
			for range 30 {
				r.change()
				if r.IntN(3) == 0 {
					wantOK(t, storetest.Compact(r.DB))
				}
				for range 4 {
					r.compare()
				}
			}
			wantClean(t, r.direct)
			levels = max(levels, ask[int](t, raw(t, r.Path()), `SELECT count(DISTINCT (id >> 32) & 15) FROM rollup`))
		})
	}
	if levels < 2 {
		t.Errorf("%d levels were tried", levels)
	}
}

type rollups struct {
	*testing.T
	*rand.Rand
	*bed
	direct *store.DB // DB, or a second handle that writes points to the metric table directly
	points []points.Sample
	ids    []string // ids of the points that were written one at a time
	next   int64    // next step of a run that logs in order
	stride int64
}

func (r *rollups) value() scalar.Value {
	switch r.IntN(30) {
	case 0:
		return scalar.Value(math.NaN())
	case 1:
		return scalar.Value(math.Inf(1 - 2*r.IntN(2)))
	}
	return scalar.Value(math.Round(r.NormFloat64() * 8))
}

// metric returns a new point with the given step. Most points are recorded in the order of
// their steps. Some points are recorded at the same time.
func (r *rollups) metric(step int64) points.Sample {
	at := scalar.Time(1_700_000_000_000 + step%1_000_000/3)
	if r.IntN(200) == 0 {
		at += scalar.Time(r.Int64N(1000))
	}
	return points.Sample{Key: "k", Value: r.value(), Step: new(scalar.Step(step)), RecordedAt: &at}
}

// anyStep returns the step of a point or a step close to a point.
func (r *rollups) anyStep() int64 {
	if len(r.points) == 0 {
		return 0
	}
	return r.near(stepOf)
}

// near returns a position on an axis that is close to a point.
func (r *rollups) near(at func(points.Sample) int64) int64 {
	return at(r.points[r.IntN(len(r.points))]) + r.Int64N(7) - 3
}

func stepOf(p points.Sample) int64 { return int64(*p.Step) }

func timeOf(p points.Sample) int64 { return int64(*p.RecordedAt) }

func (r *rollups) change() {
	if r.stride == 0 || r.IntN(20) == 0 {
		r.stride = []int64{1, 1, 1, 3, 500, 1 << 40}[r.IntN(6)]
	}
	db := r.DB
	if r.IntN(4) == 0 {
		db = r.direct
	}
	var all []points.Sample
	switch r.IntN(9) {
	case 0, 1, 2: // points in order
		for range 1 + r.IntN(1000) {
			all = append(all, r.metric(r.next))
			r.next += r.stride
		}
	case 3: // a few points, some late and some with the step of another point
		for range 1 + r.IntN(40) {
			all = append(all, r.metric(r.anyStep()))
		}
	case 4: // points at a random step
		step := (r.Int64N(1<<20) - 1<<19) * r.stride
		for i := range r.Int64N(200) + 1 {
			all = append(all, r.metric(step-i*r.stride))
		}
	case 5:
		for range 30 {
			m := r.metric(r.next)
			r.next += r.stride
			r.ids = append(r.ids, must(db.Runs.CreateMetric(ctx, domain.System, r.Iteration, m))(r.T).ID)
			r.points = append(r.points, m)
		}
		return
	case 6:
		r.patch(db)
		return
	case 7:
		r.remove(db)
		return
	case 8: // some points out of order at the end, then points in order
		for range 1 + r.IntN(100) {
			all = append(all, r.metric(r.next-r.Int64N(40)*r.stride))
		}
		all = append(all, r.metric(r.next+300*r.stride))
		r.next += 301 * r.stride
	}
	wantOK(r.T, db.Runs.CreateMetrics(ctx, domain.System, r.Iteration, all))
	r.points = append(r.points, all...)
	if r.IntN(15) == 0 {
		edge := r.metric([]int64{math.MinInt64, math.MaxInt64 - 1}[r.IntN(2)])
		id := must(db.Runs.CreateMetric(ctx, domain.System, r.Iteration, edge))(r.T).ID
		wantOK(r.T, db.Runs.DeleteMetric(ctx, domain.System, id))
	}
}

// index returns the index in points of the point with the given id. A point that was written
// alone has a unique step.
func (r *rollups) index(id string) int {
	m := must(r.Runs.Metric(ctx, domain.System, id))(r.T)
	return slices.IndexFunc(r.points, func(p points.Sample) bool {
		return *p.Step == m.Step && *p.RecordedAt == m.RecordedAt && sameFloat(float64(p.Value), float64(m.Value))
	})
}

func (r *rollups) patch(db *store.DB) {
	for range min(5, len(r.ids)) {
		id := r.ids[r.IntN(len(r.ids))]
		i, to := r.index(id), r.metric(r.anyStep())
		if r.IntN(2) == 0 {
			to.Step = r.points[i].Step
		}
		wantOK(r.T, db.Runs.UpdateMetric(ctx, domain.System, id, points.Patch{Value: &to.Value, Step: to.Step, RecordedAt: to.RecordedAt}))
		r.points[i] = to
	}
}

func (r *rollups) remove(db *store.DB) {
	for range min(5, len(r.ids)) {
		n := r.IntN(len(r.ids))
		i := r.index(r.ids[n])
		wantOK(r.T, db.Runs.DeleteMetric(ctx, domain.System, r.ids[n]))
		r.ids, r.points = slices.Delete(r.ids, n, n+1), slices.Delete(r.points, i, i+1)
	}
}

// compare reads a part of the curve through one of the two handles and compares it with the
// points.
func (r *rollups) compare() {
	if len(r.points) == 0 {
		return
	}
	q := points.CurveQuery{Points: 2 + r.IntN(200), X: points.ByStep, Scale: []points.Scale{points.Linear, points.Log}[r.IntN(2)]}
	at, order := stepOf, func(a, b points.Sample) int { return cmp.Compare(stepOf(a), stepOf(b)) }
	if r.IntN(2) == 0 {
		q.X, at = points.ByTime, timeOf
		order = func(a, b points.Sample) int {
			return cmp.Or(cmp.Compare(timeOf(a), timeOf(b)), cmp.Compare(stepOf(a), stepOf(b)))
		}
	}
	if r.IntN(3) > 0 {
		from, to := r.near(at), r.near(at)
		q.From, q.To = new(min(from, to)), new(max(from, to))
	}
	var in []points.Sample
	for _, p := range r.points {
		if q.From == nil || at(p) >= *q.From && at(p) <= *q.To {
			in = append(in, p)
		}
	}
	slices.SortStableFunc(in, order)
	b := *r.Bed
	if r.IntN(3) == 0 {
		b.DB = r.direct
	}
	c := (&bed{&b}).curve(r.T, q)
	checkCurve(r.T, fmt.Sprintf("%d points, %s, %s, %v to %v", q.Points, q.X, q.Scale, q.From, q.To), c, len(r.points), in, q, at)
	if len(in) <= q.Points {
		return
	}
	for i := 1; i < c.Shown; i++ {
		shown := points.Sample{Value: c.Value[i], Step: &c.Step[i], RecordedAt: &c.RecordedAt[i]}
		last := in[0]
		for _, p := range in {
			if at(p) <= at(shown) {
				last = p
			}
		}
		if order(last, shown) != 0 || !sameFloat(float64(shown.Value), float64(last.Value)) || timeOf(shown) != timeOf(last) {
			r.Fatalf("%s %d has %v at %v, want %v at %v", q.X, at(shown), shown.Value, *shown.RecordedAt, last.Value, *last.RecordedAt)
		}
	}
}

// Late points in an incomplete rollup row result in the same row as points in order.
func TestLatePointsInTheOpenRow(t *testing.T) {
	b := newBed(t)
	for _, steps := range [][2]int64{{0, 900}, {940, 950}, {900, 940}, {950, 2000}} {
		var all []points.Sample
		for step := steps[0]; step < steps[1]; step++ {
			m := point("k", step, float64(step))
			m.RecordedAt = new(scalar.Time(1_700_000_000_000 + step))
			all = append(all, m)
		}
		wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, all))
		wantOK(t, storetest.Compact(b.DB))
	}
	if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM rollup`); n < 7 {
		t.Fatalf("%d rows of rollups", n)
	}
	wantClean(t, b.DB)
}

// Wrong rollups are detected and recomputed.
func TestRollupsAreCheckedAndRepaired(t *testing.T) {
	sound := newPlainBed(t)
	all := make([]points.Sample, 6000)
	for i := range all {
		all[i] = point("k", int64(i), math.Sin(float64(i)))
	}
	wantOK(t, sound.Runs.CreateMetrics(ctx, domain.System, sound.Iteration, all))
	wantClean(t, sound.DB)
	q := points.CurveQuery{Points: 50}
	want := jsonOf(t, sound.curve(t, q))
	for damage, refuses := range map[string]bool{
		`DELETE FROM rollup WHERE id = (SELECT max(id) FROM rollup)`:                                                false,
		`DELETE FROM rollup WHERE id = (SELECT min(id) FROM rollup)`:                                                false,
		`UPDATE rollup SET cells = x'ffff' WHERE (id >> 32) & 15 = 1`:                                               true,
		`UPDATE rollup SET cells = x'' WHERE (id >> 32) & 15 = 2`:                                                   false,
		`UPDATE rollup SET cells = (SELECT cells FROM rollup ORDER BY id LIMIT 1)`:                                  false,
		`INSERT INTO rollup SELECT max(id) + 100, cells FROM rollup`:                                                false,
		`UPDATE series SET rolled_to = rolled_to - 1`:                                                               false,
		`UPDATE series SET rolled_to = rolled_to + (1 << (roll_shift + 4))`:                                         false,
		`UPDATE series SET roll_shift = 60`:                                                                         false,
		`UPDATE series SET roll_shift = NULL, rolled_to = NULL`:                                                     false,
		`UPDATE metric SET value = 17 WHERE step = 300; UPDATE series SET max = 17, max_step = 300, sum = sum + 17`: false,
	} {
		t.Run(damage, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "damaged.db")
			copyFiles(t, sound.Path(), path)
			b := &bed{&storetest.Bed{DB: open(t, store.Options{Path: path}), Iteration: sound.Iteration}}
			execSQL(t, raw(t, path), damage)
			if !hasProblem(must(b.Check(ctx, false))(t), "rollups of metric \"k\"", true, false) {
				t.Error("the damage is not found")
			}
			if refuses {
				_, err := b.Runs.Curves(ctx, domain.System, []string{b.Iteration}, points.CurveQuery{Points: 50, X: points.ByStep, Scale: points.Linear})
				if err == nil {
					t.Error("a curve is drawn from a damaged rollup")
				}
			}
			must(b.Check(ctx, true))(t)
			wantClean(t, b.DB)
			if got := jsonOf(t, b.curve(t, q)); got != want && !strings.Contains(damage, "17") {
				t.Error("the curve is another one than before")
			}
		})
	}
}
