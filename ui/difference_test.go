package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/goal"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// oneChange and otherChange are uncommitted changes of the same commit.
const (
	oneChange = `diff --git a/src/train.py b/src/train.py
--- a/src/train.py
+++ b/src/train.py
@@ -41,4 +41,4 @@ def schedule(step, peak):
     if step < WARM_UP:
-        return peak
+        return peak * step / WARM_UP
     return peak
 
`
	otherChange = `diff --git a/src/train.py b/src/train.py
--- a/src/train.py
+++ b/src/train.py
@@ -41,4 +41,5 @@ def schedule(step, peak):
     if step < WARM_UP:
-        return peak
-    return peak
+        return peak * step / WARM_UP
+    done = "<b>"
+    return peak * cosine(done)
 
`
)

// seeds creates an experiment with three groups of finished runs that differ by their seeds: five runs
// with the losses 0.5 and more, five with other code and packages and the losses 0.3 and more, and one
// with the loss 0.9.
func (s *site) seeds() (experiment string, ids []string) {
	s.t.Helper()
	ctx := s.t.Context()
	w := s.sweep(0, 0)
	if err := s.db.Projects.UpdateExperiment(ctx, s.actor("alice"), w.experiment, projects.ExperimentPatch{Objective: new("")}); err != nil {
		s.t.Fatal(err)
	}
	for i := range 11 {
		group, seed := i/5, i%5
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprintf("%s %d", []string{"plain", "cosine", "fast"}[group], seed))})
		for key, value := range map[string]string{"lr": []string{"0.01", "0.033", "1"}[group], "seed": fmt.Sprint(seed), "depth": "18"} {
			must(s.db.Runs.CreateParameter(ctx, domain.System, id, key, scalar.Text(value)))(s.t)
		}
		must(s.db.Runs.CreateSnapshot(ctx, domain.System, id, runs.NewSnapshot{GitSHA: strings.Repeat("ab", 20), GitDirty: new(true),
			GitDiff: []string{oneChange, otherChange, otherChange}[group], Hostname: "gpu-01",
			Dependencies: []string{"torch==2.9.0\nnumpy==2.4.0", "torch==2.10.0\nnumpy==2.4.0", "torch==2.10.0"}[group]}))(s.t)
		s.record(id, "val/loss", upTo(3), func(step int) float64 {
			return []float64{0.5, 0.3, 0.9}[group] + 0.01*float64(seed) + float64(2-step)
		})
		if err := s.db.Runs.UpdateIteration(ctx, s.actor("alice"), id, runs.IterationPatch{Status: new(domain.Succeeded)}); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
		s.clock.move(1e9)
	}
	return w.experiment, ids
}

func pair(a, b string) string { return "/compare?" + url.Values{"i": {a, b}}.Encode() }

const better = "lr × 3.3, 1 package newer, 2 lines in train.py: val/loss −0.2 on average, better by more than seeds explain (p = 0.0079, n = 5 and 5)."

// TestDifferenceOfRuns compares two runs: the test includes the other seeds, and the differing code and
// packages are shown.
func TestDifferenceOfRuns(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	_, ids := s.seeds()
	a := s.get(pair(ids[0], ids[5]))
	a.wants(t, 200, better, "8 other finished runs that differ from these two only by the seed", "exact permutation test",
		"0.52 ± 0.016 (n = 5)", "95 % interval", `data-testid="all-seeds"`,
		`<del data-n="43">    return peak
</del>`, `<ins data-n="43">    done = &#34;&lt;b&gt;&#34;
</ins><ins data-n="44">    return peak * cosine(done)
</ins>`, "<bdi>src/train.py</bdi>", "<bdi>2.10.0</bdi></td>", "<td>newer</td>", "<td>× 3.3</td>")
	// Request the same comparison through the path of the link.
	path := hrefBefore(a.body, `data-testid="all-seeds"`)
	s.get(path).wants(t, 200, "Compare 10 runs", better, "plain 0</bdi></a> and 4 more", "cosine 0</bdi></a> and 4 more")
	// Two groups of different size.
	s.get("/compare?"+url.Values{"i": {ids[5], ids[0], ids[1], ids[6]}}.Encode()).wants(t, 200, "val/loss +0.2 on average, worse by more than seeds explain")
	// Three groups have no difference.
	s.get("/compare?"+url.Values{"i": {ids[0], ids[5], ids[10]}}.Encode()).lacks(t, `data-testid="difference"`)
	s.get(pair(ids[0], ids[1])).wants(t, 200, "Only the seed differs: val/loss +0.01, worse; about 0.63 times the spread between seeds of this experiment.")
	s.get(pair(ids[5], ids[10])).wants(t, 200, "lr × 30, 1 package removed: val/loss +0.58 on average, worse, about 37 times the spread between seeds of this experiment; "+
		"5 runs against 1, so 3 seeds of each would tell more.")
}

