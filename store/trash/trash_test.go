package trash_test

import (
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/trash"
	"tracker/store/users"
)

// A deleted record of each kind is not found outside the trash, is listed in the trash with the
// right counts, and is unchanged after it is restored.
func TestTrash(t *testing.T) {
	f := newFilled(t)
	before := shown(t, f.DB)
	takes := map[domain.TrashKind]trash.Trashed{
		domain.TrashedProject:    {Name: "full", ProjectName: "full", Experiments: 3, Iterations: 7, Models: 2, Versions: 2, Artifacts: 10},
		domain.TrashedExperiment: {Name: "alone", ProjectName: "full", In: "full", Iterations: 1, Artifacts: 1, SizeBytes: 5},
		domain.TrashedIteration:  {ProjectName: "project", In: "experiment", Artifacts: 1, SizeBytes: 9},
		domain.TrashedModel:      {Name: "net", ProjectName: "project", In: "project", Versions: 1},
		domain.TrashedReport:     {Name: "findings", ProjectName: "project", In: "project"},
		domain.TrashedVersion:    {Name: "other 1", ProjectName: "project", In: "other"},
		domain.TrashedArtifact:   {Name: "image", ProjectName: "project", In: "experiment", Artifacts: 1, SizeBytes: 3},
	}
	for kind, want := range takes {
		id := f.ids[kind]
		wantOK(t, f.remove(kind, id))
		if err := f.remove(kind, id); domain.AsError(err).Code != domain.CodeNotFound {
			t.Errorf("%s: deleting it again: %v", kind, err)
		}
		without := shown(t, f.DB)
		if slices.ContainsFunc(without, func(s string) bool { return strings.Contains(s, id) }) || len(without) >= len(before) {
			t.Errorf("%s: it is still found", kind)
		}
		wantClean(t, f.DB)
		l := must(f.Trash.List(ctx, domain.System, trash.Query{Page: domain.FirstPage, Kind: &kind}))(t)
		if l.Total != 1 || len(l.Data) != 1 {
			t.Fatalf("%s: the trash has %+v", kind, l)
		}
		got := l.Data[0]
		if got.DeletedDate != f.Clock.Time() || got.PurgeDate.Time().Sub(got.DeletedDate.Time()) != trashAge || got.DeletedBy != nil || got.HeldBy != "" {
			t.Errorf("%s: %+v", kind, got)
		}
		want.ID, want.Kind, want.ProjectID = id, kind, got.ProjectID
		want.DeletedDate, want.PurgeDate, want.Rank = got.DeletedDate, got.PurgeDate, got.Rank
		if kind == domain.TrashedProject {
			want.SizeBytes = got.SizeBytes
		}
		if want.Name == "" {
			want.Name = got.Name
		}
		if got != want {
			t.Errorf("%s: the trash has\n%+v, want\n%+v", kind, got, want)
		}
		wantOK(t, f.Trash.Restore(ctx, domain.System, id))
		if after := shown(t, f.DB); !slices.Equal(after, before) {
			t.Errorf("%s: restored it is not as before:\n%s\nwant\n%s", kind, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
		wantCode(t, f.Trash.Restore(ctx, domain.System, id), domain.CodeNotFound)
		wantClean(t, f.DB)
	}
	if ids := trashed(t, f.DB); len(ids) > 0 {
		t.Errorf("the trash has %v", ids)
	}
}

// The view of all points excludes runs in the trash, whether the run itself or its container was
// deleted.
func TestPointsWithoutTrash(t *testing.T) {
	b := newTrashBed(t)
	b.Log(t, "loss", 1, 2)
	other := b.NewIteration(t)
	many := make([]points.Sample, 100) // these points are written to the metric table at once, the others to recent
	for i := range many {
		many[i].Key = "acc"
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, other, many))
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
		{b.Iteration, func(id string) error { return b.Runs.DeleteIteration(ctx, domain.System, id) }, 100},
		{other, func(id string) error { return b.Runs.DeleteIteration(ctx, domain.System, id) }, 1},
		{b.Experiment, func(id string) error { return b.Projects.DeleteExperiment(ctx, domain.System, id) }, 0},
		{b.Project, func(id string) error { return b.Projects.DeleteProject(ctx, domain.System, id) }, 0},
	} {
		wantOK(t, c.remove(c.id))
		wantPoints(c.left)
		wantOK(t, b.Trash.Restore(ctx, domain.System, c.id))
		wantPoints(101)
	}
}

