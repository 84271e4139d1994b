package ui

import (
	"bytes"
	"context"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"tracker/server/middleware"
	"tracker/store"
)

// iterationChildren is how many children a page lists.
const iterationChildren = 100

// iterationView is what the page of an iteration shows.
type iterationView struct {
	Run          run
	Cursor       string // what the page shows is not older
	ExperimentID string
	Running      bool // it has not ended, lost or not
	Ended        *moment
	Seen         moment
	Parent       *link
	Children     []link
	MoreChildren bool
	Notes        string
	NotesHTML    templ.Component
	ErrorText    string
	Params       []store.Parameter
	Metrics      []metricRow
	Snapshot     *store.Snapshot // nil when none was recorded
	Known        bool            // the page has the snapshot, which is large, and keeps it
	Artifacts    artifactsView
	Versions     []store.MadeVersion // of models, that came from it
	Rights       store.Permission
	Form         editForm
}

// editForm is what somebody typed, shown again when it was refused.
type editForm struct {
	basis
	Part   string // that was sent: "edit", "end" or "tag"; "" for none
	Name   string
	Notes  string
	Status string
	Error  string // the reason of an end
	Tag    string
	Wrong  *store.Error
}

// wrong is what is wrong with a field, "" for nothing. What is about no field
// of the form is told under the field "".
func (f editForm) wrong(field string) string {
	return f.basis.wrong(field, wrongOf(f.Wrong, field, "name", "notes", "status", "error_message", "value"))
}

type link struct {
	Name   string
	Path   string
	Status string
}

type metricRow struct {
	Key                  string
	Last, Min, Max, Mean string
	LastStep             string
	MinStep, MaxStep     string
	Count                string
}

// iteration shows one run.
func (s *site) iteration(w http.ResponseWriter, r *http.Request, user store.User) error {
	return s.showIteration(w, r, user, http.StatusOK, editForm{})
}

func (s *site) showIteration(w http.ResponseWriter, r *http.Request, user store.User, status int, form editForm) error {
	ctx, actor, id := r.Context(), store.Actor{UserID: user.ID}, idOf(r)
	changes, err := s.DB.IterationChanges(ctx, actor, id, "")
	if err != nil {
		return err
	}
	i, err := s.DB.Iteration(ctx, actor, id)
	if err != nil {
		return err
	}
	e, err := s.DB.Experiment(ctx, actor, i.ExperimentID)
	if err != nil {
		return err
	}
	p, err := s.DB.Project(ctx, actor, e.ProjectID)
	if err != nil {
		return err
	}
	v := iterationView{Run: s.run(i), Cursor: changes.Cursor, ExperimentID: e.ID, Running: i.Status == store.Running, Seen: s.moment(i.LastSeen),
		Notes: i.Notes, NotesHTML: markdown(i.Notes), ErrorText: i.ErrorMessage, Form: form, Known: inPlace(r) && r.URL.Query().Has("known")}
	if i.EndDate != nil {
		v.Ended = new(s.moment(*i.EndDate))
	}
	if v.Rights, err = s.DB.Rights(ctx, actor, p.ID); err != nil {
		return err
	}
	if form.Wrong == nil {
		v.Form = editForm{Name: i.Name, Notes: i.Notes, Status: string(store.Succeeded)}
	}
	v.Form.renew("name", &v.Form.Name, i.Name)
	v.Form.renew("notes", &v.Form.Notes, i.Notes)
	if err := s.fillIteration(ctx, actor, i, &v); err != nil {
		return err
	}
	v.Artifacts = artifactsView{ExperimentID: e.ID, IterationID: i.ID, Path: "/iteration/" + i.ID, Rights: v.Rights, Open: e.Status == store.InProgress,
		All: "/experiment/" + e.ID + "/artifacts?iteration=" + i.ID}
	if err := s.fillArtifacts(ctx, user, &v.Artifacts, store.FirstPage); err != nil {
		return err
	}
	f, err := s.inside(ctx, i.Name, user, place{projectID: p.ID, experimentID: e.ID})
	if err != nil {
		return err
	}
	f.Module, f.Scripts, f.InPlace = "iteration.js", []string{"artifact.js"}, true
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: i.Name}}
	return s.render(w, r, status, iterationPage(f, v))
}

// fillIteration adds what was recorded against a run.
func (s *site) fillIteration(ctx context.Context, actor store.Actor, i store.Iteration, v *iterationView) error {
	summary, err := s.DB.Summary(ctx, actor, i.ID)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(summary.Params)) {
		v.Params = append(v.Params, store.Parameter{Key: key, Value: summary.Params[key]})
	}
	for _, key := range slices.Sorted(maps.Keys(summary.Metrics)) {
		v.Metrics = append(v.Metrics, newMetricRow(key, summary.Metrics[key]))
	}
	snapshot, err := s.DB.Snapshot(ctx, actor, i.ID)
	if err == nil && v.Known {
		v.Snapshot = new(store.Snapshot)
	} else if err == nil {
		v.Snapshot = &snapshot
	} else if store.AsError(err).Code != store.CodeNotFound {
		return err
	}
	if v.Versions, err = s.DB.IterationVersions(ctx, actor, i.ID); err != nil {
		return err
	}
	children, err := s.DB.IterationChildren(ctx, actor, i.ID, store.Page{Limit: iterationChildren})
	if err != nil {
		return err
	}
	for _, c := range children.Data {
		v.Children = append(v.Children, link{c.Name, "/iteration/" + c.ID, s.status(c)})
	}
	v.MoreChildren = children.Total > len(children.Data)
	if i.ParentIterationID == nil {
		return nil
	}
	parent, err := s.DB.Iteration(ctx, actor, *i.ParentIterationID)
	if err != nil {
		return err
	}
	v.Parent = &link{parent.Name, "/iteration/" + parent.ID, s.status(parent)}
	return nil
}

