package ui_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestPageWeight limits the bytes that a browser loads for a page on the first visit: the page, its
// scripts, styles and pictures, uncompressed.
func TestPageWeight(t *testing.T) {
	t.Parallel()
	const most = 200 << 10 // bytes
	c := newShowcase(t, setup{auth: true})
	for _, p := range c.pages() {
		if p.name != "sign in" && p.name != "projects" && p.name != "experiment" && p.name != "run" && p.name != "compare" {
			continue
		}
		b := c.openBrowser(t)
		if p.user != "" {
			b.signIn(c.site, p.user)
		}
		b.open(p)
		b.is(`document.readyState`, "complete")
		loaded := b.text(`[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
			.filter((e) => !e.name.includes('/data/')).reduce((sum, e) => sum + e.decodedBodySize, 0)`)
		bytes, err := strconv.Atoi(loaded)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", p.name, bytes)
		if bytes < 20_000 || bytes > most {
			t.Errorf("%s has %d bytes, more than %d", p.name, bytes, most)
		}
	}
}

// fill creates an experiment of alice. Each run has the given number of metrics, and each metric
// has the given number of points.
func (s *site) fill(b *testing.B, found, metrics, samples int) (project, experiment string) {
	b.Helper()
	ctx, alice := b.Context(), s.actor("alice")
	project = s.project("alice", "large", "", 0, 0)
	e := must(s.db.Projects.CreateExperiment(ctx, alice, project, projects.NewExperiment{Name: "sweep"}))(b)
	for i := range found {
		id := s.run(e.ID, runs.NewIteration{Name: new(fmt.Sprint("run ", i))})
		must(s.db.Runs.CreateParameter(ctx, alice, id, "lr", scalar.Text(fmt.Sprint(float64(i)/1000))))(b)
		all := make([]points.Sample, 0, metrics*samples)
		for m := range metrics {
			key := fmt.Sprintf("group%d/metric%d", m%10, m)
			for p := range samples {
				all = append(all, points.Sample{Key: key, Value: scalar.Value(i+p%97) / 7})
			}
		}
		if err := s.db.Runs.CreateMetrics(ctx, alice, id, all); err != nil {
			b.Fatal(err)
		}
	}
	return project, e.ID
}

// BenchmarkExperimentPage requests the page of an experiment of 10,000 iterations × 200 metrics
// over HTTP.
func BenchmarkExperimentPage(b *testing.B) {
	s := start(b, setup{})
	_, experiment := s.fill(b, 10_000, 200, 1)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if a := s.get("/experiment/" + experiment); a.StatusCode != http.StatusOK {
			b.Fatal(a.Status)
		}
		took = append(took, time.Since(begin))
	}
	reportTimes(b, took)
}

