package ui_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

// record logs a metric of a run: value(step) at each step.
func (s *site) record(run, key string, steps []int, value func(int) float64) {
	s.t.Helper()
	var all []points.Sample
	for _, step := range steps {
		all = append(all, points.Sample{Key: key, Value: scalar.Value(value(step)), Step: new(scalar.Step(step)),
			RecordedAt: new(scalar.Time(s.clock.now().Add(time.Duration(step) * time.Second).UnixMilli()))})
	}
	if err := s.db.Runs.CreateMetrics(s.t.Context(), s.actor("alice"), run, all); err != nil {
		s.t.Fatal(err)
	}
}

// upTo returns the steps from 0 to n-1.
func upTo(n int) (steps []int) {
	for i := range n {
		steps = append(steps, i)
	}
	return steps
}

// chart returns the selector of a chart.
func chart(key string) string { return `[data-testid="chart"][data-key="` + key + `"]` }
func said(key string) string {
	return `document.querySelector('` + chart(key) + ` [data-testid="points"]').textContent`
}

// averages returns the moving averages over all points for a weight, as docs/search.md defines
// them.
func averages(values []float64, weight float64) (all []float64) {
	keep := math.Pow(weight, min(1, 1000/float64(len(values))))
	mean, size := 0.0, 0.0
	for _, v := range values {
		mean, size = keep*mean+(1-keep)*v, keep*size+1-keep
		all = append(all, mean/size)
	}
	return all
}

// tip reads the tooltip at a fraction of a chart's width. It returns the cells of the first row and
// their column heads.
func (b *browser) tip(key string, at float64) (cells, heads []string) {
	b.t.Helper()
	of := `document.querySelector('` + chart(key) + ` .tip')`
	// Both are read at once, because a redrawn chart hides its tooltip.
	both := `(() => { const tip = ` + of + `; window.tipped = tip.hidden ? '' : ['tbody', 'thead'].map((part) =>
		[...tip.querySelectorAll(part + ' tr:first-child td')].map((e) => e.textContent).join('|')).join('\n'); return window.tipped !== '' })()`
	b.pointAt(chart(key)+" .u-over", at, both, "true")
	body, head, _ := strings.Cut(b.text(`window.tipped`), "\n")
	return strings.Split(body, "|"), strings.Split(head, "|")
}

// TestSmoothing reads smoothed values in charts of several lengths and ranges. The value at a step
// depends only on the points.
func TestSmoothing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	const weight = 0.99
	for _, points := range []int{363, 2000, 5000} {
		run := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprint(points))})
		ramp := func(i int) float64 { return float64(i) / 2000 }
		s.record(run, "val/acc", upTo(points), ramp)
		var values []float64
		for i := range points {
			values = append(values, ramp(i))
		}
		smoothed := averages(values, weight)
		if points == 363 && math.Abs(smoothed[94]-0.02722) > 1e-5 {
			t.Fatalf("the average at step 94 is %v", smoothed[94])
		}
		for _, view := range []string{"", "&zoom=62~160", "&zoom=62~160&logx=1", "&zoom=150~350", "&x=relative", "&x=relative&zoom=62000~160000", "&x=time"} {
			b.do(chromedp.Navigate(s.url + "/iteration/" + run + "?smooth=" + fmt.Sprint(weight) + view))
			b.is(`document.querySelector('`+chart("val/acc")+`').dataset.drawn`, "1")
			for _, at := range []float64{0.03, 0.35, 0.9} {
				cells, heads := b.tip("val/acc", at)
				if len(cells) != 4 || strings.Join(heads, " ") != "  smoothed value" {
					t.Fatalf("%d points%s: the tooltip has %q under %q", points, view, cells, heads)
				}
				// The metric is a ramp, so its value gives the step.
				raw, err := strconv.ParseFloat(cells[3], 64)
				if err != nil {
					t.Fatal(err)
				}
				step := int(math.Round(raw * 2000))
				if got, want := cells[2], smoothed[step]; got != plain.Number(scalar.Value(want)) {
					t.Errorf("%d points%s: %s at step %d, want %v", points, view, got, step, want)
				}
			}
		}
	}
	// If a range is smoothed, the script also requests the points before the range.
	b.do(chromedp.Navigate(s.url + b.text(`location.pathname`) + "?zoom=62~160"))
	b.is(said("val/acc"), "99 points")
	b.is(`(() => { const r = document.querySelector('[data-testid="smooth"]'); r.value = 0.9; r.dispatchEvent(new Event('input')); return r.value })()`, "0.9")
	ramp := make([]float64, 5000)
	for i := range ramp {
		ramp[i] = float64(i) / 2000
	}
	b.pointAt(chart("val/acc")+" .u-over", 0.01, `(() => { const cells = document.querySelectorAll('`+chart("val/acc")+` .tip tbody td'); return cells[2].textContent + ' at ' + document.querySelector('`+chart("val/acc")+` .tip .where').textContent })()`,
		plain.Number(scalar.Value(averages(ramp, 0.9)[63]))+" at step 63")
	b.quiet()
}

