package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/files"
)

// TestCaptions checks that the captions of images are under the images and in the large view, and
// that the arrow keys go through the images of the large view.
func TestCaptions(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(1, 0)
	for place := range 3 {
		caption := fmt.Sprintf("truth %d, guess <b>%d</b>", place, place+1)
		if place == 2 {
			caption = ""
		}
		s.keep(w.experiment, files.NewArtifact{Name: fmt.Sprintf("digit_7_%d.png", place), ContentType: "image/png", IterationID: w.runs[0], Description: caption}, picture(uint8(place)))
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+"/lab/iteration/"+w.runs[0]))
	const group = `[data-media="digit"]`
	b.is(`(document.querySelector('`+group+`')?.scrollIntoView({block: 'center'}), document.querySelectorAll('`+group+` a.item img').length)`, "3")
	b.is(`[...document.querySelectorAll('`+group+` [data-testid="caption"]')].map((e) => e.textContent).join('|')`, "truth 0, guess <b>1</b>|truth 1, guess <b>2</b>")
	b.press(group + ` a.item`)
	large := `[...document.querySelectorAll('[data-testid="large"]')].map((d) => d.querySelector('[data-testid="large-caption"]')?.textContent ?? 'none').join('|')`
	b.is(large, "truth 0, guess <b>1</b>")
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "truth 1, guess <b>2</b>"}, {kb.ArrowRight, "none"}, {kb.ArrowRight, "none"}, {kb.ArrowLeft, "truth 1, guess <b>2</b>"},
	} {
		b.do(chromedp.KeyEvent(step.key))
		b.is(large, step.want)
	}
	b.is(`document.querySelector('[data-testid="large"] img').naturalWidth > 0 && document.querySelector('[data-testid="large"] img').clientWidth > 0`, "true")
	b.press(`[data-testid="large"] [aria-label="Previous image"]`)
	b.is(large, "truth 0, guess <b>1</b>")
	b.is(`document.querySelector('[aria-label="Previous image"]')`, "null")
	b.quiet()
}