// A run can be deleted if its model versions are in the trash. The run must be restored before
// the versions, and purged after them.
func TestTrashOfVersions(t *testing.T) {
	b := newTrashBed(t)
	m := newModel(t, b, b.Project, "net")
	artifact := b.Keep(t, b.Experiment, files.NewArtifact{Name: "weights"}, "123")
	version := must(b.Models.CreateModelVersion(ctx, domain.System, m, registry.NewModelVersion{IterationID: b.Iteration, ArtifactID: &artifact}))(t).ID
	wantCode(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration), domain.CodeConflict)
	wantCode(t, b.Files.DeleteArtifact(ctx, domain.System, artifact), domain.CodeConflict)

	wantOK(t, b.Models.DeleteModelVersion(ctx, domain.System, version))
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	wantOK(t, b.Files.DeleteArtifact(ctx, domain.System, artifact))
	wantOK(t, b.Projects.DeleteExperiment(ctx, domain.System, b.Experiment))
	for _, id := range []string{b.Iteration, artifact, b.Experiment} {
		wantCode(t, b.Trash.Purge(ctx, domain.System, id), domain.CodeConflict)
	}
	for _, next := range []string{b.Experiment, b.Iteration, artifact} {
		wantCode(t, b.Trash.Restore(ctx, domain.System, version), domain.CodeConflict)
		wantOK(t, b.Trash.Restore(ctx, domain.System, next))
	}
	wantOK(t, b.Trash.Restore(ctx, domain.System, version))

	// The same applies to the model, whose version was not deleted separately.
	wantOK(t, b.Models.DeleteModel(ctx, domain.System, m))
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	wantCode(t, b.Trash.Restore(ctx, domain.System, m), domain.CodeConflict)
	wantCode(t, b.Trash.Purge(ctx, domain.System, b.Iteration), domain.CodeConflict)
	wantOK(t, b.Trash.Purge(ctx, domain.System, m))
	wantOK(t, b.Trash.Purge(ctx, domain.System, b.Iteration))
	wantClean(t, b.DB)
}

// A restored version is not in production if another version has been put into production since.
func TestTrashOfProduction(t *testing.T) {
	b := newTrashBed(t)
	m := newModel(t, b, b.Project, "net")
	var ids []string
	for range 2 {
		ids = append(ids, must(b.Models.CreateModelVersion(ctx, domain.System, m, registry.NewModelVersion{IterationID: b.Iteration}))(t).ID)
	}
	must(b.Models.SetStage(ctx, domain.System, ids[0], registry.Production))(t)
	wantOK(t, b.Models.DeleteModelVersion(ctx, domain.System, ids[0]))
	_, err := b.Models.ProductionVersion(ctx, domain.System, m)
	wantCode(t, err, domain.CodeNotFound)
	wantOK(t, b.Trash.Restore(ctx, domain.System, ids[0]))
	if v := must(b.Models.ProductionVersion(ctx, domain.System, m))(t); v.ID != ids[0] {
		t.Errorf("version %d is in production", v.Version)
	}
	wantOK(t, b.Models.DeleteModelVersion(ctx, domain.System, ids[0]))
	if done := must(b.Models.SetStage(ctx, domain.System, ids[1], registry.Production))(t); done.Former != nil {
		t.Errorf("version %d in the trash was in production", *done.Former)
	}
	wantOK(t, b.Trash.Restore(ctx, domain.System, ids[0]))
	if v := must(b.Models.ModelVersion(ctx, domain.System, ids[0]))(t); v.Stage != registry.Archived {
		t.Errorf("it is %s", v.Stage)
	}
}

