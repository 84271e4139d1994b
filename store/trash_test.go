package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tracker/store"
)

const trashAge = 30 * 24 * time.Hour

// newTrashBed is newBed with a trash.
func newTrashBed(t testing.TB) *bed {
	t.Helper()
	return newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge})
}

// shown describes all that a reader of the database finds, a line for each record.
func shown(t testing.TB, db *store.DB) (lines []string) {
	t.Helper()
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	all := store.Page{Limit: store.MaxLimit}
	for _, p := range must(db.Projects(ctx, store.System, store.ProjectQuery{Page: all}))(t).Data {
		add("project %+v", p)
		wantOK(t, db.View(ctx, store.System, func(v *store.View) error {
			for _, r := range must(v.Reports(p.ID, all))(t).Data {
				add("report %+v", r)
			}
			return nil
		}))
		for _, e := range must(db.Experiments(ctx, store.System, p.ID, store.ExperimentQuery{Page: all}))(t).Data {
			add("experiment %+v", e)
			for _, k := range must(db.Keys(ctx, store.System, e.ID, store.KeyQuery{Page: all}))(t).Data {
				add("key %+v", k)
			}
			for _, g := range must(db.Groups(ctx, store.System, e.ID, store.GroupQuery{Page: all, By: "param.lr", Columns: "metric.loss"}))(t).Data {
				add("group %d of %s, %+v", g.Iterations, e.ID, g.Metrics)
			}
			found := must(db.Iterations(ctx, store.System, e.ID, store.IterationQuery{Page: all, Filter: "created > '2000-01-01'"}))(t)
			listed := must(db.Iterations(ctx, store.System, e.ID, store.IterationQuery{Page: all, Columns: "metric.loss, param.lr"}))(t)
			if len(found.Data) != len(listed.Data) || found.Total != len(listed.Data) || listed.Total != len(listed.Data) || e.IterationCount != listed.Total {
				t.Errorf("a search finds %d of %d iterations, the listing has %d of %d, and the experiment says %d",
					len(found.Data), found.Total, len(listed.Data), listed.Total, e.IterationCount)
			}
			for _, i := range listed.Data {
				parent := "none"
				if i.ParentIterationID != nil {
					parent = *i.ParentIterationID
				}
				i.ParentIterationID = nil
				end := "none"
				if i.EndDate != nil {
					end = i.EndDate.String()
				}
				i.EndDate = nil
				add("iteration %+v, parent %s, end %s", i, parent, end)
				s := must(db.Summary(ctx, store.System, i.ID))(t)
				add("summary %+v %v %d", s.Params, s.Tags, len(s.Metrics))
				add("curves %d", len(must(db.Curves(ctx, store.System, []string{i.ID}, store.CurveQuery{Keys: []string{"loss"}, X: store.ByStep, Scale: store.Linear, Points: 10}))(t)))
			}
			for _, r := range must(db.Artifacts(ctx, store.System, e.ID, store.ArtifactQuery{Page: all}))(t).Data {
				r.IterationID = nil
				add("resource %+v with %q", r, content(t, db, r.ID))
			}
		}
		for _, m := range must(db.Models(ctx, store.System, p.ID, store.ModelQuery{Page: all}))(t).Data {
			add("model %+v", m)
			for _, v := range must(db.ModelVersions(ctx, store.System, m.ID, store.ModelVersionQuery{Page: all}))(t).Data {
				from := "none"
				if v.IterationID != nil {
					from = *v.IterationID
				}
				v.ArtifactID, v.IterationID = nil, nil
				add("version %+v of %s", v, from)
			}
		}
	}
	for _, f := range must(db.Find(ctx, store.System, "", store.MaxLimit))(t) {
		add("found %+v", f)
	}
	return lines
}

// trash returns the ids in the trash, the last deleted first.
func trash(t testing.TB, db *store.DB) (ids []string) {
	t.Helper()
	l := must(db.Trash(ctx, store.System, store.TrashQuery{Page: store.Page{Limit: store.MaxLimit}}))(t)
	for _, e := range l.Data {
		ids = append(ids, e.ID)
	}
	if l.Total != len(ids) {
		t.Errorf("the trash has %d records and says %d", len(ids), l.Total)
	}
	return ids
}

