package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/ui/plain"
	"tracker/ui/preview"
)

// artifactRow is a row of an artifact list.
type artifactRow struct {
	ID          string
	Name        string
	Description string
	Type        string
	Size        string
	Bytes       string // exact size, with thousands separators
	Hash        string
	Created     moment
	By          *string // user name of the creator; nil if unknown
	Run         *link   // nil if the artifact belongs to no run
	Thumbnail   string  // path of the thumbnail image, "" for none
}

// maxThumbnail is the maximum size in bytes of an image that is shown as a thumbnail.
const maxThumbnail = 1 << 20

// Short returns the first eight characters of the hash.
func (a artifactRow) Short() string { return a.Hash[:min(len(a.Hash), 8)] }

// Part returns the ID of the HTML element with the artifact's details.
func (a artifactRow) Part() string { return "artifact-" + a.ID }

func (s *site) artifactRow(db *store.View, r files.Artifact, runs map[string]*link) (artifactRow, error) {
	row := artifactRow{ID: r.ID, Name: r.Name, Description: r.Description, Type: preview.TypeOf(r), Hash: r.ContentHash,
		Size: plain.Size(r.SizeBytes), Bytes: humanize.Comma(r.SizeBytes) + " bytes", Created: s.moment(r.CreatedDate), By: r.CreatedBy}
	if preview.KindOf(r) == preview.Image && r.SizeBytes <= maxThumbnail {
		row.Thumbnail = "/artifact/" + r.ID + "/data"
	}
	if r.IterationID == nil {
		return row, nil
	}
	id := *r.IterationID
	if runs[id] == nil {
		i, err := db.Runs.Iteration(id)
		if err != nil {
			return row, err
		}
		runs[id] = &link{i.Name, "/iteration/" + id, s.status(i)}
	}
	row.Run = runs[id]
	return row, nil
}

// artifactsView is a list of the artifacts of an experiment or a run.
type artifactsView struct {
	ExperimentID string
	IterationID  string // "" for an experiment
	Path         string // path of the page that contains the list
	Self         string // Path with the search, the run filter and the offset
	Only         string // ID of the run that the experiment's list is filtered by, "" for all runs
	All          string // path of the page with the whole list, "" for none
	Models       []link // models of a run: Path is the path of a file, Status its size
	MoreModels   int
	OnlyMedia    bool // whether only the media are listed that the run logged at steps
	Media        int  // number of these media that the list of a run omits
	Rows         []artifactRow
	Total        int
	Query        string
	Pager        pager
	Rights       domain.Permission
	Open         bool  // whether the experiment accepts artifacts
	Most         int64 // maximum artifact size in bytes, 0 for no limit
	Wrong        string
	Lesson       *lesson // nil if there are artifacts
}

// run returns the ID of the run whose artifacts are listed, "" for all runs.
func (v *artifactsView) run() string { return cmp.Or(v.IterationID, v.Only) }

// listID returns the ID of the HTML element with the list.
func (v *artifactsView) listID() string {
	if v.OnlyMedia {
		return "media-files"
	}
	return "artifacts"
}

// fillArtifacts reads a page of the artifact list into v.
func (s *site) fillArtifacts(db *store.View, api string, user domain.User, v *artifactsView, page domain.Page) error {
	list, err := v.read(db, page)
	if err != nil {
		return err
	}
	runs := map[string]*link{}
	for _, r := range list.Data {
		row, err := s.artifactRow(db, r, runs)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, row)
	}
	v.Total, v.Most = list.Total, s.DB.Files.MaxUpload()
	if list.Total == 0 && v.Query == "" && v.Only == "" {
		e, p, err := s.experimentOf(db, v.ExperimentID)
		if err != nil {
			return err
		}
		v.Lesson = s.artifactLesson(api, user, p.Name, e.Name, v)
	}
	keep := url.Values{}
	if v.Query != "" {
		keep.Set("q", v.Query)
	}
	if v.Only != "" {
		keep.Set("iteration", v.Only)
	}
	if v.OnlyMedia {
		keep.Set("media", "1")
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

// read returns a page of the artifacts that v lists.
func (v *artifactsView) read(db *store.View, page domain.Page) (domain.List[files.Artifact], error) {
	q := files.ArtifactQuery{Page: page, Name: v.Query}
	run := v.run()
	if run != "" {
		q.IterationID = &run
	}
	if !v.OnlyMedia {
		return db.Files.Artifacts(v.ExperimentID, q)
	}
	all, _, err := db.Files.MadeArtifacts([]string{run})
	if err != nil {
		return domain.List[files.Artifact]{}, err
	}
	logged, lower := preview.LoggedMedia(all), strings.ToLower(v.Query)
	all = slices.DeleteFunc(all, func(a files.Artifact) bool {
		return !logged[a.ID] || a.ExperimentID != v.ExperimentID || !strings.Contains(strings.ToLower(a.Name), lower)
	})
	from := min(page.Offset, len(all))
	return domain.List[files.Artifact]{Data: all[from:min(from+page.Limit, len(all))], Total: len(all)}, nil
}

// runArtifacts is the maximum number of files, and of models, that a run's page lists.
const runArtifacts = 20

// fillRunFiles reads the files of a run into v. It omits the files of versions, which are listed as
// outputs of the run, and media with a step, which are listed on request.
func (s *site) fillRunFiles(db *store.View, api string, user domain.User, v *artifactsView) error {
	all, _, err := db.Files.MadeArtifacts([]string{v.IterationID})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return s.fillArtifacts(db, api, user, v, domain.FirstPage)
	}
	logged, isModel := preview.LoggedMedia(all), v.addModels(all)
	runs := map[string]*link{}
	for _, a := range all {
		switch {
		case logged[a.ID]:
			v.Media++
		case len(v.Rows) == runArtifacts || isModel(a) || preview.InVersion(a.Name):
		default:
			row, err := s.artifactRow(db, a, runs)
			if err != nil {
				return err
			}
			v.Rows = append(v.Rows, row)
		}
	}
	v.Total, v.Most, v.Self = len(all), s.DB.Files.MaxUpload(), v.Path
	return nil
}

