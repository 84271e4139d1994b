package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tracker/store/domain"
	"tracker/store/projects"
)

// consoleEvery is the number of steps between two console lines.
const consoleEvery = 20

// traceback returns the lines that Python prints before the message of an exception.
func (r run) traceback() []string {
	script := "/home/ada/work/train.py"
	for _, word := range strings.Fields(r.command) {
		if strings.HasSuffix(word, ".py") {
			script = "/home/ada/work/" + word
		}
	}
	function, code := "check", "raise FloatingPointError(\"the loss is nan\")"
	if strings.HasPrefix(r.message, "MemoryError") {
		function, code = "histograms", "bins = np.empty((rows, columns, 256))"
	}
	return []string{
		"Traceback (most recent call last):",
		"  File \"" + script + "\", line 118, in <module>",
		"    main()",
		"  File \"" + script + "\", line 97, in main",
		"    fit(model, data, steps)",
		"  File \"" + script + "\", line 64, in " + function,
		"    " + code,
	}
}

// printed returns the console lines of a run: progress with the first two metrics, a warning when
// the gradients grow, and the error message. The last line of a running run is a progress bar.
func (r run) printed() []string {
	lines := []string{"$ " + r.command, "Loading data ... \x1b[32mok\x1b[0m", fmt.Sprintf("Training for %d steps on 2 devices", r.steps)}
	for step := consoleEvery - 1; step < r.steps; step += consoleEvery {
		line := fmt.Sprintf("step %5d/%d", step+1, r.steps)
		for _, c := range r.curves[:min(2, len(r.curves))] {
			line += fmt.Sprintf("  %s %.4f", c.key, c.at(float64(step)))
		}
		lines = append(lines, line)
		for _, c := range r.curves {
			if c.key == "train/grad_norm" && step > 200 && c.at(float64(step)) > 2 {
				lines = append(lines, "\x1b[33mWARNING\x1b[0m gradients are clipped")
			}
		}
	}
	switch r.status {
	case domain.Running:
		lines = append(lines, "\x1b[36mepoch 2\x1b[0m:  60%|######    | 312/520 [04:18<02:51, 1.21it/s]")
	case domain.Failed:
		lines = append(lines, r.traceback()...)
		lines = append(lines, "\x1b[1;31m"+r.message+"\x1b[0m")
	default:
		lines = append(lines, "\x1b[32mFinished.\x1b[0m Weights are in checkpoints/last.pt")
	}
	return lines
}

// print writes the console lines of a run. It does nothing if the run has no command.
func (w *writer) print(ctx context.Context, id string, r run) error {
	if r.command == "" {
		return nil
	}
	from := int64(0)
	_, err := w.db.Runs.WriteConsole(ctx, w.actor, id, &from, r.printed())
	return err
}

// report is a text page about the runs of a project.
type report struct{ name, text string }

// createReports creates the reports of a project with a creation time one hour ago.
func (w *writer) createReports(ctx context.Context, projectID string, reports []report) error {
	w.clock.set(w.now.Add(-time.Hour))
	for _, r := range reports {
		if _, err := w.db.Projects.CreateReport(ctx, w.actor, projectID, projects.NewReport{Name: r.name, Text: r.text}); err != nil {
			return err
		}
	}
	return nil
}

const learningRates = `A learning rate of **0.001** is best. 0.01 diverges after 620 steps, and its loss is NaN from step 704 on.

` + "```chart" + `
experiment: Pre-training
metrics: val/loss, train/loss
filter: not tag = 'diverged'
caption: Loss on held-out books, and on the training books
` + "```" + `

Six rates were tried, each with a warm-up of 125 steps:

` + "```table" + `
experiment: Pre-training
columns: param.lr, metric.val/loss.min, metric.val/perplexity.min, metric.tokens_per_second.mean
` + "```" + `

## What is next

- [x] Choose the rate
- [ ] Two more seeds for 0.001
- [ ] A longer run
`
