package search_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/storetest"
)

// repeatedSearch is a search that is repeated.
type repeatedSearch struct {
	text string
	e    filter.Expr
	sort []filter.SortKey
}

func (f *searchFixture) repeatedSearch() (s repeatedSearch) {
	f.t.Helper()
	where, sort := randomFilter(f.rng, f.runs, 1), randomSort(f.rng)
	s.text = fmt.Sprintf("filter %s, sort %s", where, sort)
	var p filter.Parser
	var err error
	s.e, err = p.Filter(where)
	f.must(err)
	s.sort, err = p.Sort(sort)
	f.must(err)
	return s
}

// change changes a random run, or data that belongs to no run.
func (f *searchFixture) change() {
	f.t.Helper()
	ctx, run := context.Background(), pick(f.rng, f.runs)
	switch n := f.rng.IntN(20); {
	case n < 8:
		if run.ended == nil {
			f.log(run)
		}
	case n < 11:
		run.name = fmt.Sprint("run ", f.rng.IntN(9))
		f.must(f.db.Runs.UpdateIteration(ctx, domain.System, run.id, runs.IterationPatch{Name: &run.name}))
	case n < 14:
		f.must(f.db.Runs.UpdateIteration(ctx, domain.System, run.id, runs.IterationPatch{Status: new(pick(f.rng, runs.IterationStatuses)), Reopen: true}))
	case n < 16:
		f.add()
	case n < 17:
		i := slices.Index(f.runs, run)
		f.must(f.db.Runs.DeleteIteration(ctx, domain.System, run.id))
		f.runs = slices.Delete(f.runs, i, i+1)
		return
	case n < 18:
		f.copySome()
	case n < 19:
		f.must(storetest.Compact(f.db))
	default:
		f.must(f.db.Runs.LogIteration(ctx, domain.System, run.id, runs.IterationLog{Properties: []domain.Property{{Key: "k", Value: fmt.Sprint(n)}}}))
	}
	f.refresh(run)
}

// TestRepeatedSearchAgreesWithTheModel repeats searches while single runs change, so that some
// searches find a remembered order.
func TestRepeatedSearchAgreesWithTheModel(t *testing.T) {
	for seed := uint64(1); seed < 6; seed += 2 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f := newSearchFixture(t, seed)
			for range 40 {
				f.add()
			}
			var searches []repeatedSearch
			for range 12 {
				searches = append(searches, f.repeatedSearch())
			}
			remembered := 0
			for range 250 {
				if f.rng.IntN(4) == 0 {
					f.change()
				}
				remembered += f.db.Base().Orders.Len()
				s := pick(f.rng, searches)
				want := f.hits(s.e, s.sort)
				limit, offset := 1+f.rng.IntN(8), 0
				if f.rng.IntN(10) == 0 {
					offset = f.rng.IntN(30)
				}
				l, err := f.db.Runs.IterationRecords(context.Background(), domain.System, runs.RecordQuery{Page: domain.Page{Limit: limit, Offset: offset},
					Experiments: []string{f.experimentID}, Filter: s.e, Sort: s.sort})
				f.must(err)
				first, end := min(offset, len(want)), min(offset+limit, len(want))
				same := slices.EqualFunc(want[first:end], l.Data, func(run *modelRun, r runs.IterationRecord) bool { return run.id == r.ID })
				if total := min(offset+limit+1, len(want)); !same || l.Total != max(total, offset) {
					t.Fatalf("%s, %d from %d: %d, want %d of %s", s.text, limit, offset, l.Total, total, f.modelPositions(want))
				}
			}
			if remembered < 250 {
				t.Errorf("%d orders held before 250 searches", remembered)
			}
		})
	}
}

// Even while runs change, each page is sorted by the values that it shows.
func TestPagesAreSortedWhileRunsChange(t *testing.T) {
	ctx := context.Background()
	f := newSearchFixture(t, 1)
	var ids []string
	log := func(n, step int) error {
		point := points.Sample{Key: "loss", Value: scalar.Value((n*7919 + step*104729) % 1000), Step: new(scalar.Step(step))}
		return f.db.Runs.LogIteration(ctx, domain.System, ids[n], runs.IterationLog{Metrics: []points.Sample{point}})
	}
	for n := range 60 {
		c, err := f.db.Runs.CreateIteration(ctx, domain.System, f.experimentID, runs.NewIteration{})
		f.must(err)
		ids = append(ids, c.ID)
		f.must(log(n, 0))
	}
	var p filter.Parser
	sort, err := p.Sort("-metric.loss")
	f.must(err)
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for w := range 3 {
		writers.Go(func() {
			for step := 1; step < 200 && !t.Failed(); step++ {
				if err := log((w+3*step)%len(ids), step); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			for last := false; !last && !t.Failed(); {
				last = done.Load()
				l, err := f.db.Runs.IterationRecords(ctx, domain.System, runs.RecordQuery{Page: domain.Page{Limit: 8}, Experiments: []string{f.experimentID}, Sort: sort})
				var values []scalar.Value
				for _, r := range l.Data {
					values = append(values, r.Latest[0].Value)
				}
				if err != nil || len(values) != 8 || !slices.IsSortedFunc(values, func(a, b scalar.Value) int { return cmp.Compare(b, a) }) {
					t.Errorf("a page has %v: %v", values, err)
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
}
