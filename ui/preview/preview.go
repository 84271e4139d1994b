// Package preview shows content that users have logged: files, images, tables, JSON, HTML pages
// and Markdown. The content is not trusted. Package preview limits reading and rendering, and
// escapes texts. It does not depend on HTTP requests or sessions.
package preview

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/ui/chart"
	"tracker/ui/markdown"
	"tracker/ui/plain"
)

// These constants limit the data that a preview reads.
const (
	headBytes    = 128 << 10 // bytes at the beginning of a long text
	tailBytes    = 64 << 10
	tableBytes   = 4 << 20         // maximum bytes of a table that are read to count rows
	MaxJSON      = 1 << 20         // maximum bytes of JSON shown as a tree
	imageNumbers = domain.MaxLimit // maximum number of images in a series
)

// Preview holds the part of an artifact that the artifact's page shows.
type Preview struct {
	Kind      Kind
	Name      string // name of the artifact
	Source    string // path of the artifact's bytes
	Note      string // note about omitted data, "" for none
	Head      string
	Skipped   string // size of the omitted text between Head and Tail, "" for none
	Tail      string
	Columns   []string
	Rows      [][]string
	Tree      *node
	Prose     templ.Component
	Histogram *chart.Bars
	Plotly    *chart.Plot
	Model     bool // whether the file is a 3D object or a molecule
	Images    []LoggedImage
	At        int // index of this artifact in Images
}

// Read reads the content of an artifact that its page shows.
func Read(ctx context.Context, db *store.DB, actor domain.Actor, r files.Artifact) (Preview, error) {
	v := Preview{Kind: KindOf(r), Name: r.Name, Source: "/artifact/" + r.ID + "/data"}
	if models.MatchString(r.Name) {
		v.Kind, v.Model = File, true
	}
	switch v.Kind {
	case File, Audio, Video:
		return v, nil
	case Image:
		err := v.fillImages(ctx, db, actor, r)
		return v, err
	}
	_, data, err := db.Files.OpenArtifact(ctx, actor, r.ID)
	if err != nil {
		return v, err
	}
	defer data.Close()
	switch {
	case r.SizeBytes == 0:
		v.Kind, v.Note = Text, "The file is empty."
		return v, nil
	case v.Kind == Table:
		err = v.fillTable(ctx, data, r)
	case v.Kind == JSON && r.SizeBytes <= MaxJSON:
		if err = v.fillJSON(ctx, data, r); err == nil && v.Kind == Table {
			err = v.fillIncrements(ctx, db, actor, r)
		}
	case v.Kind == Markdown && r.SizeBytes <= markdown.MaxBytes:
		var body []byte
		if body, err = io.ReadAll(data); err != nil {
			return v, err
		}
		v.Prose, err = ProseOf(ctx, plain.Readable(string(body)))
	case v.Kind == HTML:
		err = v.fillText(data, r.SizeBytes)
		v.Kind, v.Source = HTML, "/artifact/"+r.ID+"/frame"
		if remoteScripts.MatchString(v.Head) || remoteScripts.MatchString(v.Tail) {
			v.Note = "The page loads scripts from other sites, which this preview blocks. Log a page that contains its scripts, " +
				"for example with include_plotlyjs=True, or download the file."
		}
	default:
		if v.Kind == JSON {
			if ok, err := v.fillLargeTable(ctx, data, r.SizeBytes); ok || err != nil {
				return v, err
			}
		}
		if v.Kind != Text {
			v.Note = "The file is too large for its preview, so it is shown as text."
		}
		err = v.fillText(data, r.SizeBytes)
	}
	return v, err
}

// remoteScripts matches a script element that loads a script from another site.
var remoteScripts = regexp.MustCompile(`(?i)<script\b[^>]{0,500}?\bsrc\s*=\s*["']?\s*(https?:)?//`)

// models matches the names under which the W&B client logs 3D objects and molecules.
var models = regexp.MustCompile(`^media/(object3D|molecule)/`)

