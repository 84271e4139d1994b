package runs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/diagnosis"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/users"
)

// train creates an iteration with a loss and a gradient for each step. If nan is not negative,
// the gradient explodes before step nan, and the loss is NaN from step nan on.
func (b *bed) train(t testing.TB, r *rand.Rand, steps, nan int, params map[string]string) string {
	t.Helper()
	id := b.run(t, params, nil)
	var all []points.Sample
	for step := range steps {
		loss, norm := (2+7/(1+float64(step)/30))*math.Exp(0.03*r.NormFloat64()), math.Exp(0.2*r.NormFloat64())
		if nan >= 0 {
			norm *= math.Exp(float64(max(0, min(10, step-nan+10))) / 2)
			if step >= nan {
				loss = math.NaN()
			}
		}
		all = append(all, point("train/loss", int64(step), loss), point("grad_norm", int64(step), norm))
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, id, all))
	return id
}

func (b *bed) end(t testing.TB, id string, status domain.IterationStatus, message string) {
	t.Helper()
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: &status, ErrorMessage: &message}))
}

func (b *bed) diagnosis(t testing.TB, id string) (runs.Diagnosis, []string) {
	t.Helper()
	d := must(b.Runs.Diagnosis(ctx, domain.System, id))(t)
	var texts []string
	for _, f := range d.Findings {
		texts = append(texts, string(f.Kind)+": "+f.Text)
	}
	return d, texts
}

