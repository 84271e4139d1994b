// Package report builds reports. A report is Markdown with blocks that show charts, tables and
// images of a project's runs. Package report does not depend on HTTP requests or sessions.
package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui/chart"
	"tracker/ui/plain"
	"tracker/ui/preview"
)

// MaxRuns is the maximum number of runs in a chart or a table.
const MaxRuns = 30

// These constants limit the size of a report.
const (
	maxBlocks   = 30       // maximum number of charts, tables and images in a report
	defaultRuns = 10       // default number of runs in a chart or table
	maxPlots    = 8        // maximum number of charts in a block
	plotPoints  = 200      // maximum number of points in a curve
	maxPicture  = 5 << 20  // maximum bytes of an image in an exported report
	maxPictures = 30 << 20 // maximum bytes of all images in an exported report
)

// Part is a rendered part of a report.
type Part struct {
	Prose   templ.Component
	Caption string
	Wrong   string // reason why the part can't be shown, "" for none
	Plots   []*chart.Plot
	Runs    []Run // runs in the plots
	Heads   []string
	Rows    []Row
	Image   string // URL of the image, "" for none
	Name    string // artifact name of the image
}

// Run is a run in the form that reports show.
type Run struct {
	ID, Name string
	Class    string // CSS class of the run's colour
	Running  bool
}

// Row is a row in a table of runs.
type Row struct {
	Run   Run
	Cells []plain.Cell
}

// Builder builds the reports of a project.
type Builder struct {
	DB        *store.DB
	Actor     domain.Actor
	ProjectID string
	Offline   bool // whether to embed images as data URLs

	// Runs converts runs to the form that reports show, with distinct colours.
	Runs func([]runs.Iteration) []Run
	// Columns returns the default columns in a table of an experiment's runs.
	Columns func(db *store.View, experimentID string, o *goal.Objective) (string, error)
	// Picture returns the URL of an artifact.
	Picture func(artifactID string) string
	// Explain returns the message that a block shows for an error. If ok is false, Parts
	// returns the error instead.
	Explain func(err error) (text string, ok bool)
}

// Parts returns the rendered parts of a report. The result running reports whether a run in a
// chart is running.
func (r *Builder) Parts(ctx context.Context, text string) (parts []Part, running bool, err error) {
	left, blocks := maxBlocks, 0
	columns := map[string]string{}
	room, pictures := domain.MaxText, int64(maxPictures)
	for _, b := range parse(text) {
		part := Part{Caption: b.fields["caption"]}
		switch {
		case b.kind == "":
			part.Prose, err = preview.ProseWithin(ctx, b.text, &room)
		case blocks >= left:
			part.Wrong = "A report shows up to " + strconv.Itoa(maxBlocks) + " charts, tables and pictures."
		case b.kind == "image":
			blocks++
			err = r.picture(ctx, b, &part, &pictures)
		default:
			blocks++
			err = r.runs(ctx, b, columns, &part)
		}
		if err != nil {
			text, ok := r.Explain(err)
			if !ok || b.kind == "" {
				return nil, false, err
			}
			part.Wrong, err = text, nil
		}
		for _, run := range part.Runs {
			running = running || run.Running
		}
		parts = append(parts, part)
	}
	return parts, running, nil
}

var (
	errNoExperiment = domain.Invalid("experiment", "The block needs the name or ID of an experiment, for example experiment: sweep.")
	errNoMetric     = domain.Invalid("metrics", "The chart needs metrics, separated by commas, for example metrics: val/loss, train/loss.")
)

// blockExperiment returns the experiment of the project that has the given ID or name.
func blockExperiment(db *store.View, projectID, named string) (projects.Experiment, error) {
	if named == "" {
		return projects.Experiment{}, errNoExperiment
	}
	e, err := db.Projects.Experiment(named)
	if err == nil || domain.AsError(err).Code != domain.CodeNotFound {
		return e, err
	}
	list, err := db.Projects.Experiments(projectID, projects.ExperimentQuery{Page: domain.Page{Limit: domain.MaxLimit}, Name: named})
	if err != nil {
		return e, err
	}
	for _, e := range list.Data {
		if e.Name == named {
			return e, nil
		}
	}
	return e, domain.Errorf(domain.CodeNotFound, "There is no experiment %q in this project.", named)
}

