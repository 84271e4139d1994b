package ui_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// TestComparedCode compares the code and the packages of runs.
func TestComparedCode(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	_, ids := s.tuning(t, 4)
	for i, n := range []runs.NewSnapshot{
		{GitSHA: strings.Repeat("ab", 20), GitDirty: new(true), GitDiff: "-old\n+new", Dependencies: "numpy==2.0.1\ntorch==2.6.0\n# a comment\nlocal @ file:///x\nplain"},
		{GitSHA: strings.Repeat("ab", 20), GitDirty: new(true), GitDiff: "-old\n+new", Dependencies: "numpy==2.1.0\ntorch==2.6.0\nlocal @ file:///x\nplain\n"},
		{GitSHA: strings.Repeat("cd", 20), GitDirty: new(true), GitDiff: "-old\n+newer", Dependencies: "torch==2.6.0\nplain\nlocal @ file:///x"},
	} {
		must(s.db.Runs.CreateSnapshot(t.Context(), domain.System, ids[i], n))(t)
	}
	a := s.get("/compare?" + url.Values{"i": ids}.Encode())
	a.wants(t, 200, `<bdi>2.0.1</bdi>`, `<bdi>2.1.0</bdi>`, "3 packages have the same versions in all runs.", "<bdi>abababababab</bdi>",
		`>sweep-000 and 1 more<`, `>sweep-002<`, "-old\n+newer</pre>")
	a.lacks(t, "2.6.0", "a comment")
	if n := strings.Count(a.body, "-old\n+new</pre>"); n != 1 {
		t.Errorf("a diff of two runs is shown %d times", n)
	}
	// Differences come first, before the charts.
	order := []string{">Parameters ", ">batch_size<", ">Metrics, last values ", ">val/loss min<", ">Environment ", ">Commit<", ">Packages ", ">numpy<", `id="charts"`, `data-testid="diffs"`}
	body := strings.NewReplacer("\t", "", "\n", "").Replace(a.body)
	at := 0
	for _, part := range order {
		next := strings.Index(body[at:], part)
		if next < 0 {
			t.Fatalf("%s is not where it should be", part)
		}
		at += next
	}
	s.get("/compare?"+url.Values{"i": ids[2:]}.Encode()).lacks(t, "3 packages have")
}

// TestComparisonHeadsStay checks that the names of runs and rows stay visible while the table of a
// comparison scrolls.
func TestComparisonHeadsStay(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	_, ids := s.tuning(t, 30)
	for i := range 40 {
		must(s.db.Runs.CreateParameter(t.Context(), domain.System, ids[0], fmt.Sprintf("p%02d", i), "1"))(t)
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/compare?"+url.Values{"i": ids}.Encode()))
	const place = `(([head, row, box]) => Math.round(head.top - box.top) + ' ' + Math.round(row.left - box.left))(['.compare thead th:nth-child(2)', '.compare tbody tr:nth-child(9) th', '.runs-compared'].map((q) => document.querySelector(q).getBoundingClientRect()))`
	b.is(place, "0 0")
	b.is(`(document.querySelector('.runs-compared').scrollTo(300, 400), document.querySelector('.runs-compared').scrollTop)`, "400")
	b.is(place, "0 0")
	// Without scrolling, the page shows the names of the runs, the differences, and the beginning
	// of the first chart.
	b.is(visible(`.compare thead th:nth-child(2)`), "true")
	b.is(`document.querySelector('#charts').getBoundingClientRect().top < innerHeight`, "true")
	b.fits()
	b.quiet()
}

// TestBrushing checks that runs that are selected in one plot are selected in all plots, in the
// charts and in the table.
func TestBrushing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	var ids []string
	for i := range 10 {
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprint("run ", i))})
		must(s.db.Runs.CreateParameter(t.Context(), domain.System, id, "width", scalar.Text(fmt.Sprint(i))))(t)
		must(s.db.Runs.CreateParameter(t.Context(), domain.System, id, "kind", scalar.Text([]string{"a", "b"}[i%2])))(t)
		s.record(id, "val/loss", upTo(3), func(step int) float64 { return float64(i) + float64(step) })
		ids = append(ids, id)
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 1000), chromedp.Navigate(s.url+"/compare?"+url.Values{"i": ids}.Encode()+"&sx=param.width&sy=metric.val/loss&sc=param.kind"))
	const selected = `[document.querySelectorAll('.path:not(.out)').length, document.querySelectorAll('.spot:not(.out)').length,
		document.querySelectorAll('.compare thead th:not(.out)').length - 1, document.querySelector('[data-key="val/loss"]').dataset.drawn].join(' ')`
	b.is(selected, "10 10 10 10")
	// Each category has its own colour, which the legend explains. Axes have ticks.
	b.is(`new Set([...document.querySelectorAll('.spot')].map((e) => e.style.fill)).size`, "2")
	b.is(`[...document.querySelectorAll('.legend li')].map((e) => e.textContent)`, "kind,a,b")
	b.is(`[...document.querySelectorAll('[aria-label="Scatter plot"] .tick')].length > 8`, "true")
	// Smallest and largest values can be axes.
	b.is(`['min.val/loss', 'max.val/loss'].map((id) => document.querySelector('[name="sy"] option[value="' + id + '"]')?.textContent)`, "val/loss min,val/loss max")

	b.dragXY(`[aria-label="Scatter plot"] svg`, 0.02, 0.55, 0.5, 0.95)
	b.is(`[...document.querySelectorAll('.spot:not(.out)')].length > 2`, "true")
	b.is(`new URLSearchParams(location.search).get('brush').split('\n').map((line) => line.split('\t')[0])`, "param.width,metric.val/loss")
	n := b.text(`document.querySelectorAll('.spot:not(.out)').length`)
	b.is(selected, strings.Join([]string{n, n, n, n}, " "))
	b.is(`document.querySelector('[data-testid="brushed"]').firstChild.textContent`, n+" of 10 runs inside the brushes")
	b.do(chromedp.Reload())
	b.is(selected, strings.Join([]string{n, n, n, n}, " "))
	b.press(`[data-testid="clear-brushes"]`)
	b.is(selected, "10 10 10 10")
	b.is(`document.querySelector('[data-testid="brushed"]').hidden`, "true")

	// Select runs by keyboard along an axis of the parallel coordinates.
	b.do(chromedp.Focus(chromedp.CSS(`[data-part="brush"][data-axis="param.kind"]`)), key(kb.ArrowUp))
	b.is(selected, "5 5 5 5")
	b.press(`[data-testid="compare-these"]`)
	b.is(`document.querySelector('h1').textContent`, "Compare 5 runs")
	b.is(`document.querySelector('.compare thead').textContent.includes('run 1') && !document.querySelector('.compare thead').textContent.includes('run 2')`, "true")

	// The run under the pointer is highlighted in all plots.
	b.is(`document.querySelectorAll('.spot').length`, "5")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.spot').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))`))
	b.is(`document.querySelectorAll('.plots .lit').length`, "2")
	b.fits()
	b.quiet()
}

