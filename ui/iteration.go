package ui

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/wandb/format"
	"tracker/ui/chart"
	"tracker/ui/plain"
	"tracker/ui/preview"
)

// iterationChildren is the maximum number of child runs that a run's page lists.
const iterationChildren = 100

// iterationView is the view of a run's page.
type iterationView struct {
	Run           run
	Cursor        string // change cursor at the time of the snapshot
	ExperimentID  string
	Running       bool      // whether the run has not ended; true for lost runs
	Pace          *paceView // nil if nothing is known, and for a run that is not running
	Key           string    // name of the API key with which the run was created, or ""
	Ended         *moment
	Seen          moment
	StopAsked     *moment // time of the stop request, nil for none
	StopBy        string  // user who asked the run to stop, "" if unknown
	WandB         string  // id of the run in a W&B client, "" for another client; a W&B client stops a run that was ended
	Unstoppable   string  // the reason why the run can't be asked to stop; "" if it can
	Parent        *link
	Children      []link
	AllChildren   int // number of child runs, including omitted ones
	Notes         string
	NotesHTML     templ.Component
	ErrorText     string
	Summary       []runs.Parameter // texts of the summary, and numbers that only the summary has
	Params        []runs.Parameter // the parameters that matter first
	MoreParams    []runs.Parameter // folded parameters
	AllParams     int              // number of parameters, including omitted ones
	Properties    []domain.Property
	NotSent       []string // messages about data that the client could not send
	Datasets      []runs.DatasetName
	AllDatasets   int
	Metrics       []metricRow
	SystemMetrics []metricRow // folded
	AllMetrics    int
	Snapshot      *runs.Snapshot // environment snapshot, nil if the run recorded none
	Diagnosis     *diagnosisView // nil if the page does not explain the run
	Explain       bool           // whether the explanation was requested
	Known         bool           // whether the browser has the snapshot; if true, the response omits the snapshot's data
	System        bool           // whether the run has system metrics
	Console       consoleView
	Plots         tablePlots
	Artifacts     artifactsView
	Versions      []registry.MadeVersion // model versions created from this run
	LoggedModels  []loggedModelLink
	Made          madeView
	Rights        domain.Permission
	CompareBest   bool // whether the run has metrics that can be compared with the best run's
	Form          editForm
}

// editForm holds the rejected input of a form on a run's page.
type editForm struct {
	basis
	Part   string // submitted form: "edit", "stop", "end" or "tag"; "" for none
	Name   string
	Notes  string
	Status string
	Error  string // entered error message
	Tag    string
	Wrong  *domain.Error
}

// wrong returns the error message for the given field, "" for none. Errors that concern no
// field of the form are listed under "".
func (f editForm) wrong(field string) string {
	return f.basis.wrong(field, wrongOf(f.Wrong, field, "name", "notes", "status", "error_message", "value"))
}

type link struct {
	Name   string
	Path   string
	Status string
}

// loggedModelLink is a link to the files of a run's logged model.
type loggedModelLink struct {
	link
	Input bool // whether the run used the model as input
}

// loggedModelPath returns the path of the page with the files of a logged model.
func loggedModelPath(experimentID, id string) string {
	return "/experiment/" + experimentID + "/artifacts?" + url.Values{"q": {registry.LoggedModelFolder(id)}}.Encode()
}

type metricRow struct {
	Key                  string
	Last, Min, Max, Mean string
	LastStep             string
	MinStep, MaxStep     string
	Count                string
}

// iteration shows the page of a run.
func (s *site) iteration(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showIteration(w, r, user, http.StatusOK, editForm{})
}

