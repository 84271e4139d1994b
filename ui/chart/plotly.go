package chart

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/wandb/format"
	"tracker/ui/plain"
)

// figure is the JSON form of a Plotly figure.
type figure struct {
	Data []struct {
		Type        string `json:"type"`
		Name        any    `json:"name"`
		Mode        string `json:"mode"`
		Orientation string `json:"orientation"`
		X           values `json:"x"`
		Y           values `json:"y"`
	} `json:"data"`
	Layout struct {
		Title title `json:"title"`
		X     struct {
			Title title `json:"title"`
		} `json:"xaxis"`
		Y struct {
			Title title `json:"title"`
		} `json:"yaxis"`
	} `json:"layout"`
}

// title is a title, which Plotly writes as a string or as an object.
type title string

func (t *title) UnmarshalJSON(text []byte) error {
	var long struct {
		Text string `json:"text"`
	}
	var short string
	if json.Unmarshal(text, &short) == nil {
		*t = title(short)
	} else if json.Unmarshal(text, &long) == nil {
		*t = title(long.Text)
	}
	return nil
}

// values holds the values of a trace. Plotly writes them as a list, or as the base64 of an array of
// numbers.
type values []any

func (v *values) UnmarshalJSON(text []byte) error {
	var list []any
	var packed struct {
		Type  string `json:"dtype"`
		Bytes string `json:"bdata"`
	}
	if json.Unmarshal(text, &list) == nil {
		*v = list
	} else if json.Unmarshal(text, &packed) == nil {
		*v = unpack(packed.Type, packed.Bytes)
	}
	return nil
}

// unpack returns the numbers in the base64 of a little-endian array, or nil for an unknown type.
func unpack(kind, packed string) (all values) {
	b, err := base64.StdEncoding.DecodeString(packed)
	sizes := map[string]int{"i1": 1, "u1": 1, "i2": 2, "u2": 2, "i4": 4, "u4": 4, "f4": 4, "f8": 8}
	size := sizes[kind]
	if err != nil || size == 0 {
		return nil
	}
	for ; len(b) >= size; b = b[size:] {
		var x float64
		switch kind {
		case "i1":
			x = float64(int8(b[0]))
		case "u1":
			x = float64(b[0])
		case "i2":
			x = float64(int16(binary.LittleEndian.Uint16(b)))
		case "u2":
			x = float64(binary.LittleEndian.Uint16(b))
		case "i4":
			x = float64(int32(binary.LittleEndian.Uint32(b)))
		case "u4":
			x = float64(binary.LittleEndian.Uint32(b))
		case "f4":
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case "f8":
			x = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		all = append(all, x)
	}
	return all
}

// FromPlotly draws a Plotly figure whose traces are all of one of the kinds lines or points over
// numbers, bars, and a single histogram. The result note is a sentence about the figure. If the
// figure can't be drawn, FromPlotly returns nil and the reason.
func FromPlotly(text []byte) (p *Plot, note string) {
	var f figure
	const wrong = "This Plotly figure can't be drawn, so its JSON is shown."
	if json.Unmarshal(text, &f, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) != nil || len(f.Data) == 0 {
		return nil, wrong
	}
	kind, mode := cmp.Or(f.Data[0].Type, "scatter"), f.Data[0].Mode
	for _, trace := range f.Data {
		if t := cmp.Or(trace.Type, "scatter"); t != kind {
			return nil, "Plotly figures that combine kinds of traces are not drawn, so the figure's JSON is shown."
		}
	}
	spec := format.Plot{Fields: map[string]string{"x": "x", "y": "y", "stroke": "name", "class": "name", "stack": "name"},
		XTitle: string(f.Layout.X.Title), YTitle: string(f.Layout.Y.Title)}
	table := format.Table{Columns: []string{"x", "y", "name"}}
	flat := f.Data[0].Orientation == "h"
	for i, trace := range f.Data {
		name := any("trace " + strconv.Itoa(i))
		if trace.Name != nil && trace.Name != "" {
			name = trace.Name
		}
		n := max(len(trace.X), len(trace.Y))
		for j := range n {
			row := []any{nil, nil, name}
			if trace.X == nil {
				row[0] = float64(j)
			} else if j < len(trace.X) {
				row[0] = trace.X[j]
			}
			if trace.Y == nil {
				row[1] = float64(j)
			} else if j < len(trace.Y) {
				row[1] = trace.Y[j]
			}
			table.Rows = append(table.Rows, row)
		}
	}
	if len(f.Data) == 1 {
		delete(spec.Fields, "stroke")
		delete(spec.Fields, "class")
		delete(spec.Fields, "stack")
	}
	switch {
	case kind == "scatter" || kind == "scattergl":
		if slices.ContainsFunc(table.Rows, func(row []any) bool { _, text := row[0].(string); return text }) {
			return nil, "Plotly figures with texts or dates on the X axis are not drawn, so the figure's JSON is shown."
		}
		if mode != "" && !strings.Contains(mode, "lines") {
			p = drawDots(spec, table)
		} else {
			spec.Kind = "area-under-curve" // keeps the order of the points
			p = drawLines(spec, table, "x", "y", "stroke")
		}
	case kind == "bar":
		spec.Fields["label"], spec.Fields["value"] = "x", "y"
		if flat {
			spec.Fields["label"], spec.Fields["value"] = "y", "x"
			spec.XTitle, spec.YTitle = spec.YTitle, spec.XTitle
		}
		p = drawRows(spec, table)
		p.About = plain.Readable(fmt.Sprintf("%s over %s", cmp.Or(spec.YTitle, spec.Fields["value"]), cmp.Or(spec.XTitle, spec.Fields["label"])))
	case kind == "histogram" && len(f.Data) == 1:
		spec.Fields["value"] = "x"
		if f.Data[0].X == nil {
			spec.Fields["value"] = "y"
		}
		p = drawHistogram(spec, table)
	default:
		return nil, "Plotly figures of the type " + plain.Line(plain.Readable(kind), 40) + " are not drawn, so the figure's JSON is shown."
	}
	if len(p.Lines) == 0 {
		return nil, wrong
	}
	p.Title = plain.Line(plain.Readable(string(f.Layout.Title)), 200)
	return p, "The figure is drawn without Plotly: colours, annotations and interaction are omitted. Its JSON has all data."
}