// addModels adds the models among a run's files, newest first: files with weights, and folders with
// the file MLmodel. It omits files of versions that the run also has outside of the version.
// isModel reports whether a file is part of one of the models.
func (v *artifactsView) addModels(all []files.Artifact) (isModel func(files.Artifact) bool) {
	var folders []string
	own := map[string]bool{} // hashes of files outside of versions
	for _, a := range all {
		if folder, ok := strings.CutSuffix(a.Name, "/"+modelFile); ok {
			folders = append(folders, folder+"/")
		}
		own[a.ContentHash] = own[a.ContentHash] || !preview.InVersion(a.Name)
	}
	inFolder := func(a files.Artifact) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(a.Name, folder) })
	}
	for _, a := range slices.Backward(all) {
		folder, isFolder := strings.CutSuffix(a.Name, "/"+modelFile)
		if !isFolder && (!files.IsCheckpoint(a.Name) || inFolder(a)) || preview.InVersion(a.Name) && own[a.ContentHash] {
			continue
		}
		if len(v.Models) == runArtifacts {
			v.MoreModels++
			continue
		}
		l := link{a.Name, "/artifact/" + a.ID, plain.Size(a.SizeBytes)}
		if isFolder {
			l.Name, l.Status = folder+"/", "folder"
		}
		v.Models = append(v.Models, l)
	}
	return func(a files.Artifact) bool { return files.IsCheckpoint(a.Name) || inFolder(a) }
}

// modelFile is the name of the file that describes the model in a folder of MLflow's clients.
const modelFile = "MLmodel"

// folderOf returns the folder of a file with a slash at its end, or "".
func folderOf(name string) string { return name[:strings.LastIndexByte(name, '/')+1] }

// artifacts lists the artifacts of an experiment.
func (s *site) artifacts(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showArtifacts(w, r, user, http.StatusOK, artifactsView{Only: plain.Readable(r.URL.Query().Get("iteration")),
		OnlyMedia: r.URL.Query().Has("iteration") && r.URL.Query().Has("media")})
}

func (s *site) showArtifacts(w http.ResponseWriter, r *http.Request, user domain.User, status int, v artifactsView) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v := v
		e, p, err := s.experimentOf(db, idOf(r))
		if err != nil {
			return nil, err
		}
		query := r.URL.Query()
		v.ExperimentID, v.Path, v.Query, v.Open = e.ID, "/experiment/"+e.ID+"/artifacts", nameQuery(query), e.Status == domain.InProgress
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		if err := s.fillArtifacts(db, s.apiURL(r), user, &v, pageOf(query)); err != nil {
			return nil, err
		}
		f, err := s.inside(db, "Artifacts of "+e.Name, user, place{projectID: p.ID, experimentID: e.ID})
		if err != nil {
			return nil, err
		}
		f.InPlace, f.Module = true, "artifact.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Artifacts"}}
		return artifactsPage(f, v), nil
	})
}

// experimentOf returns an experiment and its project.
func (s *site) experimentOf(db *store.View, id string) (projects.Experiment, projects.Project, error) {
	e, err := db.Projects.Experiment(id)
	if err != nil {
		return e, projects.Project{}, err
	}
	p, err := db.Projects.Project(e.ProjectID)
	return e, p, err
}

