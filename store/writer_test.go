package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/storetest"
)

func TestQueuedWritesShareCommits(t *testing.T) {
	const n = 2*sqlite.MaxJobs - 100
	var c commits
	b := newBedWith(t, store.Options{OnCommit: c.Add})
	release := hold(t, b.DB)
	c.Take()
	var waits []func() error
	for i := range n {
		waits = append(waits, queue(b.DB, func() error {
			_, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, point("loss", int64(i), 1))
			return err
		}))
	}
	release()
	for _, wait := range waits {
		wantOK(t, wait())
	}
	all := c.Take()
	jobs := 0
	for _, s := range all {
		jobs += s.Jobs
		if s.Err != nil || s.Duration <= 0 || s.Jobs > sqlite.MaxJobs {
			t.Errorf("a commit of %+v", s)
		}
	}
	if jobs != n+1 || len(all) > n/2 {
		t.Errorf("%d commits of %d jobs in all, want few of %d", len(all), jobs, n+1)
	}
	for i, m := range pointsOf(t, b.DB, b.iteration, nil) {
		if int(m.Step) != i {
			t.Fatalf("point %d is at step %d", i, m.Step)
		}
	}
	wantClean(t, b.DB)
}

func TestFailingJobTakesNoOtherDown(t *testing.T) {
	b := newBed(t)
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "lr", "0.1"))(t)
	// Writes that a job made before it failed are also undone.
	execSQL(t, raw(t, b.Path()), `CREATE TRIGGER half AFTER INSERT ON tag WHEN NEW.value = 'half'
		BEGIN SELECT RAISE(FAIL, 'half done'); END`)
	tag := func(value string) error {
		_, err := b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, b.iteration, value)
		return err
	}
	release := hold(t, b.DB)
	steps := []struct {
		write func() error
		code  domain.Code
	}{
		{func() error { return tag("first") }, ""},
		{func() error { return storetest.Job(ctx, b.DB, func() error { return errTest }) }, domain.CodeServerError},
		{func() error { return tag("half") }, domain.CodeServerError},
		{func() error { return tag("second") }, ""},
		{func() error {
			_, err := b.Runs.CreateParameter(ctx, domain.System, b.iteration, "lr", "0.2")
			return err
		}, domain.CodeConflict},
		{func() error { return storetest.Job(ctx, b.DB, func() error { panic("no such luck") }) }, domain.CodeServerError},
		{func() error { return b.Runs.Heartbeat(ctx, domain.System, b.project) }, domain.CodeNotFound},
		{func() error { return tag("third") }, ""},
	}
	var waits []func() error
	for _, s := range steps {
		waits = append(waits, queue(b.DB, s.write))
	}
	release()
	for i, wait := range waits {
		if code := codeOf(wait()); code != steps[i].code {
			t.Errorf("write %d: %q, want %q", i, code, steps[i].code)
		}
	}
	var got []string
	for _, tag := range must(b.Runs.Tags(ctx, domain.System, runs.IterationTag, b.iteration, domain.FirstPage))(t).Data {
		got = append(got, tag.Value)
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
	wantClean(t, b.DB)
}

func TestTransactionThatFailsIsRepeatedJobByJob(t *testing.T) {
	var c commits
	b := newBedWith(t, store.Options{OnCommit: c.Add})
	execSQL(t, raw(t, b.Path()), `CREATE TRIGGER gone BEFORE INSERT ON tag WHEN NEW.value = 'bad'
		BEGIN SELECT RAISE(ROLLBACK, 'all gone'); END`)
	release := hold(t, b.DB)
	c.Take()
	var waits []func() error
	for i := range 20 {
		value := fmt.Sprint("good ", i)
		if i == 7 {
			value = "bad"
		}
		waits = append(waits, queue(b.DB, func() error {
			if _, err := b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, b.iteration, value); err != nil {
				return err
			}
			return nil
		}), queue(b.DB, func() error {
			_, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss", Value: scalar.Value(i)})
			return err
		}))
	}
	release()
	for i, wait := range waits {
		if err := wait(); (err != nil) != (i == 14) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	failed := 0
	for _, s := range c.Take() {
		if s.Err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no transaction failed, so none was repeated")
	}
	tags := must(b.Runs.Tags(ctx, domain.System, runs.IterationTag, b.iteration, domain.FirstPage))(t)
	if tags.Total != 19 {
		t.Errorf("%d tags, want 19", tags.Total)
	}
	for i, m := range pointsOf(t, b.DB, b.iteration, nil) {
		if int(m.Step) != i || m.Value != scalar.Value(i) {
			t.Errorf("point %d is %v at step %d", i, m.Value, m.Step)
		}
	}
	wantClean(t, b.DB)
}

func TestCancelledWrite(t *testing.T) {
	b := newBed(t)
	tag := func(ctx context.Context, value string) error {
		_, err := b.Runs.CreateTag(ctx, domain.System, runs.ProjectTag, b.project, value)
		return err
	}
	for i := range 20 { // if both are ready, the choice is random
		early, cancel := context.WithCancel(ctx)
		cancel()
		wantCode(t, tag(early, "early"), domain.CodeUnavailable)

		late, cancel := context.WithCancel(ctx)
		release := hold(t, b.DB)
		before := queue(b.DB, func() error { return tag(ctx, fmt.Sprint("before ", i)) })
		cancelled := queue(b.DB, func() error { return tag(late, "late") })
		after := queue(b.DB, func() error { return tag(ctx, fmt.Sprint("after ", i)) })
		cancel()
		release()
		wantOK(t, before())
		wantCode(t, cancelled(), domain.CodeUnavailable)
		wantOK(t, after())
	}
	l := must(b.Runs.Tags(ctx, domain.System, runs.ProjectTag, b.project, domain.FirstPage))(t)
	if l.Total != 40 {
		t.Errorf("%d tags, want 40: those that were not cancelled", l.Total)
	}

	running, cancel := context.WithCancel(ctx)
	err := storetest.Job(running, b.DB, func() error {
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("a write that was cancelled when it was done: %v", err)
	}
}

func TestCancelledReadsGiveTheirConnectionBack(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 8 * runtime.NumCPU() {
		_, err := b.Runs.Metrics(gone, domain.System, b.iteration, runs.MetricQuery{Page: domain.FirstPage})
		wantCode(t, err, domain.CodeUnavailable)
		late, cancel := context.WithCancel(ctx)
		if err := b.Read(late, func() error { cancel(); return late.Err() }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled while it reads: %v", err)
		}
	}
	wantOK(t, b.Ping(ctx))
	b.log(t, "loss", 1, 1)
}
