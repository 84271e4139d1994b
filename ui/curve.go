package ui

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/ui/chart"
)

// These are the X axes of a chart. The store supports steps and times.
const (
	stepAxis     = "step"
	timeAxis     = "time"
	relativeAxis = "relative"
)

const (
	maxCurveRuns = 1000
	maxCurveKeys = 200
	// maxMembers is the maximum number of runs in a mean. A larger group uses its first runs in
	// table order.
	maxMembers = 1000
	// maxTails is the maximum number of curves in a request for new points.
	maxTails = 2000
	// maxMeanPoints is the maximum number of points of a mean curve. The page never requests
	// more points.
	maxMeanPoints = 2000
)

// curveRequest is a request for the curves of runs or groups.
type curveRequest struct {
	Keys       []string     `json:"keys"`
	Points     int          `json:"points"`
	X          string       `json:"x"`
	Against    string       `json:"against"` // metric for the X axis; overrides X
	Scale      points.Scale `json:"scale"`
	Groups     *groupCurves `json:"groups,omitzero"`
	Iterations []string     `json:"iterations,omitzero"`
	From       *int64       `json:"from,omitzero"`
	To         *int64       `json:"to,omitzero"`
	Tails      []curveTail  `json:"tails,omitzero"` // if set, all other fields except Points and Scale are ignored
}

// curveTail is a request for the points of a curve after a given step.
type curveTail struct {
	ID    string `json:"id"`
	Key   string `json:"key"`
	After int64  `json:"after"` // last step that the client has
}

// groupCurves selects groups of runs in an experiment.
type groupCurves struct {
	Experiment string      `json:"experiment"`
	By         string      `json:"by"`
	Filter     string      `json:"filter"`
	Sort       string      `json:"sort"`
	Hide       []string    `json:"hide"` // IDs of runs to exclude
	Most       int         `json:"most"` // maximum number of runs per group, 0 for maxMembers
	Values     [][]*string `json:"values"`
}

type curveAnswer struct {
	Curves []chart.Curve `json:"curves"`
}

// The scripts workbench.js and panel.js contain the same constants.
const (
	drawnAtFirst = 10  // number of runs
	mostDrawn    = 200 // number of runs
	firstCharts  = 6
	curvesAtOnce = 400 // maximum number of curves in a request
	maxEarly     = 6000
)

// drawnRuns returns the number of table rows, counted from the top, whose runs the charts draw.
func drawnRuns(query url.Values) int {
	if !query.Has("top") {
		return drawnAtFirst
	}
	n, _ := strconv.Atoi(query.Get("top"))
	return max(0, min(n, mostDrawn))
}

// earlyCurves returns the URL of the first curves on an experiment's page. The browser can
// request this URL before it has loaded the scripts. The scripts read the request from the URL
// and request the other curves themselves. The URL is "" if the shown curves are unknown or the
// request is too long for a URL.
func earlyCurves(query url.Values, runs []run, keys []chartKey) string {
	for _, name := range []string{"x", "logx", "zoom", "hide", "show", "tree", "group", "fold", "media", "view"} {
		if query.Has(name) {
			return ""
		}
	}
	runs = runs[:min(len(runs), drawnRuns(query))]
	// Skip metrics without an open chart, hidden metrics, and metrics over other metrics.
	keys = slices.DeleteFunc(slices.Clone(keys), func(k chartKey) bool {
		return isFolded(k.Key.Key) || k.Definition.Hidden || k.Definition.StepMetric != ""
	})
	if len(runs) == 0 || len(keys) == 0 {
		return ""
	}
	b := curveRequest{Points: 120, X: stepAxis, Scale: points.Linear}
	for _, step := range []struct{ runs, points int }{{60, 250}, {5, 500}, {1, 1000}} {
		if len(runs) <= step.runs {
			b.Points = step.points
		}
	}
	for _, k := range keys[:min(len(keys), firstCharts, max(1, curvesAtOnce/len(runs)))] {
		b.Keys = append(b.Keys, k.Key.Key)
	}
	for _, r := range runs {
		b.Iterations = append(b.Iterations, r.ID)
	}
	text, err := json.Marshal(b)
	address := "/data/curves?q=" + url.QueryEscape(string(text))
	if err != nil || len(address) > maxEarly {
		return ""
	}
	return address
}