// artifactView is the view of an artifact's page.
type artifactView struct {
	artifactRow
	Listed       bool // whether the artifact is shown within a list
	ExperimentID string
	Backend      artifact.Backend
	Preview      preview.Preview
	Table        bool   // whether the artifact is a table
	Images       string // JSON of the images in a series
	Versions     []registry.MadeVersion
	Rights       domain.Permission
	Models       []link // models of the project; Path holds the model's ID
	Runs         []link // source runs to choose from if the artifact belongs to no run
	Form         registerForm
	WrongDelete  string
	Registering  bool   // whether the form for a model version is open
	Folder       string // folder of a run's file, "" for none
}

// registerForm holds the input of the form that creates a model version.
type registerForm struct {
	ModelID     string // "" for a new model
	Folder      bool   // whether the version has the folder of the file
	Name        string
	Description string
	IterationID string
	Wrong       *domain.Error
}

// wrong returns the error message for the given field, "" for none. Errors that concern no
// field of the form are listed under "".
func (f registerForm) wrong(field string) string {
	return wrongOf(f.Wrong, field, "name", "description", "iteration_id")
}

// wrongOf returns the message of e if e concerns field, otherwise "". An error that concerns none
// of the known fields belongs to the field "".
func wrongOf(e *domain.Error, field string, known ...string) string {
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

// artifact shows the page of an artifact.
func (s *site) artifact(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showArtifact(w, r, user, http.StatusOK, registerForm{}, "")
}

// runsOffered is the maximum number of source runs that the form for a model version offers.
// The form offers runs only if the artifact belongs to no run.
const runsOffered = 100

func (s *site) showArtifact(w http.ResponseWriter, r *http.Request, user domain.User, status int, form registerForm, wrongDelete string) error {
	var v artifactView
	var a files.Artifact
	var f frame
	err := s.view(r, user, func(db *store.View) (err error) {
		v = artifactView{Form: form, WrongDelete: wrongDelete, Registering: r.URL.Query().Has("register")}
		if a, err = db.Files.Artifact(idOf(r)); err != nil {
			return err
		}
		e, p, err := s.experimentOf(db, a.ExperimentID)
		if err != nil {
			return err
		}
		v.Listed, v.ExperimentID, v.Backend = inPlace(r) && !s.current(r, "/artifact/"+a.ID), e.ID, a.Backend
		if v.artifactRow, err = s.artifactRow(db, a, map[string]*link{}); err != nil {
			return err
		}
		if a.IterationID != nil {
			v.Folder = folderOf(a.Name)
		}
		if form.Wrong == nil {
			v.Form.Folder = v.Folder+modelFile == a.Name
		}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return err
		}
		if v.Versions, err = db.Models.ArtifactVersions(a.ID); err != nil {
			return err
		}
		if v.Rights.Create {
			if err := s.fillRegister(db, p.ID, &v); err != nil {
				return err
			}
		}
		f, err = s.inside(db, a.Name, user, place{projectID: p.ID, experimentID: e.ID})
		f.InPlace, f.Module = true, "artifact.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID},
			{"Artifacts", "/experiment/" + e.ID + "/artifacts"}, {Name: a.Name}}
		return err
	})
	if err != nil {
		return err
	}
	// Do not hold a database snapshot while reading the bytes: they might come from a slow object
	// store.
	if v.Preview, err = preview.Read(r.Context(), s.DB, user.Actor(), a); err != nil {
		// Without a preview, the user can still use the page and delete the artifact.
		web.InfoOf(r).Err = err
		v.Preview = preview.Preview{Kind: preview.Text, Note: "The preview failed. " + web.AsError(err).Message}
	}
	v.Table = v.Preview.Kind == preview.Table || preview.IsTable(a)
	if v.Images, err = s.imageSteps(v.Preview.Images); err != nil {
		return err
	}
	return s.render(w, r, status, artifactPage(f, v))
}

// imageStep is one image of a series, with the columns of the artifact list. A script uses
// imageStep to show the images one after another.
type imageStep struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Step    string `json:"step"`
	Size    string `json:"size"`
	Bytes   string `json:"bytes"`
	Hash    string `json:"hash"`
	Created moment `json:"created"`
}

// imageSteps returns the images of a series as JSON, or "" without images.
func (s *site) imageSteps(images []preview.LoggedImage) (string, error) {
	var steps []imageStep
	for _, i := range images {
		steps = append(steps, imageStep{i.ID, i.Name, i.Step, plain.Size(i.SizeBytes), humanize.Comma(i.SizeBytes) + " bytes", i.ContentHash, s.moment(i.CreatedDate)})
	}
	if steps == nil {
		return "", nil
	}
	text, err := json.Marshal(steps)
	return string(text), err
}

