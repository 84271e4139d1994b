package ui_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/runs"
)

// diverging creates an experiment of five runs. The loss of the last run diverges, the first run
// has a much better score than the others, and the learning rates are powers of ten.
func (s *site) diverging() (sweep, []string) {
	s.t.Helper()
	w := s.sweep(0, 0)
	var found []string
	for i := range 5 {
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprint("run ", i))})
		loss := func(step int) float64 { return 2 - float64(step+i)/20 }
		if i == 4 {
			loss = func(step int) float64 { return 2 * math.Pow(10, 40*float64(step)/19) }
		}
		score := 0.001
		if i == 0 {
			score = 0.75
		}
		s.record(id, "val/loss", upTo(20), loss)
		s.record(id, "val/accuracy", upTo(20), func(step int) float64 { return score * float64(step) / 19 })
		s.record(id, "lr", upTo(20), func(int) float64 { return math.Pow(10, float64(i-5)) })
		found = append(found, id)
	}
	return w, found
}

// A diverging run does not flatten the other runs: the chart excludes it from its range with a
// note, and one click shows all runs.
func TestOutliers(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w, runs := s.diverging()
	b := s.openBrowser(t)
	page := s.url + "/experiment/" + w.experiment
	beyond := func(key string) string {
		return `document.querySelector('` + chart(key) + ` [data-testid="beyond"]').textContent`
	}
	// The height of the first run's curve as a fraction of the height of the chart.
	height := func(run string) string {
		return `(() => {
			const canvas = document.querySelector('` + chart("val/loss") + ` canvas');
			const probe = document.createElement('i');
			probe.style.color = 'var(--run-' + /\bc(\d+)\b/.exec(document.querySelector('[data-id="` + run + `"] .swatch, [data-run="` + run + `"]').className)[1] + ')';
			document.body.append(probe);
			const want = getComputedStyle(probe).color.match(/\d+/g).map(Number);
			probe.remove();
			const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
			let [top, foot] = [Infinity, -Infinity];
			for (let i = 0; i < data.length; i += 4) {
				if (data[i + 3] < 100 || want.some((v, c) => Math.abs(data[i + c] - v) > 12)) continue;
				top = Math.min(top, Math.floor(i / 4 / canvas.width));
				foot = Math.max(foot, Math.floor(i / 4 / canvas.width));
			}
			return (foot - top) / canvas.height > 0.3 ? 'tall' : 'flat';
		})()`
	}
	const note = "1 run goes beyond this rangeShow all"
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page))
	b.is(beyond("val/loss"), note)
	b.is(height(runs[0]), "tall")
	b.is(`document.querySelector('`+chart("val/accuracy")+`').dataset.drawn + `+beyond("val/accuracy"), "5")
	b.is(`document.querySelector('`+chart("lr")+`').dataset.drawn + `+beyond("lr"), "5")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800))
	b.press(chart("val/loss") + ` [data-testid="beyond"] button`)
	b.is(beyond("val/loss"), "")
	b.is(height(runs[0]), "flat")
	b.is(`location.search`, "?trim=no")
	b.is(`document.querySelector('select[name="trim"]').selectedOptions[0].textContent`, "Show outliers")
	b.do(chromedp.Reload())
	b.is(height(runs[0]), "flat")
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.querySelector('select[name="trim"]'); e.value = ''; e.dispatchEvent(new Event('change')) })()`))
	b.is(beyond("val/loss"), note)
	b.is(`location.search`, "")

	// An address of an earlier version asks to ignore outliers.
	b.do(chromedp.Navigate(page + "?trim=1"))
	b.is(`document.querySelector('`+chart("val/loss")+`').dataset.drawn`, "5")
	b.is(`document.querySelector('select[name="trim"]').selectedOptions[0].textContent + `+beyond("val/loss"), "Ignore outliers")
	// A logarithmic scale and a chosen range include outliers.
	b.do(chromedp.Navigate(page + "?logy=1"))
	b.is(`document.querySelector('`+chart("val/loss")+`').dataset.drawn + `+beyond("val/loss"), "5")
	b.do(chromedp.Navigate(page + "?charts=val%2Floss%09range%3D1~2"))
	b.is(`document.querySelector('`+chart("val/loss")+`').dataset.drawn + `+beyond("val/loss"), "5")
	b.is(height(runs[0]), "tall")

	b.do(chromedp.Navigate(s.url + "/compare?i=" + strings.Join(runs, "&i=")))
	b.is(beyond("val/loss"), note)
	b.is(height(runs[0]), "tall")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Enlarge: val/loss"]').click()`))
	b.is(`document.querySelector('dialog.large .beyond')?.textContent`, note)
	b.quiet()
}

// A chart in a report also excludes outliers.
func TestReportOutliers(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w, _ := s.diverging()
	block := "```chart\nexperiment: " + w.experiment + "\nmetrics: val/loss\n"
	const note = "1 run goes beyond this range."
	a := s.get("/report/" + s.report(w.project, "auto", block+"```\n"))
	a.wants(t, 200, note, ">1.4</text>")
	s.get("/report/"+s.report(w.project, "all", block+"outliers: show\n```\n")).lacks(t, note, ">1.4</text>")
	s.get("/report/"+s.report(w.project, "log", block+"y: log\n```\n")).lacks(t, note)
	s.get("/report/"+s.report(w.project, "wrong", block+"outliers: often\n```\n")).wants(t, 200, "The value of outliers must be auto, show or ignore.")
	id := s.report(w.project, "offline", block+"```\n")
	s.get("/report/"+id+"/export").wants(t, 200, note)
}

// Axes of values that are very small or very large have labels.
func TestExtremeAxes(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	run := s.run(w.experiment, runs.NewIteration{})
	for key, unit := range map[string]float64{"tiny": 1e-300, "usual": 1, "huge": 1e300} {
		s.record(run, key, upTo(100), func(step int) float64 { return unit * float64(step+1) })
	}
	b := s.openBrowser(t)
	// The labels of the Y axis, as groups of rows with text at the left.
	labels := func(key string) string {
		return `(() => {
			const canvas = document.querySelector('` + chart(key) + ` canvas');
			const height = canvas.height - 32 * devicePixelRatio;
			const { data, width } = canvas.getContext('2d').getImageData(0, 0, Math.round(34 * devicePixelRatio), height);
			const rows = Array.from({ length: height }, (_, y) => data.subarray(4 * y * width, 4 * (y + 1) * width).some((v) => v > 0));
			return rows.filter((on, y) => on && !rows[y - 1]).length >= 2;
		})()`
	}
	for _, view := range []string{"", "?logy=1"} {
		b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+run+view))
		for _, key := range []string{"tiny", "usual", "huge"} {
			b.is(`document.querySelector('`+chart(key)+`')?.dataset.drawn`, "1")
			b.is(labels(key), "true")
		}
	}
	b.quiet()
}
