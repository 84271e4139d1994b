package runs_test

import (
	"fmt"
	"slices"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// An analysis reads parameters and metrics as columns, in the order of the query. A run without a
// value has nil, also for a parameter that has the same value in all runs.
func TestAnalysisColumns(t *testing.T) {
	b := newBed(t)
	for i, lr := range []string{"0.1", "", "0.1"} {
		id := b.NewIteration(t)
		if lr != "" {
			must(b.Runs.CreateParameter(ctx, domain.System, id, "lr", scalar.Text(lr)))(t)
		}
		if i < 2 {
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: scalar.Value(i)}))(t)
		}
	}
	wantOK(t, b.View(ctx, domain.System, func(v *store.View) error {
		a, err := v.Runs.Analysis(runs.AnalysisQuery{ExperimentID: b.Experiment, Columns: "param.lr, metric.loss, metric.loss.mean"})
		if err != nil {
			return err
		}
		if a.Metrics[0] != nil || a.Texts[1] != nil || a.Texts[2] != nil {
			t.Errorf("%v and %v", a.Metrics, a.Texts)
		}
		var rows []string
		for i := range a.Nums {
			row := "none"
			if lr := a.Texts[0][i]; lr != nil {
				row = *lr
			}
			for _, m := range a.Metrics[1:] {
				if m[i] == nil {
					row += " none"
				} else {
					row += " " + m[i].String()
				}
			}
			rows = append(rows, row)
		}
		slices.Sort(rows) // one run of newBed, and runs of the same age
		if got := fmt.Sprint(rows); got != "[0.1 0 0 0.1 none none none 1 1 none none none]" {
			t.Errorf("the rows are %s", got)
		}
		_, err = v.Runs.Analysis(runs.AnalysisQuery{ExperimentID: b.Experiment, Columns: "param."})
		wantCode(t, err, domain.CodeInvalidPayload)
		return nil
	}))
}
