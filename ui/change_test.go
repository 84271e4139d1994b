package ui_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/files"
	"tracker/store/runs"
)

// Before a deletion, the page lists the records to delete and the records to keep.
func TestDeletionSaysWhatGoes(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.sweep(4, 2)
	s.run(w.experiment, runs.NewIteration{ParentIterationID: &w.runs[0]})
	s.run(w.experiment, runs.NewIteration{ParentIterationID: &w.runs[3]})
	for _, content := range []string{"one", strings.Repeat("x", 2045)} {
		s.keep(w.experiment, files.NewArtifact{Name: "a", IterationID: w.runs[1]}, content)
	}
	weights := s.keep(w.experiment, files.NewArtifact{Name: "weights", IterationID: w.runs[3]}, "weights")
	model, _ := s.register(w.project, w.runs[2], weights)

	page := "/lab/delete?i=" + strings.Join(w.runs[:2], "&i=")
	a := s.get(page)
	a.wants(t, 200, "Delete 2 runs?", "(4 points), tags, notes and environment, and 2 artifacts (2.0 KiB). They are moved to the trash and can be restored for 30 days. One child run is kept, without a parent.",
		`<a href="/lab/project/`+w.project+`"><bdi>digits</bdi></a>`)
	a.lacks(t, `data-testid="stays"`)
	s.get("/lab/delete?i="+w.runs[0]).wants(t, 200, "This also deletes its parameters", `href="/lab/iteration/`+w.runs[0]+`"`)

	// A model version prevents the deletion of two runs: one is the source of the version, and the
	// other has its artifact.
	s.get("/lab/delete?i="+w.runs[2]).wants(t, 200, "This run can&#39;t be deleted", `href="/lab/model/`+model+`"`)
	s.get("/lab/delete?i="+w.runs[0]+"&i="+w.runs[2]).wants(t, 200, "Delete 1 of 2 runs?", "This also deletes the parameters, metrics (2 points), tags, notes and environment of run 1")
	page = "/lab/delete?i=" + strings.Join(w.runs, "&i=")
	a = s.get(page)
	a.wants(t, 200, "Delete 2 of 4 runs?", "This also deletes their", "(4 points)", "2 runs can&#39;t be deleted", `href="/lab/model/`+model+`"`, "One child run is kept, without a parent")
	if n := strings.Count(a.body, `name="i"`); n != 2 {
		t.Errorf("the form is about %d runs", n)
	}

	// If one of the runs has become the source of a version in the meantime, none of the runs is
	// deleted.
	a = s.post("/lab/delete", url.Values{"i": w.runs})
	a.wants(t, 409, "Nothing was deleted.", "model classifier, version 1", `role="alert"`, "<bdi>run 1</bdi>", "Delete 2 of 4 runs?")
	s.get("/lab/experiment/"+w.experiment).wants(t, 200, `data-testid="total">6<`)
	s.post("/lab/delete", url.Values{"i": w.runs[:2]}).deletes(t, "/lab/experiment/"+w.experiment, w.runs[:2]...)
	s.get("/lab/experiment/"+w.experiment).wants(t, 200, `data-testid="total">4<`)
}

// If some runs can't get a status, the status of no run changes.
func TestChangeAllOrNone(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 0)
	s.post("/change", url.Values{"i": w.runs[1:2], "do": {"status"}, "status": {"FAILED"}}).redirects(t, "/iteration/"+w.runs[1])
	s.post("/change", url.Values{"i": w.runs, "do": {"status"}, "status": {"KILLED"}}).
		wants(t, 422, "run 2 has already ended. Reopen it first. Nothing was changed.")
	s.get("/experiment/"+w.experiment+"?filter=status+%3D+'running'").wants(t, 200, `data-testid="total">2<`)
}

