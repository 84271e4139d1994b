package ui_test

import (
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
)

func TestIterationPageShowsDatasets(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	page := "/iteration/" + w.runs[0]
	s.get(page).lacks(t, `data-testid="datasets"`)
	err := s.db.Runs.LogIteration(t.Context(), domain.System, w.runs[0], runs.IterationLog{Datasets: []runs.DatasetUse{
		{Name: "digits <b>", Digest: "ff856c68", SourceType: "code", Source: "train.py", Context: new("training")},
		{Name: "held out", Digest: "0a1b", SourceType: "local", Source: "x.csv"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.get(page).wants(t, 200, `data-testid="datasets"`, "<bdi>digits &lt;b&gt;</bdi>", "<bdi>training</bdi>", "ff856c68", "<bdi>held out</bdi>")
	s.get(page).lacks(t, "train.py", "x.csv")
}
