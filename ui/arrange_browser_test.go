package ui_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/domain"
)

// arrange groups and nests runs in the browser, draws a metric over another metric, tags the
// selected runs, and saves views that another session opens.
func arrange(t *testing.T, ctx context.Context, base string) {
	s := start(t, setup{auth: true, base: base})
	s.clock.move(time.Since(s.clock.now()))
	a := s.arrangement()
	session, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, session, s.url)
	page := s.url + base + "/experiment/" + a.experiment
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page+"?columns=param.lr%2C+param.same%2C+metric.train%2Floss"))
	b.logIn("alice")
	b.is(rows, "6")

	// In groups.
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="group-by"]`)), chromedp.WaitVisible(chromedp.CSS(`[data-testid="pick-name"]`)),
		chromedp.KeyEvent("lr"))
	b.is(`document.querySelectorAll('[data-testid="pick"] li').length`, "1")
	b.do(chromedp.KeyEvent("\r"))
	const groupRows = `[...document.querySelectorAll('[data-testid="group"]')]`
	b.is(groupRows+`.map((r) => r.querySelector('.name').textContent).join()`, "0.01,0.1")
	mean, sd := spread(a.last[1], a.last[3], a.last[5])
	b.is(groupRows+`[0].children[1].title.split('\n').map((l) => l.split(' ').at(-1)).slice(0, 2).map(Number).map((v) => v.toPrecision(4)).join()`,
		fmt.Sprintf("%.4g,%.4g", mean, sd))
	b.is(groupRows+`[0].children[1].title.endsWith('of 3 of 3 runs')`, "true")
	b.is(`document.querySelector('`+lossChart+`').dataset.drawn`, "2")
	b.is(pointsText, fmt.Sprintf("%d points", 6*arrangedSteps))
	b.tells(lossChart, "n=3", " ± ")

	// A group's checkbox selects its runs, including runs that are not loaded.
	const groupBox = `document.querySelector('[data-testid="group"] input')`
	const selected = `document.querySelector('#selected:not([hidden]) .count')?.textContent ?? 'none'`
	b.press(`[data-testid="group"] input`)
	b.is(selected, "3 selected")
	b.is(groupBox+`.checked + ' ' + `+groupBox+`.indeterminate`, "true false")
	b.press(`[data-testid="group"] [data-part="fold"]`)
	b.is(rows, "3")
	b.press(`tr[data-id="` + a.runs[5] + `"] input`)
	b.is(selected, "2 selected")
	b.is(groupBox+`.checked + ' ' + `+groupBox+`.indeterminate`, "false true")
	b.press(`[data-testid="group"] input`)
	b.is(selected, "3 selected")
	b.press(`[data-testid="group"] input`)
	b.is(selected, "none")
	b.press(`[data-testid="group"] [data-part="fold"]`)
	b.is(rows, "0")

	// The keyboard expands and collapses a group. An excluded run no longer counts.
	fold := `document.querySelector('[data-testid="group"] [data-part="fold"]')`
	b.do(chromedp.Evaluate[chromedp.Void](fold+`.focus()`), chromedp.KeyEvent(kb.ArrowRight))
	b.is(rows, "3")
	b.is(fold+`.getAttribute('aria-expanded') + (document.activeElement === `+fold+`)`, "truetrue")
	b.do(chromedp.Click(chromedp.CSS(`tr[data-id="` + a.runs[5] + `"] .swatch`)))
	b.is(pointsText, fmt.Sprintf("%d points", 5*arrangedSteps))
	link := b.text(`location.href`)
	b.do(chromedp.Navigate(link))
	b.is(rows, "3")
	b.is(pointsText, fmt.Sprintf("%d points", 5*arrangedSteps))
	b.do(chromedp.Evaluate[chromedp.Void](fold+`.focus()`), chromedp.KeyEvent(kb.ArrowLeft))
	b.is(rows, "0")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800))

	// The Back button restores the previous state.
	b.do(chromedp.Click(chromedp.CSS(".chips button")))
	b.is(rows, "6")
	b.do(chromedp.NavigateBack())
	b.is(groupRows+`.length`, "2")
	b.do(chromedp.Click(chromedp.CSS(".chips button")))
	b.is(rows, "6")

	// A parameter that is the same in all runs has no column.
	const heads = `[...document.querySelectorAll('#table thead th')].slice(2, -4).map((h) => h.textContent).join()`
	b.is(heads, "lr,same,train/loss")
	b.menu("table-view")
	b.do(chromedp.Click(chromedp.CSS(`[name="differences"]`)))
	b.is(heads, "lr,train/loss")
	b.filter(t, "param.lr = 0.1")
	b.is(rows, "3")
	b.is(heads, "train/loss")
	b.do(chromedp.Focus(chromedp.CSS("#filter")), chromedp.Evaluate[chromedp.Void](`document.querySelector('#filter').select()`),
		chromedp.KeyEvent(kb.Backspace+"\r"))
	b.is(rows, "6")

	// Child runs are listed under their parent.
	b.menu("table-view")
	b.do(chromedp.Click(chromedp.CSS(`[name="tree"]`)))
	b.is(rows, "4")
	b.do(chromedp.Click(chromedp.CSS(`tr[data-id="` + a.runs[0] + `"] [data-part="fold"]`)))
	b.is(rows, "6")
	b.is(`document.querySelector('tr[data-id="`+a.runs[5]+`"]').getAttribute('aria-level')`, "2")
	b.menu("table-view")
	b.do(chromedp.Click(chromedp.CSS(`[name="tree"]`)))
	b.is(rows, "6")
	b.is(`document.querySelectorAll('[data-part="fold"]').length`, "0")

	// Draw a metric over another metric, and zoom to a part of the axis.
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const x = document.querySelector('[name="x"]'); x.value = 'other';
		x.dispatchEvent(new Event('change')) })()`), chromedp.WaitVisible(chromedp.CSS(`[data-testid="pick-name"]`)), chromedp.KeyEvent("acc"))
	b.is(`document.querySelectorAll('[data-testid="pick"] li').length`, "1")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('[name="x"]').selectedOptions[0].textContent`, "val/acc")
	b.is(pointsText, fmt.Sprintf("%d points", 6*arrangedSteps))
	b.tells(lossChart, "0.19 at step 19")
	b.drag(lossChart+" .u-over", 0.5, 0.75)
	b.is(`(([from, to]) => from > 0.05 && to < 0.16 && from < to)(new URLSearchParams(location.search).get('zoom').split('~').map(Number))`, "true")

	// A pinned column comes first and stays visible.
	b.do(chromedp.Navigate(page + "?columns=param.lr%2C+metric.train%2Floss&pin=metric.train%2Floss"))
	b.is(`[...document.querySelectorAll('#table thead th')].map((h) => h.textContent)[1]`, "train/loss")
	b.is(`getComputedStyle(document.querySelector('#table tbody td.pinned')).position`, "sticky")
	b.tagAll(s, a)
	b.brush(a, s.url+base+"/compare?i="+strings.Join(a.runs, "&i="))
	b.keepView(a, session, page)
	b.quiet()
	second, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	openView(t, second, s, page)
}

// tagAll tags two runs at once.
func (b *browser) tagAll(s *site, a arranged) {
	b.t.Helper()
	for _, id := range a.runs[:2] {
		b.is(`(e => { if (e && !e.checked) e.click(); return Boolean(e && e.checked) })(document.querySelector('tr[data-id="`+id+`"] input'))`, "true")
	}
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="do-tag"]`)), chromedp.WaitVisible(chromedp.CSS(`[data-testid="tag"]`)), chromedp.KeyEvent("both\r"))
	b.is(`document.querySelector('[data-testid="tagged"]').textContent`, "Added to 2 runs")
	b.is(`[...document.querySelectorAll('#table .tag')].filter((e) => e.textContent === 'both').length`, "2")
	for _, id := range a.runs[:2] {
		i, err := s.db.Runs.Iteration(b.ctx, domain.System, id)
		if err != nil || len(i.Tags) != 1 || i.Tags[0] != "both" {
			b.t.Errorf("%s has the tags %v (%v)", i.Name, i.Tags, err)
		}
	}
	b.do(chromedp.Focus(chromedp.CSS(`[data-testid="tag"]`)), chromedp.KeyEvent("both"), chromedp.Click(chromedp.CSS(`[data-testid="tag-off"]`)))
	b.is(`document.querySelector('[data-testid="tagged"]').textContent`, "Removed from 2 runs")
	b.is(`document.querySelectorAll('#table .tag').length`, "0")
}

