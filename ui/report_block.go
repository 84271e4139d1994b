package ui

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui/chart"
	"tracker/ui/preview"
)

// The limits of a report.
const (
	maxBlocks     = 30       // charts, tables and pictures
	maxBlockRuns  = 30       // runs of a chart or table
	blockRuns     = 10       // default number of runs of a chart or table
	maxBlockPlots = 8        // charts of one block
	plotPoints    = 200      // points of a curve
	maxPicture    = 5 << 20  // bytes of a picture in an exported report
	maxPictures   = 30 << 20 // bytes of all pictures in an exported report
)

// block is a part of a report: a fenced block of Markdown that names the data to show, or the text
// between two such blocks.
type block struct {
	kind   string // chart, table or image; "" for text
	text   string
	fields map[string]string
}

// blocksOf divides a report into its parts. A block ends at three backquotes or at the end of the report.
func blocksOf(text string) []block {
	var all []block
	var prose strings.Builder
	flush := func() {
		if strings.TrimSpace(prose.String()) != "" {
			all = append(all, block{text: prose.String()})
		}
		prose.Reset()
	}
	lines := strings.Split(text, "\n")
	fence := "" // the fence that opened an ordinary code block
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		kind, ok := strings.CutPrefix(line, "```")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case ok && (kind == "chart" || kind == "table" || kind == "image"):
			flush()
			b := block{kind: kind, fields: map[string]string{}}
			for i++; i < len(lines) && strings.TrimRight(lines[i], " \t\r") != "```"; i++ {
				name, value, _ := strings.Cut(lines[i], ":")
				if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
					b.fields[name] = strings.TrimSpace(value)
				}
			}
			all = append(all, b)
			continue
		case ok:
			fence = "```"
		}
		prose.WriteString(lines[i] + "\n")
	}
	flush()
	return all
}

// reportPart is a rendered part of a report.
type reportPart struct {
	Prose   templ.Component
	Caption string
	Wrong   string // reason why it can't be shown
	Plots   []*chart.Plot
	Runs    []run // runs of the plots
	Heads   []string
	Rows    []projectRun
	Image   string // address of a picture
	Name    string // name of the picture
}

// reportParts renders the parts of a report. With offline, pictures are data URLs.
func (s *site) reportParts(ctx context.Context, actor domain.Actor, projectID, text string, offline bool) (parts []reportPart, running bool, err error) {
	left, blocks := maxBlocks, 0
	columns := map[string]string{}
	room, pictures := domain.MaxText, int64(maxPictures)
	for _, b := range blocksOf(text) {
		part := reportPart{Caption: b.fields["caption"]}
		switch {
		case b.kind == "":
			part.Prose, err = preview.ProseWithin(ctx, b.text, &room)
		case blocks >= left:
			part.Wrong = "A report shows up to " + strconv.Itoa(maxBlocks) + " charts, tables and pictures."
		case b.kind == "image":
			blocks++
			err = s.pictureOf(ctx, actor, b, &part, offline, &pictures)
		default:
			blocks++
			err = s.runsOf(ctx, actor, projectID, b, columns, &part)
		}
		if e := web.AsError(err); e != nil && (b.kind != "" && web.StatusOf(e.Code) < 500) {
			part.Wrong, err = e.Message, nil
		}
		if err != nil {
			return nil, false, err
		}
		for _, r := range part.Runs {
			running = running || r.running()
		}
		parts = append(parts, part)
	}
	return parts, running, nil
}

var (
	errNoExperiment = domain.Invalid("experiment", "Name the experiment, by its name or id: experiment: sweep.")
	errNoMetric     = domain.Invalid("metrics", "Name the metrics, separated by commas: metrics: val/loss, train/loss.")
)

