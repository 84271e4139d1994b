package store_test

import (
	"fmt"
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