// runs fills part with a chart or a table. The map defaults caches the default columns of
// tables by experiment ID.
func (r *Builder) runs(ctx context.Context, b block, defaults map[string]string, part *Part) error {
	var list []runs.Iteration
	var columns []runs.Column
	var name string
	err := r.DB.View(ctx, r.Actor, func(db *store.View) error {
		e, err := blockExperiment(db, r.ProjectID, b.fields["experiment"])
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		name = e.Name
		q := runs.IterationQuery{Page: domain.Page{Limit: defaultRuns}, Filter: b.fields["filter"], Sort: b.fields["sort"], Columns: b.fields["columns"]}
		if n, err := strconv.Atoi(b.fields["runs"]); err == nil && n > 0 {
			q.Limit = min(n, MaxRuns)
		}
		switch {
		case q.Sort != "":
		case o != nil:
			q.Sort = o.BestFirst()
		default:
			q.Sort = "-created"
		}
		if b.kind == "table" && q.Columns == "" {
			known := false
			if q.Columns, known = defaults[e.ID]; !known {
				if q.Columns, err = r.Columns(db, e.ID, o); err != nil {
					return err
				}
				defaults[e.ID] = q.Columns
			}
		}
		if columns, err = runs.Columns(q.Columns); err != nil {
			return err
		}
		found, err := db.Runs.Iterations(e.ID, q)
		list = found.Data
		return err
	})
	if err != nil {
		return err
	}
	if b.kind == "table" {
		for _, c := range columns {
			part.Heads = append(part.Heads, c.Name)
		}
		for i, run := range r.Runs(list) {
			part.Rows = append(part.Rows, Row{run, plain.Cells(list[i], columns)})
		}
		if len(list) == 0 {
			part.Wrong = "No run of " + name + " passes the filter."
		}
		return nil
	}
	return r.plots(ctx, b, list, part)
}

// plots draws a chart for each metric that the block names.
func (r *Builder) plots(ctx context.Context, b block, list []runs.Iteration, part *Part) error {
	var keys []string
	for key := range strings.SplitSeq(b.fields["metrics"], ",") {
		if key = strings.TrimSpace(key); key != "" && len(keys) < maxPlots {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return errNoMetric
	}
	scales, scale := chart.Scales{}, points.Linear
	for _, axis := range []struct {
		name string
		log  *bool
	}{{"x", &scales.LogX}, {"y", &scales.LogY}} {
		switch b.fields[axis.name] {
		case "", "linear":
		case "log":
			*axis.log = true
		default:
			return domain.Invalid(axis.name, "The scale of %s must be linear or log.", axis.name)
		}
	}
	if scales.LogX {
		scale = points.Log
	}
	switch b.fields["outliers"] {
	case "", "auto":
	case "show":
		scales.Outliers = true
	default:
		return domain.Invalid("outliers", "The value of outliers must be auto or show.")
	}
	var ids []string
	named := map[string]chart.Run{}
	part.Runs = r.Runs(list)
	for _, run := range part.Runs {
		ids = append(ids, run.ID)
		named[run.ID] = chart.Run{Name: run.Name, Class: run.Class}
	}
	curves, err := r.DB.Runs.Curves(ctx, r.Actor, ids, points.CurveQuery{Keys: keys, Points: plotPoints, X: points.ByStep, Scale: scale})
	if err != nil {
		return err
	}
	for _, key := range keys {
		var of []runs.Curve
		for _, c := range curves {
			if c.Key == key {
				of = append(of, c)
			}
		}
		if p := chart.New(key, of, named, scales); p != nil {
			part.Plots = append(part.Plots, p)
		}
	}
	if len(part.Plots) == 0 {
		part.Wrong = "None of these runs has values of " + strings.Join(keys, ", ") + "."
	}
	return nil
}

// picture fills part with an image. In an offline report, picture embeds the image as a data URL.
// It returns an error if the image is larger than room, and otherwise reduces room by the size of
// the image.
func (r *Builder) picture(ctx context.Context, b block, part *Part, room *int64) error {
	a, err := r.DB.Files.Artifact(ctx, r.Actor, b.fields["artifact"])
	if err != nil {
		return err
	}
	part.Name = a.Name
	if !preview.IsPicture(a) {
		return domain.Invalid("artifact", "The artifact %q is not a picture.", a.Name)
	}
	part.Image = r.Picture(a.ID)
	if !r.Offline {
		return nil
	}
	if a.SizeBytes > min(maxPicture, *room) {
		part.Image = ""
		return domain.Invalid("artifact", "The picture %q is too large for a file. The limit is %d MiB for each picture and %d MiB for all.", a.Name, maxPicture>>20, maxPictures>>20)
	}
	*room -= a.SizeBytes
	if err := domain.Take(ctx, a.SizeBytes); err != nil {
		return err
	}
	_, content, err := r.DB.Files.OpenArtifact(ctx, r.Actor, a.ID)
	if err != nil {
		return err
	}
	defer content.Close()
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(content, maxPicture)); err != nil {
		return err
	}
	part.Image = "data:" + preview.MediaType(a) + ";base64," + base64.StdEncoding.EncodeToString(data.Bytes())
	return nil
}
