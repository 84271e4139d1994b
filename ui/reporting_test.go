package ui_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/projects"
)

// A chart can be added to a new report and to an existing report, with its whole view. From the
// open experiment, an existing report takes two clicks.
func TestAddToReport(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 4)
	b := s.openBrowser(t)
	page := s.url + "/experiment/" + experiment
	clicks := 0
	click := func(selector string) {
		t.Helper()
		b.is(`document.querySelector(`+"`"+selector+"`"+`)?.checkVisibility()`, "true")
		clicks++
		b.press(selector)
	}
	open := func(key string) {
		t.Helper()
		b.is(`document.querySelector('`+chart(key)+`')?.dataset.drawn > 0`, "true")
		click(`[aria-label="Report: ` + key + `"]`)
		b.is(`Boolean(document.querySelector('[data-testid="reports"]')?.open)`, "true")
	}
	const said = `document.querySelector('[data-testid="report-said"]').textContent`
	report := func() projects.Report {
		t.Helper()
		b.is(`document.querySelector('[data-testid="to-report"]') !== null`, "true")
		href := b.text(`document.querySelector('[data-testid="to-report"]').getAttribute('href')`)
		return must(s.db.Projects.Report(t.Context(), domain.System, href[strings.LastIndex(href, "/")+1:]))(t)
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page+"?filter=param.lr+%3C+1&sort=name&top=5&logy=1"))
	open("val/loss")
	b.is(said, "It follows the data, or keeps what it shows now if you add it frozen.")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="new-report"]').value = ''`))
	b.do(chromedp.SendKeys(chromedp.CSS(`[data-testid="new-report"]`), "Findings\r"))
	b.is(said, "Added at the end of Findings.")
	want := "```chart\nexperiment: " + experiment + "\nmetrics: val/loss\nfilter: param.lr < 1\nsort: name\nruns: 4\ny: log\n```\n"
	if r := report(); r.Name != "Findings" || r.Text != want {
		t.Errorf("%q has %q, want %q", r.Name, r.Text, want)
	}
	b.fits()
	add := func(address, key, block string) {
		t.Helper()
		b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(address))
		clicks = 0
		open(key)
		click(`[aria-label="Add to Findings"]`)
		b.is(said, "Added at the end of Findings.")
		if clicks != 2 {
			t.Errorf("%d clicks", clicks)
		}
		want += "\n" + block
		if r := report(); r.Text != want {
			t.Fatalf("the report has %q, want %q", r.Text, want)
		}
	}
	add(s.url+"/compare?i="+ids[0]+"&i="+ids[2], "lr",
		"```chart\nexperiment: "+experiment+"\nmetrics: lr\nfilter: id in ('"+ids[0]+"', '"+ids[2]+"')\nruns: 2\n```\n")
	add(page+"?group=param.optimizer&smooth=0.5&x=relative&trim=no", "val/loss",
		"```chart\nexperiment: "+experiment+"\nmetrics: val/loss\ngroup: param.optimizer\nruns: 3\naxis: relative\nsmooth: 0.5\noutliers: show\n```\n")
	b.press(`[data-testid="to-report"]`)
	b.is(`[...document.querySelectorAll('[data-testid="block"]')].map((e) => e.querySelectorAll('.line:not(.faint)').length)`, "4,2,3")
	b.is(`document.querySelector('[data-testid="block-wrong"]')`, "null")
	b.quiet()
}

// A frozen chart is a picture in the report, and a frozen table is Markdown. Both stay as they are.
func TestAddFrozen(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 4)
	e := must(s.db.Projects.Experiment(t.Context(), domain.System, experiment))(t)
	id := s.report(e.ProjectID, "Findings", "# Found\n")
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+experiment+"?group=param.optimizer"))
	b.is(`document.querySelector('`+chart("val/loss")+`')?.dataset.drawn > 0`, "true")
	add := func(button string) {
		t.Helper()
		b.press(button)
		b.is(`document.querySelector('[aria-label="Add to Findings, frozen"]')?.checkVisibility()`, "true")
		b.press(`[aria-label="Add to Findings, frozen"]`)
		b.is(`document.querySelector('[data-testid="to-report"]') !== null`, "true")
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="reports"]').close()`))
	}
	add(`[aria-label="Report: val/loss"]`)
	b.press(`[data-testid="table-view"]`)
	add(`[data-testid="report-table"]`)
	text := must(s.db.Projects.Report(t.Context(), domain.System, id))(t).Text
	if !strings.Contains(text, "```image\nsvg: ") || !strings.Contains(text, "| optimizer | Runs | ") {
		t.Fatalf("the report has %q", text)
	}
	b.do(chromedp.Navigate(s.url + "/report/" + id))
	b.is(`document.querySelector('.report-block img').naturalWidth > 300`, "true")
	b.is(`document.querySelectorAll('.report .prose table').length`, "1")
	b.quiet()
	s.get("/report/"+id+"/export").wants(t, 200, "data:image/svg+xml;base64,")
	s.get("/report/"+id+"/picture/none").wants(t, 404)
}