// fillRegister reads the models and source runs that the user can choose for a model version.
func (s *site) fillRegister(db *store.View, projectID string, v *artifactView) error {
	models, err := db.Models.Models(projectID, registry.ModelQuery{Page: domain.Page{Limit: domain.MaxLimit}})
	if err != nil {
		return err
	}
	for _, m := range models.Data {
		v.Models = append(v.Models, link{Name: m.Name, Path: m.ID})
	}
	if v.Run != nil {
		return nil
	}
	runs, err := db.Runs.Iterations(v.ExperimentID, runs.IterationQuery{Page: domain.Page{Limit: runsOffered}, Sort: "-created"})
	for _, i := range runs.Data {
		v.Runs = append(v.Runs, link{i.Name, i.ID, s.status(i)})
	}
	return err
}

// artifactData responds with the bytes of an artifact. Its content type prevents browsers from
// running scripts.
func (s *site) artifactData(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.sendArtifact(w, r, user, r.URL.Query().Has("download"))
}

// sendArtifact sends the bytes of an artifact. If download is set, or if the content type is not one of
// a few safe ones, browsers save the bytes.
func (s *site) sendArtifact(w http.ResponseWriter, r *http.Request, user domain.User, download bool) error {
	a, data, err := s.DB.Files.OpenArtifact(r.Context(), user.Actor(), idOf(r))
	if err != nil {
		return err
	}
	defer data.Close()
	contentType, inline := preview.ServedAs(a)
	w.Header().Set("Content-Type", contentType)
	if !inline || download {
		w.Header().Set("Content-Disposition", web.Attachment(a.Name))
	}
	web.ServeContent(w, r, a, data, func(e *domain.Error) { s.fail(w, r, e) })
	return nil
}

// deleteArtifact deletes an artifact. If a model version uses the artifact, deleteArtifact
// shows an error.
func (s *site) deleteArtifact(w http.ResponseWriter, r *http.Request, user domain.User) error {
	ctx, actor, id := r.Context(), user.Actor(), idOf(r)
	a, err := s.DB.Files.Artifact(ctx, actor, id)
	if err == nil {
		err = s.DB.Files.DeleteArtifact(ctx, actor, id)
	}
	if e := formError(err); e != nil {
		return s.showArtifact(w, r, user, web.StatusOf(e.Code), registerForm{}, e.Message)
	}
	if err != nil {
		return err
	}
	if inPlace(r) && !s.current(r, "/artifact/"+id) { // the artifact is shown in a list; the trigger reloads the list
		w.Header().Set("HX-Trigger", "artifacts")
		return nil
	}
	s.redirect(w, r, s.afterDeletion("/experiment/"+a.ExperimentID+"/artifacts", id))
	return nil
}

// register creates a model version from an artifact. If the user chose no model, register
// creates a model first.
func (s *site) register(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx, actor := r.Context(), user.Actor()
	a, err := s.DB.Files.Artifact(ctx, actor, idOf(r))
	if err != nil {
		return err
	}
	typed := registerForm{ModelID: fields.Get("model_id"), Name: plain.Readable(fields.Get("name")), Description: text(fields, "description"),
		IterationID: fields.Get("iteration_id"), Folder: fields.Get("folder") != ""}
	n := registry.NewModelVersion{IterationID: typed.IterationID, ArtifactID: &a.ID, Description: typed.Description}
	if a.IterationID != nil {
		n.IterationID = *a.IterationID
		if folder := folderOf(a.Name); typed.Folder && folder != "" {
			n.Source = folderSource(n.IterationID, folder)
		}
	}
	model := typed.ModelID
	if n.IterationID == "" {
		err = domain.Invalid("iteration_id", "Choose the source run of the version.")
	} else if model == "" {
		model, err = s.newModel(ctx, actor, a.ExperimentID, typed.Name)
	}
	if err == nil {
		_, err = s.DB.Models.CreateModelVersion(ctx, actor, model, n)
	}
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showArtifact(w, r, user, web.StatusOf(typed.Wrong.Code), typed, "")
	}
	return s.redirectUnless(err, w, r, "/artifact/"+a.ID)
}

// folderSource returns the source of a model version that consists of a folder of a run, in the
// form that MLflow's clients read.
func folderSource(iterationID, folder string) string {
	return runsScheme + strings.ReplaceAll(iterationID, "-", "") + "/" + strings.TrimSuffix(folder, "/")
}

// runsScheme is the beginning of the URIs with which MLflow's clients name the files of runs.
const runsScheme = "runs:/"

// newModel creates a model in the project of an experiment.
func (s *site) newModel(ctx context.Context, actor domain.Actor, experimentID, name string) (string, error) {
	e, err := s.DB.Projects.Experiment(ctx, actor, experimentID)
	if err != nil {
		return "", err
	}
	m, err := s.DB.Models.CreateModel(ctx, actor, e.ProjectID, registry.NewModel{Name: name})
	return m.ID, err
}
