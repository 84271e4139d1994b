package difference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tracker/store/goal"
)

const diff = `diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -41,3 +41,3 @@ def schedule(step):
     warm_up()
-    return peak
+    return peak / 2
     end()
`

func run(id, params string, value float64) Run {
	r := Run{ID: id, Params: map[string]string{}, Value: &value, GitSHA: strings.Repeat("ab", 20), Dependencies: "numpy==2.2.1\ntorch==2.6.0\n"}
	for _, p := range strings.Fields(params) {
		name, value, _ := strings.Cut(p, "=")
		r.Params[name] = value
	}
	return r
}

func with(r Run, change func(*Run)) Run {
	r.Params = maps.Clone(r.Params)
	change(&r)
	return r
}

func side(params string, values ...float64) (all []Run) {
	for i, v := range values {
		all = append(all, run(fmt.Sprint(params, i), fmt.Sprint(params, " seed=", i), v))
	}
	return all
}

func repeatsOf(all ...[]Run) (repeats []Repeat) {
	for _, r := range slices.Concat(all...) {
		repeats = append(repeats, Repeat{r.ID, *r.Value, KeyOf(r)})
	}
	return repeats
}

var loss = &goal.Objective{Metric: "val/loss", Goal: goal.Minimize}

func TestSentence(t *testing.T) {
	a := side("lr=0.001", 0.5, 0.51, 0.52, 0.5, 0.49)
	b := side("lr=0.0033", 0.36, 0.37, 0.36, 0.38, 0.35)
	for i := range b {
		b[i].GitDiff, b[i].Dependencies = diff, "numpy==2.3.0\ntorch==2.10.0\n"
	}
	other := side("lr=1", 0.9, 0.95, 1)
	for _, c := range []struct {
		name    string
		a, b    []Run
		repeats []Repeat
		o       *goal.Objective
		want    string
	}{
		{"groups", a, b, nil, loss,
			"lr × 3.3, 2 packages newer, 1 line in train.py: val/loss −0.14 on average, better by more than seeds explain (p = 0.0079, n = 5 and 5)."},
		{"runs with repeats", a[:1], b[:1], repeatsOf(a, b, other), loss,
			"lr × 3.3, 2 packages newer, 1 line in train.py: val/loss −0.14 on average, better by more than seeds explain (p = 0.0079, n = 5 and 5)."},
		{"a larger value is better", b, a, nil, &goal.Objective{Metric: "acc", Goal: goal.Maximize},
			"lr × 0.3, 2 packages older, 1 line in train.py: acc +0.14 on average, better by more than seeds explain (p = 0.0079, n = 5 and 5)."},
		{"no goal", a, b, nil, &goal.Objective{Metric: "x"},
			"lr × 3.3, 2 packages newer, 1 line in train.py: x −0.14 on average, more than seeds explain (p = 0.0079, n = 5 and 5)."},
		{"within the spread", side("a=x", 1, 2, 3, 4), side("a=y", 2, 3, 4, 2.5), nil, loss,
			"a x → y: val/loss +0.38 on average, no more than seeds explain (p = 0.77, n = 4 and 4)."},
		{"one each", side("a=0", 1), side("a=0.1", 0.5), nil, loss,
			"a 0 → 0.1: val/loss −0.5, better; one run each, so seeds alone might explain it; 3 seeds of each would tell."},
		{"one each, with the spread of others", side("a=0", 0.8), side("a=0.1", 0.65), repeatsOf(other), loss,
			"a 0 → 0.1: val/loss −0.15, better, about 3 times the spread between seeds of this experiment; one run each, so 3 seeds of each would tell more."},
		{"one against three", side("a=0", 1), side("a=0.1", 0.5, 0.5, 0.6), nil, loss,
			"a 0 → 0.1: val/loss −0.47 on average, better; 1 run against 3, so seeds alone might explain it; 3 seeds of each would tell."},
		{"only the seed", other[:1], other[2:], repeatsOf(other), loss,
			"Only the seed differs: val/loss +0.1, worse; about 2 times the spread between seeds of this experiment."},
		{"no difference", other[:1], []Run{with(other[0], func(r *Run) { r.ID = "again" })}, nil, loss, "No recorded difference: val/loss is equal."},
		{"constant", side("a=1", 2, 2), side("a=2", 1, 1), nil, loss,
			"a × 2: val/loss −1 on average, better; the runs on each side have equal values (n = 2 and 2)."},
		{"no objective", a[:1], b[:1], nil, nil, "lr × 3.3, 2 packages newer, 1 line in train.py."},
		{"no value", a[:1], []Run{with(b[0], func(r *Run) { r.Value = nil })}, nil, loss,
			"lr × 3.3, 2 packages newer, 1 line in train.py: no val/loss to compare."},
		{"many parameters", side("a=1 b=2 c=3 d=4 e=5", 1), side("a=2 b=3 c=x f=-1 d=-4", 1), nil, loss,
			"a × 2, b × 1.5, c 3 → x, 3 more parameters: val/loss is equal."},
		{"mixed groups", []Run{run("1", "opt=sgd lr=1", 1), run("2", "opt=sgd lr=2", 1.1)}, []Run{run("3", "opt=lion lr=1", 3), run("4", "opt=lion lr=3", 3.1)}, nil, loss,
			"opt sgd → lion, lr varies: val/loss +2 on average, worse by more than the spread within the groups explains (p = 0.0012, n = 2 and 2)."},
		{"code and environment", a[:1], []Run{with(a[0], func(r *Run) {
			r.GitSHA, r.Runtime, r.ID = strings.Repeat("cd", 20), "Python 3.14", "x"
			r.Dependencies = "numpy==2.2.1\njax==1\nlocal @ file:///x"
			r.Data = []Datum{{"mnist", "1"}}
		})}, nil, nil, "2 packages added, 1 removed, commit abababa → cdcdcdc, another mnist dataset."},
	} {
		d := Of(c.a, c.b, c.repeats, c.o)
		if got := d.Sentence(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestRepeatsAreAdded compares single runs. Runs with other seeds are added, and runs with other
// code are not.
func TestRepeatsAreAdded(t *testing.T) {
	a, b := side("lr=1", 1, 2, 3), side("lr=2", 4, 5, 6)
	changed := []Run{with(a[1], func(r *Run) { r.GitDiff, r.ID = diff, "changed" })}
	d := Of(a[:1], b[:1], repeatsOf(a, b, changed), loss)
	if o := d.Outcome; fmt.Sprint(o.IDs) != "[[lr=10 lr=12 lr=11] [lr=20 lr=22 lr=21]]" || o.Others != 4 || o.Mixed || o.SpreadDF != 4 || o.SpreadGroups != 2 {
		t.Errorf("%+v", o)
	}
	// Runs are not added to groups that were chosen explicitly.
	if o := Of(a[:2], b[:2], repeatsOf(a, b), loss).Outcome; o.Others != 0 || o.Comparison.A.N != 2 {
		t.Errorf("%+v", o)
	}
}

func TestSplit(t *testing.T) {
	a, b, c := side("lr=1", 1, 2), side("lr=2", 4, 5), side("lr=3", 4)
	ids := func(runs []Run) (all []string) {
		for _, r := range runs {
			all = append(all, r.ID)
		}
		return all
	}
	for want, runs := range map[string][]Run{
		"[lr=10 lr=11] [lr=20 lr=21]": {a[0], b[0], a[1], b[1]},
		"[lr=30] [lr=20 lr=21]":       {c[0], b[0], b[1]},
		"[lr=10] [lr=11]":             a,
		"[] []":                       slices.Concat(a, b, c),
		// The code differs within a side.
		"[lr=20 x] [lr=10 lr=11]": {b[0], a[0], with(b[1], func(r *Run) { r.GitDiff, r.ID = diff, "x" }), a[1]},
	} {
		x, y := Split(runs)
		if got := fmt.Sprint(ids(x), " ", ids(y)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestIsRepeat(t *testing.T) {
	for name, want := range map[string]bool{"seed": true, "model.random_state": true, "data/fold": true, "Fold": true, "replicate": true,
		"folds": false, "lr": false, "repeats": false, "manifold": false} {
		if IsRepeat(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestIsSeed(t *testing.T) {
	for want, names := range map[bool][]string{
		true:  {"seed", "SEED", "random_seed", "config.seed", "train/np-seed", "seed_everything", "random_state", "model.random_state", "rng"},
		false: {"seeds_oil", "lr", "state", "seed/lr", "seedling", "proceed"},
	} {
		for _, name := range names {
			if IsSeed(name) != want {
				t.Errorf("%s: %v", name, !want)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"2.9.1", "2.10.0", -1}, {"2.0", "2", 0}, {"2.0rc1", "2.0", 0}, {"2.1.dev3", "2.0.9", 1}, {"file:///x", "file:///y", 0},
		{"1", "1.0.1", -1}, {"99999999999999999999", "1", -1}} {
		if got := compareVersions(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %d", c.a, c.b, got)
		}
	}
}

func TestDigits(t *testing.T) {
	for want, f := range map[string]float64{"0.14": 0.1399, "0.0012": 0.00123, "1.2e-6": 1.23e-6, "1235": 1234.6, "12": 12.3, "1.3e7": 1.26e7, "100": 99.6, "0": 0} {
		if got := digits(f, 2); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}
