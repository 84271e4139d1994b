package ui

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/json"
	"tracker/store/pareto"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/suggest"
	"tracker/ui/plain"
)

// analysePath returns the path of the Analyse tab with the metric, goal and filter of the page.
func (v importanceView) analysePath() string {
	query := url.Values{"analyse": {"1"}}
	if v.Objective.Metric != "" {
		query.Set("metric", v.Objective.Metric)
		query.Set("goal", goalWord(v.Objective.Goal))
	}
	if v.Filter != "" {
		query.Set("filter", v.Filter)
	}
	return "/experiment/" + v.ExperimentID + "?" + query.Encode()
}

// goalWord returns the word for a goal in addresses.
func goalWord(aim goal.Goal) string {
	if aim == "" {
		return "none"
	}
	return string(aim)
}

// analysis is the data of the Analyse tab about parameters: their importance and what to try
// next.
type analysis struct {
	Metric  string        `json:"metric"` // "" if no run has a metric
	Goal    string        `json:"goal"`   // minimize, maximize or none
	Column  string        `json:"column"` // the result in the search language
	Label   string        `json:"label"`  // the result in words
	Metrics []string      `json:"metrics"`
	Summary string        `json:"summary"`
	Notes   []string      `json:"notes"`
	Rows    []analysisRow `json:"rows"`
	Next    nextRuns      `json:"next"`
}

type analysisRow struct {
	Name    string         `json:"name"`
	Share   float64        `json:"share"` // percent
	Low     float64        `json:"low"`
	High    float64        `json:"high"`
	Known   bool           `json:"known"`
	Words   []string       `json:"words"`  // sentences about the parameter
	Levels  []string       `json:"levels"` // effects by level of the parameter With
	Best    *numberRange   `json:"best"`   // range of the best numbers, null if unknown
	Curve   []curvePoint   `json:"curve"`
	Tuned   []curvePoint   `json:"tuned"`
	Winner  string         `json:"winner"` // best non-numeric value when tuned, "" if unknown
	With    string         `json:"with"`
	Lines   []analysisLine `json:"lines"`
	Numbers bool           `json:"numbers"` // whether the values of With are numbers
}

// analysisLine is the curve of a parameter for a range of another parameter's values.
type analysisLine struct {
	Label string       `json:"label"`
	From  string       `json:"from"`
	To    string       `json:"to"`
	Best  *numberRange `json:"best"`
	Curve []curvePoint `json:"curve"`
}

type numberRange struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

type curvePoint struct {
	Value string       `json:"value"`
	Mean  scalar.Value `json:"mean"`
	Low   scalar.Value `json:"low"`
	High  scalar.Value `json:"high"`
	Runs  int          `json:"runs"`
}

// nextRuns holds suggestions for the next runs, or the reason if there are none.
type nextRuns struct {
	Words string    `json:"words"`
	Runs  []nextRun `json:"runs"`
}

type nextRun struct {
	Settings []nextSetting `json:"settings"`
	Result   string        `json:"result"`  // expected result and its interval, in words
	Command  string        `json:"command"` // command or lines to copy
}

type nextSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// analysisData returns the importance of parameters with curves, and suggestions for the next
// runs.
func (s *site) analysisData(r *http.Request, actor domain.Actor) (any, error) {
	v, found, err := s.estimate(r.Context(), actor, idOf(r), r.URL.Query(), true, nil)
	if e := web.AsError(err); e != nil && e.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	if err != nil {
		return nil, err
	}
	v.fill(found)
	aim := v.Objective.Goal
	out := analysis{Metric: v.Objective.Metric, Goal: goalWord(aim), Metrics: v.Metrics, Summary: v.Summary, Notes: v.Notes,
		Rows: []analysisRow{}}
	if out.Metric != "" {
		out.Column, out.Label = v.Objective.Value(), v.Objective.Label()
	}
	for i, e := range found.Columns {
		row := v.Rows[i]
		one := analysisRow{Name: e.Name, Share: row.Share, Low: row.Low, High: row.High, Known: e.Known,
			Words: sentences(row.Depends, row.Direction, row.Region), Levels: row.Levels, Best: rangeOf(e.Form, aim),
			Curve: curvePoints(e.Curve), Tuned: curvePoints(e.Tuned), With: e.With, Lines: []analysisLine{}}
		if row.Depends != "" { // row.Direction would only repeat the other parameter's name
			one.Words = sentences(row.Depends)
		}
		if best, ok := winner(e, aim); ok {
			one.Winner = best
		}
		for _, l := range e.Levels {
			_, err := strconv.ParseFloat(l.From, 64)
			one.Numbers = err == nil
			one.Lines = append(one.Lines, analysisLine{Label: levelLabel(e, l), From: l.From, To: l.To, Best: rangeOf(l.Form, aim), Curve: curvePoints(l.Curve)})
		}
		out.Rows = append(out.Rows, one)
	}
	out.Next = nextOf(found, v)
	return out, nil
}