// hrefBefore returns the address of the link with an attribute.
func hrefBefore(body, attribute string) string {
	before, _, _ := strings.Cut(body, attribute)
	href := before[strings.LastIndex(before, `href="`)+len(`href="`):]
	href, _, _ = strings.Cut(href, `"`)
	return strings.ReplaceAll(href, "&amp;", "&")
}

// TestDifferenceOfCode compares runs with different commits, with source files among their
// artifacts, and with diffs in other formats.
func TestDifferenceOfCode(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(6, 1)
	snapshot := func(i int, n runs.NewSnapshot) {
		must(s.db.Runs.CreateSnapshot(t.Context(), domain.System, w.runs[i], n))(t)
	}
	one, two := strings.Repeat("1a", 20), strings.Repeat("2b", 20)
	snapshot(0, runs.NewSnapshot{GitSHA: one, GitRemote: "git@github.com:lab/signs.git"})
	snapshot(1, runs.NewSnapshot{GitSHA: two, GitRemote: "git@github.com:lab/signs.git"})
	s.get(pair(w.runs[0], w.runs[1])).wants(t, 200, "lr × 2, commit 1a1a1a1 → 2b2b2b2.", "git diff "+one+" "+two,
		`href="https://github.com/lab/signs/compare/`+one+`...`+two+`"`, "Use Git to see the changed lines.")
	snapshot(2, runs.NewSnapshot{GitSHA: "javascript:alert(1)", GitRemote: "https://user:pass@github.com/x"})
	s.get(pair(w.runs[2], w.runs[1])).lacks(t, "git diff javascript", "pass@")
	snapshot(3, runs.NewSnapshot{GitSHA: one, GitDiff: "-old\n+new"})
	s.get(pair(w.runs[0], w.runs[3])).wants(t, 200, "not in the format of git diff", "-old\n+new</pre>")
	s.get(pair(w.runs[0], w.runs[4])).wants(t, 200, "Only one side has recorded its code.")

	lines := make([]string, 30)
	for i := range lines {
		lines[i] = fmt.Sprint("step ", i)
	}
	s.keep(w.experiment, files.NewArtifact{Name: "code/main.py", IterationID: w.runs[4]}, strings.Join(lines, "\n"))
	s.keep(w.experiment, files.NewArtifact{Name: "same.py", IterationID: w.runs[4]}, "same")
	s.keep(w.experiment, files.NewArtifact{Name: "same.py", IterationID: w.runs[5]}, "same")
	lines[20] = "changed"
	s.keep(w.experiment, files.NewArtifact{Name: "code/main.py", IterationID: w.runs[5]}, strings.Join(lines, "\n"))
	a := s.get(pair(w.runs[4], w.runs[5]))
	a.wants(t, 200, "code/main.py (artifact)", "17 unchanged lines", `<del data-n="21">step 20
</del>`, `<ins data-n="21">changed
</ins>`)
	a.lacks(t, "same.py")
}

// TestLargeDifference compares runs with thousands of differing lines: the page stays small.
func TestLargeDifference(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 1)
	for i, id := range w.runs {
		var b strings.Builder
		for file := range 60 {
			fmt.Fprintf(&b, "diff --git a/f%02d.py b/f%02d.py\n--- a/f%02d.py\n+++ b/f%02d.py\n@@ -0,0 +1,50 @@\n", file, file, file, file)
			for line := range 50 {
				fmt.Fprintf(&b, "+%d %d %s\n", i, line, strings.Repeat("x", 500*(file%2)))
			}
		}
		must(s.db.Runs.CreateSnapshot(t.Context(), domain.System, id, runs.NewSnapshot{GitSHA: "abcdef0", GitDiff: b.String()}))(t)
	}
	a := s.get(pair(w.runs[0], w.runs[1]))
	a.wants(t, 200, "3000 lines in 60 files", "More files differ.")
	if len(a.body) > 400_000 {
		t.Errorf("the page has %d bytes", len(a.body))
	}
}

