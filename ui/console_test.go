package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/runs"
)

// print writes console lines of a run, beginning with the given number.
func (s *site) print(run string, from int64, lines ...string) {
	s.t.Helper()
	must(s.db.Runs.WriteConsole(s.t.Context(), s.actor("alice"), run, &from, lines))(s.t)
}

func TestConsolePage(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.sweep(2, 3)
	page := "/lab/iteration/" + w.runs[0]
	s.get(page).wants(t, 200, `id="console"`, ` hidden`)
	s.get(page+"/console").wants(t, 200)
	var lines []string
	for i := range 1500 {
		lines = append(lines, fmt.Sprintf("step %d", i))
	}
	lines[7] = "\x1b[31m<b>Error</b>\x1b[0m: no file"
	lines[1499] = " 10%|#  |\r 20%|## |"
	s.print(w.runs[0], 0, lines...)
	a := s.get(page)
	a.wants(t, 200, "1,500 lines", " 20%|## |", `data-line="1100"`, "Show earlier lines")
	a.lacks(t, `data-line="1099"`, " 10%")
	a = s.get(page + "?line=7")
	a.wants(t, 200, `<span class="red">&lt;b&gt;Error&lt;/b&gt;</span>: no file`, `class="here" data-line="7"`, `href="/lab/iteration/`+w.runs[0]+`#console"`)
	a.lacks(t, `data-line="1499"`)
	a = s.get(page + "?console=" + url.QueryEscape("ERROR"))
	a.wants(t, 200, "1 found", `data-line="7"`)
	a.lacks(t, `data-line="8"`)
	all := s.get(page + "/console")
	all.wants(t, 200, "step 0\n", "\n<b>Error</b>: no file\n", " 20%|## |\n")
	if got := all.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" || strings.Count(all.body, "\n") != 1500 {
		t.Errorf("the text is %s with %d lines", got, strings.Count(all.body, "\n"))
	}
}

// TestConsoleFollows checks that the page of a run shows new console lines.
func TestConsoleFollows(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true, base: "/lab"})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(1, 3)
	id := w.runs[0]
	b := s.openBrowser(t)
	b.signIn(s, "alice")
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/lab/iteration/"+id))
	b.is(`document.documentElement.dataset.live`, "yes")
	b.is(`document.querySelector('#console').hidden`, "true")
	const shown = `[...document.querySelectorAll('#console li code')].map((c) => c.textContent)`
	s.print(id, 0, "epoch 1", "\x1b[32m 10%\x1b[0m")
	b.is(shown, "epoch 1, 10%")
	b.is(`document.querySelector('#console .green').textContent`, " 10%")
	b.is(`getComputedStyle(document.querySelector('#console .green')).color !== getComputedStyle(document.body).color`, "true")
	s.print(id, 1, "\x1b[32m100%\x1b[0m", "epoch 2")
	b.is(shown, "epoch 1,100%,epoch 2")
	b.is(`document.querySelector('[data-testid="console-count"]').textContent`, "3 lines")

	// The end of the console stays visible if the user has not scrolled up.
	var many []string
	for i := range 900 {
		many = append(many, fmt.Sprint("line ", i))
	}
	s.print(id, 3, many...)
	const low = `(() => { const b = document.querySelector('#console .lines'); return b.scrollTop + b.clientHeight > b.scrollHeight - 30 })()`
	b.is(shown+`.at(-1)`, "line 899")
	b.is(low, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#console .lines').scrollTop = 100`))
	s.print(id, 903, "later")
	b.is(shown+`.at(-1)`, "later")
	b.is(low, "false")

	// A search shows matching lines, including later lines.
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="console"]`), "epoch"))
	b.is(shown, "epoch 1,epoch 2")
	b.is(`new URL(location.href).searchParams.get('console')`, "epoch")
	s.print(id, 904, "epoch 3")
	b.is(shown, "epoch 1,epoch 2,epoch 3")
	b.do(chromedp.Reload())
	b.is(shown, "epoch 1,epoch 2,epoch 3")
	b.is(`document.querySelector('[data-testid="console-count"]').textContent`, "3 found")

	// A line has an address.
	b.press(`#console li:nth-child(2) .at`)
	b.is(`document.querySelector('#console .here code').textContent`, "epoch 2")
	b.is(`location.hash`, "#console")
	b.quiet()
}

// TestRunPageHasSections checks that metrics, parameters and the first chart are visible together,
// and that each section has an address.
func TestRunPageHasSections(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 30)
	s.log(w.runs[0], "system/cpu", 5)
	s.print(w.runs[0], 0, "hello")
	must(s.db.Runs.CreateSnapshot(t.Context(), s.actor("alice"), w.runs[0], runs.NewSnapshot{GitSHA: "abc123"}))(t)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/iteration/"+w.runs[0]))
	b.is(chartsDrawn, "true")
	inSight := func(selector string) string {
		return `(() => { const r = document.querySelector('` + selector + `').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && r.width > 0 })()`
	}
	for _, selector := range []string{`[data-metric="train/loss"]`, `#params tr`, `#charts figure`} {
		b.is(inSight(selector), "true")
	}
	b.is(`[...document.querySelectorAll('.sections a')].map((a) => a.textContent)`, "What happened?,Summary,Charts,System,Media,Console,Artifacts,Source")
	for _, section := range []string{"system", "console", "run-artifacts", "environment"} {
		b.press(`.sections a[href="#` + section + `"]`)
		b.is(`new URL(location.href).searchParams.has('fold')`, "true") // after the charts of system metrics were expanded
		b.is(`location.hash`, "#"+section)
		b.is(`(() => { const r = document.getElementById('`+section+`').getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight })()`, "true")
	}
	b.is(`document.getElementById('system').open`, "true")
	b.fits()
	b.quiet()
}