// TestTooltip checks that the tooltip names the runs that have a value at the cursor, with their
// steps if the steps differ.
func TestTooltip(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	rise := func(i int) float64 { return float64(i) }
	for name, points := range map[string]int{"long": 101, "short": 11} {
		s.record(s.run(w.experiment, runs.NewIteration{Name: &name}), "val/acc", upTo(points), rise)
	}
	sparse := s.run(w.experiment, runs.NewIteration{Name: new("sparse")})
	s.record(sparse, "val/acc", []int{0, 70}, rise)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	b.is(`document.querySelector('`+chart("val/acc")+`').dataset.drawn`, "3")
	over := chart("val/acc") + " .u-over"
	const named = `[...document.querySelectorAll('.tip:not([hidden]) .who')].map((e) => e.textContent).sort()`
	b.pointAt(over, 0.05, named, "long,short,sparse")
	b.pointAt(over, 0.05, `document.querySelector('.tip:not([hidden])').querySelector('p.where')`, "null")
	b.pointAt(over, 0.05, `((all) => all.length === 3 && all.every((e) => e.textContent.startsWith('step ') && parseFloat(getComputedStyle(e).paddingLeft) >= 8))([...document.querySelectorAll('.tip:not([hidden]) td.where')])`, "true")
	b.pointAt(over, 0.6, named, "long,sparse")  // the short run has ended
	b.pointAt(over, 0.99, named, "long,sparse") // which might continue
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment + "?filter=name+!%3D+'sparse'"))
	b.is(`document.querySelector('`+chart("val/acc")+`').dataset.drawn`, "2")
	b.pointAt(over, 0.6, named, "long")
	b.pointAt(over, 0.6, `document.querySelector('.tip:not([hidden]) p.where').textContent.startsWith('step ')`, "true")
	b.quiet()
}

// TestTooltipPlace reads the metric in a tooltip, and checks that a tooltip covers no chart beside its own
// and is hidden after a zoom by dragging.
func TestTooltipPlace(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	for i := range 5 {
		run := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprintf("a run with a long name %d", i))})
		for _, key := range []string{"val/acc", "val/loss"} {
			s.record(run, key, upTo(100), func(step int) float64 { return float64(i*step+1) / 100 })
		}
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	b.is(`document.querySelector('`+chart("val/loss")+`').dataset.drawn`, "5")
	const shown = `document.querySelector('.tip:not([hidden])')`
	b.pointAt(chart("val/acc")+" .u-over", 0.5, shown+`?.querySelector('.metric').textContent`, "val/acc")
	apart := `(() => {
		const tip = ` + shown + `.getBoundingClientRect();
		return [...document.querySelectorAll('figure')].filter((f) => !f.contains(` + shown + `)).every((f) => {
			const of = f.getBoundingClientRect();
			return of.bottom <= tip.top || of.top >= tip.bottom || of.right <= tip.left || of.left >= tip.right;
		});
	})()`
	b.pointAt(chart("val/acc")+" .u-over", 0.9, apart, "true")
	b.drag(chart("val/acc")+" .u-over", 0.25, 0.5)
	b.is(`new URLSearchParams(location.search).has('zoom')`, "true")
	b.is(said("val/acc")+` !== "500 points"`, "true")
	b.is(shown, "null")
	b.pointAt(chart("val/acc")+" .u-over", 0.6, shown+` !== null`, "true")
	b.quiet()
}

