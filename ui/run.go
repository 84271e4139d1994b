package ui

import (
	"net/url"
	"strings"
	"time"

	"tracker/store"
)

// palette is how many colours there are for curves; style.css has them.
const palette = 12

// run is an iteration as tables show it. Times are Unix milliseconds.
type run struct {
	ID      string                 `json:"id"`
	Name    string                 `json:"name"`
	Status  string                 `json:"status"`
	Color   int                    `json:"color"` // of the curves; the same on every page
	Created store.Value            `json:"created"`
	Seconds store.Value            `json:"seconds"` // until its end, or until it was last heard of
	Tags    []string               `json:"tags"`
	Parent  *string                `json:"parent"`
	Below   int                    `json:"below"` // runs that lie under it in a folded table
	Params  map[string]string      `json:"params"`
	Metrics map[string]store.Value `json:"metrics"`

	started moment
}

// The states of a run as they are shown.
var statusWords = map[store.IterationStatus]string{
	store.Running: "running", store.Succeeded: "succeeded", store.Failed: "failed", store.Killed: "killed",
}

const lost = "lost"

func (s *site) run(i store.Iteration) run {
	return run{
		ID:      i.ID,
		Name:    i.Name,
		Status:  s.status(i),
		Color:   int(i.Num % palette),
		Created: store.Value(i.CreatedDate),
		Seconds: store.Value(lasted(i).Seconds()),
		Tags:    i.Tags,
		Parent:  i.ParentIterationID,
		Below:   i.Children,
		Params:  i.Params,
		Metrics: i.Metrics,
		started: s.moment(i.CreatedDate),
	}
}

// running tells that it has not ended.
func (r run) running() bool { return r.Status == statusWords[store.Running] || r.Status == lost }

func (s *site) status(i store.Iteration) string {
	if i.Status == store.Running && i.LastSeen < s.lostBefore() {
		return lost
	}
	return statusWords[i.Status]
}

// lostBefore is the time since which something must have been heard of a run.
func (s *site) lostBefore() store.Time { return store.Time(s.Now().Add(-store.LostAfter).UnixMilli()) }

func lasted(i store.Iteration) time.Duration {
	end := i.LastSeen
	if i.EndDate != nil {
		end = *i.EndDate
	}
	return end.Time().Sub(i.CreatedDate.Time())
}

// searchOf reads what a listing of runs is asked for. The newest are the first
// unless the address says otherwise.
func searchOf(query url.Values) store.IterationQuery {
	q := store.IterationQuery{Page: pageOf(query), Filter: readable(query.Get("filter")),
		Sort: readable(query.Get("sort")), Columns: readable(query.Get("columns"))}
	if strings.TrimSpace(q.Sort) == "" {
		q.Sort = "-created"
	}
	if q.Fold = query.Has("tree") && !query.Has("group"); q.Fold && query.Has("parent") {
		q.Parent = new(query.Get("parent"))
	}
	return q
}

// groupsOf reads what a listing of groups is asked for.
func groupsOf(query url.Values) store.GroupQuery {
	q := searchOf(query)
	return store.GroupQuery{Page: q.Page, By: query.Get("group"), Filter: q.Filter, Sort: readable(query.Get("sort")), Columns: q.Columns}
}

// columnName writes the name of a parameter or metric as the language of
// searches has it.
func columnName(k store.Key) string {
	bare := k.Key != "" && !strings.ContainsFunc(k.Key, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-/", r))
	})
	first := k.Key[:min(1, len(k.Key))]
	if bare && !strings.ContainsAny(first, "0123456789.-/") && !endsInStatistic(k.Key) {
		return string(k.Kind) + "." + k.Key
	}
	return string(k.Kind) + ".`" + strings.ReplaceAll(k.Key, "`", "``") + "`"
}

func endsInStatistic(key string) bool {
	for _, s := range []string{"last", "min", "max", "mean", "count"} {
		if strings.HasSuffix(strings.ToLower(key), "."+s) {
			return true
		}
	}
	return false
}
