package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

// Pages of very large records show a part of the records and a note.
func TestPagesOfLargeRecords(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(2, 1)
	actor := s.actor("alice")
	var all []points.Sample
	for n := range 6000 {
		all = append(all, points.Sample{Key: fmt.Sprintf("m%04d", n), Value: 1})
	}
	if err := s.db.Runs.CreateMetrics(t.Context(), actor, w.runs[0], all); err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		if _, err := s.db.Runs.CreateParameter(t.Context(), actor, w.runs[0], fmt.Sprintf("big%02d", n), scalar.Text(strings.Repeat("<", domain.MaxText))); err != nil {
			t.Fatal(err)
		}
	}
	const most = 16 << 20
	for path, texts := range map[string][]string{
		"/lab/iteration/" + w.runs[0]:                                 {"The first 5,000 of 6,001; the API returns all.", "The first 32 of 41; the API returns all.", "… (1.0 MiB; the API returns all of it)"},
		"/lab/compare?i=" + w.runs[0] + "&i=" + w.runs[1]:             {"The first 32 of 41; the API returns all.", "… (1.0 MiB; the API returns all of it)"},
		"/lab/experiment/" + w.experiment + "?columns=param.big00":    {strings.Repeat(`\u003c`, 1000) + "…"},
		"/lab/data/compare?i=" + w.runs[0] + "&i=" + w.runs[1]:        {"…"},
		"/lab/delete?i=" + w.runs[0] + "&i=" + w.runs[1]:              {"Delete 2 runs?"},
		"/lab/change?i=" + w.runs[0] + "&i=" + w.runs[1] + "&tag=one": {"run 1"},
	} {
		a := s.get(path)
		if a.StatusCode != 200 || len(a.body) > most {
			t.Errorf("%s: %s, %d bytes", path, a.Status, len(a.body))
		}
		for _, text := range texts {
			if !strings.Contains(a.body, text) {
				t.Errorf("%s has no %.80q", path, text)
			}
		}
	}
}