// blockExperiment returns the experiment that a block names by its id or by its name in the project.
func blockExperiment(db *store.View, projectID, named string) (projects.Experiment, error) {
	if named == "" {
		return projects.Experiment{}, errNoExperiment
	}
	e, err := db.Projects.Experiment(named)
	if bad := web.AsError(err); err == nil || bad == nil || bad.Code != domain.CodeNotFound {
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

// runsOf fills a chart or a table. defaults caches the default columns of experiments by id, for
// further tables.
func (s *site) runsOf(ctx context.Context, actor domain.Actor, projectID string, b block, defaults map[string]string, part *reportPart) error {
	var list []runs.Iteration
	var columns []runs.Column
	var name string
	err := s.DB.View(ctx, actor, func(db *store.View) error {
		e, err := blockExperiment(db, projectID, b.fields["experiment"])
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		name = e.Name
		q := runs.IterationQuery{Page: domain.Page{Limit: blockRuns}, Filter: b.fields["filter"], Sort: b.fields["sort"], Columns: b.fields["columns"]}
		if n, err := strconv.Atoi(b.fields["runs"]); err == nil && n > 0 {
			q.Limit = min(n, maxBlockRuns)
		}
		switch {
		case q.Sort != "":
		case o != nil:
			q.Sort = bestFirst(*o)
		default:
			q.Sort = "-created"
		}
		if b.kind == "table" && q.Columns == "" {
			known := false
			if q.Columns, known = defaults[e.ID]; !known {
				if q.Columns, err = s.defaultColumns(db, e.ID, o); err != nil {
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
		for _, i := range list {
			part.Rows = append(part.Rows, projectRun{run: s.run(i), Cells: cellsOf(i, columns)})
		}
		if len(list) == 0 {
			part.Wrong = "No run of " + name + " passes the filter."
		}
		return nil
	}
	return s.plotsOf(ctx, actor, b, list, part)
}

// plotsOf draws the metrics that a block names.
func (s *site) plotsOf(ctx context.Context, actor domain.Actor, b block, list []runs.Iteration, part *reportPart) error {
	var keys []string
	for key := range strings.SplitSeq(b.fields["metrics"], ",") {
		if key = strings.TrimSpace(key); key != "" && len(keys) < maxBlockPlots {
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
			return domain.Invalid(axis.name, "The scale of %s is linear or log, like %s: log.", axis.name, axis.name)
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
		return domain.Invalid("outliers", "The outliers are auto or show, like outliers: show.")
	}
	var ids []string
	named := map[string]chart.Run{}
	for _, i := range list {
		ids, part.Runs = append(ids, i.ID), append(part.Runs, s.run(i))
	}
	distinctColors(part.Runs)
	for _, r := range part.Runs {
		named[r.ID] = chart.Run{Name: r.Name, Class: colorClass(r)}
	}
	curves, err := s.DB.Runs.Curves(ctx, actor, ids, points.CurveQuery{Keys: keys, Points: plotPoints, X: points.ByStep, Scale: scale})
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

// pictureOf fills a picture. With offline its bytes are embedded in the page, as long as there is
// room for them.
func (s *site) pictureOf(ctx context.Context, actor domain.Actor, b block, part *reportPart, offline bool, room *int64) error {
	a, err := s.DB.Files.Artifact(ctx, actor, b.fields["artifact"])
	if err != nil {
		return err
	}
	part.Name = a.Name
	if !preview.IsPicture(a) {
		return domain.Invalid("artifact", "The artifact %q is not a picture.", a.Name)
	}
	part.Image = s.BasePath + "/artifact/" + a.ID + "/data"
	if !offline {
		return nil
	}
	if a.SizeBytes > min(maxPicture, *room) {
		part.Image = ""
		return domain.Invalid("artifact", "The picture %q is too large to be kept in a file: one may have %d MiB, and all of them %d.", a.Name, maxPicture>>20, maxPictures>>20)
	}
	*room -= a.SizeBytes
	if err := domain.Take(ctx, a.SizeBytes); err != nil {
		return err
	}
	_, content, err := s.DB.Files.OpenArtifact(ctx, actor, a.ID)
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
