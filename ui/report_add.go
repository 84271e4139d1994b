package ui

import (
	"net/http"
	"strconv"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
)

// addedChart is a chart of the dashboard that is added to a report. It shows the first runs of an
// experiment that pass a filter, or a list of runs.
type addedChart struct {
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

// visible checks that the chart's runs belong to its experiment and that the actor may read them.
// Errors: NOT_FOUND, INVALID_PAYLOAD for runs of several experiments.
func (c addedChart) visible(db *store.View) error {
	if _, err := db.Projects.Experiment(c.Experiment); err != nil {
		return err
	}
	runs, err := db.Runs.IterationsByID(c.Iterations[:min(len(c.Iterations), maxBlockRuns)])
	for _, r := range runs {
		if r.ExperimentID != c.Experiment {
			return domain.Invalid("iterations", "These runs belong to several experiments; a chart in a report shows runs of one experiment.")
		}
	}
	return err
}

// block returns the text of the chart in a report. blocksOf reads it.
func (c addedChart) block() (string, error) {
	filter := c.Filter
	if len(c.Iterations) > 0 {
		ids := c.Iterations[:min(len(c.Iterations), maxBlockRuns)]
		filter = "id in ('" + strings.Join(ids, "', '") + "')"
		c.Runs = len(ids)
	}
	fields := [][2]string{{"experiment", c.Experiment}, {"metrics", strings.Join(c.Metrics, ", ")}, {"filter", filter}, {"sort", c.Sort},
		{"runs", strconv.Itoa(min(max(c.Runs, 1), maxBlockRuns))}, {"x", c.X}, {"y", c.Y}, {"outliers", c.Outliers}}
	for _, key := range c.Metrics {
		if strings.Contains(key, ",") {
			return "", domain.Invalid("metrics", "The name of %q has a comma, which separates the metrics of a chart in a report.", cell(key))
		}
	}
	if len(c.Metrics) == 0 || len(c.Metrics) > maxBlockPlots {
		return "", domain.Invalid("metrics", "A chart in a report has 1 to %d metrics.", maxBlockPlots)
	}
	var text strings.Builder
	text.WriteString(fence + "chart\n")
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if f[1] != strings.TrimSpace(f[1]) || strings.ContainsAny(f[1], "\r\n") {
			return "", domain.Invalid(f[0], "The %s of a chart in a report is one line without spaces around it.", f[0])
		}
		text.WriteString(f[0] + ": " + f[1] + "\n")
	}
	return text.String() + fence + "\n", nil
}

// appended returns the text of a report with a block added at its end.
func appended(text, block string) string {
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

// reportChoice holds the reports to which a chart can be added.
type reportChoice struct {
	Data   []reportName `json:"data"`
	Total  int          `json:"total"`
	Most   int          `json:"most"` // runs of a chart in a report
	Create bool         `json:"create"`
	Update bool         `json:"update"`
}

type reportName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// reportsData returns the reports of the project of an experiment, the newest first.
func (s *site) reportsData(r *http.Request, db *store.View) (any, error) {
	e, err := db.Projects.Experiment(idOf(r))
	if err != nil {
		return nil, err
	}
	list, err := db.Projects.Reports(e.ProjectID, domain.Page{Limit: domain.MaxLimit})
	if err != nil {
		return nil, err
	}
	rights, err := db.Users.Rights(e.ProjectID)
	answer := reportChoice{Data: []reportName{}, Total: list.Total, Most: maxBlockRuns, Create: rights.Create, Update: rights.Update}
	for _, one := range list.Data {
		answer.Data = append(answer.Data, reportName{one.ID, one.Name})
	}
	return answer, err
}

// createReportData creates a report with one chart.
func (s *site) createReportData(r *http.Request, actor domain.Actor) (any, error) {
	var b struct {
		Name  string     `json:"name"`
		Chart addedChart `json:"chart"`
	}
	if err := readBody(r, &b); err != nil {
		return nil, err
	}
	e, err := s.DB.Projects.Experiment(r.Context(), actor, idOf(r))
	if err != nil {
		return nil, err
	}
	b.Chart.Experiment = e.ID
	text, err := s.blockOf(r, actor, b.Chart)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(b.Name)
	made, err := s.DB.Projects.CreateReport(r.Context(), actor, e.ProjectID, projects.NewReport{Name: name, Text: text})
	return reportName{made.ID, name}, err
}

// blockOf returns the text of a chart. It checks that the actor may read the chart's runs.
func (s *site) blockOf(r *http.Request, actor domain.Actor, chart addedChart) (string, error) {
	if err := s.DB.View(r.Context(), actor, chart.visible); err != nil {
		return "", err
	}
	return chart.block()
}

// attempts is the number of attempts to add a chart to a report that others change at the same time.
const attempts = 5

// addChartData adds a chart to the end of a report. Concurrent changes of the report are kept.
func (s *site) addChartData(r *http.Request, actor domain.Actor) (any, error) {
	var chart addedChart
	if err := readBody(r, &chart); err != nil {
		return nil, err
	}
	block, err := s.blockOf(r, actor, chart)
	if err != nil {
		return nil, err
	}
	for range attempts {
		var of projects.Report
		if of, err = s.DB.Projects.Report(r.Context(), actor, idOf(r)); err != nil {
			return nil, err
		}
		next := appended(of.Text, block)
		err = s.DB.Projects.UpdateReport(r.Context(), actor, of.ID, projects.ReportPatch{Text: &next, Before: domain.Before{"text": domain.Fingerprint(of.Text)}})
		if e := web.AsError(err); e == nil || e.Code != domain.CodeConflict {
			return reportName{of.ID, of.Name}, err
		}
	}
	return nil, err
}
