package ui_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// troubled is an experiment with runs that finished, runs that diverged, and a run that failed in
// another way.
type troubled struct {
	sweep
	healthy, other string
	diverged       []string
}

func (s *site) troubled() troubled {
	t := troubled{sweep: s.sweep(0, 0)}
	ctx, actor := s.t.Context(), s.actor("alice")
	end := func(id string, status domain.IterationStatus, message string) {
		if err := s.db.Runs.UpdateIteration(ctx, actor, id, runs.IterationPatch{Status: &status, ErrorMessage: &message}); err != nil {
			s.t.Fatal(err)
		}
	}
	add := func(name, lr string, nan int) string {
		id := s.run(t.experiment, runs.NewIteration{Name: &name})
		must(s.db.Runs.CreateParameter(ctx, actor, id, "lr", scalar.Text(lr)))(s.t)
		s.record(id, "train/loss", upTo(60), func(i int) float64 {
			if i >= nan {
				return math.NaN()
			}
			return 2 + 1/float64(i+1)
		})
		s.record(id, "grad_norm", upTo(60), func(i int) float64 {
			return (1 + 0.1*float64(i%3)) * math.Exp(float64(max(0, min(10, i-nan+10)))/2)
		})
		return id
	}
	for i := range 12 {
		t.healthy = add(fmt.Sprint("good ", i), fmt.Sprint(0.001*float64(1+i%4)), 100)
		end(t.healthy, domain.Succeeded, "")
	}
	for i := range 3 {
		id := add(fmt.Sprint("bad ", i), "0.3", 50)
		s.print(id, 0, "epoch 1", "Traceback (most recent call last):", `  File "/home/ada/train.py", line 41, in step`, "    check(loss)",
			"\x1b[31mFloatingPointError\x1b[0m: the loss is <nan>")
		end(id, domain.Failed, "exit code 1")
		t.diverged = append(t.diverged, id)
	}
	t.other = add("other", "0.001", 100)
	end(t.other, domain.Failed, "ValueError: row 7 is empty")
	return t
}

func TestDiagnosisPage(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.troubled()
	page := "/lab/iteration/" + w.diverged[1]
	a := s.get(page)
	a.wants(t, 200, `id="diagnosis"`, `data-step="50"`, "The run failed with FloatingPointError: the loss is &lt;nan&gt;. In train.py line 41, function step.",
		"train/loss is NaN from step 50 on.", "grad_norm rose ", "lr is 0.3, 120 times the median of the 12 runs that finished; none of them had more than 0.004.",
		"2 other runs failed in the same way.", `href="/lab/experiment/`+w.experiment+`/failures"`, "FloatingPointError: the loss is &lt;nan&gt;\n",
		`href="`+page+`?line=4#console"`, "Show these lines in the console", "<summary>Error message</summary>")
	if body := string(a.body); strings.Index(body, `id="diagnosis"`) > strings.Index(body, `id="charts"`) {
		t.Error("the charts are above the explanation")
	}
	// A run that finished has a link to the explanation.
	a = s.get("/lab/iteration/" + w.healthy)
	a.wants(t, 200, `href="/lab/iteration/`+w.healthy+`?diagnosis=1#diagnosis"`)
	a.lacks(t, `id="diagnosis"`)
	s.get("/lab/iteration/"+w.healthy+"?diagnosis=1").wants(t, 200, `id="diagnosis"`, "Nothing unusual was found")

	a = s.get("/lab/experiment/" + w.experiment)
	a.wants(t, 200, `href="/lab/experiment/`+w.experiment+`/failures"`, "4 failed")
	a = s.get("/lab/experiment/" + w.experiment + "/failures")
	a.wants(t, 200, "4 runs failed, diverged or were lost. 12 runs finished.", "3 runs", "FloatingPointError: the loss is &lt;nan&gt;.",
		"lr is 0.3 in these runs, and 0.001 to 0.004 in the 12 runs that finished", "ValueError: row 7 is empty.",
		`href="/lab/iteration/`+w.diverged[0]+`"`, `href="/lab/compare?i=`+w.diverged[2])
	s.clock.move(time.Hour)
	blank := s.sweep(0, 0).experiment
	a = s.get("/lab/experiment/" + blank + "/failures")
	a.wants(t, 200, "No run failed, diverged or was lost.")
	s.get("/lab/experiment/"+blank).lacks(t, "failures-link")
	s.get("/lab/experiment/none/failures").wants(t, 404)
	// A live run that becomes silent is lost.
	live := s.run(blank, runs.NewIteration{})
	s.get("/lab/iteration/"+live).lacks(t, `id="diagnosis"`)
	s.clock.move(time.Hour)
	s.get("/lab/iteration/"+live).wants(t, 200, `id="diagnosis"`, "The run was lost: it was last seen at ")
	s.get("/lab/experiment/"+blank).wants(t, 200, "1 failed")
}

// TestWhyItFailed finds out why a run failed with one click on the page of its experiment, without
// scrolling.
func TestWhyItFailed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.troubled()
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	b.press(`#scroll a[href$="/iteration/` + w.diverged[2] + `"]`)
	b.is(`document.querySelector('h1').textContent`, "bad 2")
	b.is(`scrollY`, "0")
	b.is(`[...document.querySelectorAll('[data-testid="finding"]')].every((e) => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && r.height > 0 })`, "true")
	b.is(`[...document.querySelectorAll('[data-testid="finding"]')].map((e) => e.className)`, "end,bad_value,moved,parameter,alike")
	b.is(`document.querySelector('[data-testid="console-end"]').getBoundingClientRect().bottom <= innerHeight`, "true")
	b.is(`document.querySelector('[data-testid="chart"]').dataset.drawn`, "1")

	b.press(`[data-testid="to-console-line"]`)
	b.is(`document.querySelector('#console .here code').textContent.trim()`, "FloatingPointError: the loss is <nan>")
	b.press(`[data-testid="to-failures"]`)
	b.is(`document.querySelectorAll('[data-testid="failure-group"]').length`, "2")
	b.press(`[data-testid="failure-group"] a[href="/iteration/` + w.diverged[0] + `"]`)
	b.is(`document.querySelector('h1').textContent`, "bad 0")
	b.do(chromedp.Navigate(s.url + "/iteration/" + w.healthy))
	b.press(`[data-testid="explain"]`)
	b.is(`document.querySelector('[data-testid="nothing-unusual"]') !== null`, "true")
	b.quiet()
}