// fillText reads a text. It reads only the beginning and the end of a long text.
func (v *Preview) fillText(data io.ReadSeeker, size int64) error {
	v.Kind = Text
	if size <= headBytes+tailBytes {
		body, err := io.ReadAll(data)
		v.Head = printed(body)
		return err
	}
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(data, head); err != nil {
		return err
	}
	if _, err := data.Seek(size-tailBytes, io.SeekStart); err != nil {
		return err
	}
	tail, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	// Cut at line ends if possible.
	if at := bytes.LastIndexByte(head, '\n'); at >= 0 {
		head = head[:at+1]
	}
	if at := bytes.IndexByte(tail, '\n'); at >= 0 && at+1 < len(tail) {
		tail = tail[at+1:]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	v.Head, v.Tail = printed(head), printed(tail)
	v.Skipped = humanize.IBytes(uint64(size - int64(len(head)) - int64(len(tail))))
	return nil
}

// escapes matches terminal control sequences, for example for colours. overtyped matches lines
// with overwritten text, for example progress bars.
var (
	escapes   = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")
	overtyped = regexp.MustCompile(`(?m)^[^\n]*\r+([^\r\n]+)`)
)

// printed returns the text that a terminal shows after printing text.
func printed(text []byte) string {
	s := strings.ReplaceAll(plain.Readable(string(text)), "\r\n", "\n")
	return overtyped.ReplaceAllString(escapes.ReplaceAllString(s, ""), "$1")
}

// LoggedImage is an image of a series.
type LoggedImage struct {
	files.Artifact
	Step string

	numbers []int64 // numbers in the artifact name
}

var digits = regexp.MustCompile(`[0-9]+`)

// fillImages finds the series of images that r belongs to. The names of a series differ in one
// number only, and all images belong to the same run. If several numbers can vary, fillImages
// varies the number that gives the longest series. For images named NAME_STEP_PLACE, a series
// normally contains the steps of one place.
func (v *Preview) fillImages(ctx context.Context, db *store.DB, actor domain.Actor, r files.Artifact) error {
	shape := digits.ReplaceAllString(r.Name, "#")
	if shape == r.Name {
		return nil
	}
	part, _, _ := strings.Cut(shape, "#")
	q := files.ArtifactQuery{Page: domain.Page{Limit: imageNumbers}, Name: part, IterationID: r.IterationID}
	list, err := db.Files.Artifacts(ctx, actor, r.ExperimentID, q)
	if err != nil {
		return err
	}
	for _, o := range list.Data {
		sameRun := (o.IterationID == nil) == (r.IterationID == nil)
		if sameRun && KindOf(o) == Image && digits.ReplaceAllString(o.Name, "#") == shape {
			v.Images = append(v.Images, imageOf(o))
		}
	}
	own := imageOf(r).numbers
	best := []LoggedImage{}
	for at := range own {
		var series []LoggedImage
		for _, i := range v.Images {
			if slices.Equal(i.numbers[:at], own[:at]) && slices.Equal(i.numbers[at+1:], own[at+1:]) {
				series = append(series, i)
			}
		}
		if len(series) > len(best) {
			best = series
			for n := range best {
				best[n].Step = "step " + strconv.FormatInt(best[n].numbers[at], 10)
			}
		}
	}
	v.Images = best
	slices.SortStableFunc(v.Images, func(a, b LoggedImage) int { return slices.Compare(a.numbers, b.numbers) })
	v.At = slices.IndexFunc(v.Images, func(i LoggedImage) bool { return i.ID == r.ID })
	if v.At < 0 || len(v.Images) < 2 {
		v.Images, v.At = nil, 0
	}
	return nil
}

func imageOf(r files.Artifact) LoggedImage {
	found := digits.FindAllString(r.Name, -1)
	i := LoggedImage{Artifact: r}
	for _, text := range found {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			n = 1<<63 - 1 // more digits than a step can have
		}
		i.numbers = append(i.numbers, n)
	}
	return i
}
