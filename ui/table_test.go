package ui_test

import (
	"encoding/csv"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// TestEmptyTableSaysWhy searches for values that no run has.
func TestEmptyTableSaysWhy(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	w := s.sweep(3, 2)
	alice := with(s.signIn("alice"))
	page := "/experiment/" + w.experiment
	query := func(filter string) string { return "?" + url.Values{"filter": {filter}}.Encode() }

	a := s.get(page+query("metric.nope > 1"), alice)
	a.wants(t, 200, "No run of 3 matches.", `<a href="`+page+`">Clear the filter</a>`, "No run here has a metric named nope.")
	a.lacks(t, `id="table"`)
	s.get(page+query("metric.loss > 1"), alice).wants(t, 200, "No run here has a metric named loss. There is metric.train/loss.")
	a = s.get(page+query("param.lr > 7"), alice)
	a.wants(t, 200, "No run of 3 matches.")
	a.lacks(t, "No run here")
	a = s.get(page+query("param.lr > 0.2"), alice)
	a.wants(t, 200, `id="table"`)
	a.lacks(t, "matches.")
	// An invalid filter shows neither a table nor a count.
	a = s.get(page+query("param.lr >"), alice)
	a.wants(t, 200, `id="counted" hidden`, "filter is wrong at character 11")
	a.lacks(t, `id="table"`, "matches.")

	for _, part := range []string{"iterations", "groups"} {
		var found struct {
			Total   int
			Nothing *struct {
				Text  string
				Hints []string
			}
		}
		by := map[string]string{"groups": "&group=param.lr"}[part]
		s.get("/data"+page+"/"+part+query("metric.nope > 1")+by, alice).json(t, 200, &found)
		if n := found.Nothing; n == nil || n.Text != "No run of 3 matches." || !slices.Equal(n.Hints, []string{"No run here has a metric named nope."}) {
			t.Errorf("%s: %+v", part, n)
		}
	}
}

func TestRunsAsCSV(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	w := s.sweep(3, 2)
	ctx, actor := t.Context(), s.actor("alice")
	alice := with(s.signIn("alice"))
	odd := s.run(w.experiment, runs.NewIteration{Name: new(`=HYPERLINK("x"), 2`)})
	must(s.db.Runs.CreateParameter(ctx, actor, odd, "lr", "-0.50"))(t)
	must(s.db.Runs.CreateParameter(ctx, actor, odd, "@note", "-1+1"))(t)
	must(s.db.Runs.CreateTag(ctx, actor, runs.IterationTag, odd, "+a"))(t)
	must(s.db.Runs.CreateTag(ctx, actor, runs.IterationTag, odd, "b"))(t)
	must(s.db.Runs.CreateMetric(ctx, actor, odd, points.Sample{Key: "train/loss", Value: scalar.Value(math.NaN())}))(t)
	must(s.db.Runs.CreateMetric(ctx, actor, w.runs[0], points.Sample{Key: "train/loss", Value: -1.0 / 3}))(t)
	s.clock.move(1500 * time.Millisecond)
	if err := s.db.Runs.UpdateIteration(ctx, actor, odd, runs.IterationPatch{Status: new(domain.Failed)}); err != nil {
		t.Fatal(err)
	}
	get := func(filter, sort, columns string) [][]string {
		t.Helper()
		a := s.get("/experiment/"+w.experiment+"/runs.csv?"+url.Values{"filter": {filter}, "sort": {sort}, "columns": {columns}}.Encode(), alice)
		a.wants(t, 200)
		if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="sweep.csv"` || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv") {
			t.Errorf("%s, %s", got, a.Header.Get("Content-Type"))
		}
		rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := get("", "-name", "metric.train/loss, param.lr, metric.train/loss.count, param.`@note`")
	want := [][]string{
		{"name", "status", "metric.train/loss", "param.lr", "metric.train/loss.count", "param.@note", "created", "duration", "tags", "id", "created_by"},
		{"run 3", "running", "1", "0.3", "2", "", "2026-11-21T09:30:02.000Z", "0", "", w.runs[2], "alice"},
		{"run 2", "running", "1", "0.2", "2", "", "2026-11-21T09:30:01.000Z", "0", "", w.runs[1], "alice"},
		{"run 1", "running", "-0.3333333333333333", "0.1", "3", "", "2026-11-21T09:30:00.000Z", "3", "", w.runs[0], "alice"},
		{"'=HYPERLINK(\"x\"), 2", "failed", "NaN", "-0.50", "1", "'-1+1", "2026-11-21T09:30:03.000Z", "1.5", "'+a, b", odd, "alice"},
	}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("\n%q, want\n%q", rows, want)
	}
	if rows = get("param.lr > 0.1", "", ""); len(rows) != 3 || rows[1][0] != "run 3" {
		t.Errorf("%q", rows)
	}
	if rows = get("param.lr > 7", "", ""); len(rows) != 1 {
		t.Errorf("%q", rows)
	}
	bad := s.get("/experiment/"+w.experiment+"/runs.csv?filter=lr+%3D", alice)
	bad.wants(t, 422, "write a number")
	s.get("/experiment/"+w.experiment+"/runs.csv?columns=name", alice).wants(t, 422, "a column is param.NAME")
	s.get("/experiment/none/runs.csv", alice).wants(t, 404)
	s.get("/experiment/"+w.experiment+"/runs.csv", with(s.signIn("bob"))).wants(t, 403)
	s.get("/experiment/"+w.experiment, alice).wants(t, 200, `/runs.csv?columns=param.`)
}

// TestLargeCSV downloads more rows than the server reads at once.
func TestLargeCSV(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	const n = 1203
	for i := range n {
		s.run(w.experiment, runs.NewIteration{Name: new(strconv.Itoa(i))})
	}
	a := s.get("/experiment/" + w.experiment + "/runs.csv?sort=created")
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || len(rows) != n+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows[1:] {
		if row[0] != strconv.Itoa(i) {
			t.Fatalf("row %d is %q", i, row)
		}
	}
}

// TestChangeAll tags, ends and deletes the runs that pass a filter.
func TestChangeAll(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	w := s.sweep(260, 1)
	ctx, actor := t.Context(), s.actor("alice")
	alice := with(s.signIn("alice"))
	page := "/experiment/" + w.experiment + "/change"
	count := func(filter string) int {
		t.Helper()
		var ids []string
		if err := s.db.View(ctx, actor, func(v *store.View) (err error) {
			ids, err = v.Runs.IterationIDs(w.experiment, runs.IterationQuery{Filter: filter})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return len(ids)
	}
	const filter = "name != 'run 1'"
	send := func(n int, more ...string) answer {
		t.Helper()
		fields := url.Values{"filter": {filter}, "n": {strconv.Itoa(n)}}
		for i := 0; i < len(more); i += 2 {
			fields.Set(more[i], more[i+1])
		}
		return s.post(page, fields, alice)
	}
	s.get(page+"?filter="+url.QueryEscape(filter), alice).wants(t, 200, "Change 259 runs", "name != &#39;run 1&#39;", `name="n" value="259"`)
	s.get(page, alice).wants(t, 200, "Change 260 runs", "All runs of")
	s.get(page+"?filter=lr+%3D", alice).wants(t, 422)

	send(259, "do", "add", "tag", "late").wants(t, 200, "Tagged 259 runs.")
	send(259, "do", "add", "tag", "late").wants(t, 200, "Tagged 0 runs. 259 runs already had the tag.")
	if n := count("tag = 'late'"); n != 259 {
		t.Errorf("%d are tagged", n)
	}
	send(259, "do", "add", "tag", "").wants(t, 422, `role="alert"`)
	send(259, "do", "remove", "tag", "late").wants(t, 200, "Removed the tag from 259 runs.")

	if err := s.db.Runs.UpdateIteration(ctx, actor, w.runs[5], runs.IterationPatch{Status: new(domain.Failed)}); err != nil {
		t.Fatal(err)
	}
	send(259, "do", "status", "status", "KILLED").wants(t, 200, "Set the status of 258 runs. 1 run had already ended.")
	if n := count("status = 'killed'"); n != 258 {
		t.Errorf("%d were killed", n)
	}
	send(259, "do", "status", "status", "DONE").wants(t, 422, "status")

	// The form changes nothing if its number of runs is outdated or not confirmed.
	send(260, "do", "delete", "sure", "260").wants(t, 409, "the number of matching runs was 260 and is now 259")
	send(259, "do", "delete", "sure", "25").wants(t, 422, "Nothing was deleted", `aria-invalid="true"`)
	send(259, "do", "delete").wants(t, 422)
	if n := count(""); n != 260 {
		t.Errorf("%d runs are left of 260", n)
	}
	artifact := s.keep(w.experiment, files.NewArtifact{Name: "weights", IterationID: w.runs[7]}, "bytes")
	s.register(w.project, w.runs[7], artifact)
	send(259, "do", "delete", "sure", "259").wants(t, 200, "Deleted 258 runs. 1 run could not be deleted. Runs with model versions are kept.", "Change 1 run")
	if n := count(""); n != 2 {
		t.Errorf("%d runs are left", n)
	}

	must(s.db.Users.CreateUserPermission(ctx, domain.System, s.actor("bob").UserID, w.project, users.PermissionPatch{Read: new(true)}))(t)
	bob := with(s.signIn("bob"))
	s.get(page, bob).lacks(t, `name="do"`)
	s.post(page, url.Values{"n": {"2"}, "sure": {"2"}, "do": {"delete"}}, bob).wants(t, 403)
	s.post(page, url.Values{"n": {"2"}, "do": {"nothing"}}, alice).wants(t, 422)
	if n := count(""); n != 2 {
		t.Errorf("%d runs are left", n)
	}
}