func newMetricRow(key string, m store.MetricSummary) metricRow {
	r := metricRow{Key: key, Last: number(m.Last), LastStep: step(&m.LastStep), Count: humanize.Comma(m.Count),
		MinStep: step(m.MinStep), MaxStep: step(m.MaxStep)}
	for dst, v := range map[*string]*store.Value{&r.Min: m.Min, &r.Max: m.Max, &r.Mean: m.Mean} {
		if v != nil {
			*dst = number(*v)
		}
	}
	return r
}

func step(s *store.Step) string {
	if s == nil {
		return ""
	}
	return "step " + humanize.Comma(int64(*s))
}

// writer of notes. Without the option for it, HTML in Markdown is left out, and
// so are links that would run a script.
var writer = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(noteRenderer{}, 1))))

// noteRenderer writes what goldmark writes otherwise.
type noteRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (noteRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, writeImage)
	r.Register(extensionast.KindTaskCheckBox, writeTaskBox)
}

// writeImage links to an image: a page loads nothing from elsewhere.
func writeImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	address := util.URLEscape(n.(*ast.Image).Destination, true)
	if goldmarkhtml.IsDangerousURL(address) {
		return ast.WalkContinue, nil
	}
	if entering {
		w.WriteString(`<a href="`)
		w.Write(util.EscapeHTML(address))
		w.WriteString(`">`)
	} else {
		w.WriteString(`</a>`)
	}
	return ast.WalkContinue, nil
}

// writeTaskBox writes the box of a task with what it says.
func writeTaskBox(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering && n.(*extensionast.TaskCheckBox).IsChecked {
		w.WriteString(`<input type="checkbox" disabled checked aria-label="done"> `)
	} else if entering {
		w.WriteString(`<input type="checkbox" disabled aria-label="open"> `)
	}
	return ast.WalkContinue, nil
}

// markdown renders notes.
func markdown(text string) templ.Component {
	var b bytes.Buffer
	if err := writer.Convert([]byte(text), &b); err != nil {
		b.Reset()
		b.WriteString("<pre>" + html.EscapeString(text) + "</pre>")
	}
	return templ.Raw(b.String())
}

// editIteration changes name and notes, as far as somebody has typed there: the
// run itself may write them too.
func (s *site) editIteration(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	typed := editForm{basis: basisOf(fields), Part: "edit", Name: readable(fields.Get("name")), Notes: text(fields, "notes"),
		Status: string(store.Succeeded)}
	err = s.DB.UpdateIteration(r.Context(), store.Actor{UserID: user.ID}, idOf(r), store.IterationPatch{
		Name: changed(fields, "name", typed.Name), Notes: changed(fields, "notes", typed.Notes), Before: typed.Before})
	return s.answerForm(w, r, user, err, typed)
}

// text reads a text area, in which browsers end lines with CR and LF.
func text(fields url.Values, name string) string {
	return strings.ReplaceAll(readable(fields.Get(name)), "\r\n", "\n")
}

// endIteration sets the status: an end, or RUNNING to reopen.
func (s *site) endIteration(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	typed := editForm{Part: "end", Status: fields.Get("status"), Error: text(fields, "error_message")}
	patch := store.IterationPatch{Status: new(store.IterationStatus(typed.Status))}
	if typed.Error != "" {
		patch.ErrorMessage = &typed.Error
	}
	err = s.DB.UpdateIteration(r.Context(), store.Actor{UserID: user.ID}, idOf(r), patch)
	return s.answerForm(w, r, user, err, typed)
}

// answerForm goes back to the page of the run, or shows the form again with
// what is wrong beside the field.
func (s *site) answerForm(w http.ResponseWriter, r *http.Request, user store.User, err error, typed editForm) error {
	if err == nil {
		s.redirect(w, r, "/iteration/"+idOf(r))
		return nil
	}
	e := formError(err)
	if e == nil {
		return err
	}
	typed.Wrong = e
	if typed.Part != "edit" { // the other form keeps what is stored
		i, err := s.DB.Iteration(r.Context(), store.Actor{UserID: user.ID}, idOf(r))
		if err != nil {
			return err
		}
		typed.Name, typed.Notes = i.Name, i.Notes
	}
	return s.showIteration(w, r, user, middleware.StatusOf(e.Code), typed)
}

// tagIteration puts a tag on a run, or takes one off.
func (s *site) tagIteration(w http.ResponseWriter, r *http.Request, user store.User) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	ctx, actor, typed := r.Context(), store.Actor{UserID: user.ID}, editForm{Part: "tag", Status: string(store.Succeeded)}
	if fields.Has("remove") {
		err = s.DB.DeleteTag(ctx, actor, store.IterationTag, idOf(r), fields.Get("remove"))
	} else {
		typed.Tag = strings.TrimSpace(readable(fields.Get("tag")))
		_, err = s.DB.CreateTag(ctx, actor, store.IterationTag, idOf(r), typed.Tag)
	}
	return s.answerForm(w, r, user, tagError(err), typed)
}