// TestEnds reads the last and the best value of charts, and changes an enlarged chart.
func TestEnds(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	run := s.run(w.experiment, runs.NewIteration{Name: new("low")})
	s.record(run, "val/loss", upTo(101), func(i int) float64 { return float64((i-40)*(i-40)) + 0.5 })
	s.record(run, "lr", upTo(11), func(i int) float64 { return float64(i) })
	s.record(s.run(w.experiment, runs.NewIteration{Name: new("high")}), "val/loss", upTo(11), func(i int) float64 { return 100 })
	b := s.openBrowser(t)
	ends := func(key string) string {
		return `document.querySelector('` + chart(key) + ` [data-testid="ends"]').textContent`
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+run))
	b.is(ends("val/loss"), "last 3601 at step 100 · best 0.5 at step 40")
	b.is(ends("lr"), "last 10 at step 10")
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment))
	b.is(ends("val/loss"), "best 0.5 at step 40 · low")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Enlarge: val/loss"]').click()`))
	b.is(`[...document.querySelectorAll('dialog.large .legend li')].map((e) => e.textContent).sort()`, "high,low")
	b.press(`dialog.large [name="own-y"]`)
	b.is(`new URLSearchParams(location.search).get('charts')?.includes('log')`, "true")
	b.is(`document.querySelector('dialog.large [name="own-y"]').checked`, "true")
	b.fits()
	b.quiet()
}

// TestSmoothedGroups is TestSmoothing for the mean of a group.
func TestSmoothedGroups(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	a := s.arrangement()
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	var values []float64
	for i := range arrangedSteps {
		values = append(values, float64(i)/100)
	}
	for _, view := range []string{"", "&zoom=8~15"} {
		b.do(chromedp.Navigate(s.url + "/experiment/" + a.experiment + "?group=param.lr&smooth=0.9" + view))
		b.is(`document.querySelector('`+chart("val/acc")+`').dataset.drawn`, "2")
		cells, _ := b.tip("val/acc", 0.5)
		place := b.text(`document.querySelector('` + chart("val/acc") + ` .tip p.where').textContent`)
		step, err := strconv.Atoi(strings.TrimPrefix(place, "step "))
		if err != nil || len(cells) != 5 {
			t.Fatalf("%q: the tooltip has %q", view, cells)
		}
		if want := plain.Number(scalar.Value(averages(values, 0.9)[step])); cells[2] != want || cells[4] != "n=3" {
			t.Errorf("%q: %s of %s at step %d, want %s", view, cells[2], cells[4], step, want)
		}
	}
	b.quiet()
}

