// Package demo creates the projects of `tracker seed --demo`. They contain experiments, sweeps,
// curves and a model. The data is identical on every machine; only the dates depend on the time of
// the call.
package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// marker is the tag that marks a project as created by Seed.
const marker = "demo"

// Result is the outcome of Seed for one project.
type Result struct {
	Project    string // name of the project
	Existed    bool   // whether the project existed before, so that Seed created nothing
	Iterations int
	Points     int
}

// Seed creates the demo projects that do not exist, as the default admin. If Seed can't write a
// project completely, it deletes that project and returns the error. db must use clock. Seed
// calls report after each project.
func Seed(ctx context.Context, db *store.DB, clock *Clock, report func(Result)) error {
	admin, err := db.Users.DefaultUser(ctx)
	if err != nil {
		return err
	}
	w := &writer{db: db, clock: clock, now: clock.Now(), actor: domain.Actor{UserID: admin.ID}}
	defer clock.set(w.now)
	for _, p := range plan() {
		exists, err := w.hasProject(ctx, p.name)
		if err != nil {
			return err
		}
		if exists {
			report(Result{Project: p.name, Existed: true})
			continue
		}
		w.points, w.runs, w.created = 0, 0, map[string]createdRun{}
		if err := w.createProject(ctx, p); err != nil {
			return err
		}
		report(Result{Project: p.name, Iterations: w.runs, Points: w.points})
	}
	return nil
}

// createdRun is a run that the writer has created in the current project.
type createdRun struct {
	id  string
	end time.Time // time of the run's last point

	weights string // id of the artifact with the weights, "" for none
}

// writer writes the projects of a plan to the database.
type writer struct {
	db      *store.DB
	clock   *Clock
	now     time.Time
	actor   domain.Actor
	points  int
	runs    int
	created map[string]createdRun // created runs by name
}

// hasProject reports whether the demo project with this name exists.
func (w *writer) hasProject(ctx context.Context, name string) (bool, error) {
	q := projects.ProjectQuery{Name: name, Page: domain.Page{Limit: domain.MaxLimit}}
	for {
		l, err := w.db.Projects.Projects(ctx, w.actor, q)
		if err != nil {
			return false, err
		}
		for _, p := range l.Data {
			tags, err := w.db.Runs.Tags(ctx, w.actor, runs.ProjectTag, p.ID, domain.Page{Limit: domain.MaxLimit})
			if err != nil {
				return false, err
			}
			for _, t := range tags.Data {
				if p.Name == name && t.Value == marker {
					return true, nil
				}
			}
		}
		q.Offset += len(l.Data)
		if len(l.Data) == 0 || q.Offset >= l.Total {
			return false, nil
		}
	}
}

// createProject creates a project with all its records. If it fails, it deletes the project.
func (w *writer) createProject(ctx context.Context, p project) error {
	w.clock.set(w.start(p.experiments[0].runs[0]).Add(-time.Hour))
	created, err := w.db.Projects.CreateProject(ctx, w.actor, domain.NewProject{Name: p.name, Description: p.description})
	if err != nil {
		return err
	}
	err = w.createTags(ctx, runs.ProjectTag, created.ID, append(p.tags, marker))
	for _, e := range p.experiments {
		if err == nil {
			err = w.createExperiment(ctx, created.ID, e, p.models)
		}
	}
	for _, m := range p.models {
		if err == nil {
			err = w.createModel(ctx, created.ID, m)
		}
	}
	if err == nil {
		err = w.createReports(ctx, created.ID, p.reports)
	}
	if err != nil {
		err = errors.Join(err, w.db.Projects.DeleteProject(context.WithoutCancel(ctx), w.actor, created.ID))
	}
	return err
}

func (w *writer) createExperiment(ctx context.Context, projectID string, e experiment, models []model) error {
	w.clock.set(w.start(e.runs[0]).Add(-time.Minute))
	created, err := w.db.Projects.CreateExperiment(ctx, w.actor, projectID, projects.NewExperiment{Name: e.name, Description: e.description})
	if err != nil {
		return err
	}
	if err := w.createTags(ctx, runs.ExperimentTag, created.ID, e.tags); err != nil {
		return err
	}
	for _, r := range e.runs {
		if err := w.createRun(ctx, created.ID, nil, r); err != nil {
			return err
		}
	}
	if err := w.logVersions(ctx, created.ID, e, models); err != nil {
		return err
	}
	if e.status == domain.InProgress {
		return nil
	}
	return w.db.Projects.UpdateExperiment(ctx, w.actor, created.ID, projects.ExperimentPatch{Status: &e.status})
}

