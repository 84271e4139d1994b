package ui

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/goal"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/ui/plain"
)

// settingsView is the view of the settings page of a project or an experiment. On this page,
// users change or delete the record.
type settingsView struct {
	What     string // "project" or "experiment"
	Name     string
	Path     string // path of the record
	Created  moment
	By       *string // user name of the creator; nil if unknown
	Rights   domain.Permission
	Form     recordForm
	Gone     []string // records that are deleted with the project or experiment
	Conflict string   // reason why the record can't be deleted, "" for none
	Status   bool     // whether the record has a status and an objective

	Guess      string   // objective guessed from metric names, "" for none
	Objectives []string // objectives to choose from
}

// projectSettings shows the settings page of a project.
func (s *site) projectSettings(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showProjectSettings(w, r, user, http.StatusOK, settingsView{})
}

func (s *site) showProjectSettings(w http.ResponseWriter, r *http.Request, user domain.User, status int, v settingsView) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v := v
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		v.What, v.Name, v.Path = "project", p.Name, "/project/"+p.ID
		v.Created, v.By = s.moment(p.CreatedDate), p.CreatedBy
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		v.Form.renewRecord(p.Name, p.Description)
		states, err := db.Models.ModelStates(p.ID)
		if err != nil {
			return nil, err
		}
		models, err := db.Models.Models(p.ID, registry.ModelQuery{})
		if err != nil {
			return nil, err
		}
		versions := 0
		for _, m := range states {
			versions += m.Versions
		}
		v.Gone = []string{plain.Counted(p.ExperimentCount, "experiment", "experiments"), plain.Counted(p.IterationCount, "run", "runs") + " with parameters, metrics, tags and notes",
			"all artifacts", plain.Counted(models.Total, "model", "models") + " with " + plain.Counted(versions, "version", "versions")}
		f, err := s.inside(db, "Settings of "+p.Name, user, place{projectID: p.ID})
		if err != nil {
			return nil, err
		}
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Settings"}}
		return settingsPage(f, v), nil
	})
}

// saveProject changes or deletes a project.
func (s *site) saveProject(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor, id := r.Context(), user.Actor(), idOf(r)
	if fields.Get("do") == "delete" {
		err = s.DB.Projects.DeleteProject(ctx, actor, id)
		if e := formError(err); e != nil {
			return s.showProjectSettings(w, r, user, web.StatusOf(e.Code), settingsView{Conflict: e.Message})
		}
		if err == nil {
			s.redirect(w, r, s.afterDeletion("/", id))
		}
		return err
	}
	typed := typedRecord(fields)
	err = s.DB.Projects.UpdateProject(ctx, actor, id, projects.ProjectPatch{
		Name: changed(fields, "name", typed.Name), Description: changed(fields, "description", typed.Description), Before: typed.Before})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showProjectSettings(w, r, user, web.StatusOf(typed.Wrong.Code), settingsView{Form: typed})
	}
	return s.redirectUnless(err, w, r, "/project/"+id)
}

// experimentSettings shows the settings page of an experiment.
func (s *site) experimentSettings(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showExperimentSettings(w, r, user, http.StatusOK, settingsView{})
}