func (s *site) showIteration(w http.ResponseWriter, r *http.Request, user domain.User, status int, form editForm) error {
	var v iterationView
	var f frame
	var plots []format.Plot
	err := s.view(r, user, func(db *store.View) error {
		i, err := db.Runs.Iteration(idOf(r))
		if err != nil {
			return err
		}
		e, err := db.Projects.Experiment(i.ExperimentID)
		if err != nil {
			return err
		}
		p, err := db.Projects.Project(e.ProjectID)
		if err != nil {
			return err
		}
		v = iterationView{Run: s.run(i), Cursor: db.Cursor(), ExperimentID: e.ID, Running: i.Status == domain.Running, Seen: s.moment(i.LastSeen),
			Notes: i.Notes, ErrorText: i.ErrorMessage, Form: form, Known: inPlace(r) && r.URL.Query().Has("known"),
			Explain: r.URL.Query().Has("diagnosis")}
		if i.EndDate != nil {
			v.Ended = new(s.moment(*i.EndDate))
		}
		if i.CreatedKey != nil {
			v.Key = *i.CreatedKey
		}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return err
		}
		if v.WandB, err = db.Wandb.IDOf(i.ID); err != nil {
			return err
		}
		if err := s.fillStop(db, i, &v); err != nil {
			return err
		}
		if v.Run.Status == "running" {
			p, err := db.Runs.Pace(i.ID, true)
			if err != nil {
				return err
			}
			v.Pace = newPace(p)
		}
		if form.Wrong == nil {
			v.Form = editForm{Name: i.Name, Notes: i.Notes, Status: string(domain.Killed)}
		}
		v.Form.renew("name", &v.Form.Name, i.Name)
		v.Form.renew("notes", &v.Form.Notes, i.Notes)
		if err := s.fillIteration(db, e, i, &v); err != nil {
			return err
		}
		if plots, err = plotsOf(db, i.ID); err != nil {
			return err
		}
		q, line := consoleQuery(r.URL.Query())
		printed, err := db.Runs.Console(i.ID, q)
		if err != nil {
			return err
		}
		v.Console = consoleView{Lines: linesOf(printed.Lines), First: printed.First, Next: printed.Next, Search: q.Search, Line: line}
		v.Artifacts = artifactsView{ExperimentID: e.ID, IterationID: i.ID, Path: "/iteration/" + i.ID, Rights: v.Rights, Open: e.Status == domain.InProgress,
			All: "/experiment/" + e.ID + "/artifacts?iteration=" + i.ID}
		if err := s.fillRunFiles(db, s.apiURL(r), user, &v.Artifacts); err != nil {
			return err
		}
		if err := fillMade(db, i.ID, &v.Made); err != nil {
			return err
		}
		f, err = s.inside(db, i.Name, user, place{projectID: p.ID, experimentID: e.ID})
		f.Module, f.Charts, f.InPlace = "iteration.js", true, true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: i.Name}}
		return err
	})
	if err != nil {
		return err
	}
	if v.Plots, err = s.tablePlots(r.Context(), user.Actor(), idOf(r), plots); err != nil {
		return err
	}
	if v.NotesHTML, err = preview.ProseOf(r.Context(), v.Notes); err != nil {
		return err
	}
	return s.render(w, r, status, iterationPage(f, v))
}

// fillStop reads into v whether the run was asked to stop, and whether it can be asked.
func (s *site) fillStop(db *store.View, i runs.Iteration, v *iterationView) error {
	if i.StopRequested != nil {
		v.StopAsked = new(s.moment(*i.StopRequested))
	}
	if i.StopRequestedBy != nil {
		v.StopBy = *i.StopRequestedBy
	}
	if !v.Running || !v.Rights.Update {
		return nil
	}
	err := db.Runs.CheckStop(i.ID)
	if err != nil && web.AsError(err).Code == domain.CodeConflict {
		v.Unstoppable, err = web.AsError(err).Message, nil
	}
	return err
}

