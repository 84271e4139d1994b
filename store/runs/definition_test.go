package runs_test

import (
	"fmt"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/scalar"
)

func TestDefinitionOf(t *testing.T) {
	all := runs.Definitions{"*": {StepMetric: "step"}, "eval/*": {StepMetric: "epoch"}, "eval/loss": {Goal: goal.Minimize}, "step": {Hidden: true}}
	for metric, want := range map[string]runs.Definition{
		"loss": {StepMetric: "step"}, "eval/acc": {StepMetric: "epoch"}, "eval/loss": {Goal: goal.Minimize}, "step": {Hidden: true},
		"system/cpu": {},
	} {
		if got := all.Of(metric); got != want {
			t.Errorf("%s: %+v, want %+v", metric, got, want)
		}
	}
	// No metric is its own step metric.
	if got := (runs.Definitions{"*": {StepMetric: "step"}}).Of("step"); got != (runs.Definition{}) {
		t.Errorf("the step metric: %+v", got)
	}
}

// TestDefinitions sets definitions of metrics and reads them for a run and for its experiment.
func TestDefinitions(t *testing.T) {
	b := newBed(t)
	define := func(id string, d runs.Definition, pattern string) {
		t.Helper()
		wantOK(t, b.Runs.SetProperties(ctx, domain.System, runs.IterationProperty, id, []domain.Property{d.Property(pattern)}))
	}
	old := b.run(t, nil, map[string]float64{"eval/loss": 1, "epoch": 1})
	define(old, runs.Definition{StepMetric: "step"}, "eval/*")
	define(old, runs.Definition{Hidden: true}, "epoch")
	id := b.run(t, nil, map[string]float64{"eval/loss": 1, "epoch": 1, "reward": 2})
	define(id, runs.Definition{StepMetric: "epoch"}, "eval/*")
	all := must(b.Runs.Definitions(ctx, domain.System, b.Experiment))(t)
	if got := fmt.Sprint(all); got != "map[epoch:{ true } eval/*:{epoch false }]" {
		t.Errorf("the experiment has %s", got)
	}
	summary := must(b.Runs.Summary(ctx, domain.System, id))(t)
	if got := fmt.Sprint(summary.Definitions); got != "map[eval/loss:{epoch false }]" {
		t.Errorf("the run has %s", got)
	}
	// A goal makes the metric the objective.
	objective := func() string {
		t.Helper()
		var text string
		wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
			e, err := v.Projects.Experiment(b.Experiment)
			if err != nil {
				return err
			}
			o, err := v.Projects.Objective(e)
			text = fmt.Sprint(o)
			return err
		}))
		return text
	}
	if got := objective(); got != "minimize eval/loss" {
		t.Errorf("the guessed objective is %s", got)
	}
	define(id, runs.Definition{Goal: goal.Maximize}, "reward")
	if got := objective(); got != "maximize reward" {
		t.Errorf("the objective is %s", got)
	}
	for _, value := range []string{"", "[]", `{"step":"epoch"}`, `{"goal":"best"}`, `{"step_metric":1}`} {
		p := domain.Property{Key: scalar.DefinitionPrefix + "loss", Value: value}
		wantCode(t, b.Runs.SetProperties(ctx, domain.System, runs.IterationProperty, id, []domain.Property{p}), domain.CodeInvalidPayload)
		wantCode(t, b.Runs.LogIteration(ctx, domain.System, id, runs.IterationLog{Properties: []domain.Property{p}}), domain.CodeInvalidPayload)
	}
}