func (s *site) curvesData(r *http.Request, actor domain.Actor) (any, error) {
	var b curveRequest
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if err := decode([]byte(r.URL.Query().Get("q")), &b); err != nil {
			return nil, err
		}
	} else if err := readBody(r, &b); err != nil {
		return nil, err
	}
	if len(b.Tails) > 0 {
		return s.tailCurves(r, actor, b)
	}
	if len(b.Iterations) > maxCurveRuns || len(b.Keys) > maxCurveKeys || len(b.Keys) == 0 {
		return nil, domain.Invalid("keys", "A request for curves may name 1 to %d metrics of up to %d runs.",
			maxCurveKeys, maxCurveRuns)
	}
	q := points.PairQuery{Against: b.Against, CurveQuery: points.CurveQuery{
		Keys: b.Keys, Points: b.Points, X: points.ByStep, Scale: b.Scale, From: b.From, To: b.To}}
	switch {
	case b.Against != "": // X is another metric, paired by step
	case b.X == timeAxis:
		q.X = points.ByTime
	case b.X == relativeAxis:
		q.X = points.SinceStart
	}
	switch {
	case b.Groups != nil:
		return s.groupCurves(r, actor, *b.Groups, q)
	case b.Against != "":
		return s.pairedCurves(r, actor, b.Iterations, q)
	case q.X == points.SinceStart:
		return s.relativeCurves(r, actor, b.Iterations, q.CurveQuery)
	}
	answer := curveAnswer{[]chart.Curve{}}
	all, err := s.DB.Runs.Curves(r.Context(), actor, b.Iterations, q.CurveQuery)
	for _, c := range all {
		answer.Curves = append(answer.Curves, chart.CurveOf(c, q.X, 0))
	}
	return answer, err
}

// tailCurves returns the points after the given steps of the requested curves.
func (s *site) tailCurves(r *http.Request, actor domain.Actor, b curveRequest) (any, error) {
	if len(b.Tails) > maxTails {
		return nil, domain.Invalid("tails", "A request can name at most %d curves.", maxTails)
	}
	type place struct {
		id    string
		after int64
	}
	keys := map[place][]string{}
	var places []place
	for _, t := range b.Tails {
		p := place{t.ID, t.After}
		if keys[p] == nil {
			places = append(places, p)
		}
		keys[p] = append(keys[p], t.Key)
	}
	answer := curveAnswer{[]chart.Curve{}}
	for _, p := range places {
		all, err := s.DB.Runs.Curves(r.Context(), actor, []string{p.id}, points.CurveQuery{
			Keys: keys[p], Points: b.Points, X: points.ByStep, Scale: b.Scale, From: new(p.after + 1)})
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			answer.Curves = append(answer.Curves, chart.CurveOf(c, points.ByStep, 0))
		}
	}
	return answer, nil
}

// relativeCurves returns curves over the time since each run's start.
func (s *site) relativeCurves(r *http.Request, actor domain.Actor, ids []string, q points.CurveQuery) (any, error) {
	var runs []runs.Iteration
	err := s.DB.View(r.Context(), actor, func(db *store.View) (err error) {
		if runs, err = db.Runs.IterationsByID(ids); err == nil && len(runs) < len(ids) {
			err = errRunsGone
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	curves, err := chart.AgeCurves(r.Context(), s.DB.Runs, actor, runs, q)
	return curveAnswer{curves}, err
}

func (s *site) pairedCurves(r *http.Request, actor domain.Actor, ids []string, q points.PairQuery) (any, error) {
	answer := curveAnswer{[]chart.Curve{}}
	all, err := s.DB.Runs.PairedCurves(r.Context(), actor, ids, q)
	for _, p := range all {
		answer.Curves = append(answer.Curves, chart.CurveOfPairs(p))
	}
	return answer, err
}

// groupCurves returns the mean curves of groups. Each mean includes the first runs of the group
// in table order.
func (s *site) groupCurves(r *http.Request, actor domain.Actor, g groupCurves, q points.PairQuery) (any, error) {
	if len(g.Values) > maxCurveRuns {
		return nil, domain.Invalid("groups", "A request may name up to %d groups.", maxCurveRuns)
	}
	most := maxMembers
	if g.Most > 0 {
		most = min(most, g.Most)
	}
	q.Points = min(q.Points, maxMeanPoints)
	members := make([][]string, len(g.Values))
	err := s.DB.View(r.Context(), actor, func(db *store.View) error {
		for i, values := range g.Values {
			list, err := db.Runs.Iterations(g.Experiment, runs.IterationQuery{
				Page: domain.Page{Limit: min(domain.MaxLimit, most+len(g.Hide))}, Filter: g.Filter, Sort: g.Sort,
				Group: &runs.Grouped{By: g.By, Values: values}})
			if err != nil {
				return err
			}
			for _, one := range list.Data {
				if len(members[i]) < most && !slices.Contains(g.Hide, one.ID) {
					members[i] = append(members[i], one.ID)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, err := s.DB.Runs.MeanCurves(r.Context(), actor, members, q)
	if err != nil {
		return nil, err
	}
	answer := curveAnswer{[]chart.Curve{}}
	for i, curves := range all {
		for _, c := range curves {
			answer.Curves = append(answer.Curves, chart.CurveOfMeans(i, c))
		}
	}
	return answer, nil
}

// isFolded reports whether a metric has no open chart at first, because it is a system metric or a
// number of the summary.
func isFolded(metric string) bool {
	return strings.HasPrefix(metric, "system/") || strings.HasPrefix(metric, runs.SummaryMetrics)
}