// TestZoom zooms charts over steps, including to ranges without points. Charts of system metrics
// have their own range.
func TestZoom(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	run := s.run(w.experiment, runs.NewIteration{})
	s.record(run, "val/acc", upTo(363), func(i int) float64 { return float64(i-5) / 100 })
	s.record(run, "system/cpu_percent", upTo(8), func(i int) float64 { return float64(i) })
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+run+"?fold="))
	b.is(said("val/acc"), "363 points")
	b.is(said("system/cpu_percent"), "8 points")
	b.drag(chart("val/acc")+" .u-over", 0.25, 0.5)
	b.is(said("val/acc")+` !== "363 points"`, "true")
	b.is(said("system/cpu_percent"), "8 points")
	b.drag(chart("system/cpu_percent")+" .u-over", 0.3, 0.7)
	b.is(said("system/cpu_percent"), "4 points")
	zoomed := b.text(`location.search`)
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="reset-zoom"]`)))
	b.is(said("val/acc"), "363 points")
	b.is(said("system/cpu_percent"), "8 points")
	b.is(`location.search`, "?fold=")
	// A link shows the same range.
	b.do(chromedp.Navigate(s.url + "/iteration/" + run + zoomed))
	b.is(said("system/cpu_percent"), "4 points")

	none := func(key string) string {
		return `document.querySelector('` + chart(key) + ` .plot').dataset.none + '|' + getComputedStyle(document.querySelector('` + chart(key) + ` .uplot')).visibility`
	}
	// Over time, all charts share the range.
	for view, want := range map[string][2]string{
		"zoom=1000~3000":                {"no points between 1,000 and 3,000", "8 points"},
		"zoom=10~20&zooms=10~20":        {"11 points", "no points between 10 and 20"},
		"x=relative&zoom=2000~4000":     {"3 points", "3 points"},
		"x=relative&zoom=20000~90000":   {"71 points", "no points between 20s and 1m 30s"},
		"x=metric%3Aval%2Facc&zoom=1~2": {"363 points", "no points between 1 and 2"},
		"logx=1":                        {"362 of 363 points, 1 at or below 0", "7 of 8 points, 1 at or below 0"},
		"logy=1":                        {"357 of 363 points, 6 at or below 0", "7 of 8 points, 1 at or below 0"},
		"logy=1&zoom=0~4":               {"0 of 5 points, 5 at or below 0", "7 of 8 points, 1 at or below 0"},
	} {
		b.do(chromedp.Navigate(s.url + "/iteration/" + run + "?fold=&" + view))
		for i, key := range []string{"val/acc", "system/cpu_percent"} {
			b.is(said(key), want[i])
			if strings.HasPrefix(want[i], "no ") || strings.HasPrefix(want[i], "0 ") {
				b.is(none(key), want[i]+"|hidden")
			} else {
				b.is(none(key), "undefined|visible")
			}
		}
	}
	b.quiet()
}

// TestChartOrder opens an experiment, a run and a comparison with system metrics. Their group comes
// last, and a click or a link expands it.
func TestChartOrder(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 20)
	for i, run := range w.runs {
		s.record(run, "system/cpu_percent", []int{0}, func(int) float64 { return float64(5 + i) })
		s.record(run, "epoch", []int{0, 1}, func(int) float64 { return float64(3 + i) })
		s.record(run, "val/acc", []int{7}, func(int) float64 { return 0.5 + float64(i) })
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	groups := `[...document.querySelectorAll('.groups details')].map((d) => d.querySelector('summary bdi').textContent + (d.open ? '' : ' folded')).join(', ')`
	for _, page := range []string{"/experiment/" + w.experiment, "/iteration/" + w.runs[0], "/compare?i=" + w.runs[0] + "&i=" + w.runs[1]} {
		b.do(chromedp.Navigate(s.url + page))
		b.is(groups, "val, train, Others, system folded")
		b.is(said("train/loss")+`.match(/points?$/) !== null`, "true")
		b.do(chromedp.Click(chromedp.CSS(`.groups details:last-of-type summary`)))
		b.is(said("system/cpu_percent")+`.match(/points?$/) !== null`, "true")
		b.is(`new URLSearchParams(location.search).get('fold')`, "")
		b.do(chromedp.Reload())
		b.is(groups, "val, train, Others, system")
		b.is(said("system/cpu_percent")+`.match(/points?$/) !== null`, "true")
		b.do(chromedp.Click(chromedp.CSS(`.groups details:last-of-type summary`)))
		b.is(`new URLSearchParams(location.search).get('fold')`, "null")
	}
	// The comparison does not use system metrics.
	b.is(`[...document.querySelectorAll('.plots .axis .title')].map((e) => e.textContent).join(', ')`, "lr, val/acc, epoch")
	b.is(`document.querySelector('select[name="sy"]').selectedOptions[0].textContent`, "val/acc")

	// A curve with one point is a dot. The whole dot is visible: both halves are equally wide.
	b.do(chromedp.Navigate(s.url + "/iteration/" + w.runs[0]))
	b.is(said("val/acc"), "1 point")
	for _, view := range []string{"", "?x=relative", "?x=time", "?logx=1"} {
		b.do(chromedp.Navigate(s.url + "/iteration/" + w.runs[0] + view))
		b.is(said("val/acc"), "1 point")
		b.is(dot("val/acc"), "whole")
	}
	// The same holds at the edge, where other curves begin or end.
	s.record(w.runs[1], "val/acc", []int{8, 9}, func(int) float64 { return 0.25 })
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment))
	b.is(dot("val/acc"), "whole")
	b.quiet()
}

// dot reports whether the pixels in the colour of the first run form a dot. If they do not, it
// returns their number.
func dot(key string) string {
	return `(() => {
		const canvas = document.querySelector('` + chart(key) + ` canvas');
		const probe = document.createElement('i');
		probe.style.color = 'var(--run-' + (document.getElementById('iteration')?.dataset.color ?? '1') + ')';
		document.body.append(probe);
		const want = getComputedStyle(probe).color.match(/\d+/g).map(Number);
		probe.remove();
		const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
		const at = [[], []];
		for (let i = 0; i < data.length; i += 4) {
			if (data[i + 3] < 100 || want.some((v, c) => Math.abs(data[i + c] - v) > 12)) continue;
			at[0].push((i / 4) % canvas.width);
			at[1].push(Math.floor(i / 4 / canvas.width));
		}
		const [wide, high] = at.map((all) => Math.max(...all) - Math.min(...all) + 1);
		return wide >= 4 && wide <= 7 && Math.abs(wide - high) <= 2 ? 'whole' : wide + ' by ' + high;
	})()`
}

// TestBrokenLines compares runs. Some of the runs lack a value on an axis.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	var ids []string
	for i, params := range []map[string]string{
		{"a": "1", "b": "2", "c": "3"}, {"a": "2", "c": "4"}, {"a": "1", "b": "3"}, {"b": "4", "c": "5"}, {},
	} {
		run := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprint("run ", i))})
		for key, value := range params {
			if _, err := s.db.Runs.CreateParameter(t.Context(), s.actor("alice"), run, key, scalar.Text(value)); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, "i="+run)
	}
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/compare?" + strings.Join(ids, "&")))
	// A line connects values on neighbouring axes, and a value without a neighbour is a dash.
	b.is(`[...document.querySelectorAll('.plots .path')].map((e) => (e.getAttribute('d') || '').replace(/[\d.,]+/g, '')).join(' ')`, "MLL Mm-hMm-h ML ML ")
	b.quiet()
}

// TestDrawnColours checks that drawn runs whose own colours are equal get different colours, and
// that the page shows the number of drawn runs and of all runs.
func TestDrawnColours(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(14, 2)
	b := s.openBrowser(t)
	page := s.url + "/experiment/" + w.experiment
	colours := func(selector string) string {
		return `(() => { const all = [...document.querySelectorAll('` + selector + `')].map((e) => /\bc\d+\b/.exec(e.className)[0]); return all.length + ' ' + new Set(all).size })()`
	}
	const drawn = `document.querySelector('[data-testid="drawn-of"]').textContent`
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page+"?filter=name+in+('run+1','run+13')"))
	b.is(drawn, "2 of 2 runs drawn")
	b.is(colours(`.swatch[aria-pressed="true"]`), "2 2")
	b.do(chromedp.Navigate(page + "?sort=name"))
	b.is(drawn, "10 of 14 runs drawn")
	b.is(colours(`.swatch[aria-pressed="true"]`), "10 10")
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.querySelector('[name="top"]'); e.value = '20'; e.dispatchEvent(new Event('change')) })()`))
	b.is(drawn, "14 of 14 runs drawn")
	b.is(colours(`.swatch[aria-pressed="true"]`), "14 12")
	// Dashes distinguish runs with the same colour.
	styles := `(() => { const all = [...document.querySelectorAll('.swatch[aria-pressed="true"]')].map((e) =>
		e.className.match(/\b(c\d+|dash-\d)\b/g).join(' ')); return new Set(all).size })()`
	b.is(styles, "14")
	// Dashes distinguish colours that people with colour blindness can confuse.
	b.do(chromedp.Navigate(page + "?filter=name+in+('run+1','run+13')&colors=" + w.runs[0] + ".4+" + w.runs[12] + ".10"))
	b.is(`document.querySelectorAll('.swatch.dash-1').length`, "1")
	b.do(chromedp.Navigate(page + "?filter=name+in+('run+1','run+13')&colors=" + w.runs[0] + ".4+" + w.runs[12] + ".11"))
	b.is(drawn, "2 of 2 runs drawn")
	b.is(`document.querySelectorAll('.swatch.dash-1').length`, "0")
	b.do(chromedp.Navigate(page + "?sort=name&top=20"))
	b.is(drawn, "14 of 14 runs drawn")
	b.is(`location.search.includes('top=20')`, "true")

	b.do(chromedp.Navigate(s.url + "/compare?i=" + w.runs[0] + "&i=" + w.runs[12]))
	b.is(`document.querySelector('`+chart("train/loss")+`').dataset.drawn`, "2")
	b.is(colours(`.compare thead .dot`), "2 2")
	// A run keeps its colour when it is not drawn.
	b.do(chromedp.Navigate(page + "?filter=name+in+('run+1','run+13')"))
	b.is(drawn, "2 of 2 runs drawn")
	both := `[...document.querySelectorAll('.swatch')].map((e) => /\bc\d+\b/.exec(e.className)[0])`
	before := b.text(both)
	for _, run := range []string{w.runs[0], w.runs[12]} {
		b.press(`tr[data-id="` + run + `"] .swatch`)
	}
	b.is(drawn, "0 of 2 runs drawn")
	b.is(both, before)
	b.quiet()
}

