package ui

import (
	"context"
	"net/http"
	"strings"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/ui/report"
)

// maxItem is the maximum size in bytes of a request that adds an item to a report. The item can be
// a picture.
const maxItem = 512 << 10

// reportChoice holds the reports to which the user can add a chart or a table.
type reportChoice struct {
	Data   []reportName `json:"data"`
	Name   string       `json:"name"` // suggested name of a new report
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
	answer := reportChoice{Data: []reportName{}, Name: e.Name, Total: list.Total, Most: report.MaxRuns, Create: rights.Create, Update: rights.Update}
	for _, one := range list.Data {
		answer.Data = append(answer.Data, reportName{one.ID, one.Name})
	}
	return answer, err
}

// createReportData creates a report that contains one block.
func (s *site) createReportData(r *http.Request, actor domain.Actor) (any, error) {
	var b struct {
		Name string      `json:"name"`
		Item report.Item `json:"item"`
	}
	if err := readLargeBody(r, &b, maxItem); err != nil {
		return nil, err
	}
	e, err := s.DB.Projects.Experiment(r.Context(), actor, idOf(r))
	if err != nil {
		return nil, err
	}
	b.Item.Experiment = e.ID
	text, err := s.blockOf(r, actor, b.Item)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(b.Name)
	made, err := s.DB.Projects.CreateReport(r.Context(), actor, e.ProjectID, projects.NewReport{Name: name, Text: text})
	return reportName{made.ID, name}, err
}

// blockOf returns an item as text of a report. It returns an error if the actor can't read the
// item's runs.
func (s *site) blockOf(r *http.Request, actor domain.Actor, item report.Item) (text string, err error) {
	if item.Kind == "image" && item.Artifact == "" {
		return item.Block()
	}
	if item.Kind == "image" {
		if _, err := s.DB.Files.Artifact(r.Context(), actor, item.Artifact); err != nil {
			return "", err
		}
		return item.Block()
	}
	if item.Kind == "difference" && item.Frozen {
		if _, err := item.Block(); err != nil {
			return "", err
		}
		d, err := s.reportDifference(r.Context(), actor, item.Experiment, item.A, item.B)
		return d.Markdown(), err
	}
	err = s.DB.View(r.Context(), actor, func(db *store.View) error {
		if err := item.Visible(db); err != nil {
			return err
		}
		if item.Kind == "table" && item.Frozen {
			text, err = item.Rows(db)
			return err
		}
		text, err = item.Block()
		return err
	})
	return text, err
}

// attempts is the maximum number of attempts to change a report. An attempt fails if another
// user changes the report at the same time.
const attempts = 5

// addItemData adds a chart or a table to the end of a report. Concurrent changes to the report
// are kept.
func (s *site) addItemData(r *http.Request, actor domain.Actor) (any, error) {
	var item report.Item
	if err := readLargeBody(r, &item, maxItem); err != nil {
		return nil, err
	}
	block, err := s.blockOf(r, actor, item)
	if err != nil {
		return nil, err
	}
	of, err := s.changeReport(r.Context(), actor, idOf(r), func(text string) (string, error) { return report.Append(text, block), nil })
	return reportName{of.ID, of.Name}, err
}

// changeReport replaces the text of a report with the result of change. If another user changes
// the report at the same time, changeReport calls change with the new text.
func (s *site) changeReport(ctx context.Context, actor domain.Actor, id string, change func(text string) (string, error)) (of projects.Report, err error) {
	for range attempts {
		if of, err = s.DB.Projects.Report(ctx, actor, id); err != nil {
			return of, err
		}
		next, err := change(of.Text)
		if err != nil {
			return of, err
		}
		err = s.DB.Projects.UpdateReport(ctx, actor, of.ID, projects.ReportPatch{Text: &next, Before: domain.Before{"text": domain.Fingerprint(of.Text)}})
		if e := web.AsError(err); e == nil || e.Code != domain.CodeConflict {
			return of, err
		}
	}
	return of, err
}