// Pages about selected runs link back only to the table in which they were selected.
func TestBackToTheTable(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.sweep(2, 1)
	table := `filter=param.lr+%3C+0.25&sort=name&columns=param.lr`
	at := "/lab/experiment/" + w.experiment
	both := "i=" + w.runs[0] + "&i=" + w.runs[1]
	for _, page := range []string{"/lab/delete?", "/lab/change?"} {
		a := s.get(page + both + "&table=" + url.QueryEscape(table))
		kept := find(a.body, `href="([^"]*)" data-testid="(?:keep|back)"`)
		if want := at + "?" + table + "&pick=" + w.runs[0] + "+" + w.runs[1]; kept != want {
			t.Errorf("%s leads back to %s, not %s", page, kept, want)
		}
		if hidden := find(a.body, `name="table" value="([^"]*)"`); hidden != table {
			t.Errorf("%s keeps %q", page, hidden)
		}
		for _, evil := range []string{"//evil.example/", "https://evil.example/?a=b", "\r\nX-Evil: 1", "#x", `\\evil.example`} {
			kept := find(s.get(page+both+"&table="+url.QueryEscape(evil)).body, `href="([^"]*)" data-testid="(?:keep|back)"`)
			if !strings.HasPrefix(kept, at+"?") || strings.ContainsAny(kept, "\r\n#") {
				t.Errorf("%s leads to %q", page, kept)
			}
		}
	}
	s.post("/lab/change", url.Values{"i": w.runs[:1], "do": {"add"}, "tag": {"best"}, "table": {table}}).
		redirects(t, at+"?"+table+"&pick="+w.runs[0])
	s.post("/lab/change", url.Values{"i": w.runs[:1], "do": {"add"}, "tag": {" "}, "table": {table}}).
		wants(t, 422, "The tag must not be empty.", `name="table"`)
	s.post("/lab/delete", url.Values{"i": w.runs[:1], "table": {table}}).deletes(t, at+"?"+table, w.runs[:1]...)
	s.post("/lab/delete", url.Values{"i": w.runs[1:], "table": {""}}).deletes(t, at, w.runs[1:]...)
}

// Errors use the words of the page.
func TestWrongTag(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	long := strings.Repeat("z", 251)
	s.post("/iteration/"+w.runs[0]+"/tag", url.Values{"tag": {long}}).wants(t, 422, ">The tag must have at most 250 characters.<", long)
	s.do("POST", "/data/tags", strings.NewReader(`{"iterations": ["`+w.runs[0]+`"], "value": " ", "attach": true}`),
		header("Content-Type", "application/json")).wants(t, 422, "The tag must not be empty.")
}

func TestBreadcrumbs(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(2, 0)
	both := "?i=" + w.runs[0] + "&i=" + w.runs[1]
	for _, page := range []string{"/compare", "/delete", "/change"} {
		s.get(page+both).wants(t, 200, `<a href="/project/`+w.project+`"><bdi>digits</bdi></a></li><li><a href="/experiment/`+w.experiment+`"><bdi>sweep</bdi></a></li>`)
	}
}

// TestTableStays checks that a table keeps its filter and order after runs were deleted.
func TestTableStays(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(4, 1)
	b := s.openBrowser(t)
	at := "/lab/experiment/" + w.experiment + "?filter=param.lr+%3C+0.35&sort=name"
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+at))
	b.is(rows, "3")
	for _, id := range w.runs[1:3] {
		b.click(`tr[data-id="` + id + `"] input`)
	}
	chosen := `document.querySelector('#selected .count').textContent + document.querySelectorAll('tr.picked').length`
	b.is(chosen, "2 selected2")
	b.click(`[data-testid="do-delete"]`)
	b.press(`[data-testid="keep"]`)
	b.is(rows, "3")
	b.is(chosen, "2 selected2")
	b.at(at)
	b.click(`[data-testid="do-status"]`)
	b.press(`button[value="status"]`)
	b.is(rows, "3")
	b.is(chosen, "2 selected2")
	b.is(`document.querySelectorAll('tr.picked .killed').length`, "2")
	b.at(at)
	b.click(`[data-testid="do-delete"]`)
	b.press(`[data-testid="confirm"]`)
	b.is(rows, "1")
	b.is(`(location.pathname + location.search).replace(/&deleted=[^&]*$/, '')`, at)
	b.quiet()
}