// TestColourByHand gives a drawn run the colour of another run. The other run then gets a new
// colour. The address contains the choice.
func TestColourByHand(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(3, 2)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	of := func(run int) string {
		return `/\bc(\d+)\b/.exec(document.querySelector('tr[data-id="` + w.runs[run] + `"] .swatch').className)[1]`
	}
	b.is(`document.querySelector('`+chart("train/loss")+`').dataset.drawn`, "3")
	before, taken := b.text(of(0)), b.text(of(1))
	b.press(`tr[data-id="` + w.runs[0] + `"] input`)
	b.press(`[data-testid="do-colour"]`)
	b.press(`.palette .c` + taken)
	b.is(of(0), taken)
	b.is(of(1)+` !== "`+taken+`"`, "true")
	b.is(`new URLSearchParams(location.search).get('colors')`, w.runs[0]+"."+taken)
	b.do(chromedp.Reload())
	b.is(of(0), taken)
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment + "?colors=" + w.runs[0] + ".99+x"))
	b.is(of(0), before)
	b.quiet()
}

// TestDefinedAxes draws a metric over the metric that the script has defined as its X axis, and
// omits a hidden metric.
func TestDefinedAxes(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 1)
	for _, id := range w.runs {
		s.record(id, "eval/loss", upTo(5), func(i int) float64 { return 1 / float64(i+1) })
		s.record(id, "epoch", upTo(5), func(i int) float64 { return float64(i) / 2 })
		err := s.db.Runs.SetProperties(t.Context(), domain.System, runs.IterationProperty, id, []domain.Property{
			runs.Definition{StepMetric: "epoch"}.Property("eval/*"), runs.Definition{Hidden: true}.Property("epoch")})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := s.openBrowser(t)
	loss := `document.querySelector('[data-key="eval/loss"]')`
	for _, page := range []string{"/experiment/" + w.experiment, "/iteration/" + w.runs[0], "/compare?i=" + w.runs[0] + "&i=" + w.runs[1]} {
		b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+page))
		b.is(loss+`.textContent.includes('over epoch')`, "true")
		b.is(`document.querySelectorAll('[data-key="epoch"]').length`, "0")
		b.is(`document.querySelector('[name="x"]').selectedOptions[0].textContent`, "As defined")
	}
	// The user chooses another axis. A search finds the hidden metric.
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment + "?x=step&m=e"))
	b.is(loss+`.textContent.includes('over epoch')`, "false")
	b.is(loss+`.dataset.drawn`, "2")
	b.is(`document.querySelectorAll('[data-key="epoch"]').length`, "1")
	// Properties that define metrics are not listed as properties.
	s.get("/iteration/"+w.runs[0]).lacks(t, "tracker.metric")
	b.quiet()
}
