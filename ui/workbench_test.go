package ui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"tracker/store/runs"
)

const (
	rows       = `document.querySelectorAll('[data-testid="run"]').length`
	lossChart  = `[data-key="train/loss"]`
	pointsText = `document.querySelector('[data-key="train/loss"] [data-testid="points"]').textContent`
	wrong      = `document.querySelector('#filter-wrong')`
)

// work uses the page of an experiment while its runs log: table, charts, filter, and the page of a
// run.
func work(t *testing.T, ctx context.Context, at setup) {
	s := start(t, at)
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(12, 200)
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, ctx, s.url)
	page := at.base + "/experiment/" + w.experiment
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+page))
	b.logIn("alice")

	// The newest ten are drawn.
	b.is(rows, "12")
	b.is(`document.querySelector('`+lossChart+`').dataset.drawn`, "10")
	b.is(pointsText, "2,000 points")
	b.is(`document.documentElement.dataset.live`, "yes")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800))

	b.drag(lossChart+" .u-over", 0.25, 0.5)
	b.is(`/[?&]zoom=\d+%7E\d+/.test(location.search)`, "true")
	b.is(pointsText+` !== "2,000 points"`, "true")
	zoomed := b.text(`location.search`)
	shown := b.text(pointsText)

	// New points arrive, and no element moves.
	cell := `document.querySelector('tr[data-id="` + w.runs[11] + `"] td[data-metric]').textContent`
	b.is(cell, "199")
	b.do(chromedp.Focus(chromedp.CSS(`tr[data-id="` + w.runs[10] + `"] input`)))
	s.log(w.runs[11], "train/loss", 40)
	b.is(cell, "39")
	s.run(w.experiment, runs.NewIteration{Name: new("late <b>comer</b>")})
	b.is(rows, "13")
	b.is(`document.querySelector('[data-testid="total"]').textContent`, "13")
	b.is(`document.activeElement.closest('tr').dataset.id`, w.runs[10])
	b.is(`location.search`, zoomed)
	// The new run is among the ten drawn runs, and has logged no points.
	b.is(pointsText+` === "`+shown+`"`, "false")
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="reset-zoom"]`)))
	b.is(pointsText, "1,840 points")
	b.is(`location.search`, "")

	// The address contains the smoothing and the axes.
	b.is(`(() => { const r = document.querySelector('[data-testid="smooth"]'); r.value = 0.5;
		r.dispatchEvent(new Event('input')); return location.search })()`, "?smooth=0.5")

	b.filter(t, "param.lr << 0.25")
	b.is(wrong+`.querySelector('mark').textContent`, "<")
	b.is(wrong+`.textContent.includes('at character 11')`, "true")
	b.is(`document.querySelector('#filter').getAttribute('aria-invalid')`, "true")
	b.filter(t, "param.lr < 0.25")
	b.is(rows, "5") // 0.1, 0.10, 0.11, 0.12 and 0.2
	b.is(wrong+`.childElementCount`, "0")
	b.is(pointsText, "1,040 points")

	// In another session, the link shows the same state.
	link := b.text(`location.href`)
	b.do(chromedp.Navigate(link))
	b.is(rows, "5")
	b.is(`document.querySelector('#filter').value`, "param.lr < 0.25")
	b.is(`document.querySelector('[data-testid="smooth"]').value`, "0.5")

	b.press(`[data-testid="choose"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(".choose .found input")), chromedp.Click(chromedp.CSS(`.choose .found input[value="param.lr"]`)))
	b.is(`document.querySelectorAll('#table thead th').length`, "7")
	b.do(chromedp.KeyEvent("\x1b"))
	b.is(`document.querySelectorAll('dialog[open]').length`, "0")
	b.press("#scroll")
	b.do(chromedp.KeyEvent("?"))
	b.is(`document.querySelector('#help').open`, "true")
	b.do(chromedp.KeyEvent("\x1b"))

	b.compare(w)
	b.find()
	b.run(t, s, w, page)
	b.leave(s)
	b.quiet()
	outsider(t, ctx, s, link)
}

// compare opens the comparison of the table's runs.
func (b *browser) compare(w sweep) {
	// Find and click in one step, because a changed row is a new element.
	pick := func(id string) {
		b.is(`(e => { if (e && !e.checked) e.click(); return Boolean(e && e.checked) })(document.querySelector('tr[data-id="`+id+`"] input'))`, "true")
	}
	pick(w.runs[0])
	pick(w.runs[1])
	pick(w.runs[11])
	b.press(`[data-testid="do-compare"]`)
	b.is(`document.querySelectorAll('.plots .path').length`, "3")
	b.is(`document.querySelectorAll('.plots .spot').length`, "3")
	b.is(pointsText, "640 points")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.NavigateBack())
	b.is(rows, "5")
}

