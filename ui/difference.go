package ui

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/significance"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

const (
	maxResults     = 6   // maximum number of metrics in the table of results
	maxDifferences = 100 // maximum number of rows for parameters, and for packages
	maxDifferText  = 300 // maximum number of characters of a value that differs
)

// differenceView describes the difference between two sides of a comparison: two runs, or two
// groups of runs.
type differenceView struct {
	Sentence string
	Details  []string // sentences about the test
	AllSeeds string   // path of the comparison of all runs in the test, "" if all are compared
	A, B     sideView
	Results  []resultRow
	Code     *codeView
	Sections []changeSection
}

// sideView is a side of a comparison. A side is named after its first run.
type sideView struct {
	First run
	IDs   []string // IDs of all runs on the side
}

// resultRow shows the values of a metric on both sides.
type resultRow struct {
	Key        string
	A, B       string
	Difference string
	Interval   string // interval of the difference, "" for none
	Tone       string // CSS class: "good", "bad" or ""
}

// changeSection is a list of values that differ.
type changeSection struct {
	Title string
	Rows  []differRow
	Note  string // note about omitted rows, "" for none
}

type differRow struct{ Key, A, B, Change string }

// differenceOf returns the difference between the two sides of a comparison. It returns nil if the
// runs do not form two sides.
func differenceOf(db *store.View, experimentID string, all []compared, o *goal.Objective) (*differenceView, error) {
	byID := map[string]compared{}
	for _, c := range all {
		byID[c.ID] = c
	}
	a, b := difference.Split(differenceRuns(all, o))
	if a == nil {
		return nil, nil
	}
	side := func(of []difference.Run) (s []compared) {
		for _, r := range of {
			s = append(s, byID[r.ID])
		}
		return s
	}
	return differenceBetween(db, experimentID, side(a), side(b), o)
}

// differenceRuns returns the data of runs that the package difference compares.
func differenceRuns(all []compared, o *goal.Objective) []difference.Run {
	list := make([]difference.Run, len(all))
	for i, c := range all {
		list[i] = runs.DifferenceRun(c.summary, c.snapshot, o)
	}
	return list
}