// Users with the right to delete in a project can list, restore and purge its trash.
func TestTrashPermissions(t *testing.T) {
	b := newTrashBed(t)
	user := func(name string, p users.PermissionPatch) domain.Actor {
		id := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: name, Password: "long enough"}))(t).ID
		must(b.Users.CreateUserPermission(ctx, domain.System, id, b.Project, p))(t)
		return domain.Actor{UserID: id}
	}
	may := user("may", users.PermissionPatch{Delete: new(true)})
	reads := user("reads", users.PermissionPatch{Create: new(true), Update: new(true)})
	wantOK(t, b.Runs.DeleteIteration(ctx, may, b.Iteration))
	l := must(b.Trash.List(ctx, may, trash.Query{Page: domain.FirstPage}))(t)
	if len(l.Data) != 1 || l.Data[0].DeletedBy == nil || *l.Data[0].DeletedBy != "may" {
		t.Errorf("the trash has %+v", l.Data)
	}
	if l := must(b.Trash.List(ctx, reads, trash.Query{Page: domain.FirstPage}))(t); l.Total != 0 || len(l.Data) != 0 {
		t.Errorf("somebody who may not delete sees %+v", l.Data)
	}
	wantCode(t, b.Trash.Restore(ctx, reads, b.Iteration), domain.CodeProjectPermissionRequired)
	wantCode(t, b.Trash.Purge(ctx, reads, b.Iteration), domain.CodeProjectPermissionRequired)
	wantCode(t, b.Trash.Empty(ctx, may, 0, nil), domain.CodeAdminRequired)
	wantOK(t, b.Trash.Restore(ctx, may, b.Iteration))
	wantOK(t, b.Projects.DeleteProject(ctx, may, b.Project))
	if l := must(b.Users.UserPermissions(ctx, domain.System, may.UserID, domain.FirstPage))(t); l.Total != 0 {
		t.Errorf("a project in the trash is among the permissions: %+v", l.Data)
	}
	wantOK(t, b.Trash.Purge(ctx, may, b.Project))
}

