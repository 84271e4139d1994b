package runs_test

import (
	"testing"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
)

// A deletion deletes exactly the records that IterationsDeletion counts, or nothing.
func TestDeleteIterations(t *testing.T) {
	r := newBed(t)
	file := raw(t, r.Path())
	artifact := func(iteration string) string {
		return r.Keep(t, r.Experiment, files.NewArtifact{Name: "a", IterationID: iteration}, uuid.NewString())
	}
	child := func(parent string) string {
		return must(r.Runs.CreateIteration(ctx, domain.System, r.Experiment, runs.NewIteration{ParentIterationID: &parent}))(t).ID
	}
	second, third := child(r.Iteration), r.NewIteration(t)
	child(r.Iteration)
	child(second)
	artifact(r.Iteration)
	artifact(second)
	artifact("")
	model := newModel(t, r.Bed, r.Project, "fraud")
	version := must(r.Models.CreateModelVersion(ctx, domain.System, model,
		registry.NewModelVersion{IterationID: r.NewIteration(t), ArtifactID: new(artifact(third))}))(t).ID

	d := must(storetest.IterationsDeletion(ctx, r.DB, domain.System, []string{r.Iteration, second}))(t)
	if d.Artifacts != 2 || d.Bytes != 72 || d.Children != 2 || len(d.Versions) != 0 {
		t.Errorf("it would do %+v", d)
	}
	ids := []string{r.Iteration, second, third}
	d = must(storetest.IterationsDeletion(ctx, r.DB, domain.System, ids))(t)
	if len(d.Versions) != 1 || len(d.Versions[third]) != 1 || d.Versions[third][0].ID != version {
		t.Errorf("in the way is %+v", d.Versions)
	}
	before := countRows(t, file)
	wantCode(t, r.Runs.DeleteIterations(ctx, domain.System, ids), domain.CodeConflict)
	wantCode(t, r.Runs.DeleteIterations(ctx, domain.System, []string{second, "none"}), domain.CodeNotFound)
	for table, n := range countRows(t, file) {
		if n != before[table] {
			t.Errorf("%d rows in %s, before %d", n, table, before[table])
		}
	}
	wantOK(t, r.Runs.DeleteIterations(ctx, domain.System, ids[:2]))
	if n := ask[int](t, file, `SELECT count(*) FROM iteration WHERE parent_num IS NULL`); n != 4 {
		t.Errorf("%d iterations stay without a parent", n)
	}
	if n := ask[int](t, file, `SELECT count(*) FROM resource`); n != 2 {
		t.Errorf("%d artifacts stay", n)
	}
}

func TestUpdateIterations(t *testing.T) {
	b := newBed(t)
	second := b.NewIteration(t)
	killed := runs.IterationPatch{Status: new(domain.Killed)}
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, second, runs.IterationPatch{Status: new(domain.Failed)}))
	wantCode(t, b.Runs.UpdateIterations(ctx, domain.System, []string{b.Iteration, second}, killed), domain.CodeIterationEnded)
	if i := must(b.Runs.Iteration(ctx, domain.System, b.Iteration))(t); i.Status != domain.Running {
		t.Errorf("the first is %s", i.Status)
	}
	wantOK(t, b.Runs.UpdateIterations(ctx, domain.System, []string{b.Iteration}, killed))
}
