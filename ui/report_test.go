package ui_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/scalar"
)

// report creates a report in the project of a sweep.
func (s *site) report(project, name, text string) string {
	s.t.Helper()
	return must(s.db.Projects.CreateReport(s.t.Context(), s.actor("alice"), project, projects.NewReport{Name: name, Text: text}))(s.t).ID
}

func TestReport(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.sweep(3, 20)
	e := must(s.db.Projects.Experiment(t.Context(), s.actor("alice"), w.experiment))(t)
	picture := s.keep(w.experiment, files.NewArtifact{Name: "dot.png", ContentType: "image/png"}, "\x89PNG")
	list := "/lab/project/" + w.project + "/reports"
	s.get(list).wants(t, 200, `data-testid="nothing"`, "metrics: val/loss")
	s.post(list, url.Values{"name": {" "}, "text": {"typed"}}).wants(t, 422, `data-testid="wrong-report-name"`, "typed")
	text := "# Found\n\n**less** noise\n\n```chart\nexperiment: " + e.Name + "\nmetrics: train/loss\nruns: 2\ncaption: The loss\n```\n\nthen\n\n" +
		"```table\nexperiment: " + w.experiment + "\ncolumns: param.lr\nfilter: param.lr < 0.25\n```\n\n```image\nartifact: " + picture + "\n```\n\n" +
		"```python\n```chart\nprint(1)\n```\n"
	a := s.post(list, url.Values{"name": {"findings"}, "text": {strings.ReplaceAll(text, "\n", "\r\n")}})
	page := a.Header.Get("Location")
	if !strings.HasPrefix(page, "/lab/report/") {
		t.Fatalf("a new report leads to %q", page)
	}
	s.get(list).wants(t, 200, `href="`+page+`"`, "<bdi class=\"name\">findings</bdi>")
	a = s.get(page)
	a.wants(t, 200, "<strong>less</strong>", `aria-label="Chart of train/loss"`, `<path class="line c`, "<figcaption><bdi>The loss</bdi></figcaption>",
		"<bdi>0.1</bdi>", "<bdi>0.2</bdi>", `<img src="/lab/artifact/`+picture+`/data" alt="dot.png">`, "print(1)", `hx-trigger="every 15s"`)
	a.lacks(t, "<bdi>0.3</bdi>", `data-testid="block-wrong"`)

	file := s.get(page + "/export")
	file.wants(t, 200, "<style>", `<path class="line c`, "data:image/png;base64,iVBORw==", "<strong>less</strong>")
	file.lacks(t, `href="/`, `src="/`, "<script", "hx-get", "http://", "@import")
	if got := file.Header.Get("Content-Disposition"); !strings.Contains(got, "findings.html") {
		t.Errorf("the file is called %q", got)
	}

	// A block that can't be shown is replaced by the reason. Other blocks are shown.
	for block, want := range map[string]string{
		"chart\nmetrics: train/loss":                                            "needs the name or ID of an experiment",
		"chart\nexperiment: zebra\nmetrics: train/loss":                         "There is no experiment",
		"chart\nexperiment: " + e.Name:                                          "The chart needs metrics",
		"chart\nexperiment: " + e.Name + "\nmetrics: zebra":                     "None of these runs has values of zebra.",
		"table\nexperiment: " + e.Name + "\nfilter: lr <":                       "INVALID",
		"table\nexperiment: " + e.Name + "\nfilter: name = 'nobody'":            "No run of",
		"image\nartifact: none":                                                 "artifact",
		"table\nexperiment: " + e.Name + "\ncolumns: <script>alert(1)</script>": "block-wrong",
	} {
		if want == "INVALID" {
			want = `data-testid="block-wrong"`
		}
		a := s.get("/lab/report/" + s.report(w.project, "wrong", "before\n\n```"+block+"\n```\n\nafter"))
		a.wants(t, 200, "<p>before</p>", "<p>after</p>", want, `data-testid="block-wrong"`)
		a.lacks(t, "<script>alert")
	}
	s.get("/lab/report/"+s.report(w.project, "many", strings.Repeat("```image\n```\n", 40))).wants(t, 200, "A report shows up to 30")

	s.post(page, url.Values{"name": {""}, "text": {"kept"}}).wants(t, 422, "kept", `data-testid="wrong-report-name"`)
	s.post(page, url.Values{"name": {"better"}, "text": {"shorter"}}).redirects(t, page)
	s.get(page).wants(t, 200, "<bdi>better</bdi>", "<p>shorter</p>")
	id := strings.TrimPrefix(page, "/lab/report/")
	s.post(page+"/delete", url.Values{"x": {"y"}}).deletes(t, list, id)
	s.get(page).wants(t, 404)
	s.get("/lab/trash").wants(t, 200, "better", "report")
	s.post("/lab/trash", url.Values{"do": {"restore"}, "id": {id}}).redirects(t, page)
	s.get(page).wants(t, 200, "<p>shorter</p>")
}

