package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/storetest"
)

// searchFixture is an experiment whose runs are also in a model.
type searchFixture struct {
	t            *testing.T
	db           *store.DB
	rng          *rand.Rand
	clock        *atomic.Int64 // in milliseconds
	experimentID string
	runs         []*modelRun // oldest first
}

func newSearchFixture(t *testing.T, seed uint64) *searchFixture {
	f := &searchFixture{t: t, rng: rand.New(rand.NewPCG(seed, 7)), clock: new(atomic.Int64)}
	f.clock.Store(1_790_000_000_000)
	var err error
	f.db, err = store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4,
		Exclusive: seed%2 == 1, // with the lock, points and times are in memory at first
		Now:       func() time.Time { return time.UnixMilli(f.clock.Load()) }})
	f.must(err)
	t.Cleanup(func() { f.must(f.db.Close()) })
	f.experimentID = newExperiment(t, f.db)
	return f
}

func (f *searchFixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// add creates a run with random parameters, metrics and tags.
func (f *searchFixture) add() {
	f.t.Helper()
	ctx, rng := context.Background(), f.rng
	f.clock.Add(rng.Int64N(3))
	name := pick(rng, []string{"run", "Run", "lauf É", "x' OR 1=1", "100%"}) + pick(rng, []string{"", " 1", " 2"})
	c, err := f.db.Runs.CreateIteration(ctx, domain.System, f.experimentID, runs.NewIteration{Name: &name})
	f.must(err)
	run := &modelRun{id: c.ID, name: name, params: map[string]string{}, metrics: map[string]*modelStats{}}
	f.runs = append(f.runs, run)
	for _, key := range modelKeys {
		if rng.IntN(3) > 0 {
			run.params[key] = pick(rng, modelText)
			_, err := f.db.Runs.CreateParameter(ctx, domain.System, c.ID, key, scalar.Text(run.params[key]))
			f.must(err)
		}
	}
	f.log(run)
	for _, tag := range modelTags {
		if rng.IntN(5) == 0 {
			run.tags = append(run.tags, tag)
			_, err := f.db.Runs.CreateTag(ctx, domain.System, runs.IterationTag, c.ID, tag)
			f.must(err)
		}
	}
	if f.clock.Add(rng.Int64N(4) * 900); rng.IntN(3) > 0 {
		status := pick(rng, runs.IterationStatuses[1:])
		patch := runs.IterationPatch{Status: &status}
		if rng.IntN(3) == 0 {
			patch.EndDate = new(scalar.Time(f.clock.Load() + rng.Int64N(2000) - 1000))
		}
		f.must(f.db.Runs.UpdateIteration(ctx, domain.System, c.ID, patch))
	}
	f.refresh(run)
}

// log logs random points to a run.
func (f *searchFixture) log(run *modelRun) {
	f.t.Helper()
	var samples []points.Sample
	for _, key := range modelKeys {
		for range f.rng.IntN(4) * f.rng.IntN(2) {
			samples = append(samples, points.Sample{Key: key, Value: scalar.Value(pick(f.rng, modelNumbers)), Step: new(scalar.Step(f.rng.IntN(5)))})
		}
	}
	f.must(f.db.Runs.CreateMetrics(context.Background(), domain.System, run.id, samples))
	for _, p := range samples {
		if run.metrics[p.Key] == nil {
			run.metrics[p.Key] = &modelStats{}
		}
		run.metrics[p.Key].add(*p.Step, p.Value)
	}
}

// refresh copies the values that the store has chosen to the model.
func (f *searchFixture) refresh(run *modelRun) {
	f.t.Helper()
	i, err := f.db.Runs.Iteration(context.Background(), domain.System, run.id)
	f.must(err)
	run.status, run.created, run.seen, run.ended = string(i.Status), i.CreatedDate, i.LastSeen, i.EndDate
}

// copySome copies a random metric of random runs for searches.
func (f *searchFixture) copySome() {
	f.t.Helper()
	f.must(domain.Change(context.Background(), f.db.Base(), domain.System, func(tx *domain.Tx) error {
		var nums []int64
		for _, run := range f.runs {
			var num int64
			if err := tx.Row(`SELECT num FROM iteration WHERE id = ?`, run.id).Scan(&num); err != nil {
				return err
			}
			if f.rng.IntN(2) == 0 {
				nums = append(nums, num)
			}
		}
		return search.CopyStats(tx.Tx, pick(f.rng, modelKeys), nums)
	}))
}

// wants compares a listing with the model and returns the number of matching runs.
func (f *searchFixture) wants(where, sort string) (hits int) {
	f.t.Helper()
	e, err := new(filter.Parser).Filter(where)
	f.must(err)
	keys, err := new(filter.Parser).Sort(sort)
	f.must(err)
	want := f.hits(e, keys)
	l, err := f.db.Runs.Iterations(context.Background(), domain.System, f.experimentID,
		runs.IterationQuery{Page: domain.Page{Limit: domain.MaxLimit}, Filter: where, Sort: sort})
	if err != nil {
		f.t.Fatalf("filter %s, sort %s: %v", where, sort, err)
	}
	same := slices.EqualFunc(want, l.Data, func(run *modelRun, i runs.Iteration) bool { return run.id == i.ID })
	if !same || l.Total != len(want) {
		f.t.Fatalf("filter %s\nsort %s\ngot  %d: %s\nwant %d: %s", where, sort, l.Total, f.positions(l.Data), len(want), f.modelPositions(want))
	}
	return len(want)
}

// hits returns the runs that a search must find, sorted.
func (f *searchFixture) hits(e filter.Expr, sort []filter.SortKey) (hits []*modelRun) {
	for _, run := range f.runs {
		if run.matches(e) {
			hits = append(hits, run)
		}
	}
	slices.SortStableFunc(hits, func(a, b *modelRun) int {
		for _, k := range sort {
			if c := compareBy(a, b, k); c != 0 {
				return c
			}
		}
		return 0
	})
	return hits
}

func (f *searchFixture) positions(data []runs.Iteration) string {
	var all []int
	for _, i := range data {
		all = append(all, slices.IndexFunc(f.runs, func(run *modelRun) bool { return run.id == i.ID }))
	}
	return fmt.Sprint(all)
}

func (f *searchFixture) modelPositions(runs []*modelRun) string {
	var all []int
	for _, run := range runs {
		all = append(all, slices.Index(f.runs, run))
	}
	return fmt.Sprint(all)
}

// TestSearchAgreesWithTheModel compares random searches for random data with the model, while
// points are logged and compacted, and copies are created and dropped.
func TestSearchAgreesWithTheModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f := newSearchFixture(t, seed)
			for range 25 {
				f.add()
			}
			some, all := 0, 0
			for range 400 {
				switch f.rng.IntN(10) {
				case 0:
					f.copySome()
				case 1:
					if run := pick(f.rng, f.runs); run.ended == nil {
						f.log(run)
						f.refresh(run)
					}
				case 3:
					f.must(storetest.Compact(f.db))
				case 2:
					if i := f.rng.IntN(len(f.runs)); len(f.runs) > 15 && f.rng.IntN(10) == 0 {
						f.must(f.db.Runs.DeleteIteration(context.Background(), domain.System, f.runs[i].id))
						f.runs = slices.Delete(f.runs, i, i+1)
						f.add()
					}
				}
				where := randomFilter(f.rng, f.runs, 2)
				hits := f.wants(where, randomSort(f.rng))
				if hits > 0 {
					some++
				}
				if hits == len(f.runs) {
					all++
				}
			}
			// Searches without results would agree with any model.
			if some < 150 || all > 150 {
				t.Errorf("of 400 searches %d found something and %d everything", some, all)
			}
			problems, err := f.db.Check(context.Background(), false)
			f.must(err)
			for _, p := range problems {
				t.Error(p.Text)
			}
		})
	}
}

