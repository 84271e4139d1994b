package ui

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/suggest"
	"tracker/ui/plain"
	"tracker/ui/report"
)

// importanceView is the view of the page of parameter importance.
type importanceView struct {
	ExperimentID string
	Filter       string
	Metrics      []string // names of metrics to choose from
	Objective    goal.Objective
	Rows         []importanceRow
	Summary      string   // description of the data behind the estimate, or the reason why there is no estimate
	Notes        []string // notes about excluded runs and about parameters that interact
}

// importanceRow is the estimated importance of a parameter. Share, Low and High are
// percentages.
type importanceRow struct {
	Name             string
	Share, Low, High float64
	Known            bool
	Direction        string
	Region           string   // range of the best numbers, "" if unknown
	Depends          string   // how the best numbers depend on a second parameter, "" if unknown
	Levels           []string // effects of the parameter, one for each value range of an interacting parameter
	Runs             string
}

func (r importanceRow) text() string {
	return fmt.Sprintf("%.0f%%", r.Share)
}

func (r importanceRow) interval() string {
	return fmt.Sprintf("%.0f to %.0f%%", r.Low, r.High)
}

// objectiveOf returns the objective with the metric in the query. The goal is guessed from the
// metric's name. If the query names no other metric, objectiveOf returns the experiment's
// objective. A goal in the query takes precedence. The metric is "" if neither the query nor the
// experiment has one.
func objectiveOf(query url.Values, known *goal.Objective) goal.Objective {
	var o goal.Objective
	if known != nil {
		o = *known
	}
	if named := plain.Readable(query.Get("metric")); named != "" && named != o.Metric {
		o = goal.Objective{Metric: named, Goal: goal.Of(named)}
	}
	switch aim := goal.Goal(query.Get("goal")); aim {
	case goal.Minimize, goal.Maximize:
		o.Goal = aim
	case "none":
		o.Goal = ""
	}
	return o
}