// TestReportOffline opens an exported report without the server.
func TestReportOffline(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(3, 20)
	id := s.report(w.project, "findings", "# Found\n\n```chart\nexperiment: "+w.experiment+"\nmetrics: train/loss\n```\n")
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/report/"+id))
	const drawn = `[...document.querySelectorAll('.report-plot .line')].map((l) => l.getBoundingClientRect().width > 100 && getComputedStyle(l).stroke !== 'none')`
	b.is(drawn, "true,true,true")
	b.is(`new Set([...document.querySelectorAll('.report-plot .line')].map((l) => getComputedStyle(l).stroke)).size`, "3")
	b.fits()
	b.quiet()
	file := s.get("/report/" + id + "/export")
	before := b.asked()
	text := must(json.Marshal(file.body))(t)
	b.do(chromedp.Navigate("about:blank"), chromedp.Evaluate[chromedp.Void]("document.write("+string(text)+"); document.close()"))
	b.is(drawn, "true,true,true")
	if n := b.asked() - before - 1; n > 0 {
		t.Errorf("the file asks for %d other addresses", n)
	}
}

// A chart in a report has logarithmic scales if the block requests them.
func TestReportScales(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	var samples []points.Sample
	for step, v := range []scalar.Value{0, 0.001, 1, 1000} {
		samples = append(samples, points.Sample{Key: "loss", Value: v, Step: new(scalar.Step(step))})
	}
	if err := s.db.Runs.CreateMetrics(t.Context(), s.actor("alice"), w.runs[0], samples); err != nil {
		t.Fatal(err)
	}
	chart := "```chart\nexperiment: sweep\nmetrics: loss\n"
	id := s.report(w.project, "scales", chart+"y: log\n```\n\n"+chart+"x: log\ny: linear\n```\n\n"+chart+"y: square\n```\n")
	a := s.get("/report/" + id)
	a.wants(t, 200, ">0.001</text>", ">1</text>", ">1000</text>", // powers of ten
		">200</text>", // label of a linear scale
		"The scale of y must be linear or log.")
	if n := strings.Count(a.body, `class="line `); n != 2 {
		t.Errorf("there are %d curves", n)
	}
}

// The total size of the images in an exported report is limited, because all of them are held in
// memory.
func TestReportPicturesAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 1)
	text := ""
	for i := range 8 {
		picture := s.keep(w.experiment, files.NewArtifact{Name: "large.png", ContentType: "image/png"}, string(rune('a'+i))+strings.Repeat("\x89", 4<<20))
		text += "```image\nartifact: " + picture + "\n```\n"
	}
	a := s.get("/report/" + s.report(w.project, "pictures", text) + "/export")
	a.wants(t, 200, "too large for a file")
	if n := strings.Count(a.body, "data:image/png"); n != 7 {
		t.Errorf("%d pictures are kept", n)
	}
}

// Each run of a chart has its own colour, even if runs with equal colours exist.
func TestReportColors(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(13, 2) // on other pages, the first and the last run have the same colour
	page := "/report/" + s.report(w.project, "colours", "```chart\nexperiment: "+w.experiment+"\nmetrics: train/loss\nfilter: name in ('run 1', 'run 13')\n```\n")
	found := regexp.MustCompile(`<span class="dot (c\d+)">`).FindAllStringSubmatch(s.get(page).body, -1)
	if len(found) != 2 || found[0][1] == found[1][1] {
		t.Errorf("the colours are %q", found)
	}
}