// shortAddress returns the address of a comparison with short ids, which are the last 48 bits of
// the ids.
func shortAddress(t *testing.T, experiment string, ids []string) string {
	t.Helper()
	var all []string
	for _, id := range ids {
		b, err := hex.DecodeString(id[len(id)-runs.EndingLength:])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, base64.RawURLEncoding.EncodeToString(b))
	}
	return "/compare?of=" + experiment + "&runs=" + strings.Join(all, ".")
}

// The address of a comparison of many runs contains short ids.
func TestShortAddresses(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(3, 1)
	alice := with(s.signIn("alice"))
	path := shortAddress(t, w.experiment, []string{w.runs[2], w.runs[0]})
	s.get(path, alice).wants(t, 200, "Compare 2 runs")
	var data struct{ Runs []struct{ ID string } }
	s.get("/data"+path, alice).json(t, 200, &data)
	if len(data.Runs) != 2 || data.Runs[0].ID != w.runs[2] || data.Runs[1].ID != w.runs[0] {
		t.Errorf("the runs are %v", data.Runs)
	}
	s.get(path+path[strings.LastIndexAny(path, ".="):], alice).wants(t, 200, "Compare 2 runs")
	s.get("/compare?i="+w.runs[0]+"&i="+w.runs[2]+"&i="+w.runs[0], alice).wants(t, 200, "Compare 2 runs")
	s.get("/compare?i="+w.runs[0]+"&i="+w.runs[0], alice).wants(t, 422, "Select 2 to 200 runs")
	s.get(path+".AAAAAAAA", alice).wants(t, 200, "Compare 2 runs", "One of the runs was deleted and is not shown.")
	s.get("/compare?of="+w.experiment+"&runs=AAAAAAAA", alice).wants(t, 404, "A selected run was deleted.")
	s.get(path+".x", alice).wants(t, 422, "has no valid runs")
	s.get(path+strings.Repeat(".AAAAAAAA", 200), alice).wants(t, 422, "2 to 200 runs")
	s.get("/compare?of=none&runs=AAAAAAAA", alice).wants(t, 404)
	s.get(path, with(s.signIn("bob"))).wants(t, 403)
}

// TestShortAddressOfSelection compares many runs that were selected one by one.
func TestShortAddressOfSelection(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(30, 2)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 1600), chromedp.Navigate(s.url+"/lab/experiment/"+w.experiment))
	b.is(rows, "30")
	const boxes = `[...document.querySelectorAll('#table tbody input[type="checkbox"]')]`
	b.is(`(`+boxes+`.slice(0, 25).forEach((box) => { if (!box.checked) box.click(); }), document.querySelector('#selected .count')?.textContent)`, "25 selected")
	b.press(`[data-testid="do-compare"]`)
	b.is(`document.querySelector('h1').textContent`, "Compare 25 runs")
	b.is(`location.search.length < 300 && new URLSearchParams(location.search).get('runs').split('.').length`, "25")
	b.is(`document.querySelector('[data-testid="chart"]').dataset.drawn`, "25")
}
