package ui_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/domain"
	"tracker/store/projects"
)

// placed is the order of the sections and charts on a page.
const placed = `[...document.querySelectorAll('.groups > details')].map((d) => d.querySelector('summary').firstChild.textContent + ': ' +
	[...d.querySelectorAll('figure')].map((f) => f.dataset.key).join(' ')).join(' | ')`

// value sets the value of a field and dispatches the event of a change.
func (b *browser) value(selector, value string) {
	b.t.Helper()
	text, _ := json.Marshal(value)
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.querySelector('` + selector + `'); e.value = ` + string(text) + `;
		e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })) })()`))
}

// pick opens a dialog of names by a button, and chooses the first name that matches.
func (b *browser) pick(button, name string) {
	b.t.Helper()
	b.press(`[data-testid="` + button + `"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="pick-name"]`)), chromedp.SendKeys(chromedp.CSS(`[data-testid="pick-name"]`), name))
	b.is(`document.querySelector('[data-testid="pick"] li bdi')?.textContent`, name)
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('[data-testid="pick"]') === null`, "true")
}

// addPanel adds a panel by the dialog.
func (b *browser) addPanel(kind string, fill func()) {
	b.t.Helper()
	b.press(`[data-testid="add-panel"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="panel-dialog"]`)))
	b.value("#panel-type", kind)
	fill()
	b.press(`[data-testid="panel-save"]`)
	b.is(`document.querySelector('[data-testid="panel-dialog"]') === null`, "true")
}

// arrangePanels shows the controls of panels.
func (b *browser) arrangePanels() {
	b.t.Helper()
	b.menu("charts-view")
	b.press(`[data-testid="arrange"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="add-panel"]`)))
}

// saveView saves the page as a view and returns the link of the view.
func (b *browser) saveView(name string) string {
	b.t.Helper()
	b.press(`[data-testid="arrange-save"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS("#view-name")), chromedp.SendKeys(chromedp.CSS("#view-name"), name+"\r"))
	b.is(`document.querySelector('.views a[aria-current]')?.textContent`, name)
	link := b.text(`document.querySelector('.views a[aria-current]').href`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('dialog[open]').close()`))
	return link
}