// BenchmarkFirstChart measures the time from the click on an experiment until its first chart is
// drawn in a browser. The cases are 100 iterations × 100,000 points with the ten default runs
// drawn, the same with all runs drawn, and a sweep of 300 runs with ten metrics. The browser's
// cache is empty.
func BenchmarkFirstChart(b *testing.B) {
	for _, of := range []struct {
		name                         string
		runs, metrics, points, drawn int
	}{
		{"10-of-100-long-runs", 100, 1, 100_000, 10},
		{"100-of-100-long-runs", 100, 1, 100_000, 100},
		{"10-of-300-runs", 300, 10, 1000, 10},
	} {
		b.Run(of.name, func(b *testing.B) {
			s := start(b, setup{})
			project, experiment := s.fill(b, of.runs, of.metrics, of.points)
			w := s.openBrowser(b)
			_, err := chromedp.Call(w.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
				addEventListener('click', () => sessionStorage.setItem('clicked', performance.timeOrigin + performance.now()), true);
				new MutationObserver(() => {
					if (window.took || !document.querySelector('[data-testid="chart"][data-drawn="` + fmt.Sprint(of.drawn) + `"]')) return;
					window.took = performance.timeOrigin + performance.now() - Number(sessionStorage.getItem('clicked'));
				}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-drawn'] });`})
			if err != nil {
				b.Fatal(err)
			}
			w.do(chromedp.EmulateViewport(1280, 800))
			var took []time.Duration
			for b.Loop() {
				if _, err := chromedp.Call(w.ctx, network.ClearBrowserCache, cdp.Empty{}); err != nil {
					b.Fatal(err)
				}
				w.do(chromedp.Navigate(w.url + "/project/" + project))
				w.is(fmt.Sprintf(`(() => { document.querySelector('main a[href$="%s"]').href += '?top=%d'; return 'ready' })()`, experiment, of.drawn), "ready")
				w.press(`main a[href*="` + experiment + `"]`)
				w.is(`window.took > 0`, "true")
				ms, err := strconv.ParseFloat(w.text(`window.took`), 64)
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Duration(ms*float64(time.Millisecond)))
			}
			reportTimes(b, took)
			w.quiet()
		})
	}
}

// reportTimes reports the median and the 95th percentile of the times.
func reportTimes(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	for name, share := range map[string]float64{"p50-ms": 0.5, "p95-ms": 0.95} {
		at := took[min(len(took)-1, int(share*float64(len(took))))]
		b.ReportMetric(float64(at.Microseconds())/1000, name)
	}
	b.ReportMetric(0, "ns/op") // includes the preparation of each turn
}

// BenchmarkHover measures the time between two frames while the mouse moves over the rows of the
// table and over a chart of an experiment with 200 drawn curves. An idle browser takes 16.7 ms.
func BenchmarkHover(b *testing.B) {
	s := start(b, setup{})
	_, experiment := s.fill(b, 200, 3, 500)
	for name, over := range map[string]string{
		"rows":  `(i) => { const rows = [...document.querySelectorAll('#table tbody tr[data-id]')]; return [rows[i % rows.length], 40, 10]; }`,
		"chart": `(i) => [document.querySelector('[data-testid="chart"] .u-over'), 20 + (i * 7) % 150, 20 + (i * 11) % 100]`,
	} {
		b.Run(name, func(b *testing.B) {
			w := s.openBrowser(b)
			w.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(w.url+"/experiment/"+experiment+"?top=200"))
			w.is(`document.querySelector('[data-testid="chart"]').dataset.drawn`, "200")
			w.is(`document.querySelectorAll('#table tbody tr[data-id]').length > 10`, "true")
			var took []time.Duration
			for b.Loop() {
				w.do(chromedp.Evaluate[chromedp.Void](`window.frames = []; (() => {
					const over = ` + over + `;
					let [i, last] = [0, performance.now()];
					const next = (now) => {
						if (i > 0) frames.push(now - last);
						last = now;
						if (i++ > 60) { document.body.dataset.hovered = 'yes'; return; }
						const [e, x, y] = over(i);
						const r = e.getBoundingClientRect();
						const at = { bubbles: true, clientX: r.left + x, clientY: r.top + y, movementX: 1, pointerType: 'mouse' };
						for (const kind of ['pointerover', 'pointermove']) e.dispatchEvent(new PointerEvent(kind, at));
						for (const kind of ['mouseenter', 'mousemove']) e.dispatchEvent(new MouseEvent(kind, { ...at, bubbles: kind === 'mousemove' }));
						requestAnimationFrame(next);
					};
					delete document.body.dataset.hovered;
					requestAnimationFrame(next);
				})()`))
				w.is(`document.body.dataset.hovered`, "yes")
				for _, ms := range strings.Fields(w.text(`frames.slice(1).join(' ')`)) {
					f, err := strconv.ParseFloat(ms, 64)
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Duration(f*float64(time.Millisecond)))
				}
			}
			if name == "chart" { // check that the tooltip was visible
				w.is(`[...document.querySelectorAll('.tip:not([hidden])')].length`, "1")
			}
			reportTimes(b, took)
			w.quiet()
		})
	}
}

// BenchmarkLiveTab measures the bytes that the pages of a run and of its experiment receive in an
// hour, with headers, while the run logs ten metrics and prints a line each second.
func BenchmarkLiveTab(b *testing.B) {
	const lasts, keys = 30, 10 // seconds
	for _, of := range []string{"run", "experiment"} {
		b.Run(of, func(b *testing.B) {
			s := start(b, setup{})
			s.clock.move(time.Since(s.clock.now()))
			_, experiment := s.fill(b, 20, keys, 1000)
			id := s.run(experiment, runs.NewIteration{Name: new("live")})
			log := func(step int) {
				for k := range keys {
					at := points.Sample{Key: fmt.Sprintf("group%d/metric%d", k, k), Step: new(scalar.Step(step)), Value: scalar.Value(step%97) / 7}
					must(s.db.Runs.CreateMetric(b.Context(), s.actor("alice"), id, at))(b)
				}
				s.print(id, int64(step), fmt.Sprintf("step %d: loss %.4f", step, 1/float64(step+1)))
			}
			for step := range 300 {
				log(step)
			}
			w := s.openBrowser(b)
			var received atomic.Int64
			err := chromedp.Listen(w.ctx, func(ev any) {
				switch ev := ev.(type) {
				case *network.EventResponseReceived:
					received.Add(int64(ev.Response.EncodedDataLength))
				case *network.EventDataReceived:
					received.Add(int64(max(ev.EncodedDataLength, 0)))
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			address := map[string]string{"run": "/iteration/" + id, "experiment": "/experiment/" + experiment}[of]
			w.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(w.url+address))
			w.is(chartsDrawn, "true")
			w.is(`document.documentElement.dataset.live`, "yes")
			step, seconds := 300, 0
			opened := received.Load()
			for b.Loop() {
				for range lasts {
					log(step)
					step++
					seconds++
					time.Sleep(time.Second)
				}
			}
			b.ReportMetric(float64(received.Load()-opened)/float64(seconds)*3600/1e6, "MB/h")
			b.ReportMetric(float64(opened)/1e3, "KB-opened")
			b.ReportMetric(0, "ns/op")
			w.quiet()
		})
	}
}