// filled is a bed with something of everything in it, and the ids of a record of
// each kind that nothing refers to.
type filled struct {
	*bed
	full string // a project
	ids  map[store.TrashKind]string
}

func newFilled(t testing.TB) filled {
	t.Helper()
	b := newTrashBed(t)
	f := filled{bed: b, ids: map[store.TrashKind]string{}}
	user := must(b.CreateUser(ctx, store.System, store.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	f.full = fill(t, b, user)
	f.ids[store.TrashedProject] = fill(t, b, user)
	e := must(b.CreateExperiment(ctx, store.System, f.full, store.NewExperiment{Name: "alone"}))(t).ID
	f.ids[store.TrashedExperiment] = e
	f.ids[store.TrashedIteration] = must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{}))(t).ID
	for _, i := range []string{must(b.CreateIteration(ctx, store.System, e, store.NewIteration{}))(t).ID, f.ids[store.TrashedIteration]} {
		must(b.CreateParameter(ctx, store.System, i, "lr", "0.1"))(t)
		must(b.CreateTag(ctx, store.System, store.IterationTag, i, "tag"))(t)
		must(b.CreateMetric(ctx, store.System, i, point("loss", 1, 2)))(t)
	}
	must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{ParentIterationID: new(f.ids[store.TrashedIteration])}))(t)
	b.keep(t, e, store.NewArtifact{Name: "data"}, "12345")
	b.keep(t, b.experiment, store.NewArtifact{Name: "weights", IterationID: f.ids[store.TrashedIteration]}, "123456789")
	f.ids[store.TrashedArtifact] = b.keep(t, b.experiment, store.NewArtifact{Name: "image"}, "123")
	m := newModel(t, b, b.project, "net")
	f.ids[store.TrashedModel] = m
	must(b.CreateModelVersion(ctx, store.System, m, store.NewModelVersion{IterationID: b.iteration}))(t)
	f.ids[store.TrashedReport] = must(b.CreateReport(ctx, store.System, b.project, store.NewReport{Name: "findings", Text: "# Why"}))(t).ID
	other := newModel(t, b, b.project, "other")
	f.ids[store.TrashedVersion] = must(b.CreateModelVersion(ctx, store.System, other, store.NewModelVersion{IterationID: b.iteration}))(t).ID
	return f
}

// remove deletes a record of a kind.
func (f filled) remove(kind store.TrashKind, id string) error {
	switch kind {
	case store.TrashedProject:
		return f.DeleteProject(ctx, store.System, id)
	case store.TrashedExperiment:
		return f.DeleteExperiment(ctx, store.System, id)
	case store.TrashedIteration:
		return f.DeleteIteration(ctx, store.System, id)
	case store.TrashedModel:
		return f.DeleteModel(ctx, store.System, id)
	case store.TrashedVersion:
		return f.DeleteModelVersion(ctx, store.System, id)
	case store.TrashedReport:
		return f.DeleteReport(ctx, store.System, id)
	}
	return f.DeleteArtifact(ctx, store.System, id)
}

