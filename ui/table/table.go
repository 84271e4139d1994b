// Package table builds tables of runs, or of groups of runs, for papers and reports, and writes
// them as LaTeX, Markdown and CSV. The best value of a metric is marked. A group of runs has the
// mean and the standard deviation of each metric.
package table

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/ui/plain"
)

// Query selects the rows and columns of a table.
type Query struct {
	By      string // names of parameters, or tag, separated by commas; "" selects runs
	Filter  string
	Sort    string
	Columns string
	Limit   int
}

// Table is a table of runs or of groups of runs.
type Table struct {
	Labels []string // headings of the first columns: the name of the run, or the values of the group
	Groups bool     // whether the rows are groups
	Heads  []Head
	Rows   []Row
	Total  int // number of rows without the limit
}

// Head is the heading of a parameter or a metric. Goal is "" if no value of the column is the
// best.
type Head struct {
	Name   string
	Number bool
	Goal   goal.Goal
}

// Row is a run or a group of runs.
type Row struct {
	Labels []string
	ID     string          // ID of the run, "" for a group
	Run    *runs.Iteration // nil for a group
	Size   int             // number of runs in the group
	Cells  []Cell
}

// Cell is the value of a parameter, the value of a metric, or the mean of a metric in a group.
// Both Known and Text are zero if there is no value.
type Cell struct {
	Text  string // a parameter
	Known bool   // whether the cell has a value of a metric
	Value scalar.Value
	SD    *scalar.Value // standard deviation of a group with two values or more
	N     int           // number of values in the mean, 0 for a run
	Best  bool

	places int // decimals of the value of a run, 0 for as many as it needs
}

// Of returns a table of an experiment's runs or groups. The objective o is nil if the experiment
// has none. The error has the code INVALID_PAYLOAD if the query can't be parsed.
func Of(db *store.View, experimentID string, q Query, o *goal.Objective) (Table, error) {
	columns, err := new(filter.Parser).Columns(q.Columns)
	if err != nil {
		return Table{}, domain.Refused(err)
	}
	if q.By = strings.TrimSpace(q.By); q.By != "" {
		// The parameters of a group's runs can differ.
		columns = slices.DeleteFunc(columns, func(c filter.Column) bool { return c.Field != filter.Metric })
	}
	t := Table{Groups: q.By != ""}
	for _, c := range columns {
		h := Head{Name: c.Label, Number: c.Field == filter.Metric}
		if h.Number {
			h.Goal = goalOf(c, o)
		}
		t.Heads = append(t.Heads, h)
	}
	if t.Groups {
		err = t.readGroups(db, experimentID, q, columns)
	} else {
		err = t.readRuns(db, experimentID, q, columns)
	}
	t.align()
	t.markBest()
	return t, err
}

// goalOf returns the goal of a metric's column.
func goalOf(c filter.Column, o *goal.Objective) goal.Goal {
	switch {
	case c.Stat == "count":
		return ""
	case o != nil && o.Metric == c.Name:
		return o.Goal
	}
	return goal.Of(c.Name)
}

func (t *Table) readRuns(db *store.View, experimentID string, q Query, columns []filter.Column) error {
	t.Labels = []string{"Name"}
	if q.Sort == "" {
		q.Sort = "-created"
	}
	found, err := db.Runs.Iterations(experimentID, runs.IterationQuery{Page: domain.Page{Limit: q.Limit}, Filter: q.Filter, Sort: q.Sort, Columns: q.Columns})
	if err != nil {
		return err
	}
	t.Total = found.Total
	t.AddRuns(found.Data, columns)
	return nil
}

