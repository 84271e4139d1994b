package store_test

import (
	"fmt"
	"sync"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// A read sees each point once, even if the point is moved or deleted during the read.
func TestReadDuringACompaction(t *testing.T) {
	add := func(b *bed) error {
		_, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"})
		return err
	}
	for name, meanwhile := range map[string]func(*bed) error{
		"a new point":  add,
		"a compaction": func(b *bed) error { return b.Compact() },
		"a new point compacted": func(b *bed) error {
			if err := add(b); err != nil {
				return err
			}
			return b.Compact()
		},
		"a compaction and a new point": func(b *bed) error {
			if err := b.Compact(); err != nil {
				return err
			}
			return add(b)
		},
		"a deleted iteration": func(b *bed) error {
			if err := b.Runs.DeleteIteration(ctx, domain.System, b.iteration); err != nil {
				return err
			}
			return b.Compact()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			for i := range 7 {
				b.log(t, fmt.Sprint("key ", i%2), int64(i), 1)
			}
			wantOK(t, b.Compact())
			for i := range 5 {
				b.log(t, fmt.Sprint("key ", i%3), int64(20-i), 1)
			}
			before := jsonOf(t, must(b.MetricsWhile(b.iteration, func() error { return nil }))(t))
			after := jsonOf(t, must(b.MetricsWhile(b.iteration, func() error { return meanwhile(b) }))(t))
			if after != before {
				t.Errorf("%s, before %s", after, before)
			}
		})
	}
}

// Reads find all acknowledged points during concurrent writes and compactions.
func TestReadsWhileOthersWriteAndCompact(t *testing.T) {
	b := newBed(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := b.Compact(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for w := range 3 {
		wg.Go(func() {
			key := fmt.Sprint("key ", w)
			for i := range 400 {
				if _, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: key, Value: scalar.Value(i)}); err != nil {
					t.Error(err)
					return
				}
				l, err := b.Runs.Metrics(ctx, domain.System, b.iteration, runs.MetricQuery{Page: domain.Page{Limit: 1, Offset: i}, Key: &key})
				if err != nil || l.Total != i+1 || len(l.Data) != 1 || l.Data[0].Value != scalar.Value(i) {
					t.Errorf("%+v (%v) after point %d", l, err, i)
					return
				}
			}
			if w == 0 {
				close(stop)
			}
		})
	}
	wg.Wait()
	wantClean(t, b.DB)
}

// After opening a database, every read finds the points in the recent table.
func TestRecentAfterAStart(t *testing.T) {
	b := newBed(t)
	for i := range 10 {
		b.log(t, "loss", int64(i%7), float64(i))
	}
	id := b.log(t, "acc", 3, 1)
	wantOK(t, b.Runs.DeleteMetric(ctx, domain.System, b.log(t, "acc", 4, 1)))
	before := pointsOf(t, b.DB, b.iteration, nil)
	known := knownStatistics(t, b.DB, b.iteration)
	wantOK(t, b.Close())
	again := open(t, store.Options{Path: b.Path(), Now: b.clock.Now, Exclusive: true})
	if after := pointsOf(t, again, b.iteration, nil); jsonOf(t, after) != jsonOf(t, before) {
		t.Errorf("%+v, before %+v", after, before)
	}
	if after := knownStatistics(t, again, b.iteration); fmt.Sprint(after) != fmt.Sprint(known) {
		t.Errorf("%+v, before %+v", after, known)
	}
	must(again.Runs.Metric(ctx, domain.System, id))(t)
	next := must(again.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"}))(t)
	if m := must(again.Runs.Metric(ctx, domain.System, next.ID))(t); m.Step != 7 {
		t.Errorf("the next step is %d, want 7", m.Step)
	}
	wantNoSeqTwice(t, again)
	wantClean(t, again)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	return string(must(json.Marshal(v, json.Deterministic(true)))(t))
}
