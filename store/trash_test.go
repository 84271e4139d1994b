package store_test

import (
	"slices"
	"strings"
	"testing"

	"tracker/store"
)

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