// winner returns the value that is clearly the best. ok is false if there is none.
func winner(e importance.Estimate, aim goal.Goal) (text string, ok bool) {
	if e.Shape != importance.Between || aim == "" {
		return "", false
	}
	if text = e.Min.At; aim == goal.Maximize {
		text = e.Max.At
	}
	return text, text != ""
}

// sentences returns the non-empty texts as sentences, with a capital letter and a full stop. A
// first word that might be the name of a parameter is not capitalized.
func sentences(texts ...string) []string {
	all := []string{}
	for _, text := range texts {
		if text != "" {
			all = append(all, text+".")
		}
	}
	return all
}

func rangeOf(f importance.Form, aim goal.Goal) *numberRange {
	r, ok := bestRange(f, aim)
	from, err1 := strconv.ParseFloat(r.From, 64)
	to, err2 := strconv.ParseFloat(r.To, 64)
	if !ok || err1 != nil || err2 != nil {
		return nil
	}
	return &numberRange{from, to}
}

func curvePoints(points []importance.Point) []curvePoint {
	all := []curvePoint{}
	for _, p := range points {
		all = append(all, curvePoint{p.Value, scalar.Value(p.Mean), scalar.Value(p.Low), scalar.Value(p.High), p.Runs})
	}
	return all
}

// nextOf describes the settings that an estimate suggests.
func nextOf(found runs.Importance, v importanceView) nextRuns {
	out := nextRuns{Runs: []nextRun{}}
	aim := v.Objective.Goal
	switch found.Refusal {
	case suggest.NoGoal:
		out.Words = "Choose a goal to get suggestions."
	case suggest.FewRuns:
		out.Words = fmt.Sprintf("%s %s too few to suggest settings; at least %d runs with this metric are needed.",
			capital(runsOf(found.Runs)), are(found.Runs), suggest.MinRuns)
	case suggest.NoEffect:
		out.Words = fmt.Sprintf("No parameter clearly matters in %s, so the runs do not show which settings are good.", runsOf(found.Runs))
	case suggest.Noise:
		out.Words = "The model predicts the results of other runs too poorly to suggest settings: noise, too few runs or causes other than parameters hide which settings are good."
	case suggest.NotBetter:
		out.Words = "The model expects no setting that is clearly among the better ones."
	}
	if len(found.Next) == 0 {
		return out
	}
	out.Words = "Expected results are estimates from the runs above. 90% of new runs are expected within the interval."
	for _, one := range found.Next {
		run := nextRun{Settings: []nextSetting{}, Result: resultText(one.Prediction, aim, found), Command: commandFor(found, one.Settings)}
		for _, setting := range one.Settings {
			run.Settings = append(run.Settings, nextSetting{setting.Name, plain.Line(setting.Value, 60)})
		}
		out.Runs = append(out.Runs, run)
	}
	return out
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// resultText describes a predicted result. The forests never predict a result better than the best
// run, so an interval that reaches the best run also stands for better results.
func resultText(p importance.Prediction, aim goal.Goal, found runs.Importance) string {
	number := func(f float64) string {
		if math.IsInf(f, 0) {
			return "diverged"
		}
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 3, 64), 64)
		return plain.Number(scalar.Value(f))
	}
	best, worst := p.Low, p.High
	if aim == goal.Maximize {
		best, worst = p.High, p.Low
	}
	text := number(best)
	if best == found.BestValue {
		text += " or better"
	}
	return fmt.Sprintf("%s (%s, to %s)", number(p.Mean), text, number(worst))
}

// commandFor returns the command of the best run with other settings. If the command does not
// have an argument for each setting, commandFor returns a line for each setting.
func commandFor(found runs.Importance, settings []suggest.Setting) string {
	if words, ok := shellWords(found.Command); ok {
		complete := true
		for _, s := range settings {
			complete = complete && setArgument(words, s.Name, found.BestParams[s.Name], s.Value)
		}
		if complete {
			for i, w := range words {
				words[i] = shellQuote(w)
			}
			return strings.Join(words, " ")
		}
	}
	var lines []string
	for _, s := range settings {
		lines = append(lines, s.Name+"="+s.Value)
	}
	return strings.Join(lines, "\n")
}

