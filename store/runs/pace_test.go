package runs_test

import (
	"fmt"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/pace"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestPace reads the pace of runs with a known speed.
func TestPace(t *testing.T) {
	b := newBed(t)
	// train writes n points to a run, one each interval, and moves the clock along.
	train := func(id string, n int, interval time.Duration) {
		t.Helper()
		var all []points.Sample
		for i := range n {
			b.Clock.Add(interval)
			at := b.Clock.Time()
			all = append(all,
				points.Sample{Key: "loss", Step: new(scalar.Step(i)), Value: 1, RecordedAt: &at},
				points.Sample{Key: "epoch", Step: new(scalar.Step(i)), Value: scalar.Value(i) / 100, RecordedAt: &at},
				points.Sample{Key: "system/cpu", Step: new(scalar.Step(i * 1000)), Value: 1, RecordedAt: &at})
		}
		must(b.Runs.CreateMetricBatch(ctx, domain.System, id, all))(t)
	}
	paceOf := func(id string) pace.Pace {
		t.Helper()
		return must(b.Runs.Pace(ctx, domain.System, id, true))(t)
	}
	wantText(t, fmt.Sprint(paceOf(b.Iteration)), "{0 <nil> }") // no metric
	for range 3 {
		id := b.NewIteration(t)
		train(id, 100, time.Second/4)
		wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: new(domain.Succeeded)}))
		wantText(t, fmt.Sprint(paceOf(id)), "{0 <nil> }") // it has ended
	}
	id := b.NewIteration(t)
	must(b.Runs.CreateParameter(ctx, domain.System, id, "num_epochs", scalar.Text("4")))(t)
	train(id, 301, time.Second)
	p := paceOf(id)
	wantText(t, fmt.Sprintf("%.2f %v %v of %v", p.Rate, *p.Progress, p.Progress.Done, p.Progress.Of),
		"1.00 {{num_epochs 4 epochs} 3 1m40s} 3 of 4")
	wantText(t, p.Slow, "Slower than other runs: 1.0 steps/s, and the median of 3 other runs of the experiment is 4.0 steps/s.")
	if p := must(b.Runs.Pace(ctx, domain.System, id, false))(t); p.Slow != "" {
		t.Errorf("without siblings: %s", p.Slow)
	}
	_, err := b.Runs.Pace(ctx, domain.Actor{UserID: "nobody"}, id, true)
	if err == nil {
		t.Error("another account reads the pace")
	}
}

// TestPaceOfEpochs checks that steps count as epochs only if they did in earlier runs.
func TestPaceOfEpochs(t *testing.T) {
	b := newBed(t)
	train := func(epochs string, n int) string {
		t.Helper()
		id := b.NewIteration(t)
		must(b.Runs.CreateParameter(ctx, domain.System, id, "epochs", scalar.Text(epochs)))(t)
		for i := range n {
			b.Clock.Add(time.Second)
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Step: new(scalar.Step(i)), Value: 1, RecordedAt: new(b.Clock.Time())}))(t)
		}
		return id
	}
	progress := func(id string) string {
		t.Helper()
		p := must(b.Runs.Pace(ctx, domain.System, id, false))(t)
		if p.Progress == nil {
			return "unknown"
		}
		return fmt.Sprintf("%g of %g, %v", p.Progress.Done, p.Progress.Of, p.Progress.Left)
	}
	id := train("20", 11)
	wantText(t, progress(id), "unknown")
	end := func(id string) {
		t.Helper()
		wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: new(domain.Succeeded)}))
	}
	end(train("12", 12))
	wantText(t, progress(id), "10 of 20, 10s")
	end(train("12", 30))
	wantText(t, progress(id), "unknown")
}