// TestLayout adds panels of all types, moves them by keyboard, by forms and by dragging, and saves
// the view. Another browser that opens the link of the view shows the same panels.
func TestLayout(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 4)
	page := s.url + "/experiment/" + experiment
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 1400), chromedp.Navigate(page))
	b.is(chartsDrawn, "true")
	b.is(placed, "val: val/loss val/accuracy | train: train/loss | amp: amp/scale | Others: lr")
	b.arrangePanels()

	// A section and a chart of two metrics.
	b.press(`[data-testid="add-section"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[name="section-name"]`)), chromedp.KeyEvent("Losses\r"))
	b.is(placed, "Losses:  | val: val/loss val/accuracy | train: train/loss | amp: amp/scale | Others: lr")
	b.press(`[data-testid="add-panel"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="panel-dialog"]`)))
	b.press(`[data-testid="panel-save"]`)
	b.is(`document.querySelector('[data-testid="panel-wrong"]').textContent`, "Add at least one metric.")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('dialog[open]').close()`))
	b.addPanel("line", func() {
		b.pick("panel-metric", "train/loss")
		b.pick("panel-metric", "val/loss")
	})
	const both = `[data-key="panel:p1"]`
	b.is(`document.querySelector('`+both+`')?.dataset.drawn`, "8")
	b.is(`document.querySelector('`+both+` [data-testid="with"]').textContent`, " and val/loss (dashed)")
	b.is(`document.querySelector('[data-key="train/loss"]').dataset.drawn`, "4") // its own chart remains

	// The other types.
	b.addPanel("bar", func() {
		b.pick("panel-x", "val/loss")
		b.value(`[name="x-stat"]`, "best")
	})
	b.is(`document.querySelector('[data-key="panel:p2"] .name').textContent`, "val/loss.min")
	b.is(`document.querySelectorAll('[data-key="panel:p2"] .bars li').length`, "4")
	b.addPanel("scatter", func() {
		b.pick("panel-x", "batch_size")
		b.pick("panel-y", "val/accuracy")
	})
	b.is(`document.querySelectorAll('[data-key="panel:p3"] circle').length`, "4")
	b.addPanel("histogram", func() { b.pick("panel-x", "optimizer") })
	b.is(`document.querySelectorAll('[data-key="panel:p4"] .bin').length > 0`, "true")
	b.addPanel("text", func() { b.value("#panel-text", "# Plan\n\nTry a *smaller* rate.<script>bad()</script>") })
	b.is(`document.querySelector('[data-key="panel:p5"] .plot').innerHTML.includes('<em>smaller</em>')`, "true")
	b.is(`document.querySelectorAll('[data-key="panel:p5"] script').length`, "0")
	b.is(placed, "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 | val: val/loss val/accuracy | train: train/loss | amp: amp/scale | Others: lr")

	// By keyboard. At the end of a section a panel moves to the next section.
	b.do(chromedp.Focus(chromedp.CSS(`[data-key="val/accuracy"] .handle`)), chromedp.KeyEvent(kb.ArrowLeft))
	b.is(placed, "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 | val: val/accuracy val/loss | train: train/loss | amp: amp/scale | Others: lr")
	b.is(`document.activeElement.getAttribute('aria-label')`, "Move: val/accuracy")
	b.is(`document.querySelector('[data-testid="arranged"]').textContent`, "val/accuracy is now 1 of 2 in val.")
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.is(placed, "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 val/accuracy | val: val/loss | train: train/loss | amp: amp/scale | Others: lr")

	// By forms.
	b.value(`[data-key="val/accuracy"] [name="panel-section"]`, "4")
	b.is(placed, "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 | val: val/loss | train: train/loss | amp: amp/scale | Others: lr val/accuracy")
	b.value(`[data-key="panel:p2"] [name="panel-size"]`, "wide")
	b.is(`document.querySelector('[data-key="panel:p2"]').classList.contains('wide')`, "true")
	b.press(`[aria-label="Up: train"]`)
	b.is(placed, "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 | train: train/loss | val: val/loss | amp: amp/scale | Others: lr val/accuracy")

	// By dragging.
	b.dragPanel(`[data-key="val/loss"] .handle`, `[data-key="train/loss"]`)
	const dragged = "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 | train: val/loss train/loss | val:  | amp: amp/scale | Others: lr val/accuracy"
	b.is(placed, dragged)
	b.do(chromedp.NavigateBack())
	b.is(placed, "Losses: panel:p1 panel:p2 panel:p3 panel:p4 panel:p5 | train: train/loss | val: val/loss | amp: amp/scale | Others: lr val/accuracy")
	b.do(chromedp.NavigateForward())
	b.is(placed, dragged)
	b.accessible("arranging panels", false)
	b.prefer("dark")
	b.accessible("arranging panels, dark", true)
	b.press(`[data-testid="add-panel"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="panel-dialog"]`)))
	for _, kind := range []string{"line", "scatter", "text"} {
		b.value("#panel-type", kind)
		b.accessible("the dialog of a panel, "+kind, false)
	}
	b.fits()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('dialog[open]').close()`))
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 1400))

	// A layout that is not saved survives a new load of the page.
	b.do(chromedp.Reload())
	b.is(placed, strings.Replace(dragged, " | val: ", "", 1)) // an empty section is shown only while panels are changed
	b.is(`document.querySelector('[data-testid="layout-changed"]').textContent.includes('have changed')`, "true")
	b.arrangePanels()
	link := b.saveView("mine")
	b.is(`document.querySelector('[data-testid="layout-changed"]').textContent`, "")
	b.quiet()

	other := s.openBrowser(t)
	other.do(chromedp.EmulateViewport(1280, 1400), chromedp.Navigate(link))
	other.is(placed, strings.Replace(dragged, " | val: ", "", 1))
	other.is(`document.querySelector('`+both+`').dataset.drawn`, "8")
	other.is(`document.querySelectorAll('[data-key="panel:p2"] .bars li').length`, "4")
	other.is(`document.querySelector('[data-key="panel:p2"]').classList.contains('wide')`, "true")
	other.is(`document.querySelector('[data-testid="layout-changed"]').textContent`, "")
	other.fits()
	other.do(chromedp.EmulateViewport(1280, 1400))

	// The default layout.
	other.arrangePanels()
	other.press(`[data-testid="reset-layout"]`)
	other.is(placed, "val: val/loss val/accuracy | train: train/loss | amp: amp/scale | Others: lr")
	other.press(`[data-testid="layout-discard"]`)
	other.is(placed, dragged)

	// The pages of a run show the panels of a view, too.
	view := b.text(`new URLSearchParams(location.search).get('view')`)
	run := other.text(`document.querySelector('#table tbody a').href`)
	if !strings.HasSuffix(run, "?view="+view) {
		t.Errorf("the link to a run is %s", run)
	}
	other.do(chromedp.Navigate(run))
	other.is(placed, strings.Replace(dragged, " | val: ", "", 1))
	other.is(`document.querySelectorAll('[data-key="panel:p2"] .bars li').length`, "1")
	other.press(`[data-testid="layout-default"]`)
	other.is(`document.querySelectorAll('figure').length + location.search`, "5")
	other.quiet()
}

