package runs_test

import (
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestEnd checks three rules. A given end date is stored unchanged. Any other end date is not
// before the creation date. A run that continues has no end date.
func TestEnd(t *testing.T) {
	b := newBed(t)
	run := func() runs.Iteration { return must(b.Runs.Iteration(ctx, domain.System, b.Iteration))(t) }
	set := func(p runs.IterationPatch) { wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, p)) }
	created := run().CreatedDate
	early := created - scalar.Time(time.Hour.Milliseconds())
	set(runs.IterationPatch{Status: new(domain.Failed), EndDate: &early})
	set(runs.IterationPatch{Status: new(domain.Failed)}) // an unchanged status
	if it := run(); it.EndDate == nil || *it.EndDate != early || it.Status != domain.Failed {
		t.Errorf("it has ended at %v as %s, want %v", it.EndDate, it.Status, early)
	}
	set(runs.IterationPatch{Status: new(domain.Running)})
	if it := run(); it.EndDate != nil {
		t.Errorf("it goes on, and has ended at %v", it.EndDate)
	}
	later := created + scalar.Time(time.Hour.Milliseconds()) // the client's clock is ahead
	execSQL(t, raw(t, b.Path()), `UPDATE iteration SET created_date = ? WHERE id = ?`, int64(later), b.Iteration)
	set(runs.IterationPatch{Status: new(domain.Killed)})
	if it := run(); it.EndDate == nil || *it.EndDate != later {
		t.Errorf("it has ended at %v, and began at %v", it.EndDate, later)
	}
}

// A run is lost if it was last seen more than LostAfter ago. Exactly LostAfter is not enough.
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
