package ui_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/runs"
	"tracker/ui"
)

// TestRunPageFollowsItsRun checks that an open page shows new records of its run without a reload.
func TestRunPageFollowsItsRun(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true, base: "/lab"})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(1, 3)
	id, ctx, actor := w.runs[0], t.Context(), s.actor("alice")
	for i := range 19 {
		s.keep(w.experiment, files.NewArtifact{Name: "early-" + string(rune('a'+i%26)) + ".txt", IterationID: id}, "early")
	}
	b := s.openBrowser(t)
	b.signIn(s, "alice")
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/lab/iteration/"+id))
	b.is(`document.documentElement.dataset.live`, "yes")
	b.is(pointsText, "3 points")
	// The user has filtered the parameters and opened a preview.
	b.do(chromedp.SendKeys(chromedp.CSS(`[data-filters="params"]`), "lr"))
	b.press(`.artifacts > li:nth-child(10) summary`)
	b.is(`document.querySelector('.artifacts > li:nth-child(10) [data-testid="preview"]')?.textContent.trim()`, "early")
	b.is(`(() => {
		const body = document.querySelector('.artifacts > li:nth-child(10) .artifact-body');
		body.scrollIntoView({ block: 'center' });
		body.querySelector('[data-testid="download"]').focus();
		Object.assign(window, { body, focused: document.activeElement, chart: document.querySelector('#charts figure') });
		window.at = body.getBoundingClientRect().top;
		return document.activeElement.dataset.testid })()`, "download")

	must(s.db.Runs.CreateTag(ctx, actor, runs.IterationTag, id, "best"))(t)
	b.is(`document.querySelector('#run .head .tag')?.textContent`, "best")
	must(s.db.Runs.CreateParameter(ctx, actor, id, "late", "0.5"))(t)
	b.is(`[...document.querySelectorAll('#params tr')].map((r) => r.innerText.trim() + r.hidden)`, "late0.5true,lr\t0.1false")
	s.keep(w.experiment, files.NewArtifact{Name: "late.txt", IterationID: id}, "late bytes")
	b.is(`document.querySelector('.artifacts > li:last-child .name').textContent`, "late.txt")
	must(s.db.Runs.CreateSnapshot(ctx, actor, id, runs.NewSnapshot{Hostname: "gpu-01"}))(t)
	b.is(`document.querySelector('#environment code')?.textContent`, "gpu-01")
	child := s.run(w.experiment, runs.NewIteration{Name: new("fold 1"), ParentIterationID: &id})
	b.is(`document.querySelector('.facts a[href="/lab/iteration/`+child+`"]')?.textContent`, "fold 1")
	s.log(id, "late/metric", 2)
	b.is(`document.querySelector('[data-metric="late/metric"] td:last-child')?.textContent`, "2")
	b.is(`document.querySelectorAll('#charts figure').length`, "2")
	patch := runs.IterationPatch{Name: new("renamed"), Notes: new("**found**"), Status: new(domain.Failed), ErrorMessage: new("no memory")}
	if err := s.db.Runs.UpdateIteration(ctx, actor, id, patch); err != nil {
		t.Fatal(err)
	}
	b.is(`document.querySelector('[data-testid="status"]').textContent`, "failed")
	b.is(`['h1', '.crumbs [aria-current]', '[data-testid="notes"] strong', '[data-testid="error-text"]'].map((q) => document.querySelector(q).textContent)`,
		"renamed,renamed,found,no memory")
	b.is(`document.title`, "renamed · tracker")
	b.is(`document.querySelector('#environment code')?.textContent`, "gpu-01")
	b.is(`Boolean(document.querySelector('[data-testid="reopen"]'))`, "true")

	// All existing elements are the same and in the same place.
	b.is(`document.activeElement === window.focused && window.body.isConnected && window.body.parentElement.open`, "true")
	b.is(`document.querySelector('#charts figure[data-key="train/loss"]') === window.chart`, "true")
	b.is(`Math.abs(window.body.getBoundingClientRect().top - window.at) < 2`, "true")

	// New records can be opened like the existing records.
	b.press(`.artifacts > li:last-child summary`)
	b.is(`document.querySelector('.artifacts > li:last-child [data-testid="preview"]')?.textContent.trim()`, "late bytes")
	b.quiet()
}

// TestManyWindows opens eight pages in the windows of one browser, which allows six connections to
// a server. They share one event stream, and all of them show new values.
func TestManyWindows(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	s := start(t, setup{auth: true, base: "/lab", edit: func(o *ui.Options) {
		o.Streams = web.NewStreams(web.MaxStreams, func(n int) { open.Add(int64(n)) })
	}})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(8, 3)
	first := s.openBrowser(t)
	first.signIn(s, "alice")
	pages := []*browser{first}
	for len(pages) < len(w.runs) {
		ctx, cancel := chromedp.NewContext(first.ctx)
		t.Cleanup(cancel)
		pages = append(pages, newBrowser(t, ctx, s.url))
	}
	for i, b := range pages {
		b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/lab/iteration/"+w.runs[i]))
		b.is(pointsText, "3 points")
	}
	see := func(shown ...int) {
		t.Helper()
		for i, b := range pages {
			b.is(`document.documentElement.dataset.live`, "yes")
			b.is(`document.hidden`, "false")
			s.log(w.runs[i], "train/loss", i+1)
		}
		for i, b := range pages {
			b.is(pointsText, fmt.Sprintf("%d points", shown[i]))
			b.quiet()
		}
		for deadline := time.Now().Add(patience); open.Load() != 1; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d streams are open", open.Load())
			}
		}
	}
	see(4, 5, 6, 7, 8, 9, 10, 11)

	// After the deletion of a run, the other pages are followed.
	if err := s.db.Runs.DeleteIteration(t.Context(), s.actor("alice"), w.runs[7]); err != nil {
		t.Fatal(err)
	}
	last := pages[7]
	last.is(`document.querySelector('#problem').textContent`, "This was deleted, or you may no longer read it. The page is no longer updated.")
	pages = pages[:7]
	see(5, 7, 9, 11, 13, 15, 17)
}