// find goes to a run by its name, and back.
func (b *browser) find() {
	b.press("#scroll")
	b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)),
		chromedp.WaitVisible(chromedp.CSS(`[data-testid="find-name"]`)), chromedp.KeyEvent("run 7"))
	b.is(`document.querySelectorAll('.find li').length + document.querySelector('.find li').textContent`, "1run 7run in sweep")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('h1').textContent`, "run 7")
	b.do(chromedp.NavigateBack())
	b.is(rows, "5")
}

// run goes from the table to the page of a run and back, and deletes it.
func (b *browser) run(t *testing.T, s *site, w sweep, page string) {
	last := w.runs[11]
	b.press(`tr[data-id="` + last + `"] a`)
	b.is(`document.querySelector('h1').textContent`, "run 12")
	b.is(pointsText, "240 points")
	b.do(chromedp.NavigateBack())
	b.is(rows, "5")
	b.is(`document.querySelectorAll('tr[data-id]').length`, "5") // the scripts have replaced the rows in the HTML
	b.press(`tr[data-id="` + last + `"] a`)
	b.is(`document.querySelector('h1').textContent`, "run 12")
	b.is(pointsText, "240 points")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Click(chromedp.CSS(`[data-testid="edit"]`)),
		chromedp.SendKeys(chromedp.CSS("#notes"), "# Found\n<script>alert(1)</script>\n\n**it**"),
		chromedp.Click(chromedp.CSS(".edit[open] button")))
	b.is(`document.querySelector('[data-testid="notes"] strong')?.textContent`, "it")
	s.log(last, "train/loss", 23)
	b.is(`document.querySelector('[data-metric="train/loss"]').lastElementChild.textContent`, "263")
	b.is(pointsText, "263 points")

	b.press(`.crumbs a[href="` + page + `"]`)
	b.is(rows, "13")
	b.press(`tr[data-id="` + last + `"] input`)
	b.press(`[data-testid="do-delete"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="confirm"]`)))
	b.is(`document.querySelector('[data-testid="deletion"]').textContent.includes('(263 points)')`, "true")
	b.press(`[data-testid="confirm"]`)
	b.is(rows, "12")
}

// outsider opens a link to records as a user who can't read them.
func outsider(t *testing.T, ctx context.Context, s *site, link string) {
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, ctx, s.url)
	b.do(chromedp.Navigate(link))
	b.logIn("bob")
	b.is(`document.querySelector('h1').textContent`, "Not allowed")
	b.is(`document.body.textContent.includes('sweep')`, "false")
}

// box waits until an element has not moved for two frames, and returns its position in the window.
func (b *browser) box(selector string) (left, top, width, height float64) {
	b.t.Helper()
	box := b.read(fmt.Sprintf(`(async () => {
		const place = () => {
			const e = document.querySelector(%q);
			e.scrollIntoView({ block: 'nearest' });
			const r = e.getBoundingClientRect();
			return [r.left, r.top, r.width, r.height].join(' ');
		};
		let before, now = place();
		do {
			before = now;
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
			now = place();
		} while (now !== before);
		return now;
	})()`, selector), chromedp.EvalAwaitPromise)
	if _, err := fmt.Sscan(box, &left, &top, &width, &height); err != nil {
		b.t.Fatal(err)
	}
	return left, top, width, height
}

// drag drags the mouse over an element. The positions are fractions of the element's width.
func (b *browser) drag(selector string, from, to float64) {
	b.t.Helper()
	left, top, width, height := b.box(selector)
	y := top + height/2
	b.do(chromedp.DragAndDropXY(left+from*width, y, left+to*width, y))
}

// hover moves the mouse over an element. The position is a fraction of the element's width.
func (b *browser) hover(selector string, at float64) {
	b.t.Helper()
	left, top, width, height := b.box(selector)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, left+at*width, top+height/2))
}

// pointAt moves the mouse over an element repeatedly until the value of a JavaScript expression
// equals want. One move is not enough, because a redrawn chart loses the mouse. The position is a
// fraction of the element's width.
func (b *browser) pointAt(selector string, at float64, expression, want string) {
	b.t.Helper()
	text := "(() => { try { return String(" + expression + ") } catch (e) { return String(e) } })()"
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		left, top, width, height := b.box(selector)
		x, y := left+at*width, top+height/2
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y-1), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
		got := b.read(text)
		if got == want {
			return
		}
		if time.Now().After(end) {
			b.t.Errorf("%s is %q, want %q", expression, got, want)
			return
		}
	}
}

// filter types into the filter field as a user does.
func (b *browser) filter(t testing.TB, text string) {
	t.Helper()
	b.do(chromedp.Focus(chromedp.CSS("#filter")), chromedp.Evaluate[chromedp.Void](`document.querySelector('#filter').select()`),
		chromedp.KeyEvent(strings.TrimSpace(text)+"\r"))
}