func wantTexts(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const torchTraceback = `Traceback (most recent call last):
  File "/home/ada/train.py", line 41, in step
    loss.backward()
  File "/venv/lib/python3.12/site-packages/torch/_tensor.py", line 626, in backward
    torch.autograd.backward(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.`

func TestDiagnosis(t *testing.T) {
	for _, siblings := range []int{20, 150} {
		t.Run(fmt.Sprint(siblings, " siblings"), func(t *testing.T) {
			b := newBed(t)
			r := rand.New(rand.NewPCG(1, uint64(siblings)))
			var healthy string
			for range siblings {
				healthy = b.train(t, r, 120, -1, map[string]string{"lr": fmt.Sprint(0.001 * (1 + r.Float64())), "seed": fmt.Sprint(r.IntN(1000)), "model": "small"})
				b.end(t, healthy, domain.Succeeded, "")
			}
			var bad []string
			for i := range 4 {
				bad = append(bad, b.train(t, r, 100, 80, map[string]string{"lr": "0.3", "seed": fmt.Sprint(r.IntN(1000)), "model": "small"}))
				b.end(t, bad[i], domain.Failed, fmt.Sprintf("FloatingPointError: the loss is nan at step %d", 80+i))
			}
			d, texts := b.diagnosis(t, bad[1])
			if len(texts) != 5 {
				t.Fatalf("%q", texts)
			}
			wantTexts(t, texts[:2], "end: The run failed with FloatingPointError: the loss is nan at step 81.", "bad_value: train/loss is NaN from step 80 on.")
			for i, prefix := range []string{"moved: grad_norm rose ", "parameter: lr is 0.3, ", "alike: 3 other runs failed in the same way."} {
				if !strings.HasPrefix(texts[2+i], prefix) {
					t.Errorf("%q", texts)
				}
			}
			if d.AlikeTotal != 3 || !slices.Equal(d.Alike, []string{bad[3], bad[2], bad[0]}) || d.Crash == nil || d.Crash.Exception != "FloatingPointError" {
				t.Errorf("%+v", d)
			}
			if _, texts = b.diagnosis(t, healthy); len(texts) > 0 {
				t.Errorf("of a healthy run: %q", texts)
			}
			f := must(b.Runs.Failures(ctx, domain.System, b.Experiment))(t)
			if f.Failed != 4 || f.Finished != siblings || f.Compared != siblings+5 || len(f.Groups) != 1 || f.Groups[0].Count != 4 ||
				f.Groups[0].Runs[0].ID != bad[3] || f.Groups[0].Cause != "FloatingPointError: the loss is nan at step 83." ||
				len(f.Groups[0].Traits) != 1 || f.Groups[0].Traits[0].Name != "lr" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestDiagnosisOfEnds(t *testing.T) {
	b := newBed(t)
	// The console shows the crash. The error message has only the exit code, as sent by W&B's
	// clients.
	memory := b.NewIteration(t)
	lines := append([]string{"epoch 1", "epoch 2"}, strings.Split(torchTraceback, "\n")...)
	must(b.Runs.WriteConsole(ctx, domain.System, memory, nil, append(lines, "wandb: synced")))(t)
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, memory, []points.Sample{point("system/gpu.0.memoryAllocated", 1, 98.5), point("loss", 1, 2)}))
	b.end(t, memory, domain.Failed, "exit code 1")
	d, texts := b.diagnosis(t, memory)
	wantTexts(t, texts, "end: The run failed with a lack of GPU memory: CUDA out of memory. Tried to allocate 2.00 GiB. In train.py line 41, function step.",
		"system: The memory of GPU 0 was 98.5% full in the last minute with measurements.")
	if d.Outcome != diagnosis.Failed || d.Crash.Kind != diagnosis.GPUMemory || *d.ConsoleLine != 7 || len(d.Console) != 8 || d.Console[7].Number != 7 {
		t.Errorf("%+v", d)
	}
	alike := b.NewIteration(t)
	b.end(t, alike, domain.Failed, torchTraceback)
	if d, _ = b.diagnosis(t, alike); d.AlikeTotal != 1 || d.ConsoleLine != nil || len(d.Console) != 0 {
		t.Errorf("%+v", d)
	}

	lost := b.NewIteration(t)
	must(b.Runs.CreateMetric(ctx, domain.System, lost, point("loss", 1, 2)))(t)
	if _, texts = b.diagnosis(t, lost); len(texts) > 0 {
		t.Errorf("of a live run: %q", texts)
	}
	b.Clock.Add(time.Hour)
	_, texts = b.diagnosis(t, lost)
	// The iteration of the fixture is silent as well.
	wantTexts(t, texts, "end: The run was lost: it was last seen at 2026-11-21 09:30:00 UTC and did not report its end.", "alike: 1 other run failed in the same way.")

	stopped := b.NewIteration(t)
	b.end(t, stopped, domain.Killed, "Stopped by hand")
	_, texts = b.diagnosis(t, stopped)
	wantTexts(t, texts, "end: The run was killed: Stopped by hand.")

	// The loss of a live run is NaN, and its last points are not in the statistics yet.
	live := b.NewIteration(t)
	for step, v := range []float64{3, 2, math.NaN()} {
		must(b.Runs.CreateMetric(ctx, domain.System, live, point("val/loss", int64(step), v)))(t)
	}
	d, texts = b.diagnosis(t, live)
	wantTexts(t, texts, "bad_value: val/loss is NaN from step 2 on.")
	if d.Outcome != diagnosis.Running || d.Crash != nil {
		t.Errorf("%+v", d)
	}
	for id, want := range map[string]bool{live: true, memory: true, lost: true, stopped: false} {
		i, s := must(b.Runs.Iteration(ctx, domain.System, id))(t), must(b.Runs.Summary(ctx, domain.System, id))(t)
		if got := s.Shows(i.Status, i.Status.Lost(i.LastSeen, b.Clock.Time())); got != want {
			t.Errorf("%+v: %v", i, got)
		}
	}

	f := must(b.Runs.Failures(ctx, domain.System, b.Experiment))(t)
	var counts []string
	for _, g := range f.Groups {
		counts = append(counts, fmt.Sprint(g.Count, " ", g.Cause))
	}
	wantTexts(t, counts, "2 The run was lost: it did not report its end.", "2 GPU out of memory: CUDA out of memory. Tried to allocate 2.00 GiB.",
		"1 val/loss is NaN or infinite at the end.")
	err := b.View(ctx, domain.System, func(v *store.View) error {
		n, err := v.Runs.FailedCount(b.Experiment)
		if n != 4 {
			t.Errorf("%d failed", n)
		}
		return err
	})
	wantOK(t, err)
}

// TestUndefinedMetric compares a run whose metric has no finite value with other such runs.
func TestUndefinedMetric(t *testing.T) {
	b := newBed(t)
	var id string
	for range 8 {
		id = b.run(t, nil, map[string]float64{"val/auc": math.NaN(), "loss": 1})
		b.end(t, id, domain.Succeeded, "")
	}
	if _, texts := b.diagnosis(t, id); len(texts) > 0 {
		t.Errorf("%q", texts)
	}
	if f := must(b.Runs.Failures(ctx, domain.System, b.Experiment))(t); f.Failed != 0 || f.Finished != 8 {
		t.Errorf("%+v", f)
	}
}

func TestDiagnosisRights(t *testing.T) {
	b := newBed(t)
	carol := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "carol", Password: "12345678"}))(t)
	_, err := b.Runs.Diagnosis(ctx, domain.Actor{UserID: carol.ID}, b.Iteration)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	_, err = b.Runs.Failures(ctx, domain.Actor{UserID: carol.ID}, b.Experiment)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	_, err = b.Runs.Diagnosis(ctx, domain.System, "none")
	wantCode(t, err, domain.CodeNotFound)
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	_, err = b.Runs.Diagnosis(ctx, domain.System, b.Iteration)
	wantCode(t, err, domain.CodeNotFound)
}

// BenchmarkDiagnosis explains one of 34 failed iterations in an experiment with 1,000 finished
// ones.
func BenchmarkDiagnosis(bench *testing.B) {
	b := newBed(bench)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 1000 {
		params := map[string]string{}
		for p := range 30 {
			params[fmt.Sprint("p", p)] = fmt.Sprint(i * (p + 7919) % 997)
		}
		b.end(bench, b.train(bench, r, 300, -1, params), domain.Succeeded, "")
	}
	var id string
	for range 34 {
		id = b.train(bench, r, 3000, 2800, map[string]string{"p0": "1e6"})
		b.end(bench, id, domain.Failed, torchTraceback)
	}
	for bench.Loop() {
		must(b.Runs.Diagnosis(ctx, domain.System, id))(bench)
	}
}
