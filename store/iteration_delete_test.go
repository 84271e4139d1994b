package store_test

import (
	"testing"

	"tracker/store"
)

// A deletion removes what was announced before, all of it or nothing.
func TestDeleteIterations(t *testing.T) {
	r := newRegistry(t)
	child := func(parent string) string {
		return must(r.CreateIteration(ctx, store.System, r.experiment, store.NewIteration{ParentIterationID: &parent}))(t).ID
	}
	second, third := child(r.iteration), r.newIteration(t)
	child(r.iteration)
	child(second)
	r.resource(t, r.experiment, r.iteration)
	r.resource(t, r.experiment, second)
	r.resource(t, r.experiment, "")
	artifact := r.resource(t, r.experiment, third)
	version := r.version(t, r.model, r.newIteration(t), &artifact)

	d := must(r.IterationsDeletion(ctx, store.System, []string{r.iteration, second}))(t)
	if d.Artifacts != 2 || d.Bytes != 72 || d.Children != 2 || len(d.Versions) != 0 {
		t.Errorf("it would do %+v", d)
	}
	ids := []string{r.iteration, second, third}
	d = must(r.IterationsDeletion(ctx, store.System, ids))(t)
	if len(d.Versions) != 1 || len(d.Versions[third]) != 1 || d.Versions[third][0].ID != version {
		t.Errorf("in the way is %+v", d.Versions)
	}
	before := countRows(t, r.file)
	wantCode(t, r.DeleteIterations(ctx, store.System, ids), store.CodeConflict)
	wantCode(t, r.DeleteIterations(ctx, store.System, []string{second, "none"}), store.CodeNotFound)
	for table, n := range countRows(t, r.file) {
		if n != before[table] {
			t.Errorf("%d rows in %s, before %d", n, table, before[table])
		}
	}
	wantOK(t, r.DeleteIterations(ctx, store.System, ids[:2]))
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
	killed := store.IterationPatch{Status: new(store.Killed)}
	wantOK(t, b.UpdateIteration(ctx, store.System, second, store.IterationPatch{Status: new(store.Failed)}))
	wantCode(t, b.UpdateIterations(ctx, store.System, []string{b.iteration, second}, killed), store.CodeIterationEnded)
	if i := must(b.Iteration(ctx, store.System, b.iteration))(t); i.Status != store.Running {
		t.Errorf("the first is %s", i.Status)
	}
	wantOK(t, b.UpdateIterations(ctx, store.System, []string{b.iteration}, killed))
}
