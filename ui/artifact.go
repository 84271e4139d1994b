package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/dustin/go-humanize"

	"tracker/server/content"
	"tracker/server/middleware"
	"tracker/store"
)

// artifactRow is a line of a list of artifacts.
type artifactRow struct {
	ID          string
	Name        string
	Description string
	Type        string
	Size        string
	Bytes       string // exactly
	Hash        string
	Created     moment
	Run         *link // nil when no run made it
}

// Short is as much of the hash as a list has room for.
func (a artifactRow) Short() string { return a.Hash[:min(len(a.Hash), 8)] }

// Part is the element that has all that is known of the artifact.
func (a artifactRow) Part() string { return "artifact-" + a.ID }

func (s *site) artifactRow(ctx context.Context, actor store.Actor, r store.Resource, runs map[string]*link) (artifactRow, error) {
	row := artifactRow{ID: r.ID, Name: r.Name, Description: r.Description, Type: cmp.Or(mediaOf(r), r.ContentType), Hash: r.ContentHash,
		Size: size(r.SizeBytes), Bytes: humanize.Comma(r.SizeBytes) + " bytes", Created: s.moment(r.CreatedDate)}
	if r.IterationID == nil {
		return row, nil
	}
	id := *r.IterationID
	if runs[id] == nil {
		i, err := s.DB.Iteration(ctx, actor, id)
		if err != nil {
			return row, err
		}
		runs[id] = &link{i.Name, "/iteration/" + id, s.status(i)}
	}
	row.Run = runs[id]
	return row, nil
}

func size(n int64) string { return humanize.IBytes(uint64(n)) }

// artifactsView is a list of artifacts: those of an experiment, or of a run.
type artifactsView struct {
	ExperimentID string
	IterationID  string // "" for those of the whole experiment
	Path         string // of the page that has the list
	Self         string // the same with what the list is narrowed to
	Only         string // id of the run that the list of an experiment is narrowed to
	All          string // path of the page that has those beyond the list, "" for none
	Rows         []artifactRow
	Total        int
	Query        string
	Pager        pager
	Rights       store.Permission
	Open         bool  // the experiment takes artifacts
	Most         int64 // size of the largest artifact, 0 for no limit
	Wrong        string
	Lesson       *lesson // nil unless there are none
}

// run is the id of the run whose artifacts are listed, "" for those of all.
func (v *artifactsView) run() string { return cmp.Or(v.IterationID, v.Only) }

// fillArtifacts reads a list of artifacts.
func (s *site) fillArtifacts(ctx context.Context, user store.User, v *artifactsView, page store.Page) error {
	actor := store.Actor{UserID: user.ID}
	q := store.ResourceQuery{Page: page, Name: v.Query}
	if run := v.run(); run != "" {
		q.IterationID = &run
	}
	list, err := s.DB.Resources(ctx, actor, v.ExperimentID, q)
	if err != nil {
		return err
	}
	runs := map[string]*link{}
	for _, r := range list.Data {
		row, err := s.artifactRow(ctx, actor, r, runs)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, row)
	}
	v.Total, v.Most = list.Total, s.DB.MaxUpload()
	if list.Total == 0 && v.Query == "" && v.Only == "" {
		e, p, err := s.experimentOf(ctx, actor, v.ExperimentID)
		if err != nil {
			return err
		}
		v.Lesson = s.artifactLesson(user, p.Name, e.Name, v)
	}
	keep := url.Values{}
	if v.Query != "" {
		keep.Set("q", v.Query)
	}
	if v.Only != "" {
		keep.Set("iteration", v.Only)
	}
	v.Pager = newPager(keep, page, len(list.Data), list.Total)
	if page.Offset > 0 {
		keep.Set("offset", strconv.Itoa(page.Offset))
	}
	v.Self = v.Path
	if len(keep) > 0 {
		v.Self += "?" + keep.Encode()
	}
	return nil
}

// artifacts lists the artifacts of an experiment.
func (s *site) artifacts(w http.ResponseWriter, r *http.Request, user store.User) error {
	return s.showArtifacts(w, r, user, http.StatusOK, artifactsView{Only: readable(r.URL.Query().Get("iteration"))})
}