// importance shows how strongly each parameter of an experiment influences a metric. Scripts
// replace the page with the Analyse tab of the experiment.
func (s *site) importance(w http.ResponseWriter, r *http.Request, user domain.User) error {
	var f frame
	v, found, err := s.estimate(r.Context(), user.Actor(), idOf(r), r.URL.Query(), false, func(db *store.View, e projects.Experiment, p projects.Project) (err error) {
		if f, err = s.inside(db, "Importance", user, place{projectID: e.ProjectID, experimentID: e.ID}); err != nil {
			return err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Importance"}}
		return nil
	})
	if err != nil {
		return err
	}
	f.Module = "toanalyse.js"
	v.fill(found)
	return s.render(w, r, http.StatusOK, importancePage(f, v))
}

// estimate estimates the importance of an experiment's parameters for the metric in a query. next
// is true if settings are to be suggested. If read is not nil, estimate calls it with the snapshot.
func (s *site) estimate(ctx context.Context, actor domain.Actor, experimentID string, query url.Values, next bool,
	read func(*store.View, projects.Experiment, projects.Project) error) (v importanceView, found runs.Importance, err error) {
	v = importanceView{ExperimentID: experimentID, Filter: plain.Readable(query.Get("filter"))}
	input := func(db *store.View) (in runs.ImportanceInput, err error) {
		e, p, err := s.experimentOf(db, v.ExperimentID)
		if err != nil {
			return in, err
		}
		known, err := db.Projects.Objective(e)
		if err != nil {
			return in, err
		}
		keys, err := metricKeys(db, e.ID, known, "", false, domain.Page{Limit: domain.MaxLimit})
		if err != nil {
			return in, err
		}
		v.Metrics = nil
		for _, k := range keys.Data {
			v.Metrics = append(v.Metrics, k.Key)
		}
		v.Objective = objectiveOf(query, known)
		if v.Objective.Metric == "" && len(v.Metrics) > 0 {
			v.Objective.Metric = v.Metrics[0]
		}
		if read != nil {
			if err := read(db, e, p); err != nil {
				return in, err
			}
		}
		q := runs.ImportanceQuery{ExperimentID: e.ID, Filter: v.Filter, Goal: v.Objective.Goal, Next: next}
		if v.Objective.Metric != "" {
			q.Target = v.Objective.Value()
		}
		return db.Runs.ImportanceInput(q)
	}
	found, err = s.DB.Runs.Importance(ctx, func() (in runs.ImportanceInput, err error) {
		err = s.DB.View(ctx, actor, func(db *store.View) error {
			in, err = input(db)
			return err
		})
		return in, err
	})
	return v, found, err
}

func (v *importanceView) fill(found runs.Importance) {
	known := slices.ContainsFunc(found.Columns, func(e importance.Estimate) bool { return e.Known })
	switch of := runsOf(found.Runs); {
	case v.Objective.Metric == "":
		v.Summary = "No run of this experiment has a metric yet."
	case found.Runs < importance.MinRuns:
		v.Summary = fmt.Sprintf("%s with this metric; an estimate needs at least %d.", capital(of), importance.MinRuns)
	case len(found.Columns) == 0:
		v.Summary = fmt.Sprintf("Based on %s: the metric, or every parameter, has the same value in all of them.", of)
	case len(found.Interactions) > 0 && found.Fit < suggest.MinFit:
		v.Summary = fmt.Sprintf("Based on %s. Each half of the runs predicts only %.0f%% of the variation in the other half, so more runs will show more.",
			of, 100*max(0, found.Fit))
	case !known:
		v.Summary = fmt.Sprintf("Based on %s: no parameter matters more than chance would explain.", of)
	default:
		v.Summary = fmt.Sprintf("Based on %s. The parameters explain %.0f%% of the variation in held-out runs.",
			of, 100*max(0, found.Fit))
	}
	if looked := found.Runs + found.Missing; found.Total > looked && looked >= runs.MaxImportanceRuns {
		v.Notes = append(v.Notes, fmt.Sprintf("Only the newest %s of %s runs count.", humanize.Comma(runs.MaxImportanceRuns), humanize.Comma(int64(found.Total))))
	}
	if found.Missing > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%s without the metric %s not count.", capital(runsOf(found.Missing)), does(found.Missing)))
	}
	if found.NaN > 0 && v.Objective.Goal != "" {
		v.Notes = append(v.Notes, fmt.Sprintf("%s that ended in NaN %s as the worst.", capital(runsOf(found.NaN)), counts(found.NaN)))
	} else if found.NaN > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%s that ended in NaN %s not count.", capital(runsOf(found.NaN)), does(found.NaN)))
	}
	for _, i := range found.Interactions[:min(3, len(found.Interactions))] {
		v.Notes = append(v.Notes, fmt.Sprintf("%s and %s depend on each other: together they explain %.0f%% that neither explains alone.", plain.Line(i.A, 40), plain.Line(i.B, 40), 100*i.Share))
	}
	for _, e := range found.Columns {
		low, high := e.Interval()
		v.Rows = append(v.Rows, importanceRow{Name: e.Name, Share: 100 * e.Share, Low: 100 * low, High: 100 * high, Known: e.Known,
			Direction: direction(e, v.Objective.Goal), Region: regionText(e.Form, v.Objective.Goal), Depends: contrastText(e),
			Levels: levelTexts(e, v.Objective.Goal), Runs: humanize.Comma(int64(e.Runs))})
	}
}

// bestRange returns the range of the best values. ok is false if the goal or the range is
// unknown.
func bestRange(f importance.Form, aim goal.Goal) (r importance.Range, ok bool) {
	r = f.Min
	if aim == goal.Maximize {
		r = f.Max
	}
	return r, aim != "" && f.Shape != importance.Unknown && f.Shape != importance.Between && r.From != ""
}

// regionText describes the range of the best numbers. It returns "" if the range is unknown or
// a single value.
func regionText(f importance.Form, aim goal.Goal) string {
	r, ok := bestRange(f, aim)
	from, to := settingText(r.From), settingText(r.To)
	if !ok || from == to {
		return ""
	}
	return from + " to " + to + " is not clearly worse than the best"
}

// contrastText describes how far apart the best values at two levels are. It returns "" if the runs
// do not show a difference. If the ratio is uncertain, the text names its lower bound.
func contrastText(e importance.Estimate) string {
	c := e.Contrast
	if c == nil {
		return ""
	}
	ratio := "about " + firstDigit(c.Ratio, math.Round)
	if c.RatioHigh > closeRatio*c.RatioLow {
		ratio = "at least " + firstDigit(c.RatioLow, math.Floor)
	}
	return fmt.Sprintf("%s depends on %s: the best value for %s is %s times as large as for %s", plain.Line(e.Name, 40),
		plain.Line(e.With, 40), levelName(e, e.Levels[c.More]), ratio, levelName(e, e.Levels[c.Less]))
}

// closeRatio is the maximum width of a ratio's interval, its upper bound divided by its lower
// bound, for which contrastText names the ratio itself.
const closeRatio = 6

