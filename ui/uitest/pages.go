// Package uitest checks that the event streams of open dashboard pages report every write.
package uitest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui"
)

// OpenPages holds pages of experiments and runs as if browsers had opened them, with the cursor of
// each page's event stream. It also repeats searches whose results the server caches.
type OpenPages struct {
	t        testing.TB
	db       *store.DB
	site     http.Handler
	project  string // project ID, "" for all projects
	pages    []*openPage
	searches int // number of searches so far
}

// openPage is an open page of the dashboard.
type openPage struct {
	name, path string
	id         string
	run        bool   // whether the page is a run's page
	content    string // the page and the data that its scripts load
	cursor     string
}

// searches holds searches whose results the server caches.
var searches = []runs.IterationQuery{
	{Sort: "name"}, {Sort: "-ended"}, {Sort: "-metric.loss"}, {Sort: "param.lr"}, {Sort: "property.k"}, {Sort: "tag"},
	{Filter: "status = 'running'"}, {Filter: "tag in ('new', 'old')"}, {Filter: "property.k = 'v'"}, {Filter: "metric.loss > 0"},
	{Filter: "param.lr != '0'"}, {Filter: "name contains 'n'"},
}

// Pages opens the pages of all experiments and runs in a project. If project is "", it opens
// the pages of all projects.
func Pages(t testing.TB, db *store.DB, now func() time.Time, project string) *OpenPages {
	t.Helper()
	site, err := ui.New(ui.Options{DB: db, Auth: auth.New(db, auth.Options{Now: now}), Version: "1.2.3", Now: now})
	o := &OpenPages{t: t, db: db, site: site, project: project}
	o.must(err)
	o.load()
	return o
}

// In sets the test to which o reports, and returns o. Subtests call it.
func (o *OpenPages) In(t testing.TB) *OpenPages {
	o.t = t
	return o
}

func (o *OpenPages) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// load loads all pages.
func (o *OpenPages) load() {
	o.t.Helper()
	o.pages = nil
	all, ctx := domain.Page{Limit: domain.MaxLimit}, o.t.Context()
	found, err := o.db.Projects.Projects(ctx, domain.System, projects.ProjectQuery{Page: all})
	o.must(err)
	for _, p := range found.Data {
		if o.project != "" && o.project != p.ID {
			continue
		}
		experiments, err := o.db.Projects.Experiments(ctx, domain.System, p.ID, projects.ExperimentQuery{Page: all})
		o.must(err)
		for _, e := range experiments.Data {
			o.pages = append(o.pages, &openPage{name: "the experiment " + e.Name, path: "/experiment/" + e.ID, id: e.ID})
			iterations, err := o.db.Runs.Iterations(ctx, domain.System, e.ID, runs.IterationQuery{Page: all})
			o.must(err)
			for _, it := range iterations.Data {
				o.pages = append(o.pages, &openPage{name: "the run " + it.Name, path: "/iteration/" + it.ID, id: it.ID, run: true})
			}
		}
	}
	for _, p := range o.pages {
		c, err := o.changes(p, "")
		o.must(err)
		p.cursor, p.content = c.Cursor, o.content(p)
		o.search(p)
	}
}

// changes returns the changes that a page's event stream reports after the given cursor.
func (o *OpenPages) changes(p *openPage, cursor string) (runs.Changes, error) {
	if p.run {
		return o.db.Runs.IterationChanges(o.t.Context(), domain.System, p.id, cursor)
	}
	return o.db.Runs.ExperimentChanges(o.t.Context(), domain.System, p.id, cursor)
}

// volatile matches the part of a page that changes with every event.
var volatile = regexp.MustCompile(`data-cursor="[^"]*"`)

// content returns the main part of a page and the data that its scripts load. It returns "" if
// the page no longer exists.
func (o *OpenPages) content(p *openPage) (all string) {
	parts := []string{"", "/iterations", "/keys"}
	if p.run {
		parts = []string{"", "/summary", "/console"}
	}
	for _, part := range parts {
		address := p.path
		if part != "" {
			address = "/data" + p.path + part
		}
		w := httptest.NewRecorder()
		o.site.ServeHTTP(w, httptest.NewRequestWithContext(o.t.Context(), http.MethodGet, address, nil))
		switch w.Code {
		case http.StatusOK:
			_, body, found := strings.Cut(w.Body.String(), "<main")
			if !found {
				body = w.Body.String()
			}
			all += address + "\n" + volatile.ReplaceAllString(body, "")
		case http.StatusNotFound:
			return ""
		default:
			o.t.Fatalf("%s: %d %s", address, w.Code, w.Body)
		}
	}
	return all
}

// Check reports an error for each page that changed without an event, and for each search whose
// cached result is out of date. If unannounced is true, pages can change without an event.
// Check loads all pages again.
func (o *OpenPages) Check(unannounced bool) {
	o.t.Helper()
	for _, p := range o.pages {
		now := o.content(p)
		if now == "" {
			continue // the event stream ended because the record was deleted
		}
		c, err := o.changes(p, p.cursor)
		o.must(err)
		if c.Reset {
			o.t.Errorf("the event stream of %s was reset", p.name)
		}
		if now != p.content && c.Empty() && !unannounced {
			o.t.Errorf("the page of %s has changed without an event: %s", p.name, difference(p.content, now))
		}
		o.search(p)
	}
	o.load()
}

// difference returns the first differing parts of two texts.
func difference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	part := func(s string) string { return s[max(0, at-60):min(len(s), at+60)] }
	return fmt.Sprintf("%q, before %q", part(b), part(a))
}

// search compares cached search results with the results of equivalent new searches.
func (o *OpenPages) search(p *openPage) {
	o.t.Helper()
	if p.run {
		return
	}
	hits := func(q runs.IterationQuery) string {
		q.Page = domain.Page{Limit: domain.MaxLimit}
		found, err := o.db.Runs.Iterations(o.t.Context(), domain.System, p.id, q)
		o.must(err)
		hits := fmt.Sprintf("%d hits", found.Total)
		for _, it := range found.Data {
			hits += " " + it.Name
		}
		return hits
	}
	for _, q := range searches {
		o.searches++
		fresh := q
		fresh.Filter = fmt.Sprintf("id != '%d' and %s", o.searches, cmp.Or(q.Filter, "id != ''"))
		if remembered, fresh := hits(q), hits(fresh); remembered != fresh {
			o.t.Errorf("a repeated search in %s (%s %s) has %s, want %s", p.name, q.Filter, q.Sort, remembered, fresh)
		}
	}
}