// A deleted record of each kind is not found, is in the trash with the counts of what it
// holds, and is as before when it is restored.
func TestTrash(t *testing.T) {
	f := newFilled(t)
	before := shown(t, f.DB)
	takes := map[store.TrashKind]store.Trashed{
		store.TrashedProject:    {Name: "full", ProjectName: "full", Experiments: 3, Iterations: 7, Models: 2, Versions: 2, Artifacts: 10},
		store.TrashedExperiment: {Name: "alone", ProjectName: "full", In: "full", Iterations: 1, Artifacts: 1, SizeBytes: 5},
		store.TrashedIteration:  {ProjectName: "project", In: "experiment", Artifacts: 1, SizeBytes: 9},
		store.TrashedModel:      {Name: "net", ProjectName: "project", In: "project", Versions: 1},
		store.TrashedReport:     {Name: "findings", ProjectName: "project", In: "project"},
		store.TrashedVersion:    {Name: "other 1", ProjectName: "project", In: "other"},
		store.TrashedArtifact:   {Name: "image", ProjectName: "project", In: "experiment", Artifacts: 1, SizeBytes: 3},
	}
	for kind, want := range takes {
		id := f.ids[kind]
		wantOK(t, f.remove(kind, id))
		if err := f.remove(kind, id); store.AsError(err).Code != store.CodeNotFound {
			t.Errorf("%s: deleting it again: %v", kind, err)
		}
		without := shown(t, f.DB)
		if slices.ContainsFunc(without, func(s string) bool { return strings.Contains(s, id) }) || len(without) >= len(before) {
			t.Errorf("%s: it is still found", kind)
		}
		wantClean(t, f.DB)
		l := must(f.Trash(ctx, store.System, store.TrashQuery{Page: store.FirstPage, Kind: &kind}))(t)
		if l.Total != 1 || len(l.Data) != 1 {
			t.Fatalf("%s: the trash has %+v", kind, l)
		}
		got := l.Data[0]
		if got.DeletedDate != f.clock.Time() || got.PurgeDate.Time().Sub(got.DeletedDate.Time()) != trashAge || got.DeletedBy != nil || got.HeldBy != "" {
			t.Errorf("%s: %+v", kind, got)
		}
		want.ID, want.Kind, want.ProjectID = id, kind, got.ProjectID
		want.DeletedDate, want.PurgeDate, want.Rank = got.DeletedDate, got.PurgeDate, got.Rank
		if kind == store.TrashedProject {
			want.SizeBytes = got.SizeBytes
		}
		if want.Name == "" {
			want.Name = got.Name
		}
		if got != want {
			t.Errorf("%s: the trash has\n%+v, want\n%+v", kind, got, want)
		}
		wantOK(t, f.Restore(ctx, store.System, id))
		if after := shown(t, f.DB); !slices.Equal(after, before) {
			t.Errorf("%s: restored it is not as before:\n%s\nwant\n%s", kind, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
		wantCode(t, f.Restore(ctx, store.System, id), store.CodeNotFound)
		wantClean(t, f.DB)
	}
	if ids := trash(t, f.DB); len(ids) > 0 {
		t.Errorf("the trash has %v", ids)
	}
}

// The view of all points is without those of runs in the trash, however they went there.
func TestPointsWithoutTrash(t *testing.T) {
	b := newTrashBed(t)
	b.log(t, "loss", 1, 2)
	other := b.newIteration(t)
	many := make([]store.NewMetric, 100) // these go to table metric at once, the others to recent
	for i := range many {
		many[i].Key = "acc"
	}
	wantOK(t, b.CreateMetrics(ctx, store.System, other, many))
	file := raw(t, b.Path())
	wantPoints := func(want int) {
		t.Helper()
		if n := ask[int](t, file, `SELECT count(*) FROM metric_points`); n != want {
			t.Errorf("%d points, want %d", n, want)
		}
	}
	wantPoints(101)
	for _, c := range []struct {
		id     string
		remove func(string) error
		left   int
	}{
		{b.iteration, func(id string) error { return b.DeleteIteration(ctx, store.System, id) }, 100},
		{other, func(id string) error { return b.DeleteIteration(ctx, store.System, id) }, 1},
		{b.experiment, func(id string) error { return b.DeleteExperiment(ctx, store.System, id) }, 0},
		{b.project, func(id string) error { return b.DeleteProject(ctx, store.System, id) }, 0},
	} {
		wantOK(t, c.remove(c.id))
		wantPoints(c.left)
		wantOK(t, b.Restore(ctx, store.System, c.id))
		wantPoints(101)
	}
}

// A purge leaves nothing behind.
func TestPurge(t *testing.T) {
	f := newFilled(t)
	file := raw(t, f.Path())
	for kind, id := range f.ids {
		wantCode(t, f.Purge(ctx, store.System, id), store.CodeNotFound)
		wantOK(t, f.remove(kind, id))
		wantOK(t, f.Purge(ctx, store.System, id))
		wantCode(t, f.Restore(ctx, store.System, id), store.CodeNotFound)
		if n := ask[int](t, file, `SELECT count(*) FROM `+string(kind)+` WHERE id = ?`, id); n > 0 {
			t.Errorf("%s: it is still in its table", kind)
		}
		wantClean(t, f.DB)
	}
	must(f.Collect(ctx))(t)
	if n := ask[int](t, file, `SELECT count(*) FROM blob WHERE NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)`); n > 0 {
		t.Errorf("the bytes of %d artifacts are still there", n)
	}
}

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

// A run whose versions are in the trash can be deleted: then they are restored after
// it, and purged before it.
func TestTrashOfVersions(t *testing.T) {
	b := newTrashBed(t)
	m := newModel(t, b, b.project, "net")
	artifact := b.keep(t, b.experiment, store.NewArtifact{Name: "weights"}, "123")
	version := must(b.CreateModelVersion(ctx, store.System, m, store.NewModelVersion{IterationID: b.iteration, ArtifactID: &artifact}))(t).ID
	wantCode(t, b.DeleteIteration(ctx, store.System, b.iteration), store.CodeConflict)
	wantCode(t, b.DeleteArtifact(ctx, store.System, artifact), store.CodeConflict)

	wantOK(t, b.DeleteModelVersion(ctx, store.System, version))
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	wantOK(t, b.DeleteArtifact(ctx, store.System, artifact))
	wantOK(t, b.DeleteExperiment(ctx, store.System, b.experiment))
	for _, id := range []string{b.iteration, artifact, b.experiment} {
		wantCode(t, b.Purge(ctx, store.System, id), store.CodeConflict)
	}
	for _, next := range []string{b.experiment, b.iteration, artifact} {
		wantCode(t, b.Restore(ctx, store.System, version), store.CodeConflict)
		wantOK(t, b.Restore(ctx, store.System, next))
	}
	wantOK(t, b.Restore(ctx, store.System, version))

	// The same with the model, whose version is not in the trash by itself.
	wantOK(t, b.DeleteModel(ctx, store.System, m))
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	wantCode(t, b.Restore(ctx, store.System, m), store.CodeConflict)
	wantCode(t, b.Purge(ctx, store.System, b.iteration), store.CodeConflict)
	wantOK(t, b.Purge(ctx, store.System, m))
	wantOK(t, b.Purge(ctx, store.System, b.iteration))
	wantClean(t, b.DB)
}

// A version that was in production is not when another one is by the time that it is
// restored.
func TestTrashOfProduction(t *testing.T) {
	b := newTrashBed(t)
	m := newModel(t, b, b.project, "net")
	var ids []string
	for range 2 {
		ids = append(ids, must(b.CreateModelVersion(ctx, store.System, m, store.NewModelVersion{IterationID: b.iteration}))(t).ID)
	}
	must(b.SetStage(ctx, store.System, ids[0], store.Production))(t)
	wantOK(t, b.DeleteModelVersion(ctx, store.System, ids[0]))
	_, err := b.ProductionVersion(ctx, store.System, m)
	wantCode(t, err, store.CodeNotFound)
	wantOK(t, b.Restore(ctx, store.System, ids[0]))
	if v := must(b.ProductionVersion(ctx, store.System, m))(t); v.ID != ids[0] {
		t.Errorf("version %d is in production", v.Version)
	}
	wantOK(t, b.DeleteModelVersion(ctx, store.System, ids[0]))
	if done := must(b.SetStage(ctx, store.System, ids[1], store.Production))(t); done.Former != nil {
		t.Errorf("version %d in the trash was in production", *done.Former)
	}
	wantOK(t, b.Restore(ctx, store.System, ids[0]))
	if v := must(b.ModelVersion(ctx, store.System, ids[0]))(t); v.Stage != store.Archived {
		t.Errorf("it is %s", v.Stage)
	}
}

// Those who may delete in a project see its trash, restore and purge it.
func TestTrashPermissions(t *testing.T) {
	b := newTrashBed(t)
	user := func(name string, p store.PermissionPatch) store.Actor {
		id := must(b.CreateUser(ctx, store.System, store.NewUser{Username: name, Password: "long enough"}))(t).ID
		must(b.CreateUserPermission(ctx, store.System, id, b.project, p))(t)
		return store.Actor{UserID: id}
	}
	may := user("may", store.PermissionPatch{Delete: new(true)})
	reads := user("reads", store.PermissionPatch{Create: new(true), Update: new(true)})
	wantOK(t, b.DeleteIteration(ctx, may, b.iteration))
	l := must(b.Trash(ctx, may, store.TrashQuery{Page: store.FirstPage}))(t)
	if len(l.Data) != 1 || l.Data[0].DeletedBy == nil || *l.Data[0].DeletedBy != "may" {
		t.Errorf("the trash has %+v", l.Data)
	}
	if l := must(b.Trash(ctx, reads, store.TrashQuery{Page: store.FirstPage}))(t); l.Total != 0 || len(l.Data) != 0 {
		t.Errorf("somebody who may not delete sees %+v", l.Data)
	}
	wantCode(t, b.Restore(ctx, reads, b.iteration), store.CodeProjectPermissionRequired)
	wantCode(t, b.Purge(ctx, reads, b.iteration), store.CodeProjectPermissionRequired)
	wantCode(t, b.EmptyTrash(ctx, may, 0, nil), store.CodeAdminRequired)
	wantOK(t, b.Restore(ctx, may, b.iteration))
	wantOK(t, b.DeleteProject(ctx, may, b.project))
	if l := must(b.UserPermissions(ctx, store.System, may.UserID, store.FirstPage))(t); l.Total != 0 {
		t.Errorf("a project in the trash is among the permissions: %+v", l.Data)
	}
	wantOK(t, b.Purge(ctx, may, b.project))
}

// Readers who ask for it find what is in the trash; no write does.
func TestReadTrash(t *testing.T) {
	b := newTrashBed(t)
	other := b.newIteration(t)
	b.log(t, "loss", 1, 2)
	artifact := b.keep(t, b.experiment, store.NewArtifact{Name: "weights", IterationID: b.iteration}, "123")
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	also := store.WithTrash(ctx)
	_, err := b.Iteration(ctx, store.System, b.iteration)
	wantCode(t, err, store.CodeNotFound)
	if i := must(b.Iteration(also, store.System, b.iteration))(t); !i.Deleted {
		t.Error("it is not deleted")
	}
	if i := must(b.Iteration(also, store.System, other))(t); i.Deleted {
		t.Error("the other one is deleted")
	}
	if s := must(b.Summary(also, store.System, b.iteration))(t); len(s.Metrics) != 1 {
		t.Errorf("it has %d metrics", len(s.Metrics))
	}
	if l := must(b.Artifacts(also, store.System, b.experiment, store.ArtifactQuery{Page: store.FirstPage, IterationID: &b.iteration}))(t); l.Total != 1 {
		t.Errorf("it has %d artifacts", l.Total)
	}
	must(b.Artifact(also, store.System, artifact))(t)
	if points, _, err := b.MetricHistory(also, store.System, b.iteration, "loss", store.FirstPage); err != nil || len(points) != 1 {
		t.Errorf("its history has %v, %v", points, err)
	}
	for what, err := range map[string]error{
		"update":    b.UpdateIteration(also, store.System, b.iteration, store.IterationPatch{Name: new("x")}),
		"heartbeat": b.Heartbeat(also, store.System, b.iteration),
		"points":    b.CreateMetrics(also, store.System, b.iteration, []store.NewMetric{{Key: "loss"}}),
		"artifact":  b.UpdateArtifact(also, store.System, artifact, store.ArtifactPatch{Name: new("x")}, nil),
	} {
		if codeOf(err) != store.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	ids := func(f store.TrashFilter) (all []string) {
		for _, sort := range []string{"", "name"} { // with and without a search
			all = nil
			l := must(b.Iterations(also, store.System, b.experiment, store.IterationQuery{Page: store.FirstPage, Sort: sort, Trash: f}))(t)
			for _, i := range l.Data {
				all = append(all, i.ID)
				if i.Deleted == (f == store.NotTrash) || !i.Deleted && f == store.OnlyTrash {
					t.Errorf("%q: %s is deleted: %v", f, i.ID, i.Deleted)
				}
			}
			if l.Total != len(all) {
				t.Errorf("%q: %d of %d", f, len(all), l.Total)
			}
		}
		slices.Sort(all)
		return all
	}
	if got := ids(store.OnlyTrash); !slices.Equal(got, []string{b.iteration}) {
		t.Errorf("in the trash are %v", got)
	}
	if l := must(b.Iterations(ctx, store.System, b.experiment, store.IterationQuery{Page: store.FirstPage, Trash: store.AlsoTrash}))(t); l.Total != 2 {
		t.Errorf("with the trash there are %d", l.Total)
	}

	wantOK(t, b.DeleteExperiment(ctx, store.System, b.experiment))
	if got := ids(store.OnlyTrash); len(got) != 2 {
		t.Errorf("in an experiment in the trash are %v", got)
	}
	if got := ids(store.NotTrash); len(got) != 0 {
		t.Errorf("not in the trash are %v", got)
	}
	for f, want := range map[store.TrashFilter]int{store.NotTrash: 0, store.OnlyTrash: 1, store.AlsoTrash: 1} {
		l := must(b.Experiments(ctx, store.System, b.project, store.ExperimentQuery{Page: store.FirstPage, Trash: f}))(t)
		if l.Total != want || want == 1 && !l.Data[0].Deleted {
			t.Errorf("%q: %+v", f, l)
		}
	}
	if e := must(b.Experiment(also, store.System, b.experiment))(t); !e.Deleted {
		t.Error("the experiment is not deleted")
	}
}

// The id of an iteration in the trash is not given again.
func TestCreateIterationOfTrash(t *testing.T) {
	b := newTrashBed(t)
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	_, err := b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{ID: &b.iteration})
	wantCode(t, err, store.CodeConflict)
	_, err = b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{ParentIterationID: &b.iteration})
	wantCode(t, err, store.CodeInvalidPayload)
}

// Records that are old enough are purged, at the start of a server and by hand; the rest
// stays.
func TestExpiry(t *testing.T) {
	b := newTrashBed(t)
	old, young := b.newIteration(t), b.newIteration(t)
	version := must(b.CreateModelVersion(ctx, store.System, newModel(t, b, b.project, "net"), store.NewModelVersion{IterationID: b.iteration}))(t).ID
	wantOK(t, b.DeleteIteration(ctx, store.System, old))
	b.clock.Add(time.Hour)
	wantOK(t, b.DeleteModelVersion(ctx, store.System, version))
	wantOK(t, b.DeleteIteration(ctx, store.System, young))
	var purged, kept []string
	empty := func(db *store.DB, age time.Duration) {
		t.Helper()
		purged, kept = nil, nil
		wantOK(t, db.EmptyTrash(ctx, store.System, age, func(p store.Purged) {
			if p.Kept {
				kept = append(kept, p.ID)
			} else {
				purged = append(purged, p.ID)
			}
		}))
	}
	if empty(b.DB, trashAge); purged != nil || kept != nil {
		t.Errorf("purged %v, kept %v", purged, kept)
	}
	if empty(b.DB, time.Hour); !slices.Equal(purged, []string{old}) || kept != nil {
		t.Errorf("purged %v, kept %v", purged, kept)
	}
	// A run that is older than a version of it in the trash waits for that.
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	execSQL(t, raw(t, b.Path()), `UPDATE iteration SET deleted_date = deleted_date - 7200000 WHERE id = ?`, b.iteration)
	if empty(b.DB, time.Hour); purged != nil || !slices.Equal(kept, []string{b.iteration}) {
		t.Errorf("purged %v, kept %v", purged, kept)
	}
	b.clock.Add(trashAge)
	path := b.Path()
	wantOK(t, b.Close())
	db := open(t, store.Options{Path: path, Exclusive: true, TrashAge: trashAge, Now: b.clock.Now})
	for deadline := time.Now().Add(time.Minute); len(trash(t, db)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in the trash are %v", trash(t, db))
		}
	}
	wantClean(t, db)
}