// Reads with a TrashFilter find records in the trash; writes do not.
func TestReadTrash(t *testing.T) {
	b := newTrashBed(t)
	other := b.NewIteration(t)
	b.Log(t, "loss", 1, 2)
	artifact := b.Keep(t, b.Experiment, files.NewArtifact{Name: "weights", IterationID: b.Iteration}, "123")
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	also := domain.WithTrash(ctx)
	_, err := b.Runs.Iteration(ctx, domain.System, b.Iteration)
	wantCode(t, err, domain.CodeNotFound)
	if i := must(b.Runs.Iteration(also, domain.System, b.Iteration))(t); !i.Deleted {
		t.Error("it is not deleted")
	}
	if i := must(b.Runs.Iteration(also, domain.System, other))(t); i.Deleted {
		t.Error("the other one is deleted")
	}
	if s := must(b.Runs.Summary(also, domain.System, b.Iteration))(t); len(s.Metrics) != 1 {
		t.Errorf("it has %d metrics", len(s.Metrics))
	}
	if l := must(b.Files.Artifacts(also, domain.System, b.Experiment, files.ArtifactQuery{Page: domain.FirstPage, IterationID: &b.Iteration}))(t); l.Total != 1 {
		t.Errorf("it has %d artifacts", l.Total)
	}
	must(b.Files.Artifact(also, domain.System, artifact))(t)
	if points, _, err := b.Runs.MetricHistory(also, domain.System, b.Iteration, "loss", domain.FirstPage); err != nil || len(points) != 1 {
		t.Errorf("its history has %v, %v", points, err)
	}
	for what, err := range map[string]error{
		"update":    b.Runs.UpdateIteration(also, domain.System, b.Iteration, runs.IterationPatch{Name: new("x")}),
		"heartbeat": b.Runs.Heartbeat(also, domain.System, b.Iteration),
		"points":    b.Runs.CreateMetrics(also, domain.System, b.Iteration, []points.Sample{{Key: "loss"}}),
		"artifact":  b.Files.UpdateArtifact(also, domain.System, artifact, files.ArtifactPatch{Name: new("x")}, nil),
	} {
		if codeOf(err) != domain.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	ids := func(f domain.TrashFilter) (all []string) {
		for _, sort := range []string{"", "name"} { // without and with a search
			all = nil
			l := must(b.Runs.Iterations(also, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Sort: sort, Trash: f}))(t)
			for _, i := range l.Data {
				all = append(all, i.ID)
				if i.Deleted == (f == domain.NotTrash) || !i.Deleted && f == domain.OnlyTrash {
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
	if got := ids(domain.OnlyTrash); !slices.Equal(got, []string{b.Iteration}) {
		t.Errorf("in the trash are %v", got)
	}
	if l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Trash: domain.AlsoTrash}))(t); l.Total != 2 {
		t.Errorf("with the trash there are %d", l.Total)
	}

	wantOK(t, b.Projects.DeleteExperiment(ctx, domain.System, b.Experiment))
	if got := ids(domain.OnlyTrash); len(got) != 2 {
		t.Errorf("in an experiment in the trash are %v", got)
	}
	if got := ids(domain.NotTrash); len(got) != 0 {
		t.Errorf("not in the trash are %v", got)
	}
	for f, want := range map[domain.TrashFilter]int{domain.NotTrash: 0, domain.OnlyTrash: 1, domain.AlsoTrash: 1} {
		l := must(b.Projects.Experiments(ctx, domain.System, b.Project, projects.ExperimentQuery{Page: domain.FirstPage, Trash: f}))(t)
		if l.Total != want || want == 1 && !l.Data[0].Deleted {
			t.Errorf("%q: %+v", f, l)
		}
	}
	if e := must(b.Projects.Experiment(also, domain.System, b.Experiment))(t); !e.Deleted {
		t.Error("the experiment is not deleted")
	}
}

// The id of an iteration in the trash can't be used for a new one.
func TestCreateIterationOfTrash(t *testing.T) {
	b := newTrashBed(t)
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	_, err := b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{ID: &b.Iteration})
	wantCode(t, err, domain.CodeConflict)
	_, err = b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{ParentIterationID: &b.Iteration})
	wantCode(t, err, domain.CodeInvalidPayload)
}

// The disk usage distinguishes artifacts in the trash from other artifacts.
func TestTrashUsage(t *testing.T) {
	b := newTrashBed(t)
	shared := b.Keep(t, b.Experiment, files.NewArtifact{Name: "a"}, "same")
	b.Keep(t, b.Experiment, files.NewArtifact{Name: "b"}, "same")
	b.Keep(t, b.Experiment, files.NewArtifact{Name: "c", IterationID: b.Iteration}, "123456")
	wantOK(t, b.Files.DeleteArtifact(ctx, domain.System, shared))
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	u := must(b.Files.ArtifactUsage(ctx))(t)
	if u.Artifacts != 1 || u.Bytes != 4 || u.StoredBytes != 10 || len(u.Shared) != 0 || u.Trash != (files.TrashUsage{Artifacts: 2, Bytes: 10, FreedBytes: 6}) {
		t.Errorf("%+v", u)
	}
	wantOK(t, b.Projects.DeleteProject(ctx, domain.System, b.Project))
	if u := must(b.Files.ArtifactUsage(ctx))(t); u.Artifacts != 0 || len(u.Projects) != 0 || u.Trash != (files.TrashUsage{Artifacts: 3, Bytes: 14, FreedBytes: 10}) {
		t.Errorf("%+v", u)
	}
	if n := must(b.Collect(ctx))(t); n != 0 {
		t.Errorf("%d contents of the trash were collected", n)
	}
}
