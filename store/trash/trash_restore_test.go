package trash_test

import (
	"slices"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/trash"
)

// A record that was deleted separately stays deleted when its container is restored. It can't be
// restored before its container.
func TestRestoreInside(t *testing.T) {
	b := newTrashBed(t)
	first, second := b.NewIteration(t), b.NewIteration(t)
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, first))
	b.Clock.Add(time.Hour)
	wantOK(t, b.Projects.DeleteExperiment(ctx, domain.System, b.Experiment))
	b.Clock.Add(time.Hour)
	wantOK(t, b.Projects.DeleteProject(ctx, domain.System, b.Project))
	if got, want := trashed(t, b.DB), []string{b.Project, b.Experiment, first}; !slices.Equal(got, want) {
		t.Errorf("the trash has %v, want %v", got, want)
	}
	l := must(b.Trash.List(ctx, domain.System, trash.Query{Page: domain.FirstPage}))(t)
	if p, e, i := l.Data[0], l.Data[1], l.Data[2]; p.Experiments != 0 || e.Iterations != 2 || p.HeldBy != "" || e.HeldBy != domain.TrashedProject || i.HeldBy != domain.TrashedProject {
		t.Errorf("the trash has %+v", l.Data)
	}
	for _, id := range []string{first, b.Experiment} {
		wantCode(t, b.Trash.Restore(ctx, domain.System, id), domain.CodeConflict)
	}
	wantOK(t, b.Trash.Restore(ctx, domain.System, b.Project))
	wantCode(t, b.Trash.Restore(ctx, domain.System, first), domain.CodeConflict)
	if p := must(b.Projects.Project(ctx, domain.System, b.Project))(t); p.ExperimentCount != 0 || p.IterationCount != 0 {
		t.Errorf("the project has %d experiments and %d iterations", p.ExperimentCount, p.IterationCount)
	}
	wantOK(t, b.Trash.Restore(ctx, domain.System, b.Experiment))
	if e := must(b.Projects.Experiment(ctx, domain.System, b.Experiment))(t); e.IterationCount != 2 {
		t.Errorf("the experiment has %d iterations", e.IterationCount)
	}
	must(b.Runs.Iteration(ctx, domain.System, second))(t)
	_, err := b.Runs.Iteration(ctx, domain.System, first)
	wantCode(t, err, domain.CodeNotFound)
	wantOK(t, b.Trash.Restore(ctx, domain.System, first))
	must(b.Runs.Iteration(ctx, domain.System, first))(t)
}

// Several records are restored together or not at all.
func TestRestoreSeveral(t *testing.T) {
	b := newTrashBed(t)
	ids := []string{b.NewIteration(t), b.NewIteration(t)}
	wantOK(t, b.Runs.DeleteIterations(ctx, domain.System, ids))
	wantCode(t, b.Trash.Restore(ctx, domain.System, ids[0], b.Iteration), domain.CodeNotFound)
	if got := trashed(t, b.DB); len(got) != 2 {
		t.Errorf("the trash has %v", got)
	}
	wantOK(t, b.Trash.Restore(ctx, domain.System, ids...))
	if got := trashed(t, b.DB); len(got) != 0 {
		t.Errorf("the trash has %v", got)
	}
	wantCode(t, b.Trash.Restore(ctx, domain.System, make([]string, domain.MaxLimit+1)...), domain.CodeInvalidPayload)
}

// Another model can use the name of a model in the trash. The model in the trash then can't be
// restored.
func TestRestoreNameTaken(t *testing.T) {
	b := newTrashBed(t)
	m := newModel(t, b, b.Project, "net")
	wantOK(t, b.Models.DeleteModel(ctx, domain.System, m))
	other := newModel(t, b, b.Project, "net")
	wantCode(t, b.Trash.Restore(ctx, domain.System, m), domain.CodeConflict)
	if got := trashed(t, b.DB); len(got) != 1 {
		t.Errorf("the trash has %v", got)
	}
	wantOK(t, b.Models.UpdateModel(ctx, domain.System, other, registry.ModelPatch{Name: new("net 2")}))
	wantOK(t, b.Trash.Restore(ctx, domain.System, m))
	wantCode(t, b.Models.UpdateModel(ctx, domain.System, other, registry.ModelPatch{Name: new("net")}), domain.CodeConflict)
}
