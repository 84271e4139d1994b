package ui

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"
	"github.com/gorilla/mux"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui/plain"
	"tracker/ui/report"
)

// reportsView is the view of the page that lists a project's reports.
type reportsView struct {
	ProjectID string
	Found     string
	Rows      []reportRow
	Pager     pager
	Rights    domain.Permission
	Form      reportForm
}

type reportRow struct {
	Path    string
	Name    string
	By      string
	Changed moment
}

// reportForm holds the input of the form that edits a report.
type reportForm struct {
	basis
	Name  string
	Text  string
	Wrong *domain.Error
}

// wrong returns the error message for the given field, "" for none.
func (f reportForm) wrong(field string) string {
	return f.basis.wrong(field, wrongOf(f.Wrong, field, "name", "text"))
}

// firstReport is the initial text of a new report.
const firstReport = "# What we tried\n\n```chart\nexperiment: NAME\nmetrics: val/loss\nruns: 5\n```\n\n```table\nexperiment: NAME\nruns: 10\n```\n"

// reports lists the reports of a project.
func (s *site) reports(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showReports(w, r, user, http.StatusOK, reportForm{Text: firstReport})
}

func (s *site) showReports(w http.ResponseWriter, r *http.Request, user domain.User, status int, typed reportForm) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		page := pageOf(r.URL.Query())
		list, err := db.Projects.Reports(p.ID, page)
		if err != nil {
			return nil, err
		}
		v := reportsView{ProjectID: p.ID, Found: humanize.Comma(int64(list.Total)), Form: typed,
			Pager: newPager(url.Values{}, page, len(list.Data), list.Total)}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		for _, one := range list.Data {
			row := reportRow{Path: "/report/" + one.ID, Name: one.Name, Changed: s.moment(one.UpdatedDate)}
			if one.CreatedBy != nil {
				row.By = *one.CreatedBy
			}
			v.Rows = append(v.Rows, row)
		}
		f, err := s.inside(db, "Reports of "+p.Name, user, place{projectID: p.ID})
		if err != nil {
			return nil, err
		}
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Reports"}}
		return reportsPage(f, v), nil
	})
}

func typedReport(fields url.Values) reportForm {
	return reportForm{basis: basisOf(fields), Name: plain.Readable(fields.Get("name")), Text: text(fields, "text")}
}

func (s *site) createReport(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	typed := typedReport(fields)
	made, err := s.DB.Projects.CreateReport(r.Context(), user.Actor(), idOf(r), projects.NewReport{Name: typed.Name, Text: typed.Text})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showReports(w, r, user, web.StatusOf(typed.Wrong.Code), typed)
	}
	return s.redirectUnless(err, w, r, "/report/"+made.ID)
}

// reportView is the view of a report's page.
type reportView struct {
	ID      string
	Name    string
	By      string // name of the creator, "" if unknown
	Changed moment
	Parts   []report.Part
	Running bool // whether a run in the report is running
	Offline bool // whether the report is exported to a file
	Rights  domain.Permission
	Form    reportForm
	Lost    lostEdit
}

// lostEdit is an edit of a block that was rejected.
type lostEdit struct {
	Wrong string // the reason, "" for none
	Text  string // the text that the user typed, "" for none
}

// editable reports whether the page has controls that edit blocks.
func (v reportView) editable() bool { return v.Rights.Update && !v.Offline }

// blockName returns a name of a block for its controls.
func (v reportView) blockName(part report.Part) string {
	name := "block " + strconv.Itoa(part.Index+1) + " of " + strconv.Itoa(len(v.Parts))
	if part.Caption != "" {
		name += ", " + plain.Line(part.Caption, 60)
	}
	return name
}

// rowsOf returns the number of rows of an editor for a text.
func rowsOf(text string) string { return strconv.Itoa(min(max(3, strings.Count(text, "\n")+1), 24)) }

// address returns a function that maps run IDs to URLs. It returns nil for an exported report,
// which contains no links.
func (v reportView) address(f frame) func(runID string) string {
	if v.Offline {
		return nil
	}
	return func(id string) string { return f.url("/iteration/" + id) }
}

// report shows a report.
func (s *site) report(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showReport(w, r, user, http.StatusOK, reportView{})
}

// showReport shows a report. The form of v holds rejected input.
func (s *site) showReport(w http.ResponseWriter, r *http.Request, user domain.User, status int, v reportView) error {
	var f frame
	typed := v.Form
	var of projects.Report
	err := s.view(r, user, func(db *store.View) (err error) {
		if of, err = db.Projects.Report(idOf(r)); err != nil {
			return err
		}
		p, err := db.Projects.Project(of.ProjectID)
		if err != nil {
			return err
		}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return err
		}
		f, err = s.inside(db, of.Name, user, place{projectID: p.ID})
		f.InPlace, f.Module = true, "report.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {"Reports", "/project/" + p.ID + "/reports"}, {Name: of.Name}}
		return err
	})
	if err != nil {
		return err
	}
	if typed.Wrong == nil {
		v.Form.Name, v.Form.Text = of.Name, of.Text
	}
	v.Form.renew("name", &v.Form.Name, of.Name)
	v.Form.renew("text", &v.Form.Text, of.Text)
	if err := s.fillReport(r.Context(), user, of, &v); err != nil {
		return err
	}
	return s.render(w, r, status, reportPage(f, v))
}

// building is a semaphore with one value for each report that is being built. Further requests
// wait, because building many reports at once would delay all of them.
var building = make(chan struct{}, runtime.GOMAXPROCS(0))