// fillIteration reads the run's records into v: parameters, properties, datasets, metrics, the
// snapshot, models, and related runs.
func (s *site) fillIteration(db *store.View, e projects.Experiment, i runs.Iteration, v *iterationView) error {
	summary, err := db.Runs.Summary(i.ID)
	if err != nil {
		return err
	}
	if v.Diagnosis, err = s.explain(db, i, summary, v.Explain); err != nil {
		return err
	}
	params := slices.Sorted(maps.Keys(summary.Params))
	v.AllParams = len(params)
	first := len(params)
	if first > fewParams {
		varying, err := db.Runs.VaryingParams(e.ID, telling)
		if err != nil {
			return err
		}
		params, first = foldedParams(params, varying, func(key string) bool { return chart.IsUnset(summary.Params[key]) })
	}
	for at, key := range fit(params, maxRows, func(key string) int { return len(key) + len(summary.Params[key]) }) {
		p := runs.Parameter{Key: key, Value: cell(summary.Params[key])}
		if at < first {
			v.Params = append(v.Params, p)
		} else {
			v.MoreParams = append(v.MoreParams, p)
		}
	}
	properties, err := db.Runs.Properties(runs.IterationProperty, i.ID, domain.Page{Limit: domain.MaxLimit})
	if err != nil {
		return err
	}
	for _, p := range properties.Data {
		if strings.HasPrefix(p.Key, runs.NotSentProperty) {
			if p.Value != "" {
				v.NotSent = append(v.NotSent, cell(p.Value))
			}
			continue
		}
		if strings.HasPrefix(p.Key, scalar.DefinitionPrefix) || strings.HasPrefix(p.Key, scalar.SummaryPrefix) {
			continue
		}
		p.Value = cell(p.Value)
		v.Properties = append(v.Properties, p)
	}
	datasets, err := db.Runs.Datasets(i.ID, domain.FirstPage)
	if err != nil {
		return err
	}
	v.Datasets, v.AllDatasets = datasets.Data, datasets.Total
	v.Summary = summaryRows(summary)
	names := slices.Collect(maps.Keys(summary.Metrics))
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, runs.SummaryMetrics) })
	o, err := db.Projects.Objective(e)
	if err != nil {
		return err
	}
	v.CompareBest = len(names) > 0
	own := func(name string) string { return name }
	chart.Sort(names, own, chart.Spreads([]runs.Summary{summary}))
	chart.PutFirst(names, o, own)
	v.AllMetrics = len(names)
	v.System = slices.ContainsFunc(names, func(key string) bool { return strings.HasPrefix(key, "system/") })
	for _, key := range names[:min(len(names), maxRows)] {
		if row := newMetricRow(key, summary.Metrics[key]); strings.HasPrefix(key, "system/") {
			v.SystemMetrics = append(v.SystemMetrics, row)
		} else {
			v.Metrics = append(v.Metrics, row)
		}
	}
	snapshot, err := db.Runs.Snapshot(i.ID)
	if err == nil && v.Known {
		v.Snapshot = new(runs.Snapshot)
	} else if err == nil {
		v.Snapshot = &snapshot
	} else if web.AsError(err).Code != domain.CodeNotFound {
		return err
	}
	if v.Versions, err = db.Models.IterationVersions(i.ID); err != nil {
		return err
	}
	uses, err := db.Models.LoggedModelUses(i.ID)
	if err != nil {
		return err
	}
	for _, u := range uses {
		v.LoggedModels = append(v.LoggedModels, loggedModelLink{
			link: link{Name: u.ModelName, Path: loggedModelPath(u.ExperimentID, u.ModelID)}, Input: u.Role == registry.InputModel})
	}
	children, err := db.Runs.IterationChildren(i.ID, domain.Page{Limit: iterationChildren})
	if err != nil {
		return err
	}
	for _, c := range children.Data {
		v.Children = append(v.Children, link{c.Name, "/iteration/" + c.ID, s.status(c)})
	}
	v.AllChildren = children.Total
	if i.ParentIterationID == nil {
		return nil
	}
	parent, err := db.Runs.Iteration(*i.ParentIterationID)
	if err != nil {
		return err
	}
	v.Parent = &link{parent.Name, "/iteration/" + parent.ID, s.status(parent)}
	return nil
}

// summaryRows returns the values of a run's summary: its texts, and the numbers that are not the
// last values of metrics.
func summaryRows(s runs.Summary) (rows []runs.Parameter) {
	values := map[string]string{}
	for name, t := range s.Texts {
		values[name] = cell(string(t))
	}
	for name, m := range s.Metrics {
		if name, ok := strings.CutPrefix(name, runs.SummaryMetrics); ok {
			values[name] = plain.Number(m.Last)
		}
	}
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names[:min(len(names), maxRows)] {
		rows = append(rows, runs.Parameter{Key: name, Value: values[name]})
	}
	return rows
}

// fewParams is the number of parameters up to which a run's page folds none of them.
const fewParams = 24

// foldedParams sorts parameters: first parameters that differ between runs, then parameters with
// known names, then other parameters with a value, and last unset parameters. It returns the number
// of parameters to show; the others are folded. If all parameters differ, as in an experiment with
// a single run, differences are ignored.
func foldedParams(params, varying []string, unset func(string) bool) (sorted []string, first int) {
	const differs, known, set, rest = 0, 1, 2, 3
	vary := map[string]bool{}
	if len(varying) < len(params) {
		for _, key := range varying {
			vary[key] = true
		}
	}
	class := func(key string) int {
		switch {
		case vary[key]:
			return differs
		case unset(key):
			return rest
		case chart.ParamRank(key) < chart.UnknownParam:
			return known
		}
		return set
	}
	chart.SortParams(params)
	slices.SortStableFunc(params, func(a, b string) int { return cmp.Compare(class(a), class(b)) })
	first = len(params)
	if at := slices.IndexFunc(params, func(key string) bool { return class(key) > known }); at >= 0 {
		first = at
	}
	for first < fewParams && first < len(params) && class(params[first]) < rest {
		first++
	}
	return params, max(first, min(fewParams/2, len(params)))
}

