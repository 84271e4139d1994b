package store_test

import (
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// An end date before the creation date of a run is moved to the creation date.
func TestEndIsNotBeforeTheBeginning(t *testing.T) {
	b := newBed(t)
	created := must(b.Runs.Iteration(ctx, domain.System, b.iteration))(t).CreatedDate
	early := created - scalar.Time(time.Hour.Milliseconds())
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Status: new(domain.Failed), EndDate: &early}))
	if it := must(b.Runs.Iteration(ctx, domain.System, b.iteration))(t); it.EndDate == nil || *it.EndDate != created || it.Status != domain.Failed {
		t.Errorf("it has ended at %v as %s, and began at %v", it.EndDate, it.Status, created)
	}
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Status: new(domain.Running)}))
	if it := must(b.Runs.Iteration(ctx, domain.System, b.iteration))(t); it.EndDate != nil {
		t.Errorf("it goes on, and has ended at %v", it.EndDate)
	}
}

// A run is lost if it was last seen more than LostAfter ago, but not exactly LostAfter ago.
func TestLost(t *testing.T) {
	now := scalar.TimeOf(time.Now())
	edge := domain.LostBefore(now)
	for _, c := range []struct {
		status domain.IterationStatus
		seen   scalar.Time
		want   bool
	}{{domain.Running, edge - 1, true}, {domain.Running, edge, false}, {domain.Running, now, false}, {domain.Failed, edge - 1, false}} {
		if got := c.status.Lost(c.seen, now); got != c.want {
			t.Errorf("%s, last seen %d ms before: %t", c.status, now-c.seen, got)
		}
	}
}
