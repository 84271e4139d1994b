package runs_test

import (
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
)

// TestStop checks that a stop request is stored with its time and user, and that the run itself
// is unchanged.
func TestStop(t *testing.T) {
	b := newBed(t)
	run := func() runs.Iteration { return must(b.Runs.Iteration(ctx, domain.System, b.Iteration))(t) }
	before := run()
	if before.StopRequested != nil || before.StopRequestedBy != nil {
		t.Fatalf("a new run has the request %v by %v", before.StopRequested, before.StopRequestedBy)
	}
	wantOK(t, b.Runs.RequestStop(ctx, domain.System, b.Iteration))
	after := run()
	if after.StopRequested == nil || after.StopRequestedBy != nil || after.Status != domain.Running || after.LastSeen != before.LastSeen {
		t.Errorf("the run after the request is %+v", after)
	}
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, runs.IterationPatch{Status: new(domain.Killed)}))
	if it := run(); it.StopRequested != nil {
		t.Errorf("an ended run has a request of %v", *it.StopRequested)
	}
	wantCode(t, b.Runs.RequestStop(ctx, domain.System, b.Iteration), domain.CodeIterationEnded)
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, runs.IterationPatch{Status: new(domain.Running)}))
	if it := run(); it.StopRequested != nil {
		t.Errorf("a reopened run has a request of %v", *it.StopRequested)
	}
	execSQL(t, raw(t, b.Path()), `INSERT INTO source (id, iteration_num, path, size, fingerprint, position, state, updated_date)
		SELECT 'file', num, 'events', 0, '', 0, '', 0 FROM iteration WHERE id = ?`, b.Iteration)
	wantCode(t, b.Runs.RequestStop(ctx, domain.System, b.Iteration), domain.CodeConflict)
	wantClean(t, b.DB)
}

// TestStopMessage checks the error message of a run that was stopped.
func TestStopMessage(t *testing.T) {
	for want, by := range map[string]*string{"Stopped on request.": nil, "Stopped on request of ada.": new("ada")} {
		if got := runs.StopMessage(by); got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
	}
}