func (s *site) fillReport(ctx context.Context, user domain.User, of projects.Report, v *reportView) (err error) {
	select {
	case building <- struct{}{}:
		defer func() { <-building }()
	case <-ctx.Done():
		return ctx.Err()
	}
	v.ID, v.Name, v.Changed = of.ID, of.Name, s.moment(of.UpdatedDate)
	if of.CreatedBy != nil {
		v.By = *of.CreatedBy
	}
	return withBudget(ctx, func(ctx context.Context) (err error) {
		builder := report.Builder{DB: s.DB, Actor: user.Actor(), ProjectID: of.ProjectID, Offline: v.Offline,
			Runs: s.reportRuns, Columns: s.defaultColumns, Explain: blockError,
			Importance: func(ctx context.Context, experimentID, metric, aim, filter string) ([]report.Share, string, string, error) {
				return s.shares(ctx, user.Actor(), experimentID, url.Values{"metric": {metric}, "goal": {aim}, "filter": {filter}})
			},
			Difference: func(ctx context.Context, experimentID string, a, b []string) (report.Difference, error) {
				return s.reportDifference(ctx, user.Actor(), experimentID, a, b)
			},
			Picture: func(id string) string { return s.BasePath + "/artifact/" + id + "/data" },
			Drawing: func(fingerprint string) string { return s.BasePath + "/report/" + of.ID + "/picture/" + fingerprint }}
		v.Parts, v.Running, err = builder.Parts(ctx, of.Text)
		return err
	})
}

// reportRuns converts runs to the form that reports show.
func (s *site) reportRuns(list []runs.Iteration) []report.Run {
	all := make([]run, len(list))
	for i, one := range list {
		all[i] = s.run(one)
	}
	distinctColors(all)
	shown := make([]report.Run, len(list))
	for i, one := range all {
		shown[i] = report.Run{ID: one.ID, Name: one.Name, Class: colorClass(one), Running: one.running()}
	}
	return shown
}

// blockError returns the error message that a block of a report shows. The result ok is false
// for an internal error.
func blockError(err error) (text string, ok bool) {
	if web.StatusOf(web.AsError(err).Code) >= 500 {
		return "", false
	}
	return web.AsError(err).Message, true
}

func (s *site) saveReport(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	typed := typedReport(fields)
	err = s.DB.Projects.UpdateReport(r.Context(), user.Actor(), idOf(r), projects.ReportPatch{
		Name: changed(fields, "name", typed.Name), Text: changed(fields, "text", typed.Text), Before: typed.Before})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showReport(w, r, user, web.StatusOf(typed.Wrong.Code), reportView{Form: typed})
	}
	return s.redirectUnless(err, w, r, "/report/"+idOf(r))
}

// editBlock moves, resizes, changes, removes or adds a block of a report. Concurrent changes of
// other blocks are kept. If the block itself was changed, the page shows the text that the user
// typed.
func (s *site) editBlock(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) error {
	e := report.Edit{Do: fields.Get("do"), Was: fields.Get("was"), Text: text(fields, "text")}
	e.Block, _ = strconv.Atoi(fields.Get("block"))
	e.To, _ = strconv.Atoi(fields.Get("to"))
	at := 0
	_, err := s.changeReport(r.Context(), user.Actor(), idOf(r), func(text string) (next string, err error) {
		next, at, err = e.Apply(text)
		return next, err
	})
	if wrong := formError(err); wrong != nil {
		lost := lostEdit{Wrong: wrong.Message}
		if e.Do == "text" || e.Do == "add" {
			lost.Text = e.Text
		}
		return s.showReport(w, r, user, web.StatusOf(wrong.Code), reportView{Lost: lost})
	}
	address := "/report/" + idOf(r)
	if !inPlace(r) {
		address += "#block-" + strconv.Itoa(at)
	}
	return s.redirectUnless(err, w, r, address)
}

func (s *site) deleteReport(w http.ResponseWriter, r *http.Request, user domain.User) error {
	ctx, actor := r.Context(), user.Actor()
	of, err := s.DB.Projects.Report(ctx, actor, idOf(r))
	if err == nil {
		err = s.DB.Projects.DeleteReport(ctx, actor, of.ID)
	}
	return s.redirectUnless(err, w, r, s.afterDeletion("/project/"+of.ProjectID+"/reports", of.ID))
}

// reportPicture responds with an SVG image in the text of a report. The address contains a
// fingerprint of the image, so browsers can cache it.
func (s *site) reportPicture(w http.ResponseWriter, r *http.Request, user domain.User) error {
	of, err := s.DB.Projects.Report(r.Context(), user.Actor(), idOf(r))
	if err != nil {
		return err
	}
	svg, err := report.Drawing(of.Text, mux.Vars(r)["picture"])
	if err != nil {
		return err
	}
	// A page shows the picture as an image, which runs no scripts. Opened by itself, it is saved.
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Disposition", web.Attachment("figure.svg"))
	w.Header().Set("Cache-Control", "private, max-age=86400")
	_, err = w.Write(svg)
	return err
}

// exportReport responds with a report as a single HTML file.
func (s *site) exportReport(w http.ResponseWriter, r *http.Request, user domain.User) error {
	of, err := s.DB.Projects.Report(r.Context(), user.Actor(), idOf(r))
	if err != nil {
		return err
	}
	v := reportView{Offline: true}
	if err := s.fillReport(r.Context(), user, of, &v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", web.Attachment(of.Name+".html"))
	return s.writeOffline(r.Context(), w, of.Name, reportBody(frame{}, v))
}

// writeOffline writes an HTML page that needs no other files.
func (s *site) writeOffline(ctx context.Context, w io.Writer, title string, body templ.Component) error {
	var css string
	for _, source := range []string{"page.css", "record.css", "plot.css"} {
		css += string(s.assets.files[s.assets.bySource[source].File])
	}
	return offlinePage(title, css, body).Render(ctx, w)
}