// dragPanel drags a handle to the first part of an element.
func (b *browser) dragPanel(handle, to string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('` + to + `').scrollIntoView({ block: 'center' })`))
	left, top, width, height := b.box(handle)
	x, y := left+width/2, top+height/2
	left, top, width, height = b.box(to)
	b.do(chromedp.DragAndDropXY(x, y, left+width/8, top+height/8))
}

// TestOptionsOfPanel changes the axis and the metrics of an added chart by its options. The chart of
// the first metric does not change.
func TestOptionsOfPanel(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 4)
	view, err := s.db.Projects.CreateSavedView(t.Context(), domain.System, experiment, projects.NewSavedView{Name: "mine", Panels: &projects.Layout{
		Sections: []projects.Section{{Name: "Both", Panels: []projects.Panel{{ID: "p1", Type: projects.LinePanel, Title: "losses", Metrics: []string{"val/loss", "train/loss"}}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 1400), chromedp.Navigate(s.url+"/experiment/"+experiment+"?view="+view.ID))
	const both = `document.querySelector('[data-key="panel:p1"]')`
	b.is(both+`?.dataset.drawn`, "8")
	b.is(both+`.querySelector('[data-testid="with"]').textContent`, "val/loss and train/loss (dashed)")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Options: losses"]').click()`))
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="chart-options"]`)))
	b.value(`.options [name="y"]`, "log")
	b.is(`new URLSearchParams(location.search).get('charts')`, "panel:p1\ty=log")
	b.pick("add-metric", "lr")
	b.is(both+`.dataset.drawn`, "12")
	b.is(`new URLSearchParams(location.search).get('charts')`, "panel:p1\ty=log")
	b.is(`document.querySelector('[data-key="val/loss"]').dataset.drawn`, "4")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('dialog[open]').close()`))
	b.press(`[data-testid="layout-discard"]`)
	b.is(both+`.dataset.drawn`, "8")

	// A view that does not exist shows the default panels.
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment + "?view=none"))
	b.is(`document.querySelector('[data-testid="layout-changed"]')?.textContent`, "The saved view of this address does not exist any more.")
	b.is(chartsDrawn, "true")
	b.quiet()
}

// TestLayoutOfPage checks that the page of an experiment includes the layout of a view, and that the
// server checks layouts and renders texts.
func TestLayoutOfPage(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 1)
	kind := header("Content-Type", "application/json")
	send := func(method, path, body string) answer {
		t.Helper()
		return s.do(method, path, strings.NewReader(body), kind)
	}
	var made struct{ ID string }
	const panels = `{"sections":[{"name":"Notes","panels":[{"id":"p1","type":"text","text":"<b>hm</b>"}]}]}`
	views := "/data/experiment/" + experiment + "/views"
	send("POST", views, `{"name":"a","query":"","panels":`+panels+`}`).json(t, 200, &made)
	send("POST", views, `{"name":"b","query":"","panels":`+strings.Replace(panels, "text", "pie", 1)+`}`).wants(t, 422, "INVALID_PAYLOAD", "panels.sections[0].panels[0].type")
	s.get(views).wants(t, 200, `"has_panels":true`)
	s.get("/data/view/"+made.ID).wants(t, 200, panels)
	s.get("/data/view/none").wants(t, 404)
	s.get("/experiment/"+experiment+"?view="+made.ID).wants(t, 200, `"panels":{"sections":[{"name":"Notes"`)
	s.get("/experiment/"+experiment+"?view=none").wants(t, 200, `"no_view":true`)
	send("PATCH", "/data/view/"+made.ID, `{"panels":{"sections":[]}}`).wants(t, 200)
	s.get("/data/view/"+made.ID).wants(t, 200, `{"panels":null}`)

	send("POST", "/data/markdown", `{"text":"a *b* <script>c</script>"}`).wants(t, 200, `<em>b</em>`)
	if text := send("POST", "/data/markdown", `{"text":"<script>c</script>"}`).body; strings.Contains(text, "<script") {
		t.Errorf("the text has a script: %s", text)
	}
	send("POST", "/data/markdown", `{"text":"`+strings.Repeat(`a\n`, 10_001)+`"}`).wants(t, 200, `"note":"It is shown as plain text`)
}