func (s *site) showExperimentSettings(w http.ResponseWriter, r *http.Request, user domain.User, status int, v settingsView) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v := v
		e, p, err := s.experimentOf(db, idOf(r))
		if err != nil {
			return nil, err
		}
		v.What, v.Name, v.Path, v.Status = "experiment", e.Name, "/experiment/"+e.ID, true
		v.Created, v.By = s.moment(e.CreatedDate), e.CreatedBy
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		if v.Form.Wrong == nil {
			v.Form.Status, v.Form.Objective = string(e.Status), e.Objective
		}
		v.Form.renew("objective", &v.Form.Objective, e.Objective)
		if err := v.fillObjectives(db, e); err != nil {
			return nil, err
		}
		v.Form.renewRecord(e.Name, e.Description)
		v.Form.renew("status", &v.Form.Status, string(e.Status))
		if theirs, ok := v.Form.Theirs["status"]; ok {
			v.Form.Theirs["status"] = experimentWords[domain.ExperimentStatus(theirs)]
		}
		artifacts, err := db.Files.Artifacts(e.ID, files.ArtifactQuery{})
		if err != nil {
			return nil, err
		}
		v.Gone = []string{plain.Counted(e.IterationCount, "run", "runs") + " with parameters, metrics, tags and notes", plain.Counted(artifacts.Total, "artifact", "artifacts")}
		f, err := s.inside(db, "Settings of "+e.Name, user, place{projectID: p.ID, experimentID: e.ID})
		if err != nil {
			return nil, err
		}
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Settings"}}
		return settingsPage(f, v), nil
	})
}

// objectivesOffered is the maximum number of metrics offered as objectives.
const objectivesOffered = 50

// fillObjectives sets the objectives to choose from and the guessed objective.
func (v *settingsView) fillObjectives(db *store.View, e projects.Experiment) error {
	keys, err := metricKeys(db, e.ID, nil, "", false, domain.Page{Limit: objectivesOffered})
	if err != nil {
		return err
	}
	e.Objective = ""
	guess, err := db.Projects.Objective(e)
	if guess != nil {
		v.Guess = guess.String()
	}
	for _, k := range keys.Data {
		goals := []goal.Goal{goal.Minimize, goal.Maximize}
		if goal.Of(k.Key) == goal.Maximize {
			slices.Reverse(goals)
		}
		for _, aim := range goals {
			v.Objectives = append(v.Objectives, goal.Objective{Metric: k.Key, Goal: aim}.String())
		}
	}
	return err
}

// saveExperiment changes or deletes an experiment.
func (s *site) saveExperiment(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor, id := r.Context(), user.Actor(), idOf(r)
	if fields.Get("do") == "delete" {
		e, err := s.DB.Projects.Experiment(ctx, actor, id)
		if err == nil {
			err = s.DB.Projects.DeleteExperiment(ctx, actor, id)
		}
		if e := formError(err); e != nil {
			return s.showExperimentSettings(w, r, user, web.StatusOf(e.Code), settingsView{Conflict: e.Message})
		}
		if err == nil {
			s.redirect(w, r, s.afterDeletion("/project/"+e.ProjectID, id))
		}
		return err
	}
	typed := typedRecord(fields)
	err = s.DB.Projects.UpdateExperiment(ctx, actor, id, projects.ExperimentPatch{
		Name: changed(fields, "name", typed.Name), Description: changed(fields, "description", typed.Description),
		Status: changed(fields, "status", domain.ExperimentStatus(typed.Status)), Objective: changed(fields, "objective", typed.Objective), Before: typed.Before})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showExperimentSettings(w, r, user, web.StatusOf(typed.Wrong.Code), settingsView{Form: typed})
	}
	return s.redirectUnless(err, w, r, "/experiment/"+id)
}

// createProject creates a project from the form on the home page.
func (s *site) createProject(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	typed := typedRecord(fields)
	made, err := s.DB.Projects.CreateProject(r.Context(), user.Actor(), domain.NewProject{Name: typed.Name, Description: typed.Description})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showProjects(w, r, user, web.StatusOf(typed.Wrong.Code), typed)
	}
	return s.redirectUnless(err, w, r, "/project/"+made.ID)
}

// createExperiment creates an experiment from the form on its project's page.
func (s *site) createExperiment(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	typed := typedRecord(fields)
	made, err := s.DB.Projects.CreateExperiment(r.Context(), user.Actor(), idOf(r),
		projects.NewExperiment{Name: typed.Name, Description: typed.Description})
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showProject(w, r, user, web.StatusOf(typed.Wrong.Code), typed)
	}
	return s.redirectUnless(err, w, r, "/experiment/"+made.ID)
}
