package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/files"
)

// vegaChart returns a Vega-Lite chart with an expression and a parameter, as Altair writes it.
func vegaChart(data string) string {
	return `{"$schema":"https://vega.github.io/schema/vega-lite/v5.20.1.json","title":"</pre><script>parent.hacked=1</script>","data":` + data + `,
		"params":[{"name":"brush","select":"interval"}],"transform":[{"calculate":"datum.a * 2 + sin(0)","as":"twice"}],"mark":"bar",
		"encoding":{"x":{"field":"c","type":"nominal"},"y":{"field":"twice","type":"quantitative"},
			"color":{"condition":{"param":"brush","field":"c","type":"nominal"},"value":"lightgray"}}}`
}

const vegaValues = `{"values":[{"a":1,"c":"x"},{"a":2,"c":"y"},{"a":4,"c":"z"}]}`

// A frame with a chart has no access to this site, and no page loads Vega without a chart.
func TestVegaFrame(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true, base: "/lab"})
	h := s.shelf()
	keep := func(name, content string) string {
		return s.keep(h.experiment, files.NewArtifact{Name: name, ContentType: "application/json"}, content)
	}
	chart := keep("chart.vl.json", vegaChart(vegaValues))
	alice := with(s.signIn("alice"))
	page := s.get("/lab/artifact/"+chart, alice)
	page.wants(t, 200, `<iframe sandbox="allow-scripts"`, `src="/lab/artifact/`+chart+`/frame"`, `data-kind="vega"`, "JSON")
	page.lacks(t, "/static/vega", "<script>parent")
	a := s.get("/lab/artifact/"+chart+"/frame", alice)
	a.wants(t, 200, "/lab/static/vega-", "/lab/static/vegalite-", "/lab/static/vegainterpreter-", "/lab/static/vegaframe-", "&lt;/pre&gt;")
	a.lacks(t, "<script>parent")
	const policy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; " +
		"form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
	if got := a.Header.Get("Content-Security-Policy"); got != policy {
		t.Errorf("Content-Security-Policy is %q", got)
	}
	s.get("/lab/artifact/"+chart+"/frame", with(s.signIn("bob"))).wants(t, http.StatusForbidden)
	s.get("/lab/artifact/"+keep("plain.vg.json", `{"marks":[]}`)+"/frame", alice).lacks(t, "vegalite")
	for name, content := range map[string]string{"config.json": `{"mark":"bar"}`, "broken.vl.json": `{"mark":`,
		"large.vl.json": `{"mark":"` + strings.Repeat("x", 1<<20) + `"}`} {
		id := keep(name, content)
		s.get("/lab/artifact/"+id+"/frame", alice).wants(t, http.StatusNotFound)
		s.get("/lab/artifact/"+id, alice).lacks(t, "<iframe")
	}
}

// Vega draws a chart without violating the policy of its frame, loads no file that the chart names,
// and reports what it can't draw.
func TestBrowserVega(t *testing.T) {
	ctx := chromium(t)
	s := start(t, setup{base: "/lab"})
	h := s.shelf()
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, ctx, s.url)
	open := func(name, content string) {
		t.Helper()
		id := s.keep(h.experiment, files.NewArtifact{Name: name, ContentType: "application/json"}, content)
		b.do(chromedp.Navigate(s.url + "/lab/artifact/" + id + "/frame"))
		b.is(`document.body.dataset.ready`, "yes")
	}
	const bars = `document.querySelectorAll('.mark-rect.role-mark.marks path').length`
	const note = `document.getElementById('note').innerText`

	open("chart.vl.json", vegaChart(vegaValues))
	b.is(bars, "3")
	b.is(note, "")
	b.is(`window.hacked`, "undefined")
	b.is(`window.origin`, "null") // the frame has its own origin
	b.is(`document.querySelector('.role-title-text').textContent`, "</pre><script>parent.hacked=1</script>")
	b.quiet()

	open("plain.vg.json", `{"width":100,"height":100,"data":[{"name":"d","values":[1,2]}],"marks":[{"type":"rect","from":{"data":"d"},
		"encode":{"enter":{"x":{"signal":"datum.data * 10"},"width":{"value":5},"y":{"value":0},"height":{"value":9},"fill":{"value":"red"}}}}]}`)
	b.is(`document.querySelectorAll('.mark-rect.role-mark path').length`, "2")
	b.quiet()

	const refusal = "The chart refers to files or links, which are not loaded. Log a chart that contains its data."
	for name, data := range map[string]string{
		"away.vl.json": `{"url":"https://example.com/data.json"}`, "own.vl.json": `{"url":"` + s.url + `/lab/data/projects"}`,
		"relative.vl.json": `{"url":"/lab/artifact/` + h.artifacts["report.md"] + `/data"}`, "file.vl.json": `{"url":"file:///etc/passwd","format":{"type":"csv"}}`,
	} {
		asked := b.asked()
		open(name, vegaChart(data))
		b.is(bars, "0")
		b.is(note, refusal)
		if n := b.asked() - asked; n > 5 { // the frame and its scripts
			t.Errorf("%s: %d requests", name, n)
		}
		b.quiet() // complains about requests to other hosts and violations of the policy
	}
	open("image.vl.json", `{"data":{"values":[{"u":"https://example.com/a.png"}]},"mark":"image","encoding":{"url":{"field":"u"}}}`)
	b.is(note, refusal)
	open("wrong.vl.json", `{"mark":"nothing"}`)
	b.is(note+`.startsWith("This chart can't be drawn: ")`, "true")
	b.quiet()

	// On the page of the artifact the chart is in a frame.
	id := s.keep(h.experiment, files.NewArtifact{Name: "shown.vl.json", ContentType: "application/json"}, vegaChart(vegaValues))
	b.do(chromedp.Navigate(s.url + "/lab/artifact/" + id))
	b.is(`document.querySelector('[data-testid="preview"] iframe').contentDocument`, "null")
	b.fits()
	b.quiet()
}

// Figures of Plotly are drawn from their JSON. A page whose scripts are blocked and a file without
// preview have a sentence about it.
func TestFigurePreviews(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	h := s.shelf()
	show := func(name, content string) answer {
		id := s.keep(h.experiment, files.NewArtifact{Name: name}, content)
		return s.get("/lab/artifact/" + id)
	}
	show("media/plotly/fig_1_0123456789abcdef0123.plotly.json", `{"data":[{"x":[1,2],"y":[3,4],"type":"scatter"}],"layout":{"title":"<b>T"}}`).
		wants(t, 200, `class="line c0"`, "&lt;b&gt;T", "drawn without Plotly", "/lab/static/plot-", `<bdi class="key">data</bdi>`)
	show("fig.plotly.json", `{"data":[{"z":[[1]],"type":"heatmap"}]}`).wants(t, 200, "of the type heatmap are not drawn", `<bdi class="key">data</bdi>`)
	const blocked = "loads scripts from other sites"
	show("remote.html", `<p>x</p><script charset="utf-8" src="https://cdn.plot.ly/plotly-3.0.0.min.js"></script>`).wants(t, 200, blocked)
	show("own.html", `<script>var src = "https://example.com/a.js"</script><img src="https://example.com/a.png">`).lacks(t, blocked)
	for _, name := range []string{"media/object3D/cloud_1_0123.pts.json", "media/object3D/thing_1_0123.obj", "media/molecule/mol_1_0123.pdb"} {
		show(name, `[[1,2,3]]`).wants(t, 200, "3D objects and molecules have no preview", `/data" download`)
	}
}