// TestPageWithoutSharedWorker checks that a page is live in a browser without shared workers.
func TestPageWithoutSharedWorker(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 3)
	b := s.openBrowser(t)
	script := page.AddScriptToEvaluateOnNewDocumentParams{Source: `delete window.SharedWorker`}
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, script); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+w.runs[0]))
	b.is(`document.documentElement.dataset.live`, "yes")
	s.log(w.runs[0], "train/loss", 1)
	b.is(pointsText, "4 points")
	b.quiet()
}

// TestRunPageKeepsTyping checks that typed text stays when the run ends.
func TestRunPageKeepsTyping(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 3)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/iteration/"+w.runs[0]))
	b.is(`document.documentElement.dataset.live`, "yes")
	b.press(`[data-testid="end"]`)
	b.do(chromedp.SendKeys(chromedp.CSS("#error-message"), "so tir"))
	patch := runs.IterationPatch{Name: new("renamed"), Status: new(domain.Succeeded)}
	if err := s.db.Runs.UpdateIteration(t.Context(), s.actor("alice"), w.runs[0], patch); err != nil {
		t.Fatal(err)
	}
	b.is(`document.querySelector('[data-testid="status"]').textContent`, "succeeded")
	b.do(chromedp.KeyEvent("ed"))
	b.is(`document.activeElement.value`, "so tired")
	b.press(`[data-testid="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS("#notes"), "half"))
	b.press(`[data-testid="edit"]`)
	// After the form is closed, the page shows the current actions.
	b.press(`[data-testid="end"]`)
	b.is(`Boolean(document.querySelector('[data-testid="reopen"]'))`, "true")
	b.is(`document.querySelector('#notes').value`, "half")
	b.quiet()
}

// TestRunIsLost checks that pages show when a run is lost.
func TestRunIsLost(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 3)
	run, table := s.openBrowser(t), s.openBrowser(t)
	run.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(run.url+"/iteration/"+w.runs[0]))
	table.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(table.url+"/experiment/"+w.experiment))
	see := func(want, others string) {
		t.Helper()
		run.is(`document.querySelector('[data-testid="status"]').textContent`, want)
		table.is(`document.querySelector('#table tr[data-id="`+w.runs[0]+`"] .status').textContent`, want)
		table.is(`document.querySelector('#table tr[data-id="`+w.runs[1]+`"] .status').textContent`, others)
	}
	for _, b := range []*browser{run, table} {
		b.is(`document.documentElement.dataset.live`, "yes")
		b.is(`window.loaded = true`, "true")
	}
	see("running", "running")
	// Each step of the clock is shorter than the maximum age of a stream.
	wait := func(d time.Duration) {
		for ; d > 0; d -= 30 * time.Second {
			s.clock.move(30 * time.Second)
		}
	}
	wait(6 * time.Minute)
	see("lost", "lost")
	s.log(w.runs[0], "train/loss", 1)
	see("running", "lost")
	wait(6 * time.Minute)
	see("lost", "lost")
	// A heartbeat writes nothing that a stream would report.
	if err := s.db.Runs.Heartbeat(t.Context(), s.actor("alice"), w.runs[0]); err != nil {
		t.Fatal(err)
	}
	wait(time.Minute)
	see("running", "lost")
	for _, b := range []*browser{run, table} {
		b.is(`window.loaded`, "true")
		b.quiet()
	}
}

// TestLivePageAsksForNewPoints logs to a run whose page is open: the page requests only the new
// points of its curves, and then shows the same curves as a new page.
func TestLivePageAsksForNewPoints(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	id := s.run(w.experiment, runs.NewIteration{Name: new("live")})
	rise := func(i int) float64 { return float64(i) }
	s.record(id, "loss", upTo(3000), rise)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+id))
	const drawn = `document.querySelector('[data-key="loss"] [data-testid="points"]').textContent`
	b.is(drawn, "3,000 points")
	b.is(`document.documentElement.dataset.live`, "yes")
	const asked = `performance.getEntriesByType('resource').filter((e) => /data.curves|iteration.[0-9a-f-]+$/.test(e.name))`
	b.is(asked+`.length`, "1")
	whole := b.text(asked + `[0].decodedBodySize`)
	s.record(id, "loss", []int{3000, 3001, 3002}, rise)
	b.is(drawn, "3,003 points")
	b.is(asked+`.length`, "2")
	b.is(asked+`[1].decodedBodySize * 20 < `+whole, "true")
	b.is(`[...document.querySelector('#metrics [data-metric="loss"]').children].map((cell) => cell.textContent)`, "loss,3002,0,3002,1501,3,003")
	b.is(`document.querySelector('#metrics [data-metric="loss"] td').title`, "step 3,002")
	b.is(asked+`.length`, "2")
	// Add a point in the middle of the curve.
	s.record(id, "loss", []int{1}, func(int) float64 { return -7 })
	b.is(drawn, "3,004 points")
	b.is(`document.querySelectorAll('#metrics [data-metric="loss"] td')[1].textContent`, "-7")
	s.record(id, "loss", []int{3003}, rise)
	b.is(drawn, "3,005 points")
	b.do(chromedp.Reload())
	b.is(drawn, "3,005 points")
	b.quiet()
}
