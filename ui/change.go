package ui

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/ui/plain"
)

// maxAtOnce is the maximum number of selected runs that one form changes.
const maxAtOnce = 200

// changeView is the view of a form that changes or deletes selected runs of one experiment.
type changeView struct {
	Experiment projects.Experiment
	Runs       []changeRow
	Table      *string // query of the table in which the user selected the runs, nil for none
	Deletion   runs.Deletion
	Undoing    string // message about whether and how the deletion can be undone
	Rights     domain.Permission
	Tag        string // entered tag
	Status     string
	Wrong      string
	Field      string // rejected field: "status", or "" for the tag
}

type changeRow struct {
	run
	Params   string
	Metrics  string
	Points   int64
	Versions []registry.MadeVersion // model versions that must be deleted before the run
}

var errRunsGone = domain.Errorf(domain.CodeNotFound, "A selected run was deleted. Select the runs again in the table.")

// chosen reads the runs that are selected in a form or a query.
func (s *site) chosen(db *store.View, fields url.Values) (v changeView, err error) {
	ids := fields["i"]
	if len(ids) == 0 || len(ids) > maxAtOnce {
		return v, domain.Invalid("i", "Select 1 to %d runs in the table first.", maxAtOnce)
	}
	if fields.Has("table") {
		v.Table = new("")
		if u, err := url.Parse("?" + fields.Get("table")); err == nil {
			v.Table = &u.RawQuery
		}
	}
	runs, err := db.Runs.IterationsByID(ids)
	if err == nil && len(runs) < len(ids) {
		err = errRunsGone
	}
	if err != nil {
		return v, err
	}
	summaries, err := db.Runs.Summaries(ids)
	if err != nil {
		return v, err
	}
	for at, i := range runs {
		summary := summaries[at]
		row := changeRow{run: s.run(i), Params: humanize.Comma(int64(len(summary.Params))), Metrics: humanize.Comma(int64(len(summary.Metrics)))}
		for _, m := range summary.Metrics {
			row.Points += m.Count
		}
		v.Runs = append(v.Runs, row)
	}
	if v.Experiment, err = db.Projects.Experiment(runs[len(runs)-1].ExperimentID); err != nil {
		return v, err
	}
	v.Rights, err = db.Users.Rights(v.Experiment.ProjectID)
	return v, err
}

// ids returns the IDs of the selected runs.
func (v *changeView) ids() []string {
	var ids []string
	for _, r := range v.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// back returns the path of the page on which the user selected the runs, with the same filter
// and sort order. If picked is true, the path selects the runs.
func (v *changeView) back(picked bool) string {
	at := "/experiment/" + v.Experiment.ID
	if v.Table == nil {
		if len(v.Runs) == 1 && picked {
			return "/iteration/" + v.Runs[0].ID
		}
		return at
	}
	var parts []string
	if *v.Table != "" {
		parts = append(parts, *v.Table)
	}
	if picked {
		parts = append(parts, url.Values{"pick": {strings.Join(v.ids(), " ")}}.Encode())
	}
	if len(parts) > 0 {
		at += "?" + strings.Join(parts, "&")
	}
	return at
}

// origin returns the name of the run or experiment that the Back link leads to.
func (v *changeView) origin() string {
	if v.Table == nil && len(v.Runs) == 1 {
		return v.Runs[0].Name
	}
	return v.Experiment.Name
}

// going returns the selected runs that can be deleted.
func (v *changeView) going() (runs []changeRow) {
	for _, r := range v.Runs {
		if len(r.Versions) == 0 {
			runs = append(runs, r)
		}
	}
	return runs
}

// question returns the heading that asks the user to confirm the deletion.
func (v *changeView) question() string {
	going, all := len(v.going()), len(v.Runs)
	switch {
	case going == all:
		return "Delete " + runsOf(all) + "?"
	case going > 0:
		return "Delete " + strconv.Itoa(going) + " of " + runsOf(all) + "?"
	case all == 1:
		return "This run can't be deleted"
	}
	return "These runs can't be deleted"
}

// stays returns the reason why some runs can't be deleted, or "" if all runs can be deleted.
func (v *changeView) stays() string {
	switch staying := len(v.Runs) - len(v.going()); staying {
	case 0:
		return ""
	case 1:
		return "One run can't be deleted because model versions were created from it. Delete these versions first:"
	default:
		return runsOf(staying) + " can't be deleted because model versions were created from them. Delete these versions first:"
	}
}

// gone returns a sentence that names the records deleted with the deletable runs.
func (v *changeView) gone() string {
	going := v.going()
	their := "their"
	if len(going) == 1 {
		their = "its"
	}
	if len(going) == 1 && len(v.Runs) > 1 {
		their = "the"
	}
	var points int64
	for _, r := range going {
		points += r.Points
	}
	text := "This also deletes " + their + " parameters, metrics (" + plain.Counted(int(points), "point", "points") + "), tags, notes and environment"
	if their == "the" {
		text += " of " + going[0].Name
	}
	if d := v.Deletion; d.Artifacts > 0 {
		text += ", and " + plain.Counted(d.Artifacts, "artifact", "artifacts") + " (" + plain.Size(d.Bytes) + ")"
	}
	text += ". " + v.Undoing
	switch d := v.Deletion; {
	case d.Children == 1:
		text += " One child run is kept, without a parent."
	case d.Children > 1:
		text += " " + humanize.Comma(int64(d.Children)) + " child runs are kept, without a parent."
	}
	return text
}

// deletion shows the page that asks the user to confirm the deletion of runs. The page lists
// the records that are deleted with the runs.
func (s *site) deletion(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showDeletion(w, r, user, http.StatusOK, r.URL.Query(), "")
}

func (s *site) showDeletion(w http.ResponseWriter, r *http.Request, user domain.User, status int, fields url.Values, wrong string) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v, err := s.chosen(db, fields)
		if err != nil {
			return nil, err
		}
		v.Wrong = wrong
		if v.Undoing = s.undoing(); len(v.Runs) > 1 {
			v.Undoing = s.undoingAll()
		}
		if v.Deletion, err = db.Runs.IterationsDeletion(v.ids()); err != nil {
			return nil, err
		}
		for i := range v.Runs {
			v.Runs[i].Versions = v.Deletion.Versions[v.Runs[i].ID]
		}
		f, err := s.changeFrame(db, user, "Delete", v)
		if err != nil {
			return nil, err
		}
		return deletePage(f, &v), nil
	})
}

