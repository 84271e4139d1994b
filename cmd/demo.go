package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tracker/store"
)

// demoTag marks the projects that seed --demo has made.
const demoTag = "demo"

// clock is the time that a demo is made at: it goes back for each record to
// when it would have been written.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock(t time.Time) *clock { return &clock{t: t} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

type demoProject struct {
	name, description string
	tags              []string
	experiments       []demoExperiment
	models            []demoModel
}

type demoExperiment struct {
	name, description string
	tags              []string
	status            store.ExperimentStatus
	runs              []demoRun
}

// demoRun is one iteration and those below it.
type demoRun struct {
	name, notes string
	tags        []string
	params      []demoParam
	command     string        // "" for a run without a snapshot
	started     time.Duration // how long ago; for one that runs, 0 means that it writes its last point now
	pace        time.Duration // from one step to the next
	steps       int
	curves      []curve
	status      store.IterationStatus
	message     string // why it failed or was killed
	children    []demoRun
}

type demoParam struct{ key, value string }

type demoModel struct {
	name, description string
	versions          []demoVersion
}

// demoVersion is a version that was put into its stage when its run had ended.
// They are in the order of time, and one that is promoted archives another.
type demoVersion struct {
	run, description string
	stage            store.Stage
}

// madeRun is an iteration of the project that is being made, and when it
// wrote its last point.
type madeRun struct {
	id  string
	end time.Time
}

// demoWriter writes a demo in the name of the default admin.
type demoWriter struct {
	db     *store.DB
	clock  *clock
	now    time.Time
	actor  store.Actor
	points int
	runs   int
	made   map[string]madeRun // by name
}

// seedDemo makes the demo's projects that are not there.
func (a *app) seedDemo(ctx context.Context, db *store.DB, c *clock) error {
	admin, err := db.DefaultUser(ctx)
	if err != nil {
		return err
	}
	w := &demoWriter{db: db, clock: c, now: c.now(), actor: store.Actor{UserID: admin.ID}}
	defer c.set(w.now)
	for _, p := range demoPlan() {
		there, err := w.hasProject(ctx, p.name)
		if err != nil {
			return err
		}
		if there {
			fmt.Fprintf(a.stdout, "The demo project %q is there already.\n", p.name)
			continue
		}
		w.points, w.runs, w.made = 0, 0, map[string]madeRun{}
		if err := w.project(ctx, p); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "Made the demo project %q: %d iterations, %d points.\n", p.name, w.runs, w.points)
	}
	return nil
}