// firstDigit formats a positive number truncated to its first digit, for example 300.
func firstDigit(f float64, round func(float64) float64) string {
	power := math.Pow(10, math.Floor(math.Log10(f)))
	return humanize.Comma(int64(round(f/power) * power))
}

// levelName names a level of the parameter that e depends on.
func levelName(e importance.Estimate, l importance.Level) string {
	_, err := strconv.ParseFloat(l.From, 64)
	switch {
	case l.To != l.From:
		return fmt.Sprintf("%s %s to %s", plain.Line(e.With, 40), settingText(l.From), settingText(l.To))
	case err == nil:
		return plain.Line(e.With, 40) + " " + settingText(l.From)
	}
	return settingText(l.From)
}

func does(n int) string {
	if n == 1 {
		return "does"
	}
	return "do"
}

func counts(n int) string {
	if n == 1 {
		return "counts"
	}
	return "count"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// direction describes how a result depends on a parameter. If there is a goal, the description says
// which values are better or worse. Otherwise it says where the metric is higher or lower.
func direction(e importance.Estimate, aim goal.Goal) string {
	if e.Shape == importance.Unknown && len(e.Levels) > 0 {
		return "depends on " + plain.Line(e.With, 40)
	}
	if text := formText(e.Form, aim); text != "" {
		if len(e.Tuned) > 0 {
			text += " when tuned"
		}
		return text
	}
	if e.Known {
		return "no clear effect of its own"
	}
	return "no clear effect"
}

// levelTexts describes the parameter's effect for each value range of an interacting parameter.
func levelTexts(e importance.Estimate, aim goal.Goal) []string {
	var all []string
	for _, l := range e.Levels {
		if text := formText(l.Form, aim); text != "" {
			all = append(all, levelLabel(e, l)+": "+text)
		}
	}
	return all
}

// levelLabel returns the name and the values of a level of the parameter that e depends on.
func levelLabel(e importance.Estimate, l importance.Level) string {
	value := settingText(l.From)
	if l.To != l.From {
		value += " to " + settingText(l.To)
	}
	return plain.Line(e.With, 40) + " " + value
}

// formText describes the form of a dependency. It returns "" for an unknown form.
func formText(f importance.Form, aim goal.Goal) string {
	low, high, best := "lowest", "highest", f.Min
	switch aim {
	case goal.Minimize:
		low, high = "best", "worst"
	case goal.Maximize:
		low, high, best = "worst", "best", f.Max
	}
	switch f.Shape {
	case importance.Rising, importance.Falling:
		switch {
		case aim == "" && f.Shape == importance.Rising:
			return "rises with it"
		case aim == "":
			return "falls as it rises"
		case (aim == goal.Minimize) == (f.Shape == importance.Rising):
			return "lower is better"
		}
		return "higher is better"
	case importance.Lowest:
		return low + " near " + settingText(f.Min.At)
	case importance.Highest:
		return high + " near " + settingText(f.Max.At)
	case importance.Uneven:
		if aim == "" {
			return "lowest near " + settingText(f.Min.At) + ", highest near " + settingText(f.Max.At)
		}
		return "best near " + settingText(best.At)
	case importance.Between:
		var parts []string
		for _, p := range [][2]string{{f.Min.At, low}, {f.Max.At, high}} {
			if p[0] != "" {
				parts = append(parts, plain.Line(p[0], 40)+" "+p[1])
			}
		}
		slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(goodFirst(a), goodFirst(b)) })
		return strings.Join(parts, ", ")
	}
	return ""
}

// settingText formats a parameter value. A number is rounded to two digits, and a text is cut
// to 40 characters.
func settingText(value string) string {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return plain.Line(value, 40)
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'e', 1, 64), 64)
	return plain.Number(scalar.Value(f))
}

func goodFirst(s string) int {
	if strings.HasSuffix(s, " best") {
		return 0
	}
	return 1
}

// shares returns the importance of an experiment's parameters for a report.
func (s *site) shares(ctx context.Context, actor domain.Actor, experimentID string, query url.Values) (rows []report.Share, label, summary string, err error) {
	v, found, err := s.estimate(ctx, actor, experimentID, query, false, nil)
	if err != nil {
		return nil, "", "", err
	}
	v.fill(found)
	for _, row := range v.Rows {
		words := sentences(row.Direction, row.Region)
		if row.Depends != "" {
			words = sentences(row.Depends)
		}
		rows = append(rows, report.Share{Name: row.Name, Share: row.text(), Interval: row.interval(), Words: strings.Join(words, " "), Known: row.Known})
	}
	return rows, v.Objective.Label(), v.Summary, nil
}