// TestCompareWithBest follows the link from a run to the comparison with the best other run.
func TestCompareWithBest(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true, base: "/lab"})
	experiment, ids := s.seeds()
	alice := with(s.signIn("alice"))
	leads := func(id, best string) {
		t.Helper()
		a := s.get("/lab/iteration/"+id+"/best", alice)
		if want := "/lab" + pair(best, id); a.StatusCode != 303 || a.Header.Get("Location") != want {
			t.Errorf("%s leads to %s, want %s", a.Status, a.Header.Get("Location"), want)
		}
	}
	leads(ids[0], ids[5])
	leads(ids[5], ids[6]) // the best run is compared with the second best
	s.get("/lab/iteration/"+ids[0], alice).wants(t, 200, `href="/lab/iteration/`+ids[0]+`/best"`)
	alone := must(s.db.Projects.CreateExperiment(t.Context(), s.actor("alice"), s.projectOf(experiment), projects.NewExperiment{Name: "alone"}))(t)
	only := s.run(alone.ID, runs.NewIteration{})
	s.get("/lab/iteration/"+only, alice).lacks(t, `data-testid="compare-best"`) // it has no metrics
	s.record(only, "val/loss", upTo(1), func(int) float64 { return 1 })
	s.get("/lab/iteration/"+only+"/best", alice).wants(t, 422, "No other run of the experiment has values of val/loss")
	if err := s.db.Projects.UpdateExperiment(t.Context(), s.actor("alice"), experiment, projects.ExperimentPatch{Objective: new(goal.None)}); err != nil {
		t.Fatal(err)
	}
	s.get("/lab/iteration/"+ids[0]+"/best", alice).wants(t, 422, "has no objective")
	s.get("/lab"+pair(ids[0], ids[5]), alice).wants(t, 200, "has no objective, so no metric is tested")
}

// projectOf returns the project of an experiment.
func (s *site) projectOf(experiment string) string {
	s.t.Helper()
	return must(s.db.Projects.Experiment(s.t.Context(), domain.System, experiment))(s.t).ProjectID
}

// TestTwoClicksToTheDifference goes from an experiment to the difference from its best run in two clicks, by its
// table and by a run's page. The sentence and the first lines of code are visible.
func TestTwoClicksToTheDifference(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	experiment, ids := s.seeds()
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	arrived := func() {
		t.Helper()
		b.is(`document.querySelector('[data-testid="sentence"] bdi')?.textContent`, "lr × 0.3, 1 package older, 2 lines in train.py: val/loss +0.2 on average, worse by more than seeds explain (p = 0.0079, n = 5 and 5).")
		b.is(`(scrollY === 0) + ' ' + [...document.querySelectorAll('[data-testid="sentence"], .code-block del')].map((e) => {
			const box = e.getBoundingClientRect();
			return box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
		}).join()`, "true true,true,true")
		b.is(`document.querySelector('.changes thead a').textContent`, "cosine 0")
	}
	b.do(chromedp.Navigate(s.url + "/lab/experiment/" + experiment))
	b.is(rows, "11")
	b.press(`#table input[aria-label="Select plain 0"]`)
	b.press(`[data-testid="do-compare-with-best"]`)
	arrived()
	b.do(chromedp.Navigate(s.url + "/lab/experiment/" + experiment))
	b.is(rows, "11")
	b.press(`#table a[href$="/iteration/` + ids[0] + `"]`)
	b.press(`[data-testid="compare-best"]`)
	arrived()
	// Narrow screens show unchanged lines only once.
	const shown = `[...document.querySelectorAll('.code-block pre')].filter((e) => e.offsetParent).map((e) => e.firstElementChild.localName).join()`
	b.is(shown, "span,span,del,ins,span,span")
	b.do(chromedp.EmulateViewport(400, 800))
	b.is(shown, "span,del,ins,span")
	b.fits()
	b.quiet()
}