// The disk use tells what is in the trash from what is not.
func TestTrashUsage(t *testing.T) {
	b := newTrashBed(t)
	shared := b.keep(t, b.experiment, store.NewArtifact{Name: "a"}, "same")
	b.keep(t, b.experiment, store.NewArtifact{Name: "b"}, "same")
	b.keep(t, b.experiment, store.NewArtifact{Name: "c", IterationID: b.iteration}, "123456")
	wantOK(t, b.DeleteArtifact(ctx, store.System, shared))
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	u := must(b.ArtifactUsage(ctx))(t)
	if u.Artifacts != 1 || u.Bytes != 4 || u.StoredBytes != 10 || len(u.Shared) != 0 || u.Trash != (store.TrashUsage{Artifacts: 2, Bytes: 10, FreedBytes: 6}) {
		t.Errorf("%+v", u)
	}
	wantOK(t, b.DeleteProject(ctx, store.System, b.project))
	if u := must(b.ArtifactUsage(ctx))(t); u.Artifacts != 0 || len(u.Projects) != 0 || u.Trash != (store.TrashUsage{Artifacts: 3, Bytes: 14, FreedBytes: 10}) {
		t.Errorf("%+v", u)
	}
	if n := must(b.Collect(ctx))(t); n != 0 {
		t.Errorf("%d contents of the trash were collected", n)
	}
}