// AddRuns adds a row for each run.
func (t *Table) AddRuns(list []runs.Iteration, columns []filter.Column) {
	for _, i := range list {
		row := Row{Labels: []string{i.Name}, ID: i.ID, Run: &i}
		for _, c := range columns {
			cell := Cell{Text: i.Params[c.Label]}
			if c.Field == filter.Summary {
				cell.Text = string(i.Texts[c.Label])
			}
			if c.Field == filter.Metric {
				value, ok := i.Metrics[c.Label]
				cell = Cell{Known: ok, Value: value}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
}

func (t *Table) readGroups(db *store.View, experimentID string, q Query, columns []filter.Column) error {
	by, err := new(filter.Parser).Group(q.By)
	if err != nil {
		return domain.Refused(err)
	}
	for _, r := range by {
		name := r.Name
		if !r.Field.Mixed() {
			name = "tag"
		}
		t.Labels = append(t.Labels, name)
	}
	found, err := db.Runs.Groups(experimentID, runs.GroupQuery{Page: domain.Page{Limit: q.Limit}, By: q.By, Filter: q.Filter, Sort: q.Sort, Columns: q.Columns})
	if err != nil {
		return err
	}
	t.Total = found.Total
	for _, g := range found.Data {
		t.Rows = append(t.Rows, groupRow(g, columns))
	}
	return nil
}

func groupRow(g search.Group, columns []filter.Column) Row {
	row := Row{Size: g.Iterations}
	for _, v := range g.Values {
		label := "none"
		if v != nil {
			label = *v
		}
		row.Labels = append(row.Labels, label)
	}
	for _, c := range columns {
		var cell Cell
		if spread, ok := g.Metrics[c.Label]; ok && spread.Mean != nil {
			cell = Cell{Known: true, Value: *spread.Mean, SD: spread.SD, N: spread.N}
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// align sets the decimals of the values of runs, so that the decimal points of a column are
// aligned.
func (t *Table) align() {
	if t.Groups {
		return
	}
	for c := range t.Heads {
		var values []scalar.Value
		for _, row := range t.Rows {
			if cell := row.Cells[c]; cell.Known {
				values = append(values, cell.Value)
			}
		}
		places := plain.Decimals(values)
		for r := range t.Rows {
			t.Rows[r].Cells[c].places = places
		}
	}
}

// markBest marks the best value of each column that has a goal and two values or more. Values
// that look equal in the table are marked together.
func (t *Table) markBest() {
	for c, h := range t.Heads {
		best, known := -1, 0
		for r, row := range t.Rows {
			cell := row.Cells[c]
			if !cell.Known || !cell.Value.Finite() {
				continue
			}
			known++
			if best < 0 || better(cell.Value, t.Rows[best].Cells[c].Value, h.Goal) {
				best = r
			}
		}
		if h.Goal == "" || known < 2 {
			continue
		}
		text := numeral(t.Rows[best].Cells[c]).words()
		for r := range t.Rows {
			cell := &t.Rows[r].Cells[c]
			cell.Best = cell.Known && numeral(*cell).words() == text
		}
	}
}

func better(a, b scalar.Value, aim goal.Goal) bool {
	if aim == goal.Maximize {
		return a > b
	}
	return a < b
}

// number is a value, and its standard deviation if it is a mean, as texts. Power is the exponent
// of a power of ten that multiplies both.
type number struct {
	Value string
	SD    string // "" for none
	Power int
}

// deviationDigits is the number of significant digits of a standard deviation.
const deviationDigits = 2

// numeral returns the texts of a cell with a value of a metric. A standard deviation has two
// significant digits, and its mean has the same last digit.
func numeral(c Cell) number {
	mean := float64(c.Value)
	if c.SD == nil || !c.Value.Finite() || !c.SD.Finite() || *c.SD <= 0 {
		text, power, _ := strings.Cut(plain.Fixed(c.Value, c.places), "e")
		n := number{Value: text}
		n.Power, _ = strconv.Atoi(power)
		if c.SD != nil && *c.SD == 0 {
			n.SD = "0"
		}
		return n
	}
	sd := float64(*c.SD)
	n := number{}
	if size := math.Max(math.Abs(mean), sd); size < 1e-3 || size >= 1e6 {
		n.Power = int(math.Floor(math.Log10(size)))
	}
	// Divide in two steps, because a power of ten can be too small or too large for a float.
	scale := func(v float64) float64 {
		half := n.Power / 2
		return v / math.Pow10(half) / math.Pow10(n.Power-half)
	}
	mean, sd = scale(mean), scale(sd)
	// Formatting rounds 0.0996 to 0.10, so the position of the last digit is known afterwards.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sd, 'g', deviationDigits, 64), 64)
	digits := min(max(0, deviationDigits-1-int(math.Floor(math.Log10(rounded)))), 15)
	n.Value, n.SD = strconv.FormatFloat(mean, 'f', digits, 64), strconv.FormatFloat(sd, 'f', digits, 64)
	return n
}

// words returns a number as plain text.
func (n number) words() string {
	text := n.Value
	if n.SD != "" {
		text += " ± " + n.SD
	}
	if n.Power != 0 && n.SD != "" {
		text = "(" + text + ")"
	}
	if n.Power != 0 {
		text += "e" + strconv.Itoa(n.Power)
	}
	return text
}

// Words returns the cell as plain text, "" for a missing value.
func (c Cell) Words() string {
	if !c.Known {
		return plain.Line(c.Text, maxCell)
	}
	return numeral(c).words()
}

// maxCell is the maximum number of characters of a parameter in a table.
const maxCell = 100
