package ui

import (
	"net/http"
	"net/url"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/ui/plain"
	"tracker/ui/table"
)

// tableFormat is a format of tables for papers.
type tableFormat struct {
	ending, contentType string
	write               func(t table.Table, title string) string
}

var (
	latexTable    = tableFormat{".tex", "text/x-tex; charset=utf-8", func(t table.Table, title string) string { return t.LaTeX(title) }}
	markdownTable = tableFormat{".md", "text/markdown; charset=utf-8", func(t table.Table, _ string) string { return t.Markdown() }}
	csvTable      = tableFormat{".csv", "text/csv; charset=utf-8; header=present", func(t table.Table, _ string) string {
		var out strings.Builder
		_ = t.CSV(&out) // a strings.Builder returns no errors
		return out.String()
	}}
)

func (s *site) runsLaTeX(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.runsTable(w, r, user, latexTable)
}

func (s *site) runsMarkdown(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.runsTable(w, r, user, markdownTable)
}

// runsTable responds with the first runs or groups of the table of an experiment. The file has
// the order and columns of the table.
func (s *site) runsTable(w http.ResponseWriter, r *http.Request, user domain.User, format tableFormat) error {
	var t table.Table
	var name string
	err := s.view(r, user, func(db *store.View) error {
		e, err := db.Projects.Experiment(idOf(r))
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		name = e.Name
		query := r.URL.Query()
		t, err = table.Of(db, e.ID, table.Query{By: plain.Readable(query.Get("group")), Filter: plain.Readable(query.Get("filter")),
			Sort: plain.Readable(query.Get("sort")), Columns: plain.Readable(query.Get("columns")), Limit: domain.MaxLimit}, o)
		return err
	})
	if err != nil {
		return err
	}
	return writeTable(w, t, name, format)
}

func writeTable(w http.ResponseWriter, t table.Table, name string, format tableFormat) error {
	w.Header().Set("Content-Type", format.contentType)
	w.Header().Set("Content-Disposition", web.Attachment(name+format.ending))
	_, err := w.Write([]byte(format.write(t, name)))
	return err
}

func (s *site) comparisonLaTeX(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.comparisonTable(w, r, user, latexTable)
}

func (s *site) comparisonMarkdown(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.comparisonTable(w, r, user, markdownTable)
}

func (s *site) comparisonCSV(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.comparisonTable(w, r, user, csvTable)
}

// comparisonTable responds with the compared runs side by side: the parameters that differ and
// the metrics.
func (s *site) comparisonTable(w http.ResponseWriter, r *http.Request, user domain.User, format tableFormat) error {
	var t table.Table
	err := s.view(r, user, func(db *store.View) error {
		all, experimentID, _, err := s.compared(db, r.URL.Query())
		if err != nil {
			return err
		}
		e, err := db.Projects.Experiment(experimentID)
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		t.Labels = []string{"Name"}
		for _, c := range all {
			t.Heads = append(t.Heads, table.Head{Name: c.Name})
		}
		// The other sections describe the environment.
		for _, section := range compareSections(all, o)[:2] {
			for _, row := range section.Rows {
				if !row.Differs && row.Metric == "" {
					continue
				}
				one := table.Row{Labels: []string{row.Key}}
				for i, text := range row.Cells {
					one.Cells = append(one.Cells, table.Cell{Text: text, Best: row.Best != nil && row.Best[i]})
				}
				t.Rows = append(t.Rows, one)
			}
		}
		t.Total = len(t.Rows)
		return nil
	})
	if err != nil {
		return err
	}
	return writeTable(w, t, "Comparison", format)
}

// tablePath returns the path of a file with the compared runs.
func (v compareView) tablePath(ending string) string { return "/compare" + ending + "?" + v.Query }

// compareQuery returns the part of a query that selects the compared runs.
func compareQuery(query url.Values) string {
	selected := url.Values{}
	for _, name := range []string{"i", "of", "runs", "experiment", "filter", "sort"} {
		if query.Has(name) {
			selected[name] = query[name]
		}
	}
	return selected.Encode()
}