func newMetricRow(key string, m points.Summary) metricRow {
	r := metricRow{Key: key, Last: plain.Number(m.Last), LastStep: step(&m.LastStep), Count: humanize.Comma(m.Count),
		MinStep: step(m.MinStep), MaxStep: step(m.MaxStep)}
	for dst, v := range map[*string]*scalar.Value{&r.Min: m.Min, &r.Max: m.Max, &r.Mean: m.Mean} {
		if v != nil {
			*dst = plain.Number(*v)
		}
	}
	return r
}

func step(s *scalar.Step) string {
	if s == nil {
		return ""
	}
	return "step " + humanize.Comma(int64(*s))
}

// editIteration changes the name and notes of a run if the user edited them. The run itself
// might change its name and notes at the same time.
func (s *site) editIteration(w http.ResponseWriter, r *http.Request, user domain.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	typed := editForm{basis: basisOf(fields), Part: "edit", Name: plain.Readable(fields.Get("name")), Notes: text(fields, "notes"),
		Status: string(domain.Killed)}
	err = s.DB.Runs.UpdateIteration(r.Context(), user.Actor(), idOf(r), runs.IterationPatch{
		Name: changed(fields, "name", typed.Name), Notes: changed(fields, "notes", typed.Notes), Before: typed.Before})
	return s.answerForm(w, r, user, err, typed)
}

// text returns the value of a text area with LF line endings. Browsers send CR LF.
func text(fields url.Values, name string) string {
	return strings.ReplaceAll(plain.Readable(fields.Get(name)), "\r\n", "\n")
}

// stopIteration asks the script of a run to stop.
func (s *site) stopIteration(w http.ResponseWriter, r *http.Request, user domain.User) error {
	if _, err := form(r); err != nil {
		return err
	}
	err := s.DB.Runs.RequestStop(r.Context(), user.Actor(), idOf(r))
	return s.answerForm(w, r, user, err, editForm{Part: "stop", Status: string(domain.Killed)})
}

// endIteration ends a run with the submitted status. The status RUNNING reopens the run.
func (s *site) endIteration(w http.ResponseWriter, r *http.Request, user domain.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	typed := editForm{Part: "end", Status: fields.Get("status"), Error: text(fields, "error_message")}
	patch := runs.IterationPatch{Status: new(domain.IterationStatus(typed.Status))}
	if typed.Error != "" {
		patch.ErrorMessage = &typed.Error
	}
	err = s.DB.Runs.UpdateIteration(r.Context(), user.Actor(), idOf(r), patch)
	return s.answerForm(w, r, user, err, typed)
}

// answerForm redirects to the page of the run. If there is an error, it shows the form with the
// input, and the error message beside the field.
func (s *site) answerForm(w http.ResponseWriter, r *http.Request, user domain.User, err error, typed editForm) error {
	if err == nil {
		s.redirect(w, r, "/iteration/"+idOf(r))
		return nil
	}
	e := formError(err)
	if e == nil {
		return err
	}
	typed.Wrong = e
	if typed.Part != "edit" { // the edit form was not submitted and shows the stored values
		i, err := s.DB.Runs.Iteration(r.Context(), user.Actor(), idOf(r))
		if err != nil {
			return err
		}
		typed.Name, typed.Notes = i.Name, i.Notes
	}
	return s.showIteration(w, r, user, web.StatusOf(e.Code), typed)
}

// tagIteration adds a tag to a run or removes a tag from it.
func (s *site) tagIteration(w http.ResponseWriter, r *http.Request, user domain.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	ctx, actor, typed := r.Context(), user.Actor(), editForm{Part: "tag", Status: string(domain.Killed)}
	if fields.Has("remove") {
		err = s.DB.Runs.DeleteTag(ctx, actor, runs.IterationTag, idOf(r), fields.Get("remove"))
	} else {
		typed.Tag = strings.TrimSpace(plain.Readable(fields.Get("tag")))
		_, err = s.DB.Runs.CreateTag(ctx, actor, runs.IterationTag, idOf(r), typed.Tag)
	}
	return s.answerForm(w, r, user, err, typed)
}
