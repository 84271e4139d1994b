package chart_test

import (
	"strings"
	"testing"

	"tracker/ui/chart"
)

func TestFromPlotly(t *testing.T) {
	for _, c := range []struct{ figure, title, about, shapes, note string }{
		{`{"data":[{"x":[1,2,3],"y":[4,1,2],"type":"scatter"}],"layout":{"title":{"text":"T"},"xaxis":{"title":{"text":"epoch"}},"yaxis":{"title":"loss"}}}`,
			"T", "loss over epoch", "line c0=;|", "drawn without Plotly"},
		{`{"data":[{"y":[4,1,2]}],"layout":{"title":"short"}}`, "short", "y over x", "line c0=;|", "drawn without Plotly"},
		{`{"data":[{"type":"scatter","mode":"markers","name":"a","x":{"dtype":"f8","bdata":"AAAAAAAADEAAAAAAAAAIQJqZmZmZmQlA"},"y":{"dtype":"i1","bdata":"AQID"}},
			{"type":"scatter","mode":"markers","name":"b","x":[1],"y":[2]}]}`, "", "y over x", "dots c0=a;dots c1=b;|;a;b", "drawn without Plotly"},
		{`{"data":[{"type":"bar","x":["a","b"],"y":{"dtype":"i2","bdata":"AQD//w=="}}]}`, "", "y over x", "bars c0=a: 1;bars c0=b: -1;|", "drawn without Plotly"},
		{`{"data":[{"type":"bar","orientation":"h","name":"p","y":["a"],"x":[2]},{"type":"bar","orientation":"h","name":"q","y":["a"],"x":[3]}]}`,
			"", "x over y", "bars c0=a, p: 2;bars c1=a, q: 3;|;p;q", "drawn without Plotly"},
		{figure: `{"data":[{"type":"heatmap","z":[[1,2]]}]}`, note: "of the type heatmap are not drawn"},
		{figure: `{"data":[{"type":"bar","y":[1]},{"type":"scatter","y":[1]}]}`, note: "combine kinds"},
		{figure: `{"data":[{"x":["2026-01-01"],"y":[1]}]}`, note: "texts or dates"},
		{figure: `{"data":[]}`, note: "can't be drawn"},
		{figure: `{"data":[{"x":{"dtype":"c16","bdata":"AA"},"y":[null]}]}`, note: "can't be drawn"},
		{figure: `[1]`, note: "can't be drawn"},
	} {
		p, note := chart.FromPlotly([]byte(c.figure))
		if !strings.Contains(note, c.note) || (p != nil) != (c.shapes != "") {
			t.Errorf("%s: %v, %q", c.figure, p, note)
			continue
		}
		if p != nil && (p.Title != c.title || p.About != c.about || classes(p) != c.shapes) {
			t.Errorf("%s: %q, %q, %q", c.figure, p.Title, p.About, classes(p))
		}
	}
	p, _ := chart.FromPlotly([]byte(`{"data":[{"type":"histogram","x":[1,2,2]}]}`))
	if p == nil || len(p.Lines) != 20 {
		t.Errorf("a histogram is %+v", p)
	}
}
