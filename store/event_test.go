package store_test

import (
	"slices"
	"testing"

	"tracker/store"
)

func TestChangesTellWhatHappened(t *testing.T) {
	b := newBed(t)
	other := must(b.CreateExperiment(ctx, store.System, b.project, store.NewExperiment{Name: "other"}))(t).ID
	begin := must(b.ExperimentChanges(ctx, store.System, b.experiment, ""))(t)
	if !begin.Empty() {
		t.Fatalf("changes before the beginning: %+v", begin)
	}
	one, two := b.newIteration(t), b.newIteration(t)
	must(b.CreateIteration(ctx, store.System, other, store.NewIteration{}))(t)
	must(b.CreateTag(ctx, store.System, store.IterationTag, one, "best"))(t)
	for step := range int64(3) {
		must(b.CreateMetric(ctx, store.System, one, point("loss", step, 1)))(t)
		must(b.CreateMetric(ctx, store.System, b.iteration, point("acc", step, 1)))(t)
	}
	wantOK(t, b.UpdateIteration(ctx, store.System, two, store.IterationPatch{Status: new(store.Failed)}))
	if _, err := b.CreateMetric(ctx, store.System, two, point("late", 0, 1)); err == nil {
		t.Fatal("an ended iteration took a point")
	}
	c := must(b.ExperimentChanges(ctx, store.System, b.experiment, begin.Cursor))(t)
	if len(c.Iterations) != 2 || c.Iterations[0].ID != one || c.Iterations[0].Tags[0] != "best" || c.Iterations[1].Status != store.Failed {
		t.Errorf("iterations: %+v", c.Iterations)
	}
	if len(c.Series) != 2 || c.Series[0].Key != "loss" || *c.Series[0].LastStep != 2 || c.Series[1].IterationID != b.iteration {
		t.Errorf("series: %+v", c.Series)
	}
	mine := must(b.IterationChanges(ctx, store.System, b.iteration, begin.Cursor))(t)
	if len(mine.Iterations) != 0 || len(mine.Series) != 1 || mine.Series[0].Key != "acc" {
		t.Errorf("of one iteration: %+v", mine)
	}
	if again := must(b.ExperimentChanges(ctx, store.System, b.experiment, c.Cursor))(t); !again.Empty() {
		t.Errorf("told twice: %+v", again)
	}
	wantOK(t, b.DeleteIteration(ctx, store.System, one))
	c = must(b.ExperimentChanges(ctx, store.System, b.experiment, c.Cursor))(t)
	if !slices.Equal(c.Deleted, []string{one}) || len(c.Iterations) != 0 {
		t.Errorf("after the delete: %+v", c)
	}
}

func TestChangesOfAnotherLifeAreReset(t *testing.T) {
	b := newBed(t)
	now := must(b.ExperimentChanges(ctx, store.System, b.experiment, ""))(t).Cursor
	for _, cursor := range []string{"x", "-", "-1", "0123456789ab-0", now + "0", now + "x"} {
		if c := must(b.ExperimentChanges(ctx, store.System, b.experiment, cursor))(t); !c.Reset || c.Cursor != now {
			t.Errorf("%q: %+v", cursor, c)
		}
	}
	// What another process changes is not known here.
	second := open(t, store.Options{Path: b.Path()})
	must(second.CreateProject(ctx, store.System, store.NewProject{Name: "elsewhere"}))(t)
	b.log(t, "loss", 0, 1)
	if c := must(b.ExperimentChanges(ctx, store.System, b.experiment, now))(t); !c.Reset {
		t.Errorf("not reset: %+v", c)
	}
}
