package ui_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// largeSweep creates an experiment with 300 runs: five seeds of each of four methods with 15
// learning rates. The four runs with the highest rate and the last seed fail.
func (s *site) largeSweep(t *testing.T) (project, experiment string) {
	t.Helper()
	ctx := t.Context()
	w := s.sweep(0, 0)
	if err := s.db.Projects.UpdateExperiment(ctx, domain.System, w.experiment, projects.ExperimentPatch{Objective: new("")}); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		method, rate, seed := []string{"plain", "cosine", "warmup", "cyclic"}[i%4], i/4%15, i/60
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprintf("%s %d.%d", method, rate, seed))})
		lr := fmt.Sprintf("%.3g", 0.0001*float64(1+rate*rate))
		for key, value := range map[string]string{"method": method, "lr": lr, "seed": fmt.Sprint(seed)} {
			must(s.db.Runs.CreateParameter(ctx, domain.System, id, key, scalar.Text(value)))(t)
		}
		if rate == 14 && seed == 4 {
			s.print(id, 0, "epoch 1", "Traceback (most recent call last):", `  File "/home/ada/train.py", line 41, in step`, "    check(loss)", "ValueError: the loss is not finite")
			if err := s.db.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: new(domain.Failed), ErrorMessage: new("exit code 1")}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var samples []points.Sample
		for step := range 4 {
			loss := 0.2 + 0.01*float64((rate-5)*(rate-5)) + 0.1*float64(i%4) + 0.002*float64((seed*7+rate)%5) + 1/float64(1+step)
			samples = append(samples, points.Sample{Key: "val/loss", Step: new(scalar.Step(step)), Value: scalar.Value(loss)},
				points.Sample{Key: "train/loss", Step: new(scalar.Step(step)), Value: scalar.Value(loss / 2)})
		}
		if err := s.db.Runs.CreateMetrics(ctx, domain.System, id, samples); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Runs.UpdateIteration(ctx, domain.System, id, runs.IterationPatch{Status: new(domain.Succeeded)}); err != nil {
			t.Fatal(err)
		}
		s.clock.move(time.Second)
	}
	return s.projectOf(w.experiment), w.experiment
}

// TestClicks counts the clicks from the page of an experiment with 300 runs to six answers, in a
// window of 1280 × 800 pixels. Each click is on an element in the window, and the answer is visible
// without scrolling.
func TestClicks(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	project, experiment := s.largeSweep(t)
	s.report(project, "Findings", "# Found\n")
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	clicks := 0
	click := func(selector string) {
		t.Helper()
		b.is(`(() => {
			const all = document.querySelectorAll(`+strconv.Quote(selector)+`), r = all[0].getBoundingClientRect();
			const hit = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
			return all.length + ' ' + (r.height > 0 && r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth && all[0].contains(hit));
		})()`, "1 true")
		b.press(selector)
		clicks++
	}
	begin := func() {
		t.Helper()
		b.do(chromedp.Navigate(s.url + "/experiment/" + experiment))
		b.is(`document.querySelector('[data-testid="total"]').textContent`, "300")
		b.is(`document.querySelector('[data-testid="chart"]')?.dataset.drawn > 0`, "true")
		clicks = 0
	}
	took := func(want int) {
		t.Helper()
		b.is(`scrollY`, "0")
		if clicks != want {
			t.Errorf("%d clicks, want %d", clicks, want)
		}
		clicks = 0
	}
	shown := func(selector string) {
		t.Helper()
		b.is(`document.querySelector(`+strconv.Quote(selector)+`) !== null && `+visible(selector), "true")
	}

	// The best run with its parameters.
	begin()
	click(`[data-testid="best"]`)
	b.is(`document.querySelectorAll('#params tbody tr').length`, "3")
	shown("#params tbody tr")
	took(1)

	// A picture of the parameters that matter.
	begin()
	click(`[data-testid="show-analyse"]`)
	b.is(`document.querySelector('[data-testid="parameter"] .name').textContent`, "lr")
	shown(`[data-testid="parameter"]:first-of-type [data-testid="fit"]`)
	took(1)

	// The reason why runs failed.
	begin()
	click(`[data-testid="failures-link"]`)
	b.is(`document.querySelectorAll('[data-testid="failure-group"]').length`, "1")
	b.is(`document.querySelector('[data-testid="failure-group"]').textContent.includes('ValueError: the loss is not finite')`, "true")
	shown(`[data-testid="failure-group"] h2`)
	took(1)

	// The changes between a run and the best run.
	begin()
	click(`#table tbody tr:nth-child(3 of [data-id]) input`)
	click(`[data-testid="do-compare-with-best"]`)
	shown(`[data-testid="sentence"]`)
	took(2)

	// The methods, each with a band over its seeds.
	begin()
	click(`[data-testid="group-by"]`)
	b.is(`document.querySelector('[data-testid="pick"] li bdi')?.textContent`, "All but seed")
	click(`[data-testid="pick"] li:first-child button`)
	b.is(`new URLSearchParams(location.search).get('group')`, "param.lr, param.method")
	b.is(`document.querySelector('#table tbody tr.group') !== null`, "true")
	b.is(`document.querySelector('.charts').textContent.includes('the band around it is ± one standard deviation')`, "true")
	b.is(`document.querySelector('`+chart("val/loss")+`')?.dataset.drawn`, "10")
	shown(chart("val/loss"))
	// The decimal points of means and deviations are aligned.
	b.is(`[...document.querySelectorAll('#table tbody tr.group td.number:nth-of-type(1)')].every((td, i, all) => {
		const digits = (e) => e.textContent.match(/^\d+\.(\d+) ± \d+\.(\d+) n=\d$/)?.slice(1).map((text) => text.length).join();
		return digits(td) && digits(td) === digits(all[0]);
	})`, "true")
	took(2)

	// A figure of the methods in a report.
	click(`[aria-label="Report: val/loss"]`)
	click(`[aria-label="Add to Findings"]`)
	b.is(`document.querySelector('[data-testid="report-said"]').textContent`, "Added at the end of Findings.")
	took(2)
	href := b.text(`document.querySelector('[data-testid="to-report"]').getAttribute('href')`)
	r := must(s.db.Projects.Report(t.Context(), domain.System, href[strings.LastIndex(href, "/")+1:]))(t)
	if want := "metrics: val/loss\ngroup: param.lr, param.method\n"; !strings.Contains(r.Text, want) {
		t.Errorf("%q lacks %q", r.Text, want)
	}
	b.quiet()
}
