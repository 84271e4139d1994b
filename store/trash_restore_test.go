package store_test

import (
	"slices"
	"testing"
	"time"

	"tracker/store"
)

// A record that was deleted alone stays deleted when its container is restored, and
// can't be restored without it.
func TestRestoreInside(t *testing.T) {
	b := newTrashBed(t)
	first, second := b.newIteration(t), b.newIteration(t)
	wantOK(t, b.DeleteIteration(ctx, store.System, first))
	b.clock.Add(time.Hour)
	wantOK(t, b.DeleteExperiment(ctx, store.System, b.experiment))
	b.clock.Add(time.Hour)
	wantOK(t, b.DeleteProject(ctx, store.System, b.project))
	if got, want := trash(t, b.DB), []string{b.project, b.experiment, first}; !slices.Equal(got, want) {
		t.Errorf("the trash has %v, want %v", got, want)
	}
	l := must(b.Trash(ctx, store.System, store.TrashQuery{Page: store.FirstPage}))(t)
	if p, e, i := l.Data[0], l.Data[1], l.Data[2]; p.Experiments != 0 || e.Iterations != 2 || p.HeldBy != "" || e.HeldBy != store.TrashedProject || i.HeldBy != store.TrashedProject {
		t.Errorf("the trash has %+v", l.Data)
	}
	for _, id := range []string{first, b.experiment} {
		wantCode(t, b.Restore(ctx, store.System, id), store.CodeConflict)
	}
	wantOK(t, b.Restore(ctx, store.System, b.project))
	wantCode(t, b.Restore(ctx, store.System, first), store.CodeConflict)
	if p := must(b.Project(ctx, store.System, b.project))(t); p.ExperimentCount != 0 || p.IterationCount != 0 {
		t.Errorf("the project has %d experiments and %d iterations", p.ExperimentCount, p.IterationCount)
	}
	wantOK(t, b.Restore(ctx, store.System, b.experiment))
	if e := must(b.Experiment(ctx, store.System, b.experiment))(t); e.IterationCount != 2 {
		t.Errorf("the experiment has %d iterations", e.IterationCount)
	}
	must(b.Iteration(ctx, store.System, second))(t)
	_, err := b.Iteration(ctx, store.System, first)
	wantCode(t, err, store.CodeNotFound)
	wantOK(t, b.Restore(ctx, store.System, first))
	must(b.Iteration(ctx, store.System, first))(t)
}

// Several are restored together or not at all.
func TestRestoreSeveral(t *testing.T) {
	b := newTrashBed(t)
	ids := []string{b.newIteration(t), b.newIteration(t)}
	wantOK(t, b.DeleteIterations(ctx, store.System, ids))
	wantCode(t, b.Restore(ctx, store.System, ids[0], b.iteration), store.CodeNotFound)
	if got := trash(t, b.DB); len(got) != 2 {
		t.Errorf("the trash has %v", got)
	}
	wantOK(t, b.Restore(ctx, store.System, ids...))
	if got := trash(t, b.DB); len(got) != 0 {
		t.Errorf("the trash has %v", got)
	}
	wantCode(t, b.Restore(ctx, store.System, make([]string, store.MaxLimit+1)...), store.CodeInvalidPayload)
}

// The name of a model in the trash is free. If it is taken the model stays there.
func TestRestoreNameTaken(t *testing.T) {
	b := newTrashBed(t)
	m := newModel(t, b, b.project, "net")
	wantOK(t, b.DeleteModel(ctx, store.System, m))
	other := newModel(t, b, b.project, "net")
	wantCode(t, b.Restore(ctx, store.System, m), store.CodeConflict)
	if got := trash(t, b.DB); len(got) != 1 {
		t.Errorf("the trash has %v", got)
	}
	wantOK(t, b.UpdateModel(ctx, store.System, other, store.ModelPatch{Name: new("net 2")}))
	wantOK(t, b.Restore(ctx, store.System, m))
	wantCode(t, b.UpdateModel(ctx, store.System, other, store.ModelPatch{Name: new("net")}), store.CodeConflict)
}
