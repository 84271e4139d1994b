package trash_test

import (
	"fmt"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
	"tracker/store/trash"
	"tracker/store/users"
)

const trashAge = 30 * 24 * time.Hour

// newTrashBed is newBed with a trash.
func newTrashBed(t testing.TB) *bed {
	t.Helper()
	return newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge})
}

// shown describes all records outside the trash, with one line for each record.
func shown(t testing.TB, db *store.DB) (lines []string) {
	t.Helper()
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	all := domain.Page{Limit: domain.MaxLimit}
	for _, p := range must(db.Projects.Projects(ctx, domain.System, projects.ProjectQuery{Page: all}))(t).Data {
		add("project %+v", p)
		wantOK(t, db.View(ctx, domain.System, func(v *store.View) error {
			for _, r := range must(v.Projects.Reports(p.ID, all))(t).Data {
				add("report %+v", r)
			}
			return nil
		}))
		for _, e := range must(db.Projects.Experiments(ctx, domain.System, p.ID, projects.ExperimentQuery{Page: all}))(t).Data {
			add("experiment %+v", e)
			for _, k := range must(db.Runs.Keys(ctx, domain.System, e.ID, runs.KeyQuery{Page: all}))(t).Data {
				add("key %+v", k)
			}
			for _, g := range must(storetest.Groups(ctx, db, domain.System, e.ID, runs.GroupQuery{Page: all, By: "param.lr", Columns: "metric.loss"}))(t).Data {
				add("group %d of %s, %+v", g.Iterations, e.ID, g.Metrics)
			}
			found := must(db.Runs.Iterations(ctx, domain.System, e.ID, runs.IterationQuery{Page: all, Filter: "created > '2000-01-01'"}))(t)
			listed := must(db.Runs.Iterations(ctx, domain.System, e.ID, runs.IterationQuery{Page: all, Columns: "metric.loss, param.lr"}))(t)
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
				s := must(db.Runs.Summary(ctx, domain.System, i.ID))(t)
				add("summary %+v %v %d", s.Params, s.Tags, len(s.Metrics))
				add("curves %d", len(must(db.Runs.Curves(ctx, domain.System, []string{i.ID}, points.CurveQuery{Keys: []string{"loss"}, X: points.ByStep, Scale: points.Linear, Points: 10}))(t)))
			}
			for _, r := range must(db.Files.Artifacts(ctx, domain.System, e.ID, files.ArtifactQuery{Page: all}))(t).Data {
				r.IterationID = nil
				add("resource %+v with %q", r, content(t, db, r.ID))
			}
		}
		for _, m := range must(db.Models.Models(ctx, domain.System, p.ID, registry.ModelQuery{Page: all}))(t).Data {
			add("model %+v", m)
			for _, v := range must(db.Models.ModelVersions(ctx, domain.System, m.ID, registry.ModelVersionQuery{Page: all}))(t).Data {
				from := "none"
				if v.IterationID != nil {
					from = *v.IterationID
				}
				v.ArtifactID, v.IterationID = nil, nil
				add("version %+v of %s", v, from)
			}
		}
	}
	for _, f := range must(db.Projects.Find(ctx, domain.System, "", domain.MaxLimit))(t) {
		add("found %+v", f)
	}
	return lines
}

// trashed returns the ids in the trash, last deleted first.
func trashed(t testing.TB, db *store.DB) (ids []string) {
	t.Helper()
	l := must(db.Trash.List(ctx, domain.System, trash.Query{Page: domain.Page{Limit: domain.MaxLimit}}))(t)
	for _, e := range l.Data {
		ids = append(ids, e.ID)
	}
	if l.Total != len(ids) {
		t.Errorf("the trash has %d records and says %d", len(ids), l.Total)
	}
	return ids
}

// filled is a bed with records of every kind. For each kind, ids has the id of a record to which
// no other record refers.
type filled struct {
	*bed
	full string // a project
	ids  map[domain.TrashKind]string
}

func newFilled(t testing.TB) filled {
	t.Helper()
	b := newTrashBed(t)
	f := filled{bed: b, ids: map[domain.TrashKind]string{}}
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	f.full = fill(t, b, user)
	f.ids[domain.TrashedProject] = fill(t, b, user)
	e := must(b.Projects.CreateExperiment(ctx, domain.System, f.full, projects.NewExperiment{Name: "alone"}))(t).ID
	f.ids[domain.TrashedExperiment] = e
	f.ids[domain.TrashedIteration] = must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{}))(t).ID
	for _, i := range []string{must(b.Runs.CreateIteration(ctx, domain.System, e, runs.NewIteration{}))(t).ID, f.ids[domain.TrashedIteration]} {
		must(b.Runs.CreateParameter(ctx, domain.System, i, "lr", "0.1"))(t)
		must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, i, "tag"))(t)
		must(b.Runs.CreateMetric(ctx, domain.System, i, point("loss", 1, 2)))(t)
	}
	must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{ParentIterationID: new(f.ids[domain.TrashedIteration])}))(t)
	b.Keep(t, e, files.NewArtifact{Name: "data"}, "12345")
	b.Keep(t, b.Experiment, files.NewArtifact{Name: "weights", IterationID: f.ids[domain.TrashedIteration]}, "123456789")
	f.ids[domain.TrashedArtifact] = b.Keep(t, b.Experiment, files.NewArtifact{Name: "image"}, "123")
	m := newModel(t, b, b.Project, "net")
	f.ids[domain.TrashedModel] = m
	must(b.Models.CreateModelVersion(ctx, domain.System, m, registry.NewModelVersion{IterationID: b.Iteration}))(t)
	f.ids[domain.TrashedReport] = must(b.Projects.CreateReport(ctx, domain.System, b.Project, projects.NewReport{Name: "findings", Text: "# Why"}))(t).ID
	other := newModel(t, b, b.Project, "other")
	f.ids[domain.TrashedVersion] = must(b.Models.CreateModelVersion(ctx, domain.System, other, registry.NewModelVersion{IterationID: b.Iteration}))(t).ID
	return f
}

// remove deletes a record of a kind.
func (f filled) remove(kind domain.TrashKind, id string) error {
	switch kind {
	case domain.TrashedProject:
		return f.Projects.DeleteProject(ctx, domain.System, id)
	case domain.TrashedExperiment:
		return f.Projects.DeleteExperiment(ctx, domain.System, id)
	case domain.TrashedIteration:
		return f.Runs.DeleteIteration(ctx, domain.System, id)
	case domain.TrashedModel:
		return f.Models.DeleteModel(ctx, domain.System, id)
	case domain.TrashedVersion:
		return f.Models.DeleteModelVersion(ctx, domain.System, id)
	case domain.TrashedReport:
		return f.Projects.DeleteReport(ctx, domain.System, id)
	}
	return f.Files.DeleteArtifact(ctx, domain.System, id)
}
