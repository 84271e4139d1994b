package ui

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/search"
	"tracker/ui/plain"
)

// nothing explains why a table is empty.
type nothing struct {
	Text  string   `json:"text"`
	Hints []string `json:"hints"` // one hint for each unknown name in the filter
}

// nothing explains why no run matches a filter.
func (s *site) nothing(db *store.View, experimentID, filter string) (*nothing, error) {
	e, err := db.Projects.Experiment(experimentID)
	if err != nil {
		return nil, err
	}
	n := nothing{Text: "No run of " + humanize.Comma(int64(e.IterationCount)) + " matches.", Hints: []string{}}
	if e.IterationCount == 1 {
		n.Text = "The only run does not match."
	}
	unknown, err := db.Runs.UnknownNames(experimentID, filter)
	if err != nil {
		return nil, err
	}
	words := map[search.KeyKind]string{search.MetricKey: "metric", search.ParamKey: "parameter", search.SummaryKey: "text of the summary"}
	for _, u := range unknown {
		hint := fmt.Sprintf("No run here has a %s named %s.", words[u.Kind], plain.Line(u.Key, 60))
		var near []string
		for _, k := range u.Near {
			near = append(near, k.Column())
		}
		if len(near) > 0 {
			hint += " There is " + strings.Join(near, ", ") + "."
		}
		n.Hints = append(n.Hints, hint)
	}
	return &n, nil
}

// filterQuery returns a query string with the given filter, or "" if the filter is empty.
func filterQuery(filter string) string {
	if strings.TrimSpace(filter) == "" {
		return ""
	}
	return "?" + url.Values{"filter": {filter}}.Encode()
}

// found is a page of runs or groups. If no run matches the filter, Nothing explains why.
type found[T any] struct {
	domain.List[T]
	Nothing *nothing `json:"nothing,omitzero"`
}

// explained returns list as a found. It sets Nothing if the list is empty because of the
// filter.
func explained[T any](s *site, db *store.View, experimentID, filter string, list domain.List[T]) (f found[T], err error) {
	f.List = list
	if list.Total == 0 && strings.TrimSpace(filter) != "" {
		f.Nothing, err = s.nothing(db, experimentID, filter)
	}
	return f, err
}
