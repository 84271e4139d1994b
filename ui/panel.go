package ui

import (
	"net/http"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/ui/plain"
	"tracker/ui/report"
)

// panelValues holds values of runs for bars, scatter plots and histograms, newest run first.
type panelValues struct {
	Total  int           `json:"total"` // number of runs that pass the filter
	IDs    []string      `json:"ids"`
	Names  []string      `json:"names"`
	Values []panelColumn `json:"values"`
}

// panelColumn holds a value of each run: a metric as numbers, or a parameter as texts.
type panelColumn struct {
	Numbers numbersOf `json:"numbers,omitempty"`
	Texts   []*string `json:"texts,omitempty"`
}

// panelData returns one or two values of the newest runs that pass the filter, at most
// runs.MaxImportanceRuns.
func (s *site) panelData(r *http.Request, db *store.View) (any, error) {
	query := r.URL.Query()
	e, err := db.Projects.Experiment(idOf(r))
	if err != nil {
		return nil, err
	}
	names := []string{plain.Readable(query.Get("x"))}
	if y := plain.Readable(query.Get("y")); y != "" {
		names = append(names, y)
	}
	all, err := report.ReadValues(db, e.ID, plain.Readable(query.Get("filter")), names...)
	if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: bad}, nil
	}
	if err != nil {
		return nil, err
	}
	found := all[0].Runs
	out := panelValues{Total: found.Total, IDs: []string{}, Names: []string{}, Values: []panelColumn{}}
	for i, id := range found.IDs {
		out.IDs, out.Names = append(out.IDs, id), append(out.Names, plain.Line(found.Names[i], 80))
	}
	for _, v := range all {
		numbers, texts := v.Columns()
		out.Values = append(out.Values, panelColumn{numbers, texts})
	}
	return out, nil
}
