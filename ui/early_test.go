package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/projects"
	"tracker/store/runs"
)

// TestEarlyCurves opens experiments with a preload link for the first curves. The scripts send the
// same request, so the browser requests these curves once.
func TestEarlyCurves(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	project := s.project("alice", "early", "", 0, 0)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	const early = `document.querySelectorAll('link[as="fetch"]').length`
	const asked = `performance.getEntriesByType('resource').filter((e) => e.name.includes('/data/curves')).length`
	drawn := func(n int) string {
		return fmt.Sprintf(`(([...all]) => all.length > 0 && all.every((f) => f.dataset.drawn === '%d'))(document.querySelectorAll('details[open] [data-testid="chart"]'))`, n)
	}
	for _, c := range []struct {
		name         string
		runs         int
		keys         []string
		query        string
		drawn        int
		early, asked int
	}{
		{"one run", 1, []string{"loss"}, "", 1, 1, 1},
		{"two metrics with odd names", 2, []string{`~*"'\ <é> & + %41`, "日本"}, "", 2, 1, 1},
		{"groups before others", 6, []string{"0", "/", "a-b", "a/0", "a0", "b/0"}, "", 6, 1, 1},
		{"groups that come last", 3, []string{"system/a", "system/b", "summary/a", "loss", "acc", "a/0", "b/0", "c/0"}, "", 3, 1, 1},
		{"more than are drawn", 12, []string{"loss", "acc"}, "", 10, 1, 1},
		{"more than a page of the table", 61, []string{"loss"}, "?top=61", 61, 1, 1},
		{"more curves than one request has", 90, []string{"a", "b", "c", "d", "e"}, "?top=90", 90, 1, 2},
		{"filtered and sorted", 4, []string{"loss"}, "?filter=name+!%3D+'run 0'&sort=name", 3, 1, 1},
		{"searched", 2, []string{"loss", "acc"}, "?m=lo", 2, 1, 1},
		{"without one of them", 3, []string{"loss"}, "?hide=none", 3, 0, 1},
		{"over time", 3, []string{"loss"}, "?x=time", 3, 0, 1},
	} {
		e := must(s.db.Projects.CreateExperiment(t.Context(), s.actor("alice"), project, projects.NewExperiment{Name: c.name}))(t)
		for i := range c.runs {
			id := s.run(e.ID, runs.NewIteration{Name: new(fmt.Sprint("run ", i))})
			for _, key := range c.keys {
				s.log(id, key, 2)
			}
		}
		b.do(chromedp.Navigate(s.url + "/lab/experiment/" + e.ID + c.query))
		b.is(drawn(c.drawn), "true")
		b.is(early, fmt.Sprint(c.early))
		b.is(asked, fmt.Sprint(c.asked))
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
	b.quiet()
}
