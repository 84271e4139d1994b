package report

import (
	"strconv"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/ui/plain"
)

// Chart describes a chart that a user adds from the dashboard to a report. If Iterations is
// set, the chart shows these runs. Otherwise, the chart shows the first runs of Experiment that
// match Filter.
type Chart struct {
	Experiment string   `json:"experiment"`
	Filter     string   `json:"filter"`
	Sort       string   `json:"sort"`
	Runs       int      `json:"runs"`
	Iterations []string `json:"iterations"`
	Metrics    []string `json:"metrics"`
	X          string   `json:"x"`
	Y          string   `json:"y"`
	Outliers   string   `json:"outliers"`
}

// fence is the line that ends a block.
const fence = "```"

// Visible checks that the chart's runs belong to its experiment and that the actor can read the
// runs. The error has the code NOT_FOUND, or INVALID_PAYLOAD if the runs belong to several
// experiments.
func (c Chart) Visible(db *store.View) error {
	if _, err := db.Projects.Experiment(c.Experiment); err != nil {
		return err
	}
	runs, err := db.Runs.IterationsByID(c.Iterations[:min(len(c.Iterations), MaxRuns)])
	for _, r := range runs {
		if r.ExperimentID != c.Experiment {
			return domain.Invalid("iterations", "The runs belong to several experiments. A chart in a report shows runs of one experiment.")
		}
	}
	return err
}

// Block returns the chart as a fenced block for the text of a report. The function parse reads
// the block.
func (c Chart) Block() (string, error) {
	filter := c.Filter
	if len(c.Iterations) > 0 {
		ids := c.Iterations[:min(len(c.Iterations), MaxRuns)]
		filter = "id in ('" + strings.Join(ids, "', '") + "')"
		c.Runs = len(ids)
	}
	fields := [][2]string{{"experiment", c.Experiment}, {"metrics", strings.Join(c.Metrics, ", ")}, {"filter", filter}, {"sort", c.Sort},
		{"runs", strconv.Itoa(min(max(c.Runs, 1), MaxRuns))}, {"x", c.X}, {"y", c.Y}, {"outliers", c.Outliers}}
	for _, key := range c.Metrics {
		if strings.Contains(key, ",") {
			return "", domain.Invalid("metrics", "The metric %q can't be in a chart of a report, because its name has a comma.", plain.Line(key, 200))
		}
	}
	if len(c.Metrics) == 0 || len(c.Metrics) > maxPlots {
		return "", domain.Invalid("metrics", "A chart in a report must have 1 to %d metrics.", maxPlots)
	}
	var text strings.Builder
	text.WriteString(fence + "chart\n")
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if f[1] != strings.TrimSpace(f[1]) || strings.ContainsAny(f[1], "\r\n") {
			return "", domain.Invalid(f[0], "The %s of a chart in a report must be one line without spaces around it.", f[0])
		}
		text.WriteString(f[0] + ": " + f[1] + "\n")
	}
	return text.String() + fence + "\n", nil
}

// Append returns the text of a report with a block added at the end.
func Append(text, block string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" {
		return block
	}
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " \t\r"); line == fence || !open && strings.HasPrefix(line, fence) {
			open = !open
		}
	}
	if open {
		text += "\n" + fence
	}
	return text + "\n\n" + block
}
