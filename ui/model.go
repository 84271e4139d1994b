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
	"tracker/ui/markdown"
	"tracker/ui/plain"
	"tracker/ui/preview"
)

// stages holds the stages of a model version in the order of their buttons. stageWords holds
// the names that pages show.
var (
	stages     = []registry.Stage{registry.NoStage, registry.Staging, registry.Production, registry.Archived}
	stageWords = map[registry.Stage]string{
		registry.NoStage: "none", registry.Staging: "staging", registry.Production: "production", registry.Archived: "archived",
	}
)

// stageClass returns the CSS class of a stage.
func stageClass(s registry.Stage) string { return "stage-" + stageWords[s] }

// modelsView is the view of the page that lists a project's models.
type modelsView struct {
	ProjectID string
	Project   string
	Rows      []modelRow
	Found     string
	Query     string
	Pager     pager
	Rights    domain.Permission
	Form      recordForm
	Lesson    *lesson // nil if the project has models
}

type modelRow struct {
	Path        string
	Name        string
	Description string
	Versions    string
	Production  string // number of the production version, "" for none
	Created     moment
	By          *string // user name of the creator; nil if unknown
}

// models lists the models of a project.
func (s *site) models(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showModels(w, r, user, http.StatusOK, recordForm{})
}

func (s *site) showModels(w http.ResponseWriter, r *http.Request, user domain.User, status int, typed recordForm) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		query := r.URL.Query()
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		q := registry.ModelQuery{Page: pageOf(query), Part: nameQuery(query)}
		list, err := db.Models.Models(p.ID, q)
		if err != nil {
			return nil, err
		}
		states, err := db.Models.ModelStates(p.ID)
		if err != nil {
			return nil, err
		}
		keep := url.Values{}
		if q.Part != "" {
			keep.Set("q", q.Part)
		}
		v := modelsView{ProjectID: p.ID, Project: p.Name, Found: humanize.Comma(int64(list.Total)), Query: q.Part,
			Pager: newPager(keep, q.Page, len(list.Data), list.Total), Form: typed}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		for _, m := range list.Data {
			row := modelRow{Path: "/model/" + m.ID, Name: m.Name, Description: plain.Line(m.Description, 200),
				Versions: humanize.Comma(int64(states[m.ID].Versions)), Created: s.moment(m.CreatedDate), By: m.CreatedBy}
			if n := states[m.ID].Production; n != nil {
				row.Production = strconv.FormatInt(*n, 10)
			}
			v.Rows = append(v.Rows, row)
		}
		if list.Total == 0 && q.Part == "" {
			run, err := s.lastRun(db, p.ID)
			if err != nil {
				return nil, err
			}
			v.Lesson = s.modelLesson(s.apiURL(r), user, p.ID, run)
		}
		f, err := s.inside(db, "Models of "+p.Name, user, place{projectID: p.ID, models: true})
		if err != nil {
			return nil, err
		}
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Models"}}
		return modelsPage(f, v), nil
	})
}

// lastRun returns the ID of the newest run in the newest experiment of a project, "" for none.
func (s *site) lastRun(db *store.View, projectID string) (string, error) {
	one := domain.Page{Limit: 1}
	experiments, err := db.Projects.Experiments(projectID, projects.ExperimentQuery{Page: one})
	if err != nil || len(experiments.Data) == 0 {
		return "", err
	}
	runs, err := db.Runs.Iterations(experiments.Data[0].ID, runs.IterationQuery{Page: one, Sort: "-created"})
	if err != nil || len(runs.Data) == 0 {
		return "", err
	}
	return runs.Data[0].ID, nil
}

// createModel creates a model in a project.
func (s *site) createModel(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	typed := typedRecord(fields)
	made, err := s.DB.Models.CreateModel(r.Context(), user.Actor(), idOf(r), registry.NewModel{Name: typed.Name, Description: typed.Description})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showModels(w, r, user, web.StatusOf(typed.Wrong.Code), typed)
	}
	return s.redirectUnless(err, w, r, "/model/"+made.ID)
}

// modelView is the view of a model's page.
type modelView struct {
	ID          string
	Name        string
	Description string
	Created     moment
	By          *string // user name of the creator; nil if unknown
	Total       int     // number of versions, including those on other pages
	Rows        []versionRow
	Pager       pager
	Production  string // number of the production version, "" for none
	Done        string // message after a version changed its stage, "" for none
	Rights      domain.Permission
	Form        recordForm
	Of          versionForm
}

