package ui_test

import (
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestSummaryTexts checks that texts of summaries are on the page of a run, in the table, in groups
// and in the file of a table.
func TestSummaryTexts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 0)
	texts := []domain.Property{runs.TextProperty("best_ckpt", "ckpt-3"), runs.TextProperty("phase", "main"), runs.TextProperty("ok", scalar.SummaryText("true"))}
	if err := s.db.Runs.SetProperties(t.Context(), domain.System, runs.IterationProperty, w.runs[0], texts); err != nil {
		t.Fatal(err)
	}
	other := []domain.Property{runs.TextProperty("phase", "warm-up")}
	if err := s.db.Runs.SetProperties(t.Context(), domain.System, runs.IterationProperty, w.runs[1], other); err != nil {
		t.Fatal(err)
	}
	s.get("/iteration/"+w.runs[0]).wants(t, 200, `data-testid="summary"`, "best_ckpt", "ckpt-3", "phase", "main")
	data := "/data/experiment/" + w.experiment
	s.get(data+"/iterations?columns=summary.phase,+summary.ok&filter=summary.ok+%3D+%27true%27").wants(t, 200, `"summary":{"ok":true,"phase":"main"}`)
	s.get(data+"/keys?kind=summary").wants(t, 200, `"key":"best_ckpt"`)
	s.get(data+"/varying").wants(t, 200, `"texts":["phase"]`)
	s.get(data+"/values?summary=phase&q=ai").wants(t, 200, `"value":"main"`)
	s.get(data+"/groups?group=summary.phase").wants(t, 200, `"main"`)
	s.get("/experiment/"+w.experiment+"/runs.csv?columns=summary.phase").wants(t, 200, "main")
}
