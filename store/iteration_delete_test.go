package store_test

import (
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
)

// A deletion deletes exactly the announced records or nothing.
func TestDeleteIterations(t *testing.T) {
	r := newRegistry(t)
	child := func(parent string) string {
		return must(r.Runs.CreateIteration(ctx, domain.System, r.experiment, runs.NewIteration{ParentIterationID: &parent}))(t).ID
	}
	second, third := child(r.iteration), r.newIteration(t)
	child(r.iteration)
	child(second)
	r.resource(t, r.experiment, r.iteration)
	r.resource(t, r.experiment, second)
	r.resource(t, r.experiment, "")
	artifact := r.resource(t, r.experiment, third)
	version := r.version(t, r.model, r.newIteration(t), &artifact)

	d := must(r.IterationsDeletion(ctx, domain.System, []string{r.iteration, second}))(t)
	if d.Artifacts != 2 || d.Bytes != 72 || d.Children != 2 || len(d.Versions) != 0 {
		t.Errorf("it would do %+v", d)
	}
	ids := []string{r.iteration, second, third}
	d = must(r.IterationsDeletion(ctx, domain.System, ids))(t)
	if len(d.Versions) != 1 || len(d.Versions[third]) != 1 || d.Versions[third][0].ID != version {
		t.Errorf("in the way is %+v", d.Versions)
	}
	before := countRows(t, r.file)
	wantCode(t, r.Runs.DeleteIterations(ctx, domain.System, ids), domain.CodeConflict)
	wantCode(t, r.Runs.DeleteIterations(ctx, domain.System, []string{second, "none"}), domain.CodeNotFound)
	for table, n := range countRows(t, r.file) {
		if n != before[table] {
			t.Errorf("%d rows in %s, before %d", n, table, before[table])
		}
	}
	wantOK(t, r.Runs.DeleteIterations(ctx, domain.System, ids[:2]))
	if n := ask[int](t, r.file, `SELECT count(*) FROM iteration WHERE parent_num IS NULL`); n != 4 {
		t.Errorf("%d iterations stay without a parent", n)
	}
	if n := ask[int](t, r.file, `SELECT count(*) FROM resource`); n != 2 {
		t.Errorf("%d artifacts stay", n)
	}
}

func TestUpdateIterations(t *testing.T) {
	b := newBed(t)
	second := b.newIteration(t)
	killed := runs.IterationPatch{Status: new(domain.Killed)}
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, second, runs.IterationPatch{Status: new(domain.Failed)}))
	wantCode(t, b.Runs.UpdateIterations(ctx, domain.System, []string{b.iteration, second}, killed), domain.CodeIterationEnded)
	if i := must(b.Runs.Iteration(ctx, domain.System, b.iteration))(t); i.Status != domain.Running {
		t.Errorf("the first is %s", i.Status)
	}
	wantOK(t, b.Runs.UpdateIterations(ctx, domain.System, []string{b.iteration}, killed))
}