// createModel creates a model and its versions. Each version is dated one hour after the end of its
// run.
func (w *writer) createModel(ctx context.Context, projectID string, m model) error {
	w.clock.set(w.created[m.versions[0].run].end)
	created, err := w.db.Models.CreateModel(ctx, w.actor, projectID, registry.NewModel{Name: m.name, Description: m.description})
	if err != nil {
		return err
	}
	for _, v := range m.versions {
		source := w.created[v.run]
		w.clock.set(source.end.Add(time.Hour))
		n := registry.NewModelVersion{IterationID: source.id, Description: v.description}
		if source.weights != "" {
			n.ArtifactID = &source.weights
		}
		version, err := w.db.Models.CreateModelVersion(ctx, w.actor, created.ID, n)
		if err != nil {
			return err
		}
		if err := w.db.Models.UpdateModelVersion(ctx, w.actor, version.ID, registry.ModelVersionPatch{Stage: &v.stage}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) createTags(ctx context.Context, kind runs.TagKind, id string, tags []string) error {
	for _, t := range tags {
		if _, err := w.db.Runs.CreateTag(ctx, w.actor, kind, id, t); err != nil {
			return err
		}
	}
	return nil
}

// createRun creates a run with its records and its child runs.
func (w *writer) createRun(ctx context.Context, experimentID string, parentID *string, r run) error {
	start := w.start(r)
	end := start.Add(time.Duration(r.steps) * r.pace)
	w.clock.set(start)
	created, err := w.db.Runs.CreateIteration(ctx, w.actor, experimentID,
		runs.NewIteration{Name: &r.name, Notes: r.notes, ParentIterationID: parentID})
	if err != nil {
		return err
	}
	if err := w.setUp(ctx, created.ID, r); err != nil {
		return err
	}
	for _, child := range r.children {
		if err := w.createRun(ctx, experimentID, &created.ID, child); err != nil {
			return err
		}
		if now := w.clock.Now(); now.After(end) {
			end = now
		}
	}
	if err := w.keep(ctx, experimentID, created.ID, r, start); err != nil {
		return err
	}
	w.clock.set(end)
	points := r.points(start)
	if err := w.db.Runs.CreateMetrics(ctx, w.actor, created.ID, points); err != nil {
		return err
	}
	if err := w.print(ctx, created.ID, r); err != nil {
		return err
	}
	if err := w.summarize(ctx, created.ID, r); err != nil {
		return err
	}
	w.runs++
	w.points += len(points)
	w.created[r.name] = createdRun{id: created.ID, end: end}
	if r.status == domain.Running {
		return nil
	}
	return w.db.Runs.UpdateIteration(ctx, w.actor, created.ID, runs.IterationPatch{Status: &r.status, ErrorMessage: &r.message})
}

// checkpointEvery is the number of steps between two checkpoints of a training.
const checkpointEvery = 50

// summarize writes the name of the checkpoint with the smallest held-out loss into the summary.
func (w *writer) summarize(ctx context.Context, id string, r run) error {
	i := slices.IndexFunc(r.curves, func(c curve) bool { return c.key == "val/loss" })
	if i < 0 || r.steps < checkpointEvery {
		return nil
	}
	best, least := 0, math.Inf(1)
	for step := checkpointEvery; step <= r.steps; step += checkpointEvery {
		if loss := r.curves[i].at(float64(step - 1)); loss < least {
			best, least = step, loss
		}
	}
	if best == 0 {
		return nil
	}
	text := scalar.SummaryText(fmt.Sprint("ckpt-", best))
	return w.db.Runs.LogIteration(ctx, w.actor, id, runs.IterationLog{Properties: []domain.Property{runs.TextProperty("best_checkpoint", text)}})
}

// start returns the time at which the run r starts.
func (w *writer) start(r run) time.Time {
	ago := r.started
	if ago == 0 {
		ago = time.Duration(r.steps) * r.pace
	}
	return w.now.Add(-ago)
}

// setUp creates the records that a run has before its first step. It creates them concurrently, so
// that they share a commit.
func (w *writer) setUp(ctx context.Context, id string, r run) error {
	var all sync.WaitGroup
	errs := make([]error, len(r.params)+2)
	for i, p := range r.params {
		all.Go(func() {
			_, errs[i] = w.db.Runs.CreateParameter(ctx, w.actor, id, p.key, scalar.Text(p.value))
		})
	}
	all.Go(func() { errs[len(r.params)] = w.createTags(ctx, runs.IterationTag, id, r.tags) })
	if r.command != "" {
		all.Go(func() { _, errs[len(r.params)+1] = w.db.Runs.CreateSnapshot(ctx, w.actor, id, snapshot(r)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// points returns the points of a run in chronological order.
func (r run) points(start time.Time) []points.Sample {
	var all []points.Sample
	for step := range r.steps {
		at := scalar.Time(start.Add(time.Duration(step+1) * r.pace).UnixMilli())
		for _, c := range r.curves {
			if step%c.every != c.every-1 {
				continue
			}
			s := scalar.Step(step)
			all = append(all, points.Sample{Key: c.key, Value: scalar.Value(c.at(float64(step))), Step: &s, RecordedAt: &at})
		}
	}
	return all
}
