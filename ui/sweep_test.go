package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/wandb"
)

var sweepNumber atomic.Int64

// experimentOf returns the path of the experiment of a sweep.
func (s *site) experimentOf(id string) string {
	s.t.Helper()
	return "/experiment/" + must(s.db.Wandb.Sweep(s.t.Context(), domain.System, id))(s.t).ExperimentID
}

// search creates a sweep in a project and returns its id.
func (s *site) search(project, method string) string {
	s.t.Helper()
	config := "method: " + method + `
name: "a search ` + strings.Repeat("long", 30) + `"
metric: {name: loss, goal: minimize}
early_terminate: {type: hyperband, min_iter: 3}
parameters:
  lr: {values: [0.1, 0.2, "` + strings.Repeat("x", 200) + `"]}
  net: {parameters: {depth: {min: 1, max: 3}}}
`
	id := fmt.Sprintf("s%07d", sweepNumber.Add(1))
	_, err := s.db.Wandb.SaveSweep(s.t.Context(), domain.System, wandb.SweepChange{NewID: id, Project: project, Config: &config})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func TestSweep(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 1)
	id := s.search(w.project, "grid")
	path := s.experimentOf(id)
	ctx := t.Context()
	agent, err := s.db.Wandb.CreateAgent(ctx, domain.System, id, "agent")
	if err != nil {
		t.Fatal(err)
	}
	for i, loss := range []float64{0.5, 0.25, 0.75} {
		name := fmt.Sprintf("run-%d", i)
		commands, err := s.db.Wandb.Heartbeat(ctx, domain.System, agent, name, nil)
		if err != nil || len(commands) != 1 || commands[0].Type != "run" {
			t.Fatal(commands, err)
		}
		config := `{"lr":{"value":0.1},"net":{"value":{"depth":` + fmt.Sprint(i+1) + `}}}`
		run, err := s.db.Wandb.SaveRun(ctx, domain.System, wandb.Change{Project: w.project, Name: commands[0].Run, Config: &config, Sweep: &id})
		if err != nil {
			t.Fatal(err)
		}
		at := scalar.Step(0)
		if _, err := s.db.Runs.CreateMetric(ctx, domain.System, run.ID, points.Sample{Key: "loss", Value: scalar.Value(loss), Step: &at}); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Runs.UpdateIteration(ctx, domain.System, run.ID, runs.IterationPatch{Status: new(domain.Succeeded)}); err != nil {
			t.Fatal(err)
		}
	}
	s.get(path).wants(t, 200, "/sweeps\"", "Sweeps")
	s.get(path+"/sweeps").wants(t, 200, "/sweep/"+id, "Running", "3 of 9")
	page := "/sweep/" + id
	s.get(page).wants(t, 200, "minimize loss", "3 of 9", "run-1</bdi></a> with loss 0.25", "net.depth", "1 to 3", "<bdi>2</bdi>",
		"filter="+url.QueryEscape(`param.sweep = "`+id+`"`), "Pause", "the best 1/3 continue")
	s.get(page).wants(t, 200, "Best loss so far over 3 runs: 0.25, reached by run 2. 1 run since then has not improved it.", `data-testid="best-so-far"`,
		"analyse=1&amp;filter="+url.QueryEscape(`param.sweep = "`+id+`"`)+"&amp;goal=minimize&amp;metric=loss")
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+page))
	b.is(`document.querySelectorAll('#analyse-parallel canvas').length`, "1")
	b.is(`document.querySelector('[data-testid="analysis-summary"]').textContent.includes('3 runs')`, "true")
	b.is(`document.querySelector('#analyse select[name="metric"]').value`, "loss")
	b.quiet()

	s.post(page, url.Values{"state": {"PAUSED"}}).wants(t, 303)
	s.get(page).wants(t, 200, "Paused", "Resume")
	s.post(page, url.Values{"state": {"NONE"}}).wants(t, 422)
	s.get("/sweep/none").wants(t, 404)
}

// TestSweepWithoutName checks that a sweep without a name is shown by its id.
func TestSweepWithoutName(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	config := "method: random\nparameters: {lr: {min: 0.1, max: 0.2}}\n"
	_, err := s.db.Wandb.SaveSweep(t.Context(), domain.System, wandb.SweepChange{NewID: "nameless", Project: "p", Config: &config})
	if err != nil {
		t.Fatal(err)
	}
	s.get("/sweep/nameless").wants(t, 200, "<h1><bdi>nameless</bdi></h1>")
}
