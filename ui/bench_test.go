package ui_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tracker/store"
)

// BenchmarkFirstChart opens an experiment of 100 runs with 100,000 points each
// from the page of its project, and measures until the first chart is drawn:
// from the click on, in the clock of the browser.
//
//	go test ./ui -run '^$' -bench FirstChart -benchtime 20x
func BenchmarkFirstChart(b *testing.B) {
	s := start(b, setup{})
	w := s.sweep(0, 0)
	at := new(store.Time)
	for i := range 100 {
		id := s.run(w.experiment, store.NewIteration{Name: new(fmt.Sprint("run ", i+1))})
		s.walk(id, []string{"loss"}, 100_000, at)
		s.walk(id, []string{"accuracy", "train/loss", "train/norm", "val/loss", "val/top1"}, 100, at)
		if _, err := s.db.CreateParameter(b.Context(), s.actor("alice"), id, "lr", store.Text(fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := chromedp.NewContext(chromium(b), chromedp.WithNewBrowserContext())
	defer cancel()
	br := newBrowser(b, ctx, s.url)
	// What the page is asked for is said when it is painted.
	const watch = `new MutationObserver((_, o) => {
		if (!(document.querySelector('[data-key="loss"]')?.dataset.drawn > 0)) return;
		o.disconnect();
		requestAnimationFrame(() => setTimeout(() => { globalThis.drawnAt = performance.now(); }));
	}).observe(document, { subtree: true, childList: true, attributes: true });`
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		b.Fatal(err)
	}
	link := `a[href="/experiment/` + w.experiment + `"]`
	var took []float64
	open := func() float64 {
		br.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/project/"+w.project),
			chromedp.Click(chromedp.CSS("main "+link)))
		br.is(`globalThis.drawnAt > 0`, "true")
		var ms float64
		if _, err := fmt.Sscan(br.text(`globalThis.drawnAt`), &ms); err != nil {
			b.Fatal(err)
		}
		return ms
	}
	first := open() // its scripts are compiled for the first time
	for b.Loop() {
		took = append(took, open())
	}
	slices.SortFunc(took, cmp.Compare)
	b.ReportMetric(first, "first-ms")
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*9/10], "p90-ms")
	b.Log("loaded at", br.text(`performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd`),
		"asked for curves at", br.text(`performance.getEntriesByName(new URL('../data/curves', document.baseURI).href)[0].startTime`),
		"answered at", br.text(`performance.getEntriesByName(new URL('../data/curves', document.baseURI).href)[0].responseEnd`))
}

// walk logs random walks, each key at as many steps.
func (s *site) walk(id string, keys []string, steps int, at *store.Time) {
	s.t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(steps)))
	*at = store.Time(time.Now().UnixMilli())
	for _, key := range keys {
		v := 0.0
		for done := 0; done < steps; done += 50_000 {
			var all []store.NewMetric
			for i := done; i < min(steps, done+50_000); i++ {
				v += rng.NormFloat64()
				all = append(all, store.NewMetric{Key: key, Value: store.Value(v), Step: new(store.Step(i)), RecordedAt: at})
			}
			if err := s.db.CreateMetrics(s.t.Context(), s.actor("alice"), id, all); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}
