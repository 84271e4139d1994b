package ui_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/store/projects"
	"tracker/store/runs"
)

// Every record that is deleted on a page is in the trash, and the button on the next page restores it.
func TestUndo(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	alone, err := s.db.Projects.CreateExperiment(t.Context(), s.actor("alice"), h.project, projects.NewExperiment{Name: bad})
	if err != nil {
		t.Fatal(err)
	}
	runs := []string{s.run(alone.ID, runs.NewIteration{}), s.run(alone.ID, runs.NewIteration{})}
	remove := url.Values{"do": {"delete"}}
	table := "/experiment/" + alone.ID
	for _, d := range []struct {
		action   string
		fields   url.Values
		to       string // page after the deletion
		ids      []string
		says     string
		restored string // where Undo leads
	}{
		{"/modelversion/" + h.versions[0], remove, "/model/" + h.model, h.versions[:1], "Deleted the version ", "/model/" + h.model},
		{"/model/" + h.model + "/delete", nil, "/project/" + h.project + "/models", []string{h.model}, "Deleted the model classifier.", "/model/" + h.model},
		{"/artifact/" + h.artifacts["report.md"] + "/delete", nil, "/experiment/" + h.experiment + "/artifacts",
			[]string{h.artifacts["report.md"]}, "Deleted the artifact report.md.", "/artifact/" + h.artifacts["report.md"]},
		{"/delete", url.Values{"i": runs[:1]}, table, runs[:1], "Deleted the run ", "/iteration/" + runs[0]},
		{"/delete", url.Values{"i": runs}, table, runs, "Deleted 2 runs.", table},
		{table + "/settings", remove, "/project/" + h.project, []string{alone.ID}, "Deleted the experiment &lt;script&gt;", table},
		{"/project/" + h.project + "/settings", remove, "/", []string{h.project}, "Deleted the project digits.", "/project/" + h.project},
	} {
		fields := d.fields
		if fields == nil {
			fields = url.Values{"x": {"y"}}
		}
		place := d.to + "?" + url.Values{"deleted": {strings.Join(d.ids, " ")}}.Encode()
		s.post(d.action, fields).redirects(t, place)
		page := s.get(place)
		page.wants(t, 200, d.says, `data-testid="undo"`)
		page.lacks(t, "<script>window", "<img src=x")
		for _, id := range d.ids {
			page.hidden(t, "/trash", id)
			s.get("/trash").wants(t, 200, id)
		}
		s.get("/trash").lacks(t, "<script>window", "<img src=x")
		s.post("/trash", url.Values{"do": {"restore"}, "id": d.ids}).redirects(t, d.restored)
		s.get(d.restored).wants(t, 200)
		s.get(place).lacks(t, `data-testid="undo"`)
		s.get("/trash").wants(t, 200, `data-testid="nothing"`)
	}
}

// Undo leads back to the table, in the same state as before the deletion.
func TestUndoKeepsTheTable(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(3, 1)
	page, runs := "/experiment/"+w.experiment, url.Values{"i": w.runs[:2]}
	table := url.Values{"filter": {"param.lr < 1"}, "sort": {"name"}}.Encode()
	runs.Set("table", table)
	place := s.post("/delete", runs).Header.Get("Location")
	found := regexp.MustCompile(`name="table" value="([^"]*)"`).FindStringSubmatch(s.get(place).body)
	if found == nil || html.UnescapeString(found[1]) != table {
		t.Fatalf("the offer at %s has the table %q", place, found)
	}
	s.post("/trash", url.Values{"do": {"restore"}, "id": w.runs[:2], "table": {table}}).redirects(t, page+"?"+table)
}

// The trash page can restore and purge records. If a record can't be restored or purged, the page
// shows the reason.
func TestTrashPage(t *testing.T) {
	s := start(t, setup{})
	p := s.sweep(3, 2)
	s.get("/").wants(t, 200, `href="/trash"`)
	s.get("/experiment/"+p.experiment+"/settings").wants(t, 200, "It is moved to the trash and can be restored for 30 days.")
	s.get("/delete?i="+p.runs[0]).wants(t, 200, "restored for 30 days.")
	for _, run := range p.runs[:2] {
		s.post("/delete", url.Values{"i": {run}})
	}
	s.get("/trash?project="+p.project).wants(t, 200, "Trash of <bdi>", p.runs[0], p.runs[1])
	s.get("/trash?project="+p.experiment).wants(t, 200, `data-testid="nothing"`)
	s.post("/trash", url.Values{"do": {"purge"}, "id": {p.runs[0]}, "project": {p.project}}).redirects(t, "/trash?project="+p.project)
	s.get("/trash").lacks(t, p.runs[0])
	s.post("/trash", url.Values{"do": {"restore"}, "id": {p.runs[0]}}).wants(t, 404)

	s.post("/experiment/"+p.experiment+"/settings", url.Values{"do": {"delete"}})
	s.get("/trash").wants(t, 200, `data-testid="held"`, "Its experiment is in the trash too. Restore that first.", "1 run")
	s.post("/trash", url.Values{"do": {"restore"}, "id": {p.runs[1]}}).wants(t, 409, `data-testid="wrong-trash"`, "Nothing was restored.")
	s.post("/trash", url.Values{"do": {"burn"}, "id": {p.runs[1]}}).wants(t, 400)
	s.post("/trash", url.Values{"do": {"restore"}}).wants(t, 400)
	s.post("/trash", url.Values{"do": {"restore"}, "id": {p.experiment}}).redirects(t, "/experiment/"+p.experiment)
	s.get("/experiment/"+p.experiment).wants(t, 200)
}

// When an admin empties the trash, only records that the page has shown are purged.
func TestEmptyTrash(t *testing.T) {
	s := start(t, setup{})
	p := s.sweep(3, 2)
	s.get("/trash").lacks(t, `data-testid="empty"`)
	s.post("/delete", url.Values{"i": {p.runs[0]}})
	page := s.get("/trash")
	page.wants(t, 200, `data-testid="empty"`, "Everything in the trash (1 record) will be deleted permanently")
	s.get("/trash?project="+p.project).lacks(t, `data-testid="empty"`)
	until := page.hidden(t, "/trash", "until").Get("until")
	s.clock.move(time.Second)
	s.post("/delete", url.Values{"i": {p.runs[1]}})
	s.post("/trash", url.Values{"do": {"empty"}, "until": {"soon"}}).wants(t, 400)
	s.post("/trash", url.Values{"do": {"empty"}, "until": {until}}).redirects(t, "/trash")
	page = s.get("/trash")
	page.wants(t, 200, p.runs[1])
	page.lacks(t, p.runs[0])
}
