package ui_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestColumnsFit checks that numbers and names fit into columns with default widths, and resizes a
// column.
func TestColumnsFit(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	ctx, actor := t.Context(), s.actor("alice")
	s.run(w.experiment, runs.NewIteration{Name: new("baseline")}) // a name without the common prefix
	for i := range 4 {
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprintf("resnet50-imagenet-augmented-sweep-lr-%d-seed-%d", i, 40+i))})
		must(s.db.Runs.CreateParameter(ctx, actor, id, "lr", scalar.Text(fmt.Sprint(float64(i+1)/30000))))(t)
		s.record(id, "a", upTo(2), func(int) float64 { return float64(i+1) * 2.6123e-5 })
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1600, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment+"?split=70&sort=-name"))
	b.is(rows, "5")
	b.is(`[...document.querySelectorAll('#table tbody td[data-metric], #table tbody td:has(bdi)')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)`, "")
	b.is(`document.querySelector('#table tbody th a').textContent.startsWith('resnet50-imagenet-augmented-sweep-lr-')`, "true")
	b.is(`[...document.querySelectorAll('#table tbody th .end')].every((e) => e.scrollWidth <= e.clientWidth && e.getBoundingClientRect().right <= e.closest('th').getBoundingClientRect().right)`, "true")
	b.is(`document.querySelector('#table tbody .prefix').textContent`, "resnet50-imagenet-augmented-sweep-lr-")
	b.is(`getComputedStyle(document.querySelector('#table tbody th')).boxShadow !== 'none'`, "true")

	const width = `document.querySelector('[data-column="param.lr"]').parentElement.offsetWidth`
	before := b.text(width)
	left, top, wide, height := b.box(`[data-column="param.lr"]`)
	b.do(chromedp.DragAndDropXY(left+wide/2, top+height/2, left+wide/2+60, top+height/2))
	b.is(width+` - `+before, "60")
	b.is(`new URLSearchParams(location.search).get('widths').startsWith('param.lr\t')`, "true")
	b.do(chromedp.Reload())
	b.is(rows, "5")
	b.is(width+` - `+before, "60")
	b.do(chromedp.DoubleClick(chromedp.CSS(`[data-column="param.lr"]`)))
	b.is(width, before)
	b.fits()
	b.quiet()
}

// TestNumbersInLine checks that numbers of similar size in a column have equal numbers of decimals,
// and that numbers of very different sizes have exponents.
func TestNumbersInLine(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	for i, v := range []float64{0.4073, 0.42624, 1.25} {
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprintf("a-long-name-of-a-sweep-over-learning-rates-%d-of-model-%d", i, i))})
		s.record(id, "acc", upTo(1), func(int) float64 { return v })
		s.record(id, "far", upTo(1), func(int) float64 { return math.Pow(10, float64(4*i-4)) * 1.5 })
		s.record(id, "whole", upTo(1), func(int) float64 { return float64(i) })
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1000, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment+"?sort=name&columns=metric.acc,metric.far,metric.whole"))
	column := func(key string) string {
		return `[...document.querySelectorAll('#table td[data-metric="` + key + `"]')].map((td) => td.textContent)`
	}
	b.is(column("acc"), "0.40730,0.42624,1.25000")
	b.is(column("far"), "1.5e-4,1.5,15000.0")
	b.is(column("whole"), "0,1,2")
	// A name that must be shortened first loses the common prefix of all names.
	b.is(`[...document.querySelectorAll('#table tbody .rest')].map((e) => e.textContent + (e.scrollWidth > e.clientWidth ? ' cut' : ''))`, "0-of-model-0,1-of-model-1,2-of-model-2")
	b.is(`[...document.querySelectorAll('#table tbody .prefix')].every((e) => e.scrollWidth > e.clientWidth)`, "true")
	b.quiet()
}
