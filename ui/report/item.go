package report

import (
	"slices"
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/ui/plain"
	"tracker/ui/table"
)

// Item describes a chart or a table that a user adds from the dashboard to a report. If
// Iterations is set, the item shows these runs. Otherwise, it shows the first runs or groups of
// Experiment that match Filter.
type Item struct {
	Kind       string      `json:"kind"` // one of kinds
	Experiment string      `json:"experiment"`
	Filter     string      `json:"filter"`
	Sort       string      `json:"sort"`
	Runs       int         `json:"runs"`
	Iterations []string    `json:"iterations"`
	Group      string      `json:"group"`  // names of parameters, or tag, separated by commas
	Values     [][]*string `json:"values"` // groups to show, nil for the first groups
	Caption    string      `json:"caption"`

	Columns  string   `json:"columns"` // of a table
	Metrics  []string `json:"metrics"`
	Together bool     `json:"together"` // whether all metrics are in one chart
	Axis     string   `json:"axis"`     // step, relative, time, or metric: with a name
	X        string   `json:"x"`        // scale of the X axis of a chart; value of bars, dots or a histogram
	Y        string   `json:"y"`
	Outliers string   `json:"outliers"`
	Smooth   string   `json:"smooth"`
	Zoom     string   `json:"zoom"`
	Range    string   `json:"range"`
	Goals    []string `json:"goals"` // goals of the metrics of an analysis

	Highlight string   `json:"highlight"` // filter of the runs with a colour; "" for Filter
	A         []string `json:"a"`         // IDs of the runs on the first side of a difference
	B         []string `json:"b"`

	Artifact string `json:"artifact"` // ID of an image
	SVG      string `json:"svg"`      // image as SVG, compressed by zlib and in base64
	Frozen   bool   `json:"frozen"`   // whether a table or a difference keeps its present content
}

// Visible checks that the item's runs belong to its experiment and that the actor can read the
// runs. The error has the code NOT_FOUND, or INVALID_PAYLOAD if the runs belong to several
// experiments.
func (c Item) Visible(db *store.View) error {
	if _, err := db.Projects.Experiment(c.Experiment); err != nil {
		return err
	}
	ids := c.Iterations[:min(len(c.Iterations), MaxRuns)]
	if c.Kind == "difference" {
		if ids = slices.Concat(c.A, c.B); len(ids) > MaxSides {
			return errSides
		}
	}
	runs, err := db.Runs.IterationsByID(ids)
	for _, r := range runs {
		if r.ExperimentID != c.Experiment {
			return domain.Invalid("iterations", "The runs belong to several experiments. A block of a report shows runs of one experiment.")
		}
	}
	return err
}

// Block returns the item as a fenced block for the text of a report. The function parse reads
// the block.
func (c Item) Block() (string, error) {
	if len(c.Iterations) > 0 {
		ids := c.Iterations[:min(len(c.Iterations), MaxRuns)]
		c.Filter = "id in ('" + strings.Join(ids, "', '") + "')"
		c.Runs = len(ids)
	}
	together, values := "", ""
	if c.Together {
		together = "yes"
	}
	if c.Group != "" && c.Values != nil {
		text, err := json.Marshal(c.Values)
		if err != nil {
			return "", err
		}
		values = string(text)
	}
	count := strconv.Itoa(min(max(c.Runs, 1), MaxRuns))
	for _, key := range c.Metrics {
		if strings.Contains(key, ",") {
			return "", domain.Invalid("metrics", "The metric %q can't be in a chart of a report, because its name has a comma.", plain.Line(key, 200))
		}
	}
	var fields [][2]string
	switch c.Kind {
	case "", "chart":
		c.Kind = "chart"
		if len(c.Metrics) == 0 || len(c.Metrics) > maxPlots {
			return "", domain.Invalid("metrics", "A chart in a report must have 1 to %d metrics.", maxPlots)
		}
		fields = [][2]string{{"experiment", c.Experiment}, {"metrics", strings.Join(c.Metrics, ", ")}, {"filter", c.Filter}, {"sort", c.Sort},
			{"group", c.Group}, {"values", values}, {"runs", count}, {"axis", c.Axis}, {"x", c.X}, {"y", c.Y}, {"smooth", c.Smooth}, {"zoom", c.Zoom},
			{"range", c.Range}, {"outliers", c.Outliers}, {"together", together}}
	case "table":
		fields = [][2]string{{"experiment", c.Experiment}, {"filter", c.Filter}, {"sort", c.Sort}, {"group", c.Group}, {"columns", c.Columns}, {"runs", count}}
	case "image":
		if c.SVG != "" {
			if _, err := unpack(c.SVG); err != nil {
				return "", err
			}
		}
		fields = [][2]string{{"artifact", c.Artifact}, {"svg", c.SVG}}
	case "importance", "pareto":
		fields = [][2]string{{"experiment", c.Experiment}, {"metrics", strings.Join(c.Metrics, ", ")}, {"goals", strings.Join(c.Goals, ", ")}, {"filter", c.Filter}}
	case "difference":
		if len(c.A) == 0 || len(c.B) == 0 || len(c.A)+len(c.B) > MaxSides {
			return "", errSides
		}
		fields = [][2]string{{"experiment", c.Experiment}, {"a", strings.Join(c.A, ", ")}, {"b", strings.Join(c.B, ", ")}}
	case "bar", "scatter", "histogram":
		if c.X == "" || (c.Y == "") == (c.Kind == "scatter") {
			return "", domain.Invalid("x", "Bars and histograms in a report show one value, and scatter plots show two.")
		}
		fields = [][2]string{{"experiment", c.Experiment}, {"x", c.X}, {"y", c.Y}, {"filter", c.Filter}, {"sort", c.Sort},
			{"highlight", c.Highlight}, {"runs", strconv.Itoa(min(max(c.Runs, 0), MaxRuns))}}
	default:
		return "", domain.Invalid("kind", "A block of a report can't have the kind %q.", plain.Line(c.Kind, 40))
	}
	fields = append(fields, [2]string{"caption", c.Caption})
	var text strings.Builder
	text.WriteString(closing + c.Kind + "\n")
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if f[1] != strings.TrimSpace(f[1]) || strings.ContainsAny(f[1], "\r\n") {
			return "", domain.Invalid(f[0], "The %s of a chart in a report must be one line without spaces around it.", f[0])
		}
		text.WriteString(f[0] + ": " + f[1] + "\n")
	}
	return text.String() + closing + "\n", nil
}

// Append returns the text of a report with a block added at the end.
func Append(text, block string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" {
		return block
	}
	if inCode(text) {
		text += "\n" + closing
	}
	return text + "\n\n" + block
}

// Rows returns the current rows of the item's table as Markdown.
func (c Item) Rows(db *store.View) (string, error) {
	e, err := db.Projects.Experiment(c.Experiment)
	if err != nil {
		return "", err
	}
	o, err := db.Projects.Objective(e)
	if err != nil {
		return "", err
	}
	t, err := table.Of(db, e.ID, table.Query{By: c.Group, Filter: c.Filter, Sort: c.Sort, Columns: c.Columns, Limit: min(max(c.Runs, 1), MaxRuns)}, o)
	if err != nil {
		return "", err
	}
	return t.Markdown(), nil
}
