package preview

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store/files"
	"tracker/store/json"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

// treeNodes is the maximum number of values in a JSON tree.
const treeNodes = 2000

// nodeLetters is the maximum number of characters shown of one value in a JSON tree.
const nodeLetters = 2000

// treeDepth is the maximum depth of a JSON tree. Deeper values are shown as JSON text.
const treeDepth = 32

// node is a value in a JSON tree.
type node struct {
	Name   string // member name in an object, or index in an array
	Text   string // text of a value that is shown without children
	Class  string // CSS class "string" or "number"; "" for other values
	Size   string // number of children in brackets; "" for a value that can't have children
	Below  []node
	Hidden int  // number of children that the tree omits
	Open   bool // whether the node is expanded at first
}

// fillJSON shows JSON as a histogram or a table if it is one, and otherwise as a tree. Invalid JSON
// is shown as text with the position of the error.
func (v *Preview) fillJSON(ctx context.Context, data io.Reader, r files.Artifact) error {
	body, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	if h := chart.ParseHistogram(body); h != nil {
		v.Histogram = h.Bars()
		return nil
	}
	if ok, err := v.readTable(ctx, body); ok || err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body), json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
	left := treeNodes
	root, err := readNode(d, "", 0, &left)
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = end
			if err == nil {
				v.Kind, v.Head, v.Note = Text, plain.Readable(string(body)), "The file has more than one JSON value, so it is shown as text."
				return nil
			}
		}
	}
	if err != nil {
		v.Kind, v.Head = Text, plain.Readable(string(body))
		v.Note = "The file has invalid JSON at byte " + humanize.Comma(d.InputOffset()+1) + ", so it is shown as text."
		return nil
	}
	v.Tree = &root
	if strings.HasSuffix(r.Name, ".plotly.json") {
		plot, note := chart.FromPlotly(body)
		if plot != nil {
			v.Plotly, plot.Title = plot, cmp.Or(plot.Title, "Plotly figure")
		}
		v.Note = note
	}
	if VegaOf(r, body) != "" {
		v.Kind, v.Source = Vega, "/artifact/"+r.ID+"/frame"
	}
	if left == 0 && v.Plotly == nil {
		v.Note = "The first " + humanize.Comma(treeNodes) + " values."
	}
	return nil
}

// readNode reads a value and its children. It reduces left by one for each value and skips
// children when left is 0.
func readNode(d *json.Decoder, name string, depth int, left *int) (node, error) {
	*left = max(*left-1, 0)
	n := node{Name: name, Open: depth < 2}
	kind := d.PeekKind()
	if kind != '{' && kind != '[' || depth == treeDepth {
		value, err := d.ReadValue()
		n.Text, n.Class = plain.Line(plain.Readable(string(value)), nodeLetters), map[json.Kind]string{'"': "string", '0': "number"}[kind]
		return n, err
	}
	if _, err := d.ReadToken(); err != nil {
		return n, err
	}
	count := 0
	for ; d.PeekKind() != '}' && d.PeekKind() != ']'; count++ {
		below := strconv.Itoa(count)
		if kind == '{' {
			token, err := d.ReadToken()
			if err != nil {
				return n, err
			}
			below = plain.Readable(token.String())
		}
		if *left == 0 {
			n.Hidden++
			if err := d.SkipValue(); err != nil {
				return n, err
			}
			continue
		}
		child, err := readNode(d, below, depth+1, left)
		if err != nil {
			return n, err
		}
		n.Below = append(n.Below, child)
	}
	n.Size = "[" + humanize.Comma(int64(count)) + "]"
	if kind == '{' {
		n.Size = "{" + humanize.Comma(int64(count)) + "}"
	}
	_, err := d.ReadToken()
	return n, err
}

// These are the languages of charts.
const (
	VegaLite  = "vega-lite"
	PlainVega = "vega"
)

// vegaTypes matches the content types that notebooks use for charts, and the usual ends of names.
var (
	vegaLiteTypes = regexp.MustCompile(`^application/vnd\.vegalite\.v\d+\+json$`)
	vegaTypes     = regexp.MustCompile(`^application/vnd\.vega\.v\d+\+json$`)
)

// VegaOf returns the language of the chart that the JSON in body specifies, VegaLite or PlainVega,
// or "" if body specifies no chart. A schema in the JSON takes precedence over the content type and
// the name of the artifact.
func VegaOf(r files.Artifact, body []byte) string {
	var spec struct {
		Schema string `json:"$schema"`
	}
	if json.Unmarshal(body, &spec, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	media, name := MediaType(r), strings.ToLower(r.Name)
	switch _, schema, _ := strings.Cut(spec.Schema, "://vega.github.io/schema/"); {
	case strings.HasPrefix(schema, "vega-lite/"):
		return VegaLite
	case strings.HasPrefix(schema, "vega/"):
		return PlainVega
	case spec.Schema != "":
		return ""
	case vegaLiteTypes.MatchString(media), strings.HasSuffix(name, ".vl.json"):
		return VegaLite
	case vegaTypes.MatchString(media), strings.HasSuffix(name, ".vg.json"):
		return PlainVega
	}
	return ""
}