// versionForm holds the rejected input of a version's form.
type versionForm struct {
	basis
	ID          string
	Description string
	Wrong       *domain.Error
}

// wrong returns the error message of the form, "" for none.
func (f versionForm) wrong() string {
	if f.Wrong == nil {
		return ""
	}
	return f.basis.wrong("description", f.Wrong.Message)
}

type versionRow struct {
	ID          string
	Number      string
	Stage       registry.Stage
	Description string
	Prose       templ.Component
	Run         *link
	Artifact    *link
	Source      link // Path is set if the source is a logged model or an artifact version on this server
	Aliases     []string
	Created     moment
	By          *string // user name of the creator; nil if unknown
	Form        versionForm
}

// promotes returns a message about the version that is archived if r moves to production, or "" if
// there is none.
func (v modelView) promotes(r versionRow) string {
	if v.Production == "" || v.Production == r.Number {
		return ""
	}
	return "Replaces version " + v.Production + ", which is archived"
}

// model shows a model and its versions.
func (s *site) model(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showModel(w, r, user, http.StatusOK, idOf(r), modelView{})
}

func (s *site) showModel(w http.ResponseWriter, r *http.Request, user domain.User, status int, id string, v modelView) error {
	var f frame
	typed := v
	err := s.view(r, user, func(db *store.View) error {
		v = typed
		m, err := db.Models.Model(id)
		if err != nil {
			return err
		}
		p, err := db.Projects.Project(m.ProjectID)
		if err != nil {
			return err
		}
		v.ID, v.Name, v.Description, v.Created, v.By = m.ID, m.Name, m.Description, s.moment(m.CreatedDate), m.CreatedBy
		v.Form.renewRecord(m.Name, m.Description)
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return err
		}
		states, err := db.Models.ModelStates(p.ID)
		if err != nil {
			return err
		}
		if n := states[m.ID].Production; n != nil {
			v.Production = strconv.FormatInt(*n, 10)
		}
		v.Done = stageDone(r.URL.Query())
		page := pageOf(r.URL.Query())
		list, err := db.Models.ModelVersions(m.ID, registry.ModelVersionQuery{Page: page})
		if err != nil {
			return err
		}
		for _, mv := range list.Data {
			row, err := s.versionRow(db, mv)
			if err != nil {
				return err
			}
			if v.Of.ID == mv.ID {
				row.Form = v.Of
			}
			row.Form.renew("description", &row.Form.Description, mv.Description)
			v.Rows = append(v.Rows, row)
		}
		v.Total, v.Pager = list.Total, newPager(url.Values{}, page, len(list.Data), list.Total)
		f, err = s.inside(db, m.Name, user, place{projectID: p.ID, models: true})
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {"Models", "/project/" + p.ID + "/models"}, {Name: m.Name}}
		if err == nil {
			r, err = s.offerUndo(r, db)
		}
		return err
	})
	if err != nil {
		return err
	}
	left := markdown.MaxBytes
	for i := range v.Rows {
		if v.Rows[i].Prose, err = preview.ProseWithin(r.Context(), v.Rows[i].Description, &left); err != nil {
			return err
		}
	}
	return s.render(w, r, status, modelPage(f, v))
}

// isHidden reports whether err means that a record does not exist or that the user can't read it.
func isHidden(err error) bool {
	code := web.AsError(err).Code
	return code == domain.CodeNotFound || code == domain.CodeProjectPermissionRequired
}

func (s *site) versionRow(db *store.View, v registry.ModelVersion) (versionRow, error) {
	row := versionRow{ID: v.ID, Number: strconv.FormatInt(v.Version, 10), Stage: v.Stage, Description: v.Description, Created: s.moment(v.CreatedDate), By: v.CreatedBy, Form: versionForm{Description: v.Description}}
	row.Aliases, row.Source.Name = v.Aliases, v.Source
	if id, ok := strings.CutPrefix(v.Source, "models:/"); ok {
		m, err := db.Models.LoggedModel(id)
		if err == nil {
			row.Source.Path = loggedModelPath(m.ExperimentID, m.ID)
		} else if !isHidden(err) {
			return row, err
		}
	}
	if id, ok := strings.CutPrefix(v.Source, registry.ArtifactSource); ok {
		a, err := db.Collections.Committed(id)
		if err == nil {
			row.Source = link{Name: a.Folder(), Path: "/collection/" + a.ID}
		} else if !isHidden(err) {
			return row, err
		}
	}
	if v.IterationID != nil {
		i, err := db.Runs.Iteration(*v.IterationID)
		if err != nil {
			return row, err
		}
		row.Run = &link{i.Name, "/iteration/" + i.ID, s.status(i)}
		if path, ok := strings.CutPrefix(v.Source, runsScheme); ok {
			_, folder, _ := strings.Cut(path, "/")
			row.Source.Path = "/experiment/" + i.ExperimentID + "/artifacts?" + url.Values{"iteration": {i.ID}, "q": {folder + "/"}}.Encode()
		}
	}
	if v.ArtifactID == nil {
		return row, nil
	}
	a, err := db.Files.Artifact(*v.ArtifactID)
	row.Artifact = &link{Name: a.Name, Path: "/artifact/" + a.ID}
	return row, err
}