// A large record is purged in several transactions. When that is broken off it can't
// be restored, and the next purge goes on.
func TestPurgeInParts(t *testing.T) {
	for _, kind := range []store.TrashKind{store.TrashedProject, store.TrashedExperiment} {
		var cancel context.CancelFunc
		var commits atomic.Int64 // until cancel is called; 0 for never
		b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge, OnCommit: func(store.CommitStats) {
			if commits.Load() > 0 && commits.Add(-1) == 0 {
				cancel()
			}
		}})
		for range 320 {
			b.newIteration(t)
		}
		id := b.experiment
		if kind == store.TrashedProject {
			id = b.project
			must(b.CreateModelVersion(t.Context(), store.System, newModel(t, b, b.project, "net"), store.NewModelVersion{IterationID: b.iteration}))(t)
			wantOK(t, b.DeleteProject(t.Context(), store.System, id))
		} else {
			wantOK(t, b.DeleteExperiment(t.Context(), store.System, id))
		}
		file := raw(t, b.Path())
		left := func() int { return ask[int](t, file, `SELECT count(*) FROM iteration`) }
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		t.Cleanup(cancel)
		commits.Store(2)
		if err := b.Purge(ctx, store.System, id); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: a purge that is broken off: %v", kind, err)
		}
		if n := left(); n != 121 {
			t.Errorf("%s: %d iterations are left", kind, n)
		}
		if ids := trash(t, b.DB); len(ids) > 0 {
			t.Errorf("%s: in the trash are %v", kind, ids)
		}
		wantCode(t, b.Restore(t.Context(), store.System, id), store.CodeNotFound)
		wantClean(t, b.DB)
		wantOK(t, b.EmptyTrash(t.Context(), store.System, trashAge, func(store.Purged) {}))
		if n := left() + ask[int](t, file, `SELECT count(*) FROM `+string(kind)); n != 0 {
			t.Errorf("%s: %d rows are left", kind, n)
		}
		wantClean(t, b.DB)
	}
}
