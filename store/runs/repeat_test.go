package runs_test

import (
	"fmt"
	"math"
	"testing"

	"tracker/store"
	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
)

// TestRepeats lists finished runs. Runs that differ only in their seeds share a key, and
// difference.KeyOf returns the same key for their data.
func TestRepeats(t *testing.T) {
	b := newBed(t)
	o := goal.Objective{Metric: "loss", Goal: goal.Minimize}
	want := map[string]string{}
	add := func(group, sha string, params map[string]string, value float64, status domain.IterationStatus) {
		id := b.run(t, params, map[string]float64{"loss": value})
		if sha != "" {
			must(b.Runs.CreateSnapshot(ctx, domain.System, id, runs.NewSnapshot{GitSHA: sha, GitDiff: "+x", Dependencies: "torch==1"}))(t)
		}
		if status != domain.Running {
			wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: &status}))
		}
		if status == domain.Succeeded {
			want[id] = group
		}
	}
	for seed := range 3 {
		add("a", "1", map[string]string{"lr": "0.1", "seed": fmt.Sprint(seed)}, float64(seed), domain.Succeeded)
		add("b", "1", map[string]string{"lr": "0.2", "seed": fmt.Sprint(seed)}, math.NaN(), domain.Succeeded)
	}
	add("c", "2", map[string]string{"lr": "0.1", "seed": "7"}, 1, domain.Succeeded)
	add("d", "", map[string]string{"lr": "0.1", "seed": "7"}, 1, domain.Succeeded)
	add("d", "", map[string]string{"lr": "0.1"}, 1, domain.Succeeded)
	add("", "1", map[string]string{"lr": "0.1", "seed": "8"}, 1, domain.Running)
	add("", "1", map[string]string{"lr": "0.1", "seed": "9"}, 1, domain.Failed)
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		repeats, err := v.Runs.Repeats(b.Experiment, o)
		if err != nil {
			return err
		}
		if len(repeats) != len(want) {
			t.Errorf("%d repeats, want %d", len(repeats), len(want))
		}
		keys := map[string]difference.Key{}
		var ids []string
		for _, r := range repeats {
			group := want[r.ID]
			if key, ok := keys[group]; ok && key != r.Key {
				t.Errorf("%s is not in group %q", r.ID, group)
			}
			keys[group] = r.Key
			ids = append(ids, r.ID)
			if math.IsNaN(r.Value) != (group == "b") {
				t.Errorf("the value of %q is %v", group, r.Value)
			}
		}
		if len(keys) != 4 {
			t.Errorf("%d groups", len(keys))
		}
		summaries, err := v.Runs.Summaries(ids)
		if err != nil {
			return err
		}
		snapshots, err := v.Runs.Snapshots(ids)
		if err != nil {
			return err
		}
		for i, s := range summaries {
			if key := difference.KeyOf(runs.DifferenceRun(s, snapshots[ids[i]], &o)); key != repeats[i].Key {
				t.Errorf("the data of %s have another key", ids[i])
			}
		}
		return nil
	}))
}

// TestDifference compares two runs with the finished runs of their experiment.
func TestDifference(t *testing.T) {
	b := newBed(t)
	o := goal.Objective{Metric: "loss", Goal: goal.Minimize}
	var sides [2][]string
	for seed := range 4 {
		for side, lr := range []string{"0.1", "0.2"} {
			id := b.run(t, map[string]string{"lr": lr, "seed": fmt.Sprint(seed)}, map[string]float64{"loss": float64(10*side + seed)})
			wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: new(domain.Succeeded)}))
			sides[side] = append(sides[side], id)
		}
	}
	var d difference.Difference
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		var of [2][]difference.Run
		for side := range of {
			s, err := v.Runs.Summary(sides[side][side]) // with different seeds
			if err != nil {
				return err
			}
			of[side] = []difference.Run{runs.DifferenceRun(s, runs.Snapshot{}, &o)}
		}
		var err error
		d, err = v.Runs.Difference(b.Experiment, of[0], of[1], &o)
		return err
	}))
	if got := d.Sentence(); got != "lr × 2: loss +10 on average, worse by more than seeds explain (p = 0.029, n = 4 and 4)." {
		t.Error(got)
	}
	if d.Outcome.Others != 6 || d.Seeds[0].Name != "seed" || d.Outcome.Comparison.A.Mean != 1.5 {
		t.Errorf("%+v", d)
	}
}