// setArgument replaces the value of a parameter in the words of a command, which have the form
// --name value, --name=value or name=value. It reports whether the command had exactly one such
// argument with the old value.
func setArgument(words []string, name, before, value string) bool {
	dashed := strings.ReplaceAll(name, "_", "-")
	same := func(text string) bool {
		a, errA := strconv.ParseFloat(text, 64)
		b, errB := strconv.ParseFloat(before, 64)
		return text == before || errA == nil && errB == nil && a == b
	}
	found := 0
	for i, w := range words {
		flag, given, assigned := strings.Cut(w, "=")
		isFlag := flag == "--"+name || flag == "--"+dashed
		switch {
		case isFlag && !assigned && i+1 < len(words) && same(words[i+1]):
			words[i+1] = value
			found++
		case assigned && (isFlag || i > 0 && flag == name) && same(given):
			words[i] = flag + "=" + value
			found++
		}
	}
	return found == 1
}

// shellWords splits a command into words. ok is false if the command is empty or uses shell
// features other than quotes.
func shellWords(command string) (words []string, ok bool) {
	var word strings.Builder
	inside, started := rune(0), false
	for _, c := range command {
		switch {
		case inside == 0 && (c == '\'' || c == '"'):
			inside, started = c, true
		case inside != 0 && c == inside:
			inside = 0
		case inside == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		case strings.ContainsRune("\\`$", c), inside == 0 && strings.ContainsRune("|&;<>()", c):
			return nil, false
		default:
			word.WriteRune(c)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words, inside == 0 && len(words) > 0
}

// shellQuote quotes a word for a shell if necessary.
func shellQuote(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_=+./:,@%", c))
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shownMetrics is the number of metrics whose values the Analyse tab loads first.
const shownMetrics = 10

// runColumns holds values of runs by column, newest run first.
type runColumns struct {
	Total  int         `json:"total"` // number of runs that pass the filter
	IDs    []string    `json:"ids"`
	Names  []string    `json:"names"`
	Colors []int       `json:"colors"`
	Params []paramCell `json:"params"`
	// Metrics holds the values of the objective, of the first metrics and of the requested
	// columns.
	Metrics []metricCells `json:"metrics"`
	Others  []metricCells `json:"others"` // names of the other metrics, without values
}

// paramCell holds the values of a parameter: numbers if all values are numbers, otherwise strings.
type paramCell struct {
	Name    string    `json:"name"`
	Column  string    `json:"column"` // name in the search language
	Numbers numbersOf `json:"numbers,omitempty"`
	Texts   []*string `json:"texts,omitempty"`
}

type metricCells struct {
	Key    string    `json:"key"`
	Stat   string    `json:"stat"`
	Goal   string    `json:"goal"`   // minimize, maximize or none
	Column string    `json:"column"` // name in the search language
	Values numbersOf `json:"values,omitempty"`
}

// numbersOf is a list of numbers for drawings. In JSON, numbers have seven digits, and integers
// have all digits. NaN and infinities are strings. A missing number is null.
type numbersOf []*scalar.Value

// MarshalJSONTo writes the list as a JSON array.
func (n numbersOf) MarshalJSONTo(enc *json.Encoder) error {
	b := make([]byte, 0, 10*len(n)+2)
	b = append(b, '[')
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		switch f := float64(0); {
		case v == nil:
			b = append(b, "null"...)
		case !v.Finite():
			b = strconv.AppendQuote(b, v.String())
		default:
			f = float64(*v)
			bits := 32
			if f == math.Trunc(f) && math.Abs(f) < 1<<53 || math.Abs(f) > math.MaxFloat32 || math.Abs(f) < 1e-30 {
				bits = 64
			}
			b = strconv.AppendFloat(b, f, 'g', -1, bits)
		}
	}
	return enc.WriteValue(append(b, ']'))
}

// columnsData returns the parameters and metrics of the runs that pass the filter. The query
// names additional metrics in columns.
func (s *site) columnsData(r *http.Request, db *store.View) (any, error) {
	query := r.URL.Query()
	e, err := db.Projects.Experiment(idOf(r))
	if err != nil {
		return nil, err
	}
	known, err := db.Projects.Objective(e)
	if err != nil {
		return nil, err
	}
	o := objectiveOf(query, known)
	keys, err := metricKeys(db, e.ID, known, "", false, domain.Page{Limit: domain.MaxLimit})
	if err != nil {
		return nil, err
	}
	if o.Metric == "" && len(keys.Data) > 0 {
		o.Metric = keys.Data[0].Key
	}
	out := runColumns{IDs: []string{}, Names: []string{}, Colors: []int{}, Params: []paramCell{}, Metrics: []metricCells{}, Others: []metricCells{}}
	wanted := strings.Split(query.Get("columns"), "\n")
	add := func(o goal.Objective, always bool) {
		one := metricCells{Key: o.Metric, Stat: o.Statistic(), Goal: goalWord(o.Goal), Column: o.Value()}
		has := slices.ContainsFunc(out.Metrics, func(m metricCells) bool { return m.Column == one.Column })
		if has || o.Metric == "" {
			return
		}
		if (always || slices.Contains(wanted, one.Column)) && len(out.Metrics) < runs.MaxAnalysisMetrics {
			out.Metrics = append(out.Metrics, one)
		} else if !always {
			out.Others = append(out.Others, one)
		}
	}
	add(o, true)
	for _, k := range keys.Data {
		always := len(out.Metrics) < shownMetrics && goal.InterestOf(k.Key) != goal.Machine
		add(goal.Objective{Metric: k.Key, Goal: goal.Of(k.Key)}, always)
	}
	for _, name := range wanted { // metrics whose statistic can't be derived from the name
		if one, ok := objectiveColumn(name); ok {
			add(one, true)
		}
	}
	var columns []string
	for _, m := range out.Metrics {
		columns = append(columns, m.Column)
	}
	found, err := db.Runs.Analysis(runs.AnalysisQuery{ExperimentID: e.ID, Filter: plain.Readable(query.Get("filter")),
		Columns: strings.Join(columns, ", "), Params: true})
	if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: bad}, nil
	}
	if err != nil {
		return nil, err
	}
	out.Total = found.Total
	for i, num := range found.Nums {
		out.IDs, out.Names = append(out.IDs, found.IDs[i]), append(out.Names, plain.Line(found.Names[i], 80))
		out.Colors = append(out.Colors, int(num%palette))
	}
	for _, p := range found.Params {
		out.Params = append(out.Params, paramCells(p))
	}
	for i := range found.Metrics {
		out.Metrics[i].Values = found.Metrics[i]
	}
	return out, nil
}