func randomSort(rng *rand.Rand) string {
	var s string
	for range rng.IntN(4) {
		if s != "" {
			s += ", "
		}
		s += pick(rng, []string{"", "-"}) + randomRef(rng)
	}
	return s
}

// TestEveryComparisonAgreesWithTheModel compares every parameter value with every literal and
// every operator, and does the same for other fields, one comparison at a time.
func TestEveryComparisonAgreesWithTheModel(t *testing.T) {
	f := newSearchFixture(t, 99)
	for _, text := range modelText {
		c, err := f.db.Runs.CreateIteration(context.Background(), domain.System, f.experimentID, runs.NewIteration{Name: new("r")})
		f.must(err)
		_, err = f.db.Runs.CreateParameter(context.Background(), domain.System, c.ID, "x", scalar.Text(text))
		f.must(err)
		f.runs = append(f.runs, &modelRun{id: c.ID, name: "r", params: map[string]string{"x": text}})
	}
	values := slices.Clone(modelLiterals)
	for _, text := range modelText {
		values = append(values, quoted(f.rng, text))
	}
	for _, v := range values {
		for _, op := range []string{"=", "!=", "<", "<=", ">", ">=", "contains"} {
			f.wants("param.x "+op+" "+v, "")
		}
		f.wants("param.x in ("+v+", 'adam', 10)", "-param.x")
	}
	f.wants("", "param.x")
	f.wants("", "-param.x")
}