func (s *site) showArtifacts(w http.ResponseWriter, r *http.Request, user store.User, status int, v artifactsView) error {
	ctx, actor := r.Context(), store.Actor{UserID: user.ID}
	e, p, err := s.experimentOf(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	query := r.URL.Query()
	v.ExperimentID, v.Path, v.Query, v.Open = e.ID, "/experiment/"+e.ID+"/artifacts", search(query), e.Status == store.InProgress
	if v.Rights, err = s.DB.Rights(ctx, actor, p.ID); err != nil {
		return err
	}
	if err := s.fillArtifacts(ctx, user, &v, pageOf(query)); err != nil {
		return err
	}
	f, err := s.inside(ctx, "Artifacts of "+e.Name, user, place{projectID: p.ID, experimentID: e.ID})
	if err != nil {
		return err
	}
	f.InPlace, f.Scripts = true, []string{"artifact.js"}
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Artifacts"}}
	return s.render(w, r, status, artifactsPage(f, v))
}

// experimentOf returns an experiment and its project.
func (s *site) experimentOf(ctx context.Context, actor store.Actor, id string) (store.Experiment, store.Project, error) {
	e, err := s.DB.Experiment(ctx, actor, id)
	if err != nil {
		return e, store.Project{}, err
	}
	p, err := s.DB.Project(ctx, actor, e.ProjectID)
	return e, p, err
}

// artifactView is the page of one artifact.
type artifactView struct {
	artifactRow
	Listed       bool // it is shown within a list
	ExperimentID string
	Backend      store.Backend
	Preview      preview
	Versions     []store.MadeVersion
	Rights       store.Permission
	Models       []link // of the project, with their ids
	Runs         []link // that a version may have come from, when no run made it
	Form         registerForm
	WrongDelete  string
}

// registerForm is what somebody typed to make a version of a model.
type registerForm struct {
	ModelID     string // "" for a new one
	Name        string
	Description string
	IterationID string
	Wrong       *store.Error
}

// wrong is what is wrong with a field, "" for nothing. What is about no field
// of the form is told under the field "".
func (f registerForm) wrong(field string) string {
	return wrongOf(f.Wrong, field, "name", "description", "iteration_id")
}

// wrongOf is the message of e when it is about the field, or about none of the
// known ones and field is "".
func wrongOf(e *store.Error, field string, known ...string) string {
	if e == nil {
		return ""
	}
	at := ""
	for _, k := range known {
		if e.Field == k {
			at = k
		}
	}
	if at != field {
		return ""
	}
	return e.Message
}

// artifact shows one artifact.
func (s *site) artifact(w http.ResponseWriter, r *http.Request, user store.User) error {
	return s.showArtifact(w, r, user, http.StatusOK, registerForm{}, "")
}

// runsOffered is how many runs a version may be said to have come from, when
// its artifact belongs to none.
const runsOffered = 100

func (s *site) showArtifact(w http.ResponseWriter, r *http.Request, user store.User, status int, form registerForm, wrongDelete string) error {
	ctx, actor := r.Context(), store.Actor{UserID: user.ID}
	a, err := s.DB.Resource(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	e, p, err := s.experimentOf(ctx, actor, a.ExperimentID)
	if err != nil {
		return err
	}
	v := artifactView{Listed: inPlace(r) && !s.current(r, "/artifact/"+a.ID), ExperimentID: e.ID, Backend: a.Backend, Form: form, WrongDelete: wrongDelete}
	if v.artifactRow, err = s.artifactRow(ctx, actor, a, map[string]*link{}); err != nil {
		return err
	}
	if v.Rights, err = s.DB.Rights(ctx, actor, p.ID); err != nil {
		return err
	}
	if v.Versions, err = s.DB.ResourceVersions(ctx, actor, a.ID); err != nil {
		return err
	}
	if v.Rights.Create {
		if err := s.fillRegister(ctx, actor, p.ID, &v); err != nil {
			return err
		}
	}
	if v.Preview, err = s.preview(ctx, actor, a); err != nil {
		// The page is still good for the rest, and for deleting it.
		middleware.InfoOf(r).Err = err
		v.Preview = preview{Kind: textKind, Note: "It can't be shown. " + store.AsError(err).Message}
	}
	f, err := s.inside(ctx, a.Name, user, place{projectID: p.ID, experimentID: e.ID})
	if err != nil {
		return err
	}
	f.InPlace, f.Scripts = true, []string{"artifact.js"}
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID},
		{"Artifacts", "/experiment/" + e.ID + "/artifacts"}, {Name: a.Name}}
	return s.render(w, r, status, artifactPage(f, v))
}