// Blocks are moved by keyboard and by dragging, resized, changed and removed. Each change writes
// the Markdown of the report.
func TestEditBlocks(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 5)
	chart := func(key string) string {
		return "```chart\nexperiment: " + w.experiment + "\nmetrics: " + key + "\n```\n"
	}
	id := s.report(w.project, "findings", "# Found\n\n"+chart("train/loss")+"\nthen\n")
	text := func() string { return must(s.db.Projects.Report(t.Context(), domain.System, id))(t).Text }
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/report/"+id))
	const order = `[...document.querySelectorAll('.report > .block')].map((b) => b.querySelector('figure') ? 'chart' : b.querySelector('.prose').innerText.trim().replace(/\s+/g, ' '))`
	b.is(order, "Found,chart,then")
	b.press(`#block-1 button[value="up"]`)
	b.is(order, "chart,Found then") // texts without a block between them are one block
	b.is(`document.activeElement.closest('.block')?.id`, "block-0")
	if want := chart("train/loss") + "\n# Found\n\nthen\n"; text() != want {
		t.Errorf("the report has %q, want %q", text(), want)
	}
	b.press(`#block-0 button[value="half"]`)
	b.is(`document.querySelector('#block-0').classList.contains('half')`, "true")
	// The chart is dragged behind the last block.
	b.do(chromedp.Evaluate[chromedp.Void](`(() => {
		const data = new DataTransfer();
		const last = document.querySelector('#block-1');
		const { left, bottom } = last.getBoundingClientRect();
		const at = (type, element) => element.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data, clientX: left + 5, clientY: bottom - 1 }));
		at('dragstart', document.querySelector('#block-0 .handle'));
		at('dragover', last);
		at('drop', last);
	})()`))
	b.is(`document.querySelector('#block-1 figure') !== null`, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#block-0 summary').click()`),
		chromedp.SendKeys(chromedp.CSS(`#block-0 textarea`), " more"),
		chromedp.Evaluate[chromedp.Void](`document.querySelector('#block-0 .block-text button').click()`))
	b.is(`document.querySelector('#block-0').innerText.includes('more')`, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#block-1 button[value="remove"]').click()`))
	b.is(`document.querySelectorAll('.report > .block').length`, "1")
	if strings.Contains(text(), "chart") || !strings.Contains(text(), "more") {
		t.Errorf("the report has %q", text())
	}
	b.fits()
	b.quiet()
}

// Two users can edit different blocks at the same time. If another user has changed the same
// block, the typed text is shown again.
func TestConcurrentBlocks(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	image := func(n string) string { return "```image\nartifact: " + n + "\n```\n" }
	id := s.report(w.project, "findings", image("a")+"\n"+image("b"))
	post := func(do, block, was, text string) answer {
		return s.post("/report/"+id+"/block", url.Values{"do": {do}, "block": {block}, "was": {domain.Fingerprint(was)}, "text": {text}})
	}
	post("text", "0", image("a"), image("c")).redirects(t, "/report/"+id+"#block-0")
	post("text", "1", image("b"), image("d")).redirects(t, "/report/"+id+"#block-1")
	want := image("c") + "\n" + image("d")
	if got := must(s.db.Projects.Report(t.Context(), domain.System, id))(t).Text; got != want {
		t.Errorf("the report has %q, want %q", got, want)
	}
	post("text", "0", image("a"), "my words").wants(t, 409, `data-testid="block-conflict"`, "my words")
	post("up", "1", image("d"), "").redirects(t, "/report/"+id+"#block-0")
	post("explode", "1", image("c"), "").wants(t, 422, "can be moved")
}

// The table of an experiment and a comparison can be saved for papers.
func TestTableFiles(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 5)
	columns := "&columns=param.lr,+metric.train/loss"
	a := s.get("/experiment/" + w.experiment + "/runs.tex?sort=name" + columns)
	a.wants(t, 200, `\begin{tabular}{llr}`, `Name & lr & train/loss \\`, `\mathbf{`)
	if got := a.Header.Get("Content-Disposition"); !strings.Contains(got, ".tex") {
		t.Errorf("the file is called %q", got)
	}
	s.get("/experiment/"+w.experiment+"/runs.md?group=param.lr"+columns).wants(t, 200, "| lr | Runs | train/loss |", "| 0.1 | 1 |")
	s.get("/experiment/"+w.experiment+"/runs.csv?group=param.lr"+columns).wants(t, 200, "lr,runs,train/loss mean,train/loss sd,train/loss n\n0.1,1,")
	s.get("/experiment/"+w.experiment+"/runs.tex?filter=lr+%3C").wants(t, 422)
	two := "?i=" + w.runs[0] + "&i=" + w.runs[1]
	s.get("/compare.tex"+two).wants(t, 200, `\begin{tabular}{lll}`, `train/loss & `)
	s.get("/compare.md"+two).wants(t, 200, "| Name | ", "| lr | 0.1 | 0.2 |")
	s.get("/compare.csv"+two).wants(t, 200, "name,", "\nlr,0.1,0.2\n")
}

// Reports show the importance of parameters and the Pareto front of two metrics.
func TestReportAnalyses(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(3, 5)
	block := "experiment: " + w.experiment + "\n"
	a := s.get("/report/" + s.report(w.project, "analyses", "```importance\n"+block+"```\n```pareto\n"+block+"metrics: train/loss, val/loss\n```\n```pareto\n"+block+"metrics: a\n```\n"))
	a.wants(t, 200, "an estimate needs at least", "needs two metrics")
}
