package ui

import (
	"net/http"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/ui/report"
)

// reportChoice holds the reports to which the user can add a chart.
type reportChoice struct {
	Data   []reportName `json:"data"`
	Total  int          `json:"total"`
	Most   int          `json:"most"` // maximum number of runs in a chart of a report
	Create bool         `json:"create"`
	Update bool         `json:"update"`
}

type reportName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// reportsData returns the reports of the experiment's project, newest first.
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
	answer := reportChoice{Data: []reportName{}, Total: list.Total, Most: report.MaxRuns, Create: rights.Create, Update: rights.Update}
	for _, one := range list.Data {
		answer.Data = append(answer.Data, reportName{one.ID, one.Name})
	}
	return answer, err
}

// createReportData creates a report that contains one chart.
func (s *site) createReportData(r *http.Request, actor domain.Actor) (any, error) {
	var b struct {
		Name  string       `json:"name"`
		Chart report.Chart `json:"chart"`
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

// blockOf returns the chart as a fenced block. It returns an error if the actor can't read the
// chart's runs.
func (s *site) blockOf(r *http.Request, actor domain.Actor, chart report.Chart) (string, error) {
	if err := s.DB.View(r.Context(), actor, chart.Visible); err != nil {
		return "", err
	}
	return chart.Block()
}

// attempts is the maximum number of attempts to add a chart to a report. An attempt fails if
// another user changes the report at the same time.
const attempts = 5

// addChartData adds a chart to the end of a report. Concurrent changes to the report are preserved.
func (s *site) addChartData(r *http.Request, actor domain.Actor) (any, error) {
	var chart report.Chart
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
		next := report.Append(of.Text, block)
		err = s.DB.Projects.UpdateReport(r.Context(), actor, of.ID, projects.ReportPatch{Text: &next, Before: domain.Before{"text": domain.Fingerprint(of.Text)}})
		if e := web.AsError(err); e == nil || e.Code != domain.CodeConflict {
			return reportName{of.ID, of.Name}, err
		}
	}
	return nil, err
}
