package ui_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// focused describes the element with the focus: whether it had the focus before, whether the focus
// is visible, and its HTML.
const focused = `(() => {
	const e = document.activeElement;
	if (e === document.body) return 'end';
	window.walked ??= new Set();
	// Players, frames and date fields contain more elements with tab stops.
	const within = e === window.last && (['AUDIO', 'VIDEO', 'IFRAME'].includes(e.tagName) || e.type === 'date');
	window.last = e;
	const again = !within && window.walked.has(e);
	window.walked.add(e);
	const style = getComputedStyle(e);
	const box = e.getBoundingClientRect();
	const outlined = within || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
	const inside = box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
	return [again ? 'again' : 'first', outlined ? '' : 'it has no outline', inside ? '' : 'it is out of sight', e.outerHTML.slice(0, 120)].join('|');
})()`

// unreached names the elements that can be used with a mouse but were not reached with the tab key.
const unreached = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
	.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.type !== 'hidden' && !window.walked.has(e))
	.map((e) => e.outerHTML.slice(0, 120)).join('\n')`

// TestKeyboard walks through the pages with the tab key.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	c := newShowcase(t, setup{auth: true})
	alice, nobody := c.openBrowser(t), c.openBrowser(t)
	alice.signIn(c.site, "alice")
	done := map[string]bool{}
	for _, p := range c.pages() {
		// One state of each page is sufficient.
		if p.route == "" || done[p.route] || p.user == "bob" {
			continue
		}
		done[p.route] = true
		t.Run(p.name, func(t *testing.T) {
			b := alice
			if p.user == "" {
				b = nobody
			}
			b.t = t
			b.open(p)
			b.walk()
			if p.user == "" { // the walk began at the first field, in the middle of the page
				b.walk()
			}
			if b.text(unreached) != "" {
				// A frame that is still loading loses the focus. Continue from the frame.
				b.do(chromedp.Evaluate[chromedp.Void](`window.last.focus()`))
				b.walk()
			}
			b.is(unreached, "")
			b.quiet()
		})
	}
	t.Run("dialogs", func(t *testing.T) {
		b := alice
		b.t = t
		b.do(chromedp.Navigate(b.url+"/"), chromedp.Focus(chromedp.CSS(`[data-testid="help"]`)))
		for _, key := range []string{"?", "\r", " "} {
			b.do(chromedp.KeyEvent(key))
			b.is(dialogOpen, "true")
			b.is(`document.activeElement.closest('dialog') !== null`, "true")
			b.do(chromedp.KeyEvent("\x1b"))
			b.is(dialogOpen, "false")
			b.is(`document.activeElement.dataset.testid`, "help")
		}
		for _, typed := range []string{"", "digits"} {
			b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.WaitVisible(chromedp.CSS(`[data-testid="find-name"]`)))
			b.do(chromedp.KeyEvent(typed))
			b.do(chromedp.KeyEvent("\x1b"))
			b.is(`document.querySelectorAll('dialog.find').length`, "0")
			b.is(`document.activeElement.dataset.testid`, "help")
		}
		// In a text field, the shortcut keys type letters.
		b.do(chromedp.SendKeys(chromedp.CSS(`input[name="q"]`), "?gp/"))
		b.is(`document.activeElement.value`, "?gp/")
		b.is(dialogOpen, "false")
		b.quiet()
	})
}

// walk presses Tab until the end of the page, and checks each focused element.
func (b *browser) walk() {
	b.t.Helper()
	const most = 400
	for range most {
		b.do(chromedp.KeyEvent("\t"))
		at := b.text(focused)
		if at == "end" || strings.HasPrefix(at, "again") {
			if n := b.text(`window.walked?.size`); n == "undefined" || n == "1" {
				b.t.Errorf("the walk ends after %s steps at %s", n, at)
			}
			return
		}
		parts := strings.SplitN(at, "|", 4)
		if wrong := strings.TrimSpace(parts[1] + " " + parts[2]); wrong != "" {
			b.t.Errorf("%s: %s", wrong, parts[3])
		}
	}
	b.t.Errorf("the page has more than %d stops", most)
}