// differenceBetween returns the difference between two sides, which must not be empty.
func differenceBetween(db *store.View, experimentID string, a, b []compared, o *goal.Objective) (*differenceView, error) {
	d, err := db.Runs.Difference(experimentID, differenceRuns(a, o), differenceRuns(b, o), o)
	if err != nil {
		return nil, err
	}
	v := &differenceView{
		Sentence: d.Sentence(), Details: detailsOf(d.Outcome), Results: resultsOf(a, b, d.Outcome),
		A: sideView{a[0].run, idsOf(a)}, B: sideView{b[0].run, idsOf(b)},
		Code:     newCodeView(d.Code, a[0].snapshot.GitRemote),
		Sections: changeSections(d),
	}
	if d.Outcome.Others > 0 {
		v.AllSeeds = comparePath(experimentID, slices.Concat(d.Outcome.IDs[0], d.Outcome.IDs[1]))
	}
	if len(a) == 1 && len(b) == 1 {
		if v.Code.pairs, err = sourcePairs(db, a[0].ID, b[0].ID); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func idsOf(all []compared) (ids []string) {
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

// detailsOf returns sentences about the test and its data.
func detailsOf(o difference.Outcome) (all []string) {
	if o.Objective == nil {
		return []string{"The experiment has no objective, so no metric is tested. Choose one in its settings."}
	}
	if missing := o.Given[0] + o.Given[1] - (o.A.N + o.B.N - o.Others); missing > 0 {
		all = append(all, plain.Counted(missing, "run has", "runs have")+" no finite value of "+o.Objective.Metric+".")
	}
	if o.Others > 0 {
		all = append(all, "The test includes "+plain.Counted(o.Others, "other finished run that differs", "other finished runs that differ")+
			" from these two only by the seed.")
	}
	switch {
	case o.Constant() || o.Difference == 0:
	case o.Method == significance.Permutation:
		all = append(all, "p is from an exact permutation test, the interval from Welch's t-test.")
	case o.Method == significance.Welch && min(o.A.N, o.B.N) < 4:
		all = append(all, "p and the interval are from Welch's t-test, which assumes a normal distribution.")
	case o.Method == significance.Welch:
		all = append(all, "p and the interval are from Welch's t-test.")
	}
	if o.Method == significance.None && o.Times() > 0 {
		all = append(all, fmt.Sprintf("The standard deviation between seeds is %s, pooled over %s of runs that differ only by the seed.",
			plain.Number(scalar.Value(o.Spread)), plain.Counted(o.SpreadGroups, "group", "groups")))
	}
	return all
}

// resultsOf returns the results of the objective and of the most interesting other metrics.
func resultsOf(a, b []compared, o difference.Outcome) (rows []resultRow) {
	if o.Objective != nil && o.A.N > 0 && o.B.N > 0 {
		row := resultRow{Key: o.Objective.Label(), A: groupText(o.A), B: groupText(o.B),
			Difference: difference.Signed(o.Difference), Tone: map[string]string{", better": "good", ", worse": "bad"}[o.Better()]}
		if !math.IsNaN(o.Low) && !o.Constant() {
			row.Interval = fmt.Sprintf("95 %% interval %s to %s", difference.Signed(o.Low), difference.Signed(o.High))
		}
		if !o.Significant() && o.Method != significance.None {
			row.Tone = ""
		}
		rows = append(rows, row)
	}
	names := keysOf(slices.Concat(a, b), func(c compared) []string { return keys(c.Metrics) })
	chart.Sort(names, func(name string) string { return name }, nil)
	for _, name := range names {
		if len(rows) == maxResults {
			break
		}
		if o.Objective != nil && name == o.Objective.Metric || goal.InterestOf(name) > goal.Logged {
			continue
		}
		last := func(side []compared) (values []float64) {
			for _, c := range side {
				if v, ok := c.Metrics[name]; ok {
					values = append(values, float64(v))
				}
			}
			return values
		}
		c := significance.Compare(last(a), last(b))
		if c.A.N == 0 || c.B.N == 0 {
			continue
		}
		rows = append(rows, resultRow{Key: name, A: groupText(c.A), B: groupText(c.B), Difference: difference.Signed(c.Difference)})
	}
	return rows
}

// groupText returns a value, or the mean, the standard deviation and the number of several values.
func groupText(g significance.Group) string {
	text := plain.Number(scalar.Value(g.Mean))
	if g.N > 1 {
		text += fmt.Sprintf(" ± %s (n = %d)", strings.TrimPrefix(difference.Signed(g.SD), "+"), g.N)
	}
	return text
}

// changeSections returns the environment, data and parameters that differ.
func changeSections(d difference.Difference) (all []changeSection) {
	add := func(title string, rows []differRow) {
		if len(rows) == 0 {
			return
		}
		s := changeSection{Title: title, Rows: rows}
		if more := len(rows) - maxDifferences; more > 0 {
			s.Rows, s.Note = rows[:maxDifferences], leftOut(maxDifferences, len(rows))
		}
		all = append(all, s)
	}
	text := func(c difference.Change) differRow {
		return differRow{Key: c.Name, A: plain.Clip(c.A, maxDifferText), B: plain.Clip(c.B, maxDifferText), Change: c.RatioText()}
	}
	rows := func(changes []difference.Change) (rows []differRow) {
		for _, c := range changes {
			rows = append(rows, text(c))
		}
		return rows
	}
	var packages []differRow
	for _, p := range d.Packages {
		row := text(p.Change)
		row.Change = string(p.Kind)
		packages = append(packages, row)
	}
	add("Packages", packages)
	add("Environment", rows(d.Environment))
	add("Data", rows(d.Data))
	add("Parameters", rows(slices.Concat(d.Params, d.Seeds)))
	return all
}

// comparePath returns the path of the page that compares runs of an experiment. The script
// compareurl.js implements the same rule.
func comparePath(experimentID string, ids []string) string {
	const mostFullIDs = 10
	full := "/compare?" + url.Values{"i": ids}.Encode()
	if len(ids) <= mostFullIDs {
		return full
	}
	var short []string
	for _, id := range ids[:min(len(ids), maxCompared)] {
		end, err := hex.DecodeString(id[max(0, len(id)-runs.EndingLength):])
		if err != nil {
			return full
		}
		short = append(short, base64.RawURLEncoding.EncodeToString(end))
	}
	return "/compare?" + url.Values{"of": {experimentID}, "runs": {strings.Join(short, ".")}}.Encode()
}

// compareWithBest redirects to the comparison of a run with the best other run of its experiment.
func (s *site) compareWithBest(w http.ResponseWriter, r *http.Request, user domain.User) error {
	var path string
	err := s.view(r, user, func(db *store.View) error {
		i, err := db.Runs.Iteration(idOf(r))
		if err != nil {
			return err
		}
		e, err := db.Projects.Experiment(i.ExperimentID)
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		if o == nil {
			return domain.Invalid("objective", "The experiment has no objective, so no run is the best. Choose one in the experiment's settings.")
		}
		best, err := s.best(db, e.ID, *o, "not id = '"+i.ID+"'")
		if err != nil {
			return err
		}
		if best == nil {
			return domain.Invalid("id", "No other run of the experiment has values of %s to compare with.", o.Metric)
		}
		path = comparePath(e.ID, []string{best.ID, i.ID})
		return nil
	})
	if err != nil {
		return err
	}
	s.redirect(w, r, path)
	return nil
}
