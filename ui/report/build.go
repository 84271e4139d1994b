// Package report builds reports. A report is Markdown with blocks that show charts, tables and
// images of a project's runs. Package report does not depend on HTTP requests or sessions.
package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strconv"

	"github.com/a-h/templ"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui/chart"
	"tracker/ui/preview"
	"tracker/ui/table"
)

// MaxRuns is the maximum number of runs in a chart or a table.
const MaxRuns = 30

// These constants limit the size of a report.
const (
	maxBlocks      = 30       // maximum number of charts, tables and images in a report
	maxAnalyses    = 4        // maximum number of estimates of importance, which take long
	maxDifferences = 10       // maximum number of differences of runs, which read all repeated runs
	defaultRuns    = 10       // default number of runs in a chart or table
	maxPlots       = 8        // maximum number of charts in a block
	plotPoints     = 200      // maximum number of points in a curve
	maxPicture     = 5 << 20  // maximum bytes of an image in an exported report
	maxPictures    = 30 << 20 // maximum bytes of all images in an exported report
)

// Part is a rendered part of a report.
type Part struct {
	Prose   templ.Component
	Caption string
	Wrong   string // reason why the part can't be shown, "" for none
	Plots   []*chart.Plot
	Runs    []Run  // runs or groups in the plots
	Lead    string // sentence before the table, "" for none
	Sides   []Side // both sides of a difference, nil for other blocks
	Page    string // URL of the page that compares the runs, "" for none
	Links   []Run  // runs in the rows of Table, nil for groups
	Note    string // explanation of the plots or the table, "" for none
	Table   *table.Table
	Image   string // URL of the image, "" for none
	Name    string // artifact name of the image
	Half    bool   // whether the part has half the width of the report
	Index   int    // index of the block
	Source  string // text of the block
}

// tableName returns the accessible name of the part's table.
func (p Part) tableName() string {
	if p.Lead != "" {
		return "What differs"
	}
	return "Runs"
}

// Run is a run in the form that reports show.
type Run struct {
	ID, Name string
	Class    string // CSS class of the run's colour
	Running  bool
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
	// Importance returns the importance of an experiment's parameters for a metric, most important
	// first, and a summary. The metric is "" for the objective.
	Importance func(ctx context.Context, experimentID, metric, aim, filter string) (rows []Share, label, summary string, err error)
	// Difference returns the difference between two groups of an experiment's runs.
	Difference func(ctx context.Context, experimentID string, a, b []string) (Difference, error)
	// Picture returns the URL of an artifact.
	Picture func(artifactID string) string
	// Drawing returns the URL of an SVG image in the report by its fingerprint.
	Drawing func(fingerprint string) string
	// Explain returns the message that a block shows for an error. If ok is false, Parts
	// returns the error instead.
	Explain func(err error) (text string, ok bool)
}

