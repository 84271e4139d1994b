package store_test

import (
	"slices"
	"testing"

	"tracker/store"
)

// TestViewIsOneSnapshot writes between the reads of a view.
func TestViewIsOneSnapshot(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	total := func(v *store.View) (n int, points int64) {
		t.Helper()
		l := must(v.Iterations(b.experiment, store.IterationQuery{Page: store.FirstPage, Filter: "metric.loss.count > 0"}))(t)
		s := must(v.Summary(b.iteration))(t)
		e := must(v.Experiment(b.experiment))(t)
		if e.IterationCount != len(must(v.Iterations(b.experiment, store.IterationQuery{Page: store.FirstPage}))(t).Data) {
			t.Error("the experiment and its iterations disagree")
		}
		return l.Total, s.Metrics["loss"].Count
	}
	var cursor, late string
	wantOK(t, b.View(ctx, store.System, func(v *store.View) error {
		n, points := total(v)
		late = must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{}))(t).ID
		must(b.CreateMetric(ctx, store.System, late, store.NewMetric{Key: "loss", Value: 1}))(t)
		b.log(t, "loss", 1, 2)
		if n2, points2 := total(v); n != 1 || points != 1 || n2 != n || points2 != points {
			t.Errorf("%d iterations with %d points, then %d with %d", n, points, n2, points2)
		}
		_, err := v.Iteration(late)
		wantCode(t, err, store.CodeNotFound)
		cursor = v.Cursor()
		return nil
	}))
	// Changes after the view come after its cursor.
	changes := must(b.ExperimentChanges(ctx, store.System, b.experiment, cursor))(t)
	if !slices.ContainsFunc(changes.Iterations, func(i store.Iteration) bool { return i.ID == late }) || changes.Reset {
		t.Errorf("the changes after the view are %+v", changes)
	}
	wantOK(t, b.View(ctx, store.System, func(v *store.View) error {
		if n, points := total(v); n != 2 || points != 2 {
			t.Errorf("a new view has %d iterations with %d points", n, points)
		}
		return nil
	}))
}

func TestReadsByID(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 3, 7)
	must(b.CreateParameter(ctx, store.System, b.iteration, "lr", "0.1"))(t)
	for _, tag := range []string{"b", "a"} {
		must(b.CreateTag(ctx, store.System, store.IterationTag, b.iteration, tag))(t)
	}
	must(b.CreateSnapshot(ctx, store.System, b.iteration, store.NewSnapshot{Hostname: "gpu-01"}))(t)
	second := must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{}))(t).ID
	ids := []string{second, b.iteration, second}
	wantOK(t, b.View(ctx, store.System, func(v *store.View) error {
		for at, i := range must(v.IterationsByID(ids))(t) {
			if want := must(v.Iteration(ids[at]))(t); i.ID != ids[at] || i.Name != want.Name || !slices.Equal(i.Tags, want.Tags) {
				t.Errorf("iteration %d is %+v, want %+v", at, i, want)
			}
		}
		for at, s := range must(v.Summaries(ids))(t) {
			if s.IterationID != ids[at] {
				t.Errorf("summary %d is of %s", at, s.IterationID)
			}
		}
		s := must(v.Summaries(ids))(t)[1]
		if s.Params["lr"] != "0.1" || s.Metrics["loss"].LastStep != 3 || s.Metrics["loss"].Count != 1 || !slices.Equal(s.Tags, []string{"a", "b"}) {
			t.Errorf("the summary is %+v", s)
		}
		if s := must(v.Summaries([]string{second}))(t)[0]; s.Params == nil || s.Metrics == nil || s.Tags == nil || len(s.Params)+len(s.Metrics)+len(s.Tags) > 0 {
			t.Errorf("the summary of an empty iteration is %+v", s)
		}
		snapshots := must(v.Snapshots(ids))(t)
		if len(snapshots) != 1 || snapshots[b.iteration].Hostname != "gpu-01" || snapshots[b.iteration].IterationID != b.iteration {
			t.Errorf("the snapshots are %+v", snapshots)
		}

		if got := must(v.IterationsByID([]string{"none", b.iteration}))(t); len(got) != 1 || got[0].ID != b.iteration {
			t.Errorf("of a missing iteration and another there are %+v", got)
		}
		_, err := v.Summaries([]string{b.iteration, "none"})
		wantCode(t, err, store.CodeNotFound)
		_, err = v.Snapshots([]string{"none"})
		wantCode(t, err, store.CodeNotFound)
		_, err = v.IterationsByID(make([]string, store.MaxLimit+1))
		wantCode(t, err, store.CodeInvalidPayload)
		return nil
	}))
	bob := store.Actor{UserID: must(b.CreateUser(ctx, store.System, store.NewUser{Username: "bob", Password: "long enough"}))(t).ID}
	wantOK(t, b.View(ctx, bob, func(v *store.View) error {
		_, err := v.IterationsByID(ids)
		wantCode(t, err, store.CodeProjectPermissionRequired)
		_, err = v.Summaries(ids)
		wantCode(t, err, store.CodeProjectPermissionRequired)
		_, err = v.Snapshots(ids)
		wantCode(t, err, store.CodeProjectPermissionRequired)
		return nil
	}))
}