// hasProject tells whether there is a project of the demo with this name.
func (w *demoWriter) hasProject(ctx context.Context, name string) (bool, error) {
	q := store.ProjectQuery{Name: name, Page: store.Page{Limit: store.MaxLimit}}
	for {
		l, err := w.db.Projects(ctx, w.actor, q)
		if err != nil {
			return false, err
		}
		for _, p := range l.Data {
			tags, err := w.db.Tags(ctx, w.actor, store.ProjectTag, p.ID, store.Page{Limit: store.MaxLimit})
			if err != nil {
				return false, err
			}
			for _, t := range tags.Data {
				if p.Name == name && t.Value == demoTag {
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

// project writes a project, or nothing of it.
func (w *demoWriter) project(ctx context.Context, p demoProject) error {
	w.clock.set(w.start(p.experiments[0].runs[0]).Add(-time.Hour))
	created, err := w.db.CreateProject(ctx, w.actor, store.NewProject{Name: p.name, Description: p.description})
	if err != nil {
		return err
	}
	err = w.tags(ctx, store.ProjectTag, created.ID, append(p.tags, demoTag))
	for _, e := range p.experiments {
		if err == nil {
			err = w.experiment(ctx, created.ID, e)
		}
	}
	for _, m := range p.models {
		if err == nil {
			err = w.model(ctx, created.ID, m)
		}
	}
	if err != nil {
		err = errors.Join(err, w.db.DeleteProject(context.WithoutCancel(ctx), w.actor, created.ID))
	}
	return err
}

func (w *demoWriter) experiment(ctx context.Context, projectID string, e demoExperiment) error {
	w.clock.set(w.start(e.runs[0]).Add(-time.Minute))
	created, err := w.db.CreateExperiment(ctx, w.actor, projectID, store.NewExperiment{Name: e.name, Description: e.description})
	if err != nil {
		return err
	}
	if err := w.tags(ctx, store.ExperimentTag, created.ID, e.tags); err != nil {
		return err
	}
	for _, r := range e.runs {
		if err := w.run(ctx, created.ID, nil, r); err != nil {
			return err
		}
	}
	if e.status == store.InProgress {
		return nil
	}
	return w.db.UpdateExperiment(ctx, w.actor, created.ID, store.ExperimentPatch{Status: &e.status})
}

// model writes a model, each version an hour after the end of its run.
func (w *demoWriter) model(ctx context.Context, projectID string, m demoModel) error {
	w.clock.set(w.made[m.versions[0].run].end)
	created, err := w.db.CreateModel(ctx, w.actor, projectID, store.NewModel{Name: m.name, Description: m.description})
	if err != nil {
		return err
	}
	for _, v := range m.versions {
		run := w.made[v.run]
		w.clock.set(run.end.Add(time.Hour))
		version, err := w.db.CreateModelVersion(ctx, w.actor, created.ID,
			store.NewModelVersion{IterationID: run.id, Description: v.description})
		if err != nil {
			return err
		}
		if err := w.db.UpdateModelVersion(ctx, w.actor, version.ID, store.ModelVersionPatch{Stage: &v.stage}); err != nil {
			return err
		}
	}
	return nil
}

func (w *demoWriter) tags(ctx context.Context, kind store.TagKind, id string, tags []string) error {
	for _, t := range tags {
		if _, err := w.db.CreateTag(ctx, w.actor, kind, id, t); err != nil {
			return err
		}
	}
	return nil
}

// run writes an iteration, those below it, and what it recorded.
func (w *demoWriter) run(ctx context.Context, experimentID string, parentID *string, r demoRun) error {
	start := w.start(r)
	end := start.Add(time.Duration(r.steps) * r.pace)
	w.clock.set(start)
	created, err := w.db.CreateIteration(ctx, w.actor, experimentID,
		store.NewIteration{Name: &r.name, Notes: r.notes, ParentIterationID: parentID})
	if err != nil {
		return err
	}
	if err := w.setUp(ctx, created.ID, r); err != nil {
		return err
	}
	for _, child := range r.children {
		if err := w.run(ctx, experimentID, &created.ID, child); err != nil {
			return err
		}
		if now := w.clock.now(); now.After(end) {
			end = now
		}
	}
	w.clock.set(end)
	points := r.points(start)
	if err := w.db.CreateMetrics(ctx, w.actor, created.ID, points); err != nil {
		return err
	}
	w.runs++
	w.points += len(points)
	w.made[r.name] = madeRun{created.ID, end}
	if r.status == store.Running {
		return nil
	}
	return w.db.UpdateIteration(ctx, w.actor, created.ID, store.IterationPatch{Status: &r.status, ErrorMessage: &r.message})
}

// start is when a run began.
func (w *demoWriter) start(r demoRun) time.Time {
	ago := r.started
	if ago == 0 {
		ago = time.Duration(r.steps) * r.pace
	}
	return w.now.Add(-ago)
}

// setUp writes what a run records before its first step: all at once, so that
// it shares a commit.
func (w *demoWriter) setUp(ctx context.Context, id string, r demoRun) error {
	var all sync.WaitGroup
	errs := make([]error, len(r.params)+2)
	for i, p := range r.params {
		all.Go(func() {
			_, errs[i] = w.db.CreateParameter(ctx, w.actor, id, p.key, store.Text(p.value))
		})
	}
	all.Go(func() { errs[len(r.params)] = w.tags(ctx, store.IterationTag, id, r.tags) })
	if r.command != "" {
		all.Go(func() { _, errs[len(r.params)+1] = w.db.CreateSnapshot(ctx, w.actor, id, demoSnapshot(r.command)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// points are what a run recorded, in the order of training.
func (r demoRun) points(start time.Time) []store.NewMetric {
	var all []store.NewMetric
	for step := range r.steps {
		at := store.Time(start.Add(time.Duration(step+1) * r.pace).UnixMilli())
		for _, c := range r.curves {
			if step%c.every != c.every-1 {
				continue
			}
			s := store.Step(step)
			all = append(all, store.NewMetric{Key: c.key, Value: store.Value(c.at(float64(step))), Step: &s, RecordedAt: &at})
		}
	}
	return all
}