// Parts returns the rendered parts of a report. The result running reports whether a run in a
// chart is running.
func (r *Builder) Parts(ctx context.Context, text string) (parts []Part, running bool, err error) {
	left, blocks, analyses, differences := maxBlocks, 0, 0, 0
	columns := map[string]string{}
	room, pictures := domain.MaxText, int64(maxPictures)
	for i, b := range parse(text) {
		part := Part{Caption: b.fields["caption"], Half: b.fields["size"] == half, Index: i, Source: b.text}
		switch {
		case b.kind == "":
			part.Prose, err = preview.ProseWithin(ctx, b.text, &room)
		case blocks >= left:
			part.Wrong = "A report shows up to " + strconv.Itoa(maxBlocks) + " charts, tables and pictures."
		case b.kind == "image":
			blocks++
			err = r.picture(ctx, b, &part, &pictures)
		case b.kind == "importance" && analyses >= maxAnalyses:
			part.Wrong = "A report shows the importance of parameters up to " + strconv.Itoa(maxAnalyses) + " times."
		case b.kind == "importance":
			blocks, analyses = blocks+1, analyses+1
			err = r.importance(ctx, b, &part)
		case b.kind == "pareto":
			blocks++
			err = r.front(ctx, b, &part)
		case b.kind == "difference" && differences >= maxDifferences:
			part.Wrong = "A report shows the difference of runs up to " + strconv.Itoa(maxDifferences) + " times."
		case b.kind == "difference":
			blocks, differences = blocks+1, differences+1
			err = r.difference(ctx, b, &part)
		case isValues(b.kind):
			blocks++
			err = r.values(ctx, b, &part)
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

// experimentID returns the id of the experiment of a block.
func (r *Builder) experimentID(ctx context.Context, b block) (id string, err error) {
	err = r.DB.View(ctx, r.Actor, func(db *store.View) error {
		e, err := blockExperiment(db, r.ProjectID, b.fields["experiment"])
		id = e.ID
		return err
	})
	return id, err
}

// order returns the order of the runs of a block. By default, the best runs come first. If
// there is no objective, the newest runs come first.
func (b block) order(o *goal.Objective) string {
	switch {
	case b.fields["sort"] != "" || b.fields["group"] != "":
		return b.fields["sort"]
	case o != nil:
		return o.BestFirst()
	}
	return "-created"
}

// runs fills part with a chart or a table. The map defaults caches the default columns of
// tables by experiment ID.
func (r *Builder) runs(ctx context.Context, b block, defaults map[string]string, part *Part) error {
	f := figure{fields: b.fields, limit: defaultRuns}
	if n, err := strconv.Atoi(b.fields["runs"]); err == nil && n > 0 {
		f.limit = min(n, MaxRuns)
	}
	if b.kind == "chart" {
		if err := f.read(); err != nil {
			return err
		}
	}
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
		sort := b.order(o)
		if b.kind == "chart" {
			return f.find(db, e.ID, sort)
		}
		columns := b.fields["columns"]
		if columns == "" {
			known := false
			if columns, known = defaults[e.ID]; !known {
				if columns, err = r.Columns(db, e.ID, o); err != nil {
					return err
				}
				defaults[e.ID] = columns
			}
		}
		t, err := table.Of(db, e.ID, table.Query{By: b.fields["group"], Filter: b.fields["filter"], Sort: sort, Columns: columns, Limit: f.limit}, o)
		part.Table = &t
		return err
	})
	if err != nil {
		part.Table = nil
		return err
	}
	if b.kind == "chart" {
		return r.plots(ctx, f, part)
	}
	part.Note = part.Table.Legend()
	var list []runs.Iteration
	for _, row := range part.Table.Rows {
		if row.Run != nil {
			list = append(list, *row.Run)
		}
	}
	part.Links = r.Runs(list)
	if len(part.Table.Rows) == 0 {
		part.Table, part.Wrong = nil, "No run of "+name+" passes the filter."
	}
	return nil
}

// picture fills part with an image. In an offline report, picture embeds the image as a data URL.
// It returns an error if the image is larger than room, and otherwise reduces room by the size of
// the image.
func (r *Builder) picture(ctx context.Context, b block, part *Part, room *int64) error {
	if text := b.fields["svg"]; text != "" {
		return r.drawing(ctx, text, part, room)
	}
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

// drawing fills part with an SVG image from the text of the report.
func (r *Builder) drawing(ctx context.Context, text string, part *Part, room *int64) error {
	part.Name = part.Caption
	if !r.Offline {
		part.Image = r.Drawing(domain.Fingerprint(text))
		return nil
	}
	svg, err := unpack(text)
	if err != nil {
		return err
	}
	if *room -= int64(len(svg)); *room < 0 {
		return domain.Invalid("svg", "The pictures are too large for a file. The limit is %d MiB.", maxPictures>>20)
	}
	if err := domain.Take(ctx, int64(2*len(svg))); err != nil {
		return err
	}
	part.Image = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)
	return nil
}
