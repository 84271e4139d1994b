package runs_test

import (
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestBareNames searches with names of parameters and metrics without their kind. Their kind
// depends on the experiment.
func TestBareNames(t *testing.T) {
	b := newBed(t)
	for _, lr := range []string{"0.1", "0.2"} {
		id := b.NewIteration(t)
		must(b.Runs.CreateParameter(ctx, domain.System, id, "lr", scalar.Text(lr)))(t)
		must(b.Runs.CreateParameter(ctx, domain.System, id, "both", scalar.Text("1")))(t)
		b.Log(t, "val/loss", 1, 3)
		b.Log(t, "both", 1, 3)
		b.Log(t, "val/loss", 2, 4)
	}
	other := must(b.Projects.CreateExperiment(ctx, domain.System, b.Project, projects.NewExperiment{Name: "other"}))(t).ID
	for where, want := range map[string]any{
		"lr < 0.15":                          1,
		"lr < 0.15 or lr = 0.2":              2,
		"val/loss.min < 3.5":                 1,
		"val/loss < 3.5":                     0,
		"val/loss > 3.5 or not val/loss = 4": 3,
		"created > 2 weeks and lr ~ '0.'":    2,
		"both = 1":                           "both is a parameter and a metric; write param.both or metric.both",
		"lr = 1 and lrr = 1":                 `wrong at character 12: "lrr" is not known`,
		"val/loss ~ 'x'":                     "contains works with text only",
	} {
		check := func(surface string, n int, err error) {
			t.Helper()
			message, refused := want.(string)
			switch {
			case refused && (err == nil || !strings.Contains(err.Error(), message)):
				t.Errorf("%s, %s: %v, want %s", surface, where, err, message)
			case !refused && (err != nil || n != want):
				t.Errorf("%s, %s: %d, %v; want %v", surface, where, n, err, want)
			}
		}
		q := runs.IterationQuery{Page: domain.FirstPage, Filter: where}
		list, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, q)
		check("Iterations", list.Total, err)
		_, err = b.Runs.Iterations(ctx, domain.System, other, q)
		wantCode(t, err, domain.CodeInvalidPayload) // the names are unknown there
		n := 0
		err = b.Runs.WalkIterations(ctx, domain.System, b.Experiment, q, func(part []runs.Iteration) error { n += len(part); return nil })
		check("WalkIterations", n, err)
		wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
			list, err := v.Runs.ProjectIterations(b.Project, q)
			check("ProjectIterations", list.Total, err)
			a, err := v.Runs.Analysis(runs.AnalysisQuery{ExperimentID: b.Experiment, Filter: where})
			check("Analysis", a.Total, err)
			groups, err := v.Runs.Groups(b.Experiment, runs.GroupQuery{Page: domain.FirstPage, By: "param.lr", Filter: where})
			check("Groups", groups.Total, err)
			_, err = v.Runs.ImportanceInput(runs.ImportanceQuery{ExperimentID: b.Experiment, Filter: where, Target: "metric.both"})
			if _, refused := want.(string); refused != (err != nil) {
				t.Errorf("ImportanceInput, %s: %v", where, err)
			}
			unknown, err := v.Runs.UnknownNames(b.Experiment, where)
			if _, refused := want.(string); refused != (err != nil) || len(unknown) > 0 {
				t.Errorf("UnknownNames, %s: %v, %v", where, unknown, err)
			}
			return nil
		}))
	}
	// Rights are checked before the names of an experiment are read.
	_, err := b.Runs.Iterations(ctx, domain.Actor{UserID: "nobody"}, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Filter: "lr < 1"})
	if err == nil || strings.Contains(err.Error(), "lr") {
		t.Errorf("another account: %v", err)
	}
}