// saveModel changes the name and description of a model.
func (s *site) saveModel(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	id, typed := idOf(r), typedRecord(fields)
	err = s.DB.Models.UpdateModel(r.Context(), user.Actor(), id, registry.ModelPatch{
		Name: changed(fields, "name", typed.Name), Description: changed(fields, "description", typed.Description), Before: typed.Before})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showModel(w, r, user, web.StatusOf(typed.Wrong.Code), id, modelView{Form: typed})
	}
	return s.redirectUnless(err, w, r, "/model/"+id)
}

// deleteModel deletes a model and its versions.
func (s *site) deleteModel(w http.ResponseWriter, r *http.Request, user domain.User) error {
	ctx, actor := r.Context(), user.Actor()
	m, err := s.DB.Models.Model(ctx, actor, idOf(r))
	if err == nil {
		err = s.DB.Models.DeleteModel(ctx, actor, m.ID)
	}
	return s.redirectUnless(err, w, r, s.afterDeletion("/project/"+m.ProjectID+"/models", m.ID))
}

// setStage moves a version to another stage. After the redirect, the model's page shows which
// version was archived.
func (s *site) setStage(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor, id := r.Context(), user.Actor(), idOf(r)
	stage := registry.Stage(fields.Get("stage"))
	promotion, err := s.DB.Models.SetStage(ctx, actor, id, stage)
	if err != nil {
		return err
	}
	done := url.Values{"version": {strconv.FormatInt(promotion.Version, 10)}, "stage": {string(stage)}}
	if promotion.Former != nil {
		done.Set("former", strconv.FormatInt(*promotion.Former, 10))
	}
	if offset := pageOf(fields).Offset; offset > 0 {
		done.Set("offset", strconv.Itoa(offset))
	}
	s.redirect(w, r, "/model/"+promotion.ModelID+"?"+done.Encode())
	return nil
}

// stageDone returns the message that the model's page shows after a version changed its stage.
// The query of the redirect holds the version and the stage.
func stageDone(query url.Values) string {
	version, err := strconv.ParseUint(query.Get("version"), 10, 63)
	word := stageWords[registry.Stage(query.Get("stage"))]
	if err != nil || word == "" {
		return ""
	}
	text := "Version " + strconv.FormatUint(version, 10)
	switch registry.Stage(query.Get("stage")) {
	case registry.NoStage:
		return text + " has no stage now."
	case registry.Archived:
		return text + " is archived now."
	}
	text += " is in " + word + " now"
	if former, err := strconv.ParseUint(query.Get("former"), 10, 63); err == nil {
		text += ", in place of version " + strconv.FormatUint(former, 10) + ", which is archived"
	}
	return text + "."
}

// saveVersion changes the description of a version or deletes the version.
func (s *site) saveVersion(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor := r.Context(), user.Actor()
	v, err := s.DB.Models.ModelVersion(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	typed := versionForm{basis: basisOf(fields), ID: v.ID, Description: text(fields, "description")}
	if fields.Get("do") == "delete" {
		err = s.DB.Models.DeleteModelVersion(ctx, actor, v.ID)
	} else {
		err = s.DB.Models.UpdateModelVersion(ctx, actor, v.ID, registry.ModelVersionPatch{
			Description: changed(fields, "description", typed.Description), Before: typed.Before})
	}
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showModel(w, r, user, web.StatusOf(typed.Wrong.Code), v.ModelID, modelView{Of: typed})
	}
	if err == nil && fields.Get("do") == "delete" {
		s.redirect(w, r, s.afterDeletion("/model/"+v.ModelID, v.ID))
	} else if err == nil {
		s.redirect(w, r, "/model/"+v.ModelID)
	}
	return err
}
