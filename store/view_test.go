package store_test

import (
	"slices"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/users"
)

// TestViewIsOneSnapshot writes between the reads of a view.
func TestViewIsOneSnapshot(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	total := func(v *store.View) (n int, points int64) {
		t.Helper()
		l := must(v.Runs.Iterations(b.experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: "metric.loss.count > 0"}))(t)
		s := must(v.Runs.Summary(b.iteration))(t)
		e := must(v.Projects.Experiment(b.experiment))(t)
		if e.IterationCount != len(must(v.Runs.Iterations(b.experiment, runs.IterationQuery{Page: domain.FirstPage}))(t).Data) {
			t.Error("the experiment and its iterations disagree")
		}
		return l.Total, s.Metrics["loss"].Count
	}
	var cursor, late string
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		n, samples := total(v)
		late = must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{}))(t).ID
		must(b.Runs.CreateMetric(ctx, domain.System, late, points.Sample{Key: "loss", Value: 1}))(t)
		b.log(t, "loss", 1, 2)
		if n2, points2 := total(v); n != 1 || samples != 1 || n2 != n || points2 != samples {
			t.Errorf("%d iterations with %d points, then %d with %d", n, samples, n2, points2)
		}
		_, err := v.Runs.Iteration(late)
		wantCode(t, err, domain.CodeNotFound)
		cursor = v.Cursor()
		return nil
	}))
	// Changes after the view come after its cursor.
	changes := must(b.Runs.ExperimentChanges(ctx, domain.System, b.experiment, cursor))(t)
	if !slices.ContainsFunc(changes.Iterations, func(i runs.Iteration) bool { return i.ID == late }) || changes.Reset {
		t.Errorf("the changes after the view are %+v", changes)
	}
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		if n, points := total(v); n != 2 || points != 2 {
			t.Errorf("a new view has %d iterations with %d points", n, points)
		}
		return nil
	}))
}

func TestReadsByID(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 3, 7)
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "lr", "0.1"))(t)
	for _, tag := range []string{"b", "a"} {
		must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, b.iteration, tag))(t)
	}
	must(b.Runs.CreateSnapshot(ctx, domain.System, b.iteration, runs.NewSnapshot{Hostname: "gpu-01"}))(t)
	second := must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{}))(t).ID
	ids := []string{second, b.iteration, second}
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		for at, i := range must(v.Runs.IterationsByID(ids))(t) {
			if want := must(v.Runs.Iteration(ids[at]))(t); i.ID != ids[at] || i.Name != want.Name || !slices.Equal(i.Tags, want.Tags) {
				t.Errorf("iteration %d is %+v, want %+v", at, i, want)
			}
		}
		for at, s := range must(v.Runs.Summaries(ids))(t) {
			if s.IterationID != ids[at] {
				t.Errorf("summary %d is of %s", at, s.IterationID)
			}
		}
		s := must(v.Runs.Summaries(ids))(t)[1]
		if s.Params["lr"] != "0.1" || s.Metrics["loss"].LastStep != 3 || s.Metrics["loss"].Count != 1 || !slices.Equal(s.Tags, []string{"a", "b"}) {
			t.Errorf("the summary is %+v", s)
		}
		if s := must(v.Runs.Summaries([]string{second}))(t)[0]; s.Params == nil || s.Metrics == nil || s.Tags == nil || len(s.Params)+len(s.Metrics)+len(s.Tags) > 0 {
			t.Errorf("the summary of an empty iteration is %+v", s)
		}
		snapshots := must(v.Runs.Snapshots(ids))(t)
		if len(snapshots) != 1 || snapshots[b.iteration].Hostname != "gpu-01" || snapshots[b.iteration].IterationID != b.iteration {
			t.Errorf("the snapshots are %+v", snapshots)
		}

		if got := must(v.Runs.IterationsByID([]string{"none", b.iteration}))(t); len(got) != 1 || got[0].ID != b.iteration {
			t.Errorf("of a missing iteration and another there are %+v", got)
		}
		_, err := v.Runs.Summaries([]string{b.iteration, "none"})
		wantCode(t, err, domain.CodeNotFound)
		_, err = v.Runs.Snapshots([]string{"none"})
		wantCode(t, err, domain.CodeNotFound)
		_, err = v.Runs.IterationsByID(make([]string, domain.MaxLimit+1))
		wantCode(t, err, domain.CodeInvalidPayload)
		return nil
	}))
	bob := domain.Actor{UserID: must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID}
	wantOK(t, b.View(ctx, bob, func(v *store.View) error {
		_, err := v.Runs.IterationsByID(ids)
		wantCode(t, err, domain.CodeProjectPermissionRequired)
		_, err = v.Runs.Summaries(ids)
		wantCode(t, err, domain.CodeProjectPermissionRequired)
		_, err = v.Runs.Snapshots(ids)
		wantCode(t, err, domain.CodeProjectPermissionRequired)
		return nil
	}))
}
