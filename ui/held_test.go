package ui_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tracker/store/projects"
)

// hold delays only the first response from an address that matches a pattern. held waits for that
// response, and release passes it to the page.
func (b *browser) hold(pattern string) (held, release func()) {
	b.t.Helper()
	caught := make(chan fetch.RequestID, 1)
	pass := func(id fetch.RequestID) error {
		_, err := chromedp.Call(b.ctx, fetch.ContinueResponse, fetch.ContinueResponseParams{RequestID: id})
		return err
	}
	first := true
	ctx, cancel := context.WithCancel(b.ctx)
	err := chromedp.Listen(ctx, func(ev any) {
		paused, ok := ev.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		if first {
			first = false
			caught <- paused.RequestID
			return
		}
		go func() {
			if err := pass(paused.RequestID); err != nil && ctx.Err() == nil {
				b.t.Error(err)
			}
		}()
	})
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = chromedp.Call(b.ctx, fetch.Enable, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{URLPattern: pattern, RequestStage: fetch.RequestStageResponse}}})
	if err != nil {
		b.t.Fatal(err)
	}
	var id fetch.RequestID
	held = func() {
		b.t.Helper()
		waiting, stop := context.WithTimeout(b.ctx, patience)
		defer stop()
		select {
		case id = <-caught:
		case <-waiting.Done():
			b.t.Fatalf("nothing from %s came", pattern)
		}
	}
	release = func() {
		b.t.Helper()
		defer cancel()
		if err := pass(id); err != nil {
			b.t.Fatal(err)
		}
		if _, err := chromedp.Call(b.ctx, fetch.Disable, struct{}{}); err != nil {
			b.t.Fatal(err)
		}
	}
	return held, release
}

// begin opens a page and does not wait until it is loaded.
func (b *browser) begin(url string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.Navigate, page.NavigateParams{URL: url}); err != nil {
		b.t.Fatal(err)
	}
}

// settle waits until the page has processed all responses that were sent so far.
func (b *browser) settle(base string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`void fetch('` + base + `/health').then((r) => r.text()).then(() => setTimeout(() => { document.body.dataset.settled = 'yes' }))`))
	b.is(`document.body.dataset.settled`, "yes")
}

const scriptRuns = `document.querySelector('#charts .strip') !== null`

// TestInputBeforeScripts uses the page of an experiment before the page's script is loaded.
func TestInputBeforeScripts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(12, 20)
	at := s.url + "/lab/experiment/" + w.experiment

	t.Run("filter", func(t *testing.T) {
		b := s.openBrowser(t)
		held, release := b.hold("*/workbench-*.js")
		b.begin(at)
		held()
		b.do(chromedp.Focus(chromedp.CSS("#filter")), chromedp.KeyEvent("param.lr < 0.25"))
		release()
		b.is(rows, "5")
		b.is(`document.querySelector('#filter').value`, "param.lr < 0.25")
		b.is(`new URLSearchParams(location.search).get('filter')`, "param.lr < 0.25")
		b.quiet()
	})
	// A button is pressed before the script is loaded, and released afterwards.
	t.Run("click", func(t *testing.T) {
		b := s.openBrowser(t)
		b.do(chromedp.EmulateViewport(1280, 800))
		held, release := b.hold("*/workbench-*.js")
		b.begin(at)
		held()
		b.is(rows, "12")
		left, top, width, height := b.box(`#scroll a[href$="/iteration/` + w.runs[11] + `"]`)
		x, y := left+width/2, top+height/2
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
		release()
		b.is(scriptRuns, "true")
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
		b.is(`document.querySelector('h1').textContent`, "run 12")
		b.quiet()
	})
	// A button that needs a script appears when the script is ready, so that no click is lost.
	for name, opens := range map[string]string{"choose": `dialog.choose[open]`, "find": `dialog[open]`, "help": `dialog#help[open]`} {
		t.Run("button "+name, func(t *testing.T) {
			b := s.openBrowser(t)
			b.do(chromedp.EmulateViewport(1280, 800))
			held, release := b.hold("*/workbench-*.js")
			b.begin(at)
			held()
			shown := `getComputedStyle(document.querySelector('[data-testid="` + name + `"]')).visibility`
			b.is(shown, "hidden")
			release()
			b.is(shown, "visible")
			b.do(chromedp.Click(chromedp.CSS(`[data-testid="` + name + `"]`)))
			b.is(`document.querySelector('`+opens+`') !== null`, "true")
			b.quiet()
		})
	}
	// A focused link keeps the focus.
	t.Run("focus", func(t *testing.T) {
		b := s.openBrowser(t)
		held, release := b.hold("*/workbench-*.js")
		b.begin(at)
		held()
		b.is(rows, "12")
		b.do(chromedp.Focus(chromedp.CSS(`#scroll a[href$="/iteration/` + w.runs[11] + `"]`)))
		release()
		b.is(scriptRuns, "true")
		b.is(`document.querySelector('#table tbody') !== null`, "true")
		b.do(chromedp.KeyEvent("\r"))
		b.is(`document.querySelector('h1').textContent`, "run 12")
		b.quiet()
	})
}

// TestAnswersOutOfOrder delays the response to an earlier request until after the response to a
// later request.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(12, 200)
	at := s.url + "/lab/experiment/" + w.experiment

	t.Run("curves", func(t *testing.T) {
		b := s.openBrowser(t)
		b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(at))
		b.is(pointsText, "2,000 points")
		held, release := b.hold("*/data/curves")
		b.drag(lossChart+" .u-over", 0.25, 0.5)
		held()
		b.do(chromedp.Click(chromedp.CSS(`[data-testid="reset-zoom"]`)))
		b.is(`location.search`, "")
		b.is(pointsText, "2,000 points")
		release()
		b.settle("/lab")
		b.is(pointsText, "2,000 points")
		b.quiet()
	})
	t.Run("best run", func(t *testing.T) {
		patch := projects.ExperimentPatch{Objective: new("minimize train/loss")}
		if err := s.db.Projects.UpdateExperiment(t.Context(), s.actor("alice"), w.experiment, patch); err != nil {
			t.Fatal(err)
		}
		best := `document.querySelector('#best').href.split('/').at(-1)`
		b := s.openBrowser(t)
		b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(at))
		held, release := b.hold("*/best*")
		b.filter(t, "name = 'run 3'")
		held()
		b.filter(t, "name = 'run 5'")
		b.is(rows, "1")
		b.is(best, w.runs[4])
		release()
		b.settle("/lab")
		b.is(best, w.runs[4])
		b.quiet()
	})
}