// brush selects runs along an axis of the comparison, and moves the axis by keyboard.
func (b *browser) brush(a arranged, page string) {
	b.t.Helper()
	const titles = `[...document.querySelectorAll('.plots [data-part="title"]')].map((e) => e.textContent).join()`
	focus := func(part string) {
		b.is(`(e => { e?.focus(); return Boolean(e) })(document.querySelector('[data-part="`+part+`"][data-axis="metric.train/loss"]'))`, "true")
	}
	b.do(chromedp.Navigate(page))
	b.is(titles, "lr,opt,train/loss")
	b.is(`[...document.querySelectorAll('.compare tr.differs th')].map((th) => th.querySelector('bdi').textContent).join()`, "lr,opt,train/loss")
	focus("brush")
	b.do(chromedp.KeyEvent(kb.ArrowUp)) // the upper quarter contains only the last run's loss
	b.is(`document.querySelectorAll('.plots .path:not(.out)').length`, "1")
	link := b.text(`location.href`)
	b.do(chromedp.Navigate(link))
	b.is(`document.querySelectorAll('.plots .path:not(.out)').length`, "1")
	focus("title")
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.is(titles, "lr,train/loss,opt")
	b.is(`document.activeElement.dataset.axis`, "metric.train/loss")
	focus("brush")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.is(`document.querySelectorAll('.plots .path:not(.out)').length`, fmt.Sprint(len(a.runs)))
	b.do(chromedp.Click(chromedp.CSS("#differences")))
	b.is(`[...document.querySelectorAll('.compare tr.same')].every((tr) => tr.offsetHeight === 0)`, "true")
}