// objectiveColumn parses a metric column in the search language.
func objectiveColumn(name string) (o goal.Objective, ok bool) {
	var p filter.Parser
	columns, err := p.Columns(name)
	if err != nil || len(columns) != 1 || columns[0].Field != filter.Metric {
		return o, false
	}
	o.Metric = columns[0].Name
	switch columns[0].Stat {
	case "min":
		o.Goal = goal.Minimize
	case "max":
		o.Goal = goal.Maximize
	}
	return o, true
}

// paramCells returns the values of a parameter as numbers if all of them are finite numbers.
func paramCells(c importance.Column) paramCell {
	out := paramCell{Name: c.Name, Column: filter.ParamName(c.Name), Numbers: make(numbersOf, len(c.Values))}
	for i, v := range c.Values {
		if v == nil {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(*v), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			out.Numbers, out.Texts = nil, c.Values
			return out
		}
		out.Numbers[i] = new(scalar.Value(f))
	}
	return out
}

// front is the data of a Pareto front of two metrics.
type front struct {
	X     string     `json:"x"` // first result in the search language
	Y     string     `json:"y"`
	Runs  int        `json:"runs"`  // number of runs with both results
	Size  int        `json:"size"`  // number of runs on the front
	Front []frontRun `json:"front"` // first runs on the front, best X first
}

type frontRun struct {
	ID   string       `json:"id"`
	Name string       `json:"name"`
	X    scalar.Value `json:"x"`
	Y    scalar.Value `json:"y"`
}

// shownFront is the maximum number of runs on a front that the Analyse tab shows.
const shownFront = 500

// frontData returns the Pareto front of two metrics with their goals.
func (s *site) frontData(r *http.Request, db *store.View) (any, error) {
	query := r.URL.Query()
	one := func(axis string) (goal.Objective, error) {
		o := goal.Objective{Metric: plain.Readable(query.Get(axis)), Goal: goal.Goal(query.Get(axis + "goal"))}
		if o.Metric == "" {
			return o, domain.Invalid(axis, "Choose two metrics.")
		}
		return o, domain.OneOf(axis+"goal", o.Goal, goal.Minimize, goal.Maximize)
	}
	x, err := one("x")
	if err != nil {
		return nil, err
	}
	y, err := one("y")
	if err != nil {
		return nil, err
	}
	out := front{X: x.Value(), Y: y.Value(), Front: []frontRun{}}
	columns := []string{out.X}
	if out.Y != out.X {
		columns = append(columns, out.Y)
	}
	found, err := db.Runs.Analysis(runs.AnalysisQuery{ExperimentID: idOf(r), Filter: plain.Readable(query.Get("filter")),
		Columns: strings.Join(columns, ", ")})
	if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: bad}, nil
	}
	if err != nil || len(found.Nums) == 0 {
		return out, err
	}
	xs, ys := pareto.Coordinates(found.Metrics[0]), pareto.Coordinates(found.Metrics[len(columns)-1])
	out.Runs = pareto.Count(xs, ys)
	all := pareto.Front(xs, ys, x.Goal, y.Goal)
	out.Size = len(all)
	for _, i := range all[:min(len(all), shownFront)] {
		out.Front = append(out.Front, frontRun{found.IDs[i], plain.Line(found.Names[i], 80), scalar.Value(xs[i]), scalar.Value(ys[i])})
	}
	return out, nil
}