// fillRegister reads what a form offers that makes a version of a model.
func (s *site) fillRegister(ctx context.Context, actor store.Actor, projectID string, v *artifactView) error {
	models, err := s.DB.Models(ctx, actor, projectID, store.ModelQuery{Page: store.Page{Limit: store.MaxLimit}})
	if err != nil {
		return err
	}
	for _, m := range models.Data {
		v.Models = append(v.Models, link{Name: m.Name, Path: m.ID})
	}
	if v.Run != nil {
		return nil
	}
	runs, err := s.DB.Iterations(ctx, actor, v.ExperimentID, store.IterationQuery{Page: store.Page{Limit: runsOffered}, Sort: "-created"})
	for _, i := range runs.Data {
		v.Runs = append(v.Runs, link{i.Name, i.ID, s.status(i)})
	}
	return err
}

// artifactData answers with the bytes of an artifact, under a type that can't
// run anything.
func (s *site) artifactData(w http.ResponseWriter, r *http.Request, user store.User) error {
	a, data, err := s.DB.OpenResource(r.Context(), store.Actor{UserID: user.ID}, idOf(r))
	if err != nil {
		return err
	}
	defer data.Close()
	contentType, inline := servedAs(a)
	w.Header().Set("Content-Type", contentType)
	if !inline || r.URL.Query().Has("download") {
		w.Header().Set("Content-Disposition", content.Attachment(a.Name))
	}
	content.Serve(w, r, a, data, func(e *store.Error) { s.fail(w, r, e) })
	return nil
}

// deleteArtifact removes an artifact, unless a version of a model has it.
func (s *site) deleteArtifact(w http.ResponseWriter, r *http.Request, user store.User) error {
	ctx, actor, id := r.Context(), store.Actor{UserID: user.ID}, idOf(r)
	a, err := s.DB.Resource(ctx, actor, id)
	if err == nil {
		err = s.DB.DeleteResource(ctx, actor, id)
	}
	if e := formError(err); e != nil {
		return s.showArtifact(w, r, user, middleware.StatusOf(e.Code), registerForm{}, e.Message)
	}
	if err != nil {
		return err
	}
	if inPlace(r) && !s.current(r, "/artifact/"+id) { // it is in a list, which reads itself again
		w.Header().Set("HX-Trigger", "artifacts")
		return nil
	}
	s.redirect(w, r, "/experiment/"+a.ExperimentID+"/artifacts")
	return nil
}

// register makes a version of a model from an artifact; of a new model when
// none is chosen.
func (s *site) register(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	ctx, actor := r.Context(), store.Actor{UserID: user.ID}
	a, err := s.DB.Resource(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	typed := registerForm{ModelID: fields.Get("model_id"), Name: readable(fields.Get("name")), Description: text(fields, "description"),
		IterationID: fields.Get("iteration_id")}
	n := store.NewModelVersion{IterationID: typed.IterationID, ResourceID: &a.ID, Description: typed.Description}
	if a.IterationID != nil {
		n.IterationID = *a.IterationID
	}
	model := typed.ModelID
	if n.IterationID == "" {
		err = store.Invalid("iteration_id", "Choose the run that the version came from.")
	} else if model == "" {
		model, err = s.newModel(ctx, actor, a.ExperimentID, typed.Name)
	}
	if err == nil {
		_, err = s.DB.CreateModelVersion(ctx, actor, model, n)
	}
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showArtifact(w, r, user, middleware.StatusOf(typed.Wrong.Code), typed, "")
	}
	if err == nil {
		s.redirect(w, r, "/artifact/"+a.ID)
	}
	return err
}

// newModel makes a model in the project of an experiment.
func (s *site) newModel(ctx context.Context, actor store.Actor, experimentID, name string) (string, error) {
	e, err := s.DB.Experiment(ctx, actor, experimentID)
	if err != nil {
		return "", err
	}
	m, err := s.DB.CreateModel(ctx, actor, e.ProjectID, store.NewModel{Name: name})
	return m.ID, err
}