// keepView saves several views, renames one and deletes another.
func (b *browser) keepView(a arranged, ctx context.Context, page string) {
	b.t.Helper()
	const listed = `[...document.querySelectorAll('[data-testid="view"] .name')].map((e) => e.textContent).join()`
	open := func() {
		b.menu("table-view")
		b.do(chromedp.Click(chromedp.CSS(`[data-testid="views"]`)), chromedp.WaitVisible(chromedp.CSS(`[data-testid="view-name"]`)))
	}
	b.do(chromedp.Navigate(page + "?group=param.opt&x=metric%3Aval%2Facc"))
	b.is(`document.querySelectorAll('[data-testid="group"]').length`, "2")
	open()
	b.do(chromedp.KeyEvent("by optimizer\r"))
	b.is(listed, "by optimizer")
	b.do(chromedp.KeyEvent("\x1b"), chromedp.Navigate(page))
	b.is(rows, "6")
	open()
	b.do(chromedp.KeyEvent("passing\r"))
	b.is(listed, "by optimizer,passing")
	press := func(label string) { b.do(chromedp.Click(chromedp.CSS(`dialog button[aria-label="` + label + `"]`))) }
	press("Delete: passing")
	press("Delete: passing")
	b.is(listed, "by optimizer")
	press("Rename: by optimizer")
	b.do(chromedp.KeyEvent("optimizers\r"))
	b.is(listed, "optimizers")
}

// openView opens the saved view in a new session.
func openView(t *testing.T, ctx context.Context, s *site, page string) {
	t.Helper()
	b := newBrowser(t, ctx, s.url)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page))
	b.logIn("alice")
	b.is(rows, "6")
	b.menu("table-view")
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="views"]`)), chromedp.Click(chromedp.CSS(`[data-testid="view"] a`)))
	b.is(`document.querySelectorAll('[data-testid="group"]').length`, "2")
	b.is(`document.querySelector('[name="x"]').value`, "metric")
	b.quiet()
}

// tells waits until the tooltip at the end of a chart contains all of parts. It moves the mouse
// repeatedly, because a redrawn chart loses the cursor.
func (b *browser) tells(chart string, parts ...string) {
	b.t.Helper()
	var said string
	for deadline, at := time.Now().Add(patience), 0.99; time.Now().Before(deadline); at = 1.97 - at {
		b.hover(chart+" .u-over", at)
		said = b.text(`document.querySelector('` + chart + ` .tip').textContent`)
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(said, part) }) {
			return
		}
	}
	b.t.Errorf("the tooltip of %s says %q, not all of %q", chart, said, parts)
}