func (s *site) changeFrame(db *store.View, user domain.User, title string, v changeView) (frame, error) {
	f, err := s.inside(db, title, user, place{projectID: v.Experiment.ProjectID, experimentID: v.Experiment.ID})
	if err != nil {
		return f, err
	}
	p, err := db.Projects.Project(v.Experiment.ProjectID)
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {v.Experiment.Name, v.back(false)}, {Name: title}}
	return f, err
}

// delete deletes all selected runs. If a run can't be deleted, delete deletes no run and shows
// the reason.
func (s *site) delete(w http.ResponseWriter, r *http.Request, user domain.User) error {
	fields, v, err := s.sent(r, user)
	if err != nil {
		return err
	}
	err = s.DB.Runs.DeleteIterations(r.Context(), user.Actor(), v.ids())
	if e := formError(err); e != nil {
		return s.showDeletion(w, r, user, web.StatusOf(e.Code), fields, "Nothing was deleted. "+e.Message)
	}
	return s.redirectUnless(err, w, r, s.afterDeletion(v.back(false), v.ids()...))
}

// sent reads a submitted form and the runs that are selected in it.
func (s *site) sent(r *http.Request, user domain.User) (fields url.Values, v changeView, err error) {
	if fields, err = form(r); err != nil {
		return nil, v, err
	}
	err = s.view(r, user, func(db *store.View) (err error) {
		v, err = s.chosen(db, fields)
		return err
	})
	return fields, v, err
}

// changes shows the form that changes the tags or the status of runs.
func (s *site) changes(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showChanges(w, r, user, http.StatusOK, r.URL.Query(), func(*changeView) {})
}

// showChanges shows the form. The function fill adds the input and the errors.
func (s *site) showChanges(w http.ResponseWriter, r *http.Request, user domain.User, status int, fields url.Values, fill func(*changeView)) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v, err := s.chosen(db, fields)
		if err != nil {
			return nil, err
		}
		fill(&v)
		f, err := s.changeFrame(db, user, "Change", v)
		if err != nil {
			return nil, err
		}
		return changePage(f, &v), nil
	})
}

// change adds a tag to runs, removes a tag from runs, or sets the status of runs. After an
// error, no run is changed.
func (s *site) change(w http.ResponseWriter, r *http.Request, user domain.User) error {
	fields, v, err := s.sent(r, user)
	if err != nil {
		return err
	}
	actor, ctx := user.Actor(), r.Context()
	tag, status := strings.TrimSpace(plain.Readable(fields.Get("tag"))), fields.Get("status")
	switch fields.Get("do") {
	case "add":
		_, err = s.DB.Runs.TagIterations(ctx, actor, v.ids(), tag, true)
	case "remove":
		_, err = s.DB.Runs.TagIterations(ctx, actor, v.ids(), tag, false)
	case "status":
		err = s.DB.Runs.UpdateIterations(ctx, actor, v.ids(), runs.IterationPatch{Status: new(domain.IterationStatus(status))})
	}
	if e := formError(err); e != nil {
		return s.showChanges(w, r, user, web.StatusOf(e.Code), fields, func(v *changeView) {
			v.Tag, v.Status, v.Wrong = tag, status, e.Message
			if fields.Get("do") == "status" {
				v.Field = "status"
			}
			if e.Code == domain.CodeIterationEnded {
				v.Wrong = v.ended()
			}
		})
	}
	return s.redirectUnless(err, w, r, v.back(true))
}

// ended returns an error message that names runs that ended with a status other than the
// requested status.
func (v *changeView) ended() string {
	var names []string
	for _, r := range v.Runs {
		if !r.running() && r.Status != statusWords[domain.IterationStatus(v.Status)] {
			names = append(names, r.Name)
		}
	}
	if len(names) == 1 {
		return names[0] + " has already ended. Reopen it first. Nothing was changed."
	}
	return strings.Join(names, ", ") + " have already ended. Reopen them first. Nothing was changed."
}

func runsOf(n int) string { return plain.Counted(n, "run", "runs") }
