package export

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/transfer"
	"tracker/store/transfer/archive"
)

// These are the limits of the HTML page. If content is omitted because of a limit, the page says
// so.
const (
	maxRuns       = 500     // per table
	maxCurves     = 12      // runs per chart
	maxCharts     = 60      // per experiment
	maxColumns    = 40      // per table
	curvePoints   = 300     // per curve
	maxMedia      = 2 << 20 // bytes per image
	maxMediaTotal = 20 << 20
	maxCell       = 200 // characters per cell
	maxNotes      = 20_000
)

//go:generate go tool templ generate

//go:embed page.css
var pageStyle string

// page holds the content of the HTML page.
type page struct {
	Title    string
	Sections []*section
	Left     []string // messages about omitted content
}

// section holds the part of the page about one experiment.
type section struct {
	Project, Name, Description string
	Columns                    []string
	Rows                       []row
	More                       int // number of runs omitted from the table
	Differ                     []string
	Charts                     []chart
	Images                     []image

	runs []run // runs in Rows, in the same order
}

type row struct {
	Name, Status, Created string
	Color                 string // CSS color; "" if the run has no curve
	Cells                 []string
	Notes                 string
}

type image struct {
	Run, Name string
	URL       string // data URL that contains the whole image
}

// writeHTML writes a single HTML file that contains its images and styles.
func writeHTML(ctx context.Context, e Source, path string, r *transfer.Result) error {
	text, err := HTML(ctx, e, r)
	if err != nil {
		return err
	}
	return create(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Report returns an HTML page about the records of e. It does not report losses.
func Report(ctx context.Context, e Source) ([]byte, error) {
	return HTML(ctx, e, &transfer.Result{})
}

// HTML returns an HTML page about the records of e. Equal records produce identical pages.
func HTML(ctx context.Context, e Source, r *transfer.Result) ([]byte, error) {
	p := &page{}
	media := 0
	err := eachRun(ctx, e, func(_ *View, run run) error {
		r.Found++
		s := last(p.Sections)
		if s == nil || len(s.runs) > 0 && s.runs[0].ExperimentID != run.ExperimentID {
			s = &section{Project: run.project.Name, Name: run.experiment.Name, Description: clip(run.experiment.Description, maxNotes)}
			p.Sections = append(p.Sections, s)
		}
		if len(s.runs) == maxRuns {
			s.More++
			return nil
		}
		s.runs = append(s.runs, run)
		for _, a := range run.artifacts {
			if !isImage(a.ContentType) {
				r.Lose(run.Name, "Only images are included; export an archive to get all artifacts.")
				continue
			}
			if a.SizeBytes > maxMedia || media+int(a.SizeBytes) > maxMediaTotal {
				r.Lose(run.Name+"/"+a.Name, "The image is too large for the page.")
				continue
			}
			media += int(a.SizeBytes)
			img, err := embed(e, run, a)
			if err != nil {
				return err
			}
			s.Images = append(s.Images, img)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range p.Sections {
		if p.Title == "" {
			p.Title = s.Project
		}
		if s.More > 0 {
			r.Lose(s.Name, "%d runs are left out: a page has at most %d runs of an experiment.", s.More, maxRuns)
		}
		s.table()
		if err := s.charts(ctx, e); err != nil {
			return nil, err
		}
	}
	if p.Title == "" {
		p.Title = "tracker"
	}
	if n := e.Count("model"); n > 0 {
		r.Lose(p.Title, "Registered models (%d) are not on the page.", n)
	}
	for _, l := range r.Losses {
		p.Left = append(p.Left, l.Path+": "+l.Reason)
	}
	var out bytes.Buffer
	err = pageOf(p).Render(ctx, &out)
	return out.Bytes(), err
}

func last(all []*section) *section {
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func isImage(contentType string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, contentType)
}

func embed(e Source, run run, a files.Artifact) (image, error) {
	from, err := e.Open(archive.Blob{Hash: a.ContentHash, Size: a.SizeBytes})
	if err != nil {
		return image{}, fmt.Errorf("the artifact %q: %w", a.Name, err)
	}
	defer from.Close()
	content, err := io.ReadAll(from)
	url := "data:" + a.ContentType + ";base64," + base64.StdEncoding.EncodeToString(content)
	return image{run.Name, a.Name, url}, err
}

// clip returns the first n characters of s, followed by an ellipsis if s is longer.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// table fills Columns and Rows. It writes the parameters that differ between runs first, followed
// by the last values of the metrics.
func (s *section) table() {
	values, count := map[string]map[string]bool{}, map[string]int{}
	metrics := map[string]bool{}
	for _, run := range s.runs {
		for _, p := range run.Parameters {
			if values[p.Key] == nil {
				values[p.Key] = map[string]bool{}
			}
			values[p.Key][p.Value] = true
			count[p.Key]++
		}
		for _, m := range run.Latest {
			metrics[m.Key] = true
		}
	}
	for key, all := range values {
		if len(all) > 1 || count[key] < len(s.runs) || len(s.runs) == 1 {
			s.Differ = append(s.Differ, key)
		}
	}
	slices.Sort(s.Differ)
	s.Differ = s.Differ[:min(len(s.Differ), maxColumns)]
	keys := sortedKeys(metrics)
	keys = keys[:min(len(keys), maxColumns)]
	s.Columns = append(slices.Clone(s.Differ), keys...)
	for i, run := range s.runs {
		r := row{Name: run.Name, Status: string(run.Status), Created: moment(run.CreatedDate), Notes: clip(run.Notes, maxNotes)}
		if i < maxCurves {
			r.Color = color(i)
		}
		params, latest := map[string]string{}, map[string]string{}
		for _, p := range run.Parameters {
			params[p.Key] = clip(p.Value, maxCell)
		}
		for _, m := range run.Latest {
			latest[m.Key] = strconv.FormatFloat(float64(m.Value), 'g', 5, 64)
		}
		for _, key := range s.Differ {
			r.Cells = append(r.Cells, params[key])
		}
		for _, key := range keys {
			r.Cells = append(r.Cells, latest[key])
		}
		s.Rows = append(s.Rows, r)
	}
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// color returns the color of curve number i as a CSS value. Consecutive curves have clearly
// different hues, all dark enough for white paper.
func color(i int) string { return fmt.Sprintf("hsl(%d, 65%%, 40%%)", i*137%360) }

// chart holds the picture of one metric's curves.
type chart struct {
	Key                  string
	Lines                []line
	Left, Right          string // labels of the first and last step
	Bottom, Top, Missing string // Bottom and Top are the labels of the value axis; Missing is a message shown instead of the curves
}

type line struct {
	Color string
	Path  string
}

// These are the dimensions of a chart in SVG units.
const (
	chartWidth  = 400
	chartHeight = 160
)

// charts draws a chart for each metric of the first maxCurves runs. It draws at most maxCharts
// charts.
func (s *section) charts(ctx context.Context, e Source) error {
	metrics := map[string]bool{}
	var ids []string
	for _, run := range s.runs[:min(len(s.runs), maxCurves)] {
		ids = append(ids, run.ID)
		for _, m := range run.Latest {
			metrics[m.Key] = true
		}
	}
	keys := sortedKeys(metrics)
	for _, key := range keys[:min(len(keys), maxCharts)] {
		curves, err := e.Curves(ctx, ids, points.CurveQuery{Keys: []string{key}, Points: curvePoints, X: points.ByStep, Scale: points.Linear})
		if err != nil {
			return err
		}
		s.Charts = append(s.Charts, draw(key, ids, curves))
	}
	return nil
}

// draw returns the chart of a metric's curves.
func draw(key string, ids []string, curves []runs.Curve) chart {
	c := chart{Key: key}
	left, right := math.Inf(1), math.Inf(-1)
	bottom, top := math.Inf(1), math.Inf(-1)
	for _, curve := range curves {
		for i, v := range curve.Value {
			if x := float64(v); !math.IsNaN(x) && !math.IsInf(x, 0) {
				bottom, top = min(bottom, x), max(top, x)
				left, right = min(left, float64(curve.Step[i])), max(right, float64(curve.Step[i]))
			}
		}
	}
	if bottom > top {
		c.Missing = "The metric has no finite values."
		return c
	}
	c.Left, c.Right = strconv.FormatFloat(left, 'g', 6, 64), strconv.FormatFloat(right, 'g', 6, 64)
	c.Bottom, c.Top = strconv.FormatFloat(bottom, 'g', 4, 64), strconv.FormatFloat(top, 'g', 4, 64)
	for _, curve := range curves {
		var path strings.Builder
		move := "M"
		for i, v := range curve.Value {
			y := float64(v)
			if math.IsNaN(y) || math.IsInf(y, 0) {
				move = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", move, share(float64(curve.Step[i]), left, right)*chartWidth, (1-share(y, bottom, top))*chartHeight)
			if move == "M" { // a short line makes an isolated point visible
				path.WriteString("h0.1")
			}
			move = "L"
		}
		c.Lines = append(c.Lines, line{color(slices.Index(ids, curve.IterationID)), path.String()})
	}
	return c
}

// share returns the position of v within a range, as a fraction from 0 to 1.
func share(v, from, to float64) float64 {
	if to == from {
		return 0.5
	}
	return (v/2 - from/2) / (to/2 - from/2)
}
