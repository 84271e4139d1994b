package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/projects"
	"tracker/store/runs"
)

// The ways in which a proxy treats the base path.
const (
	strips = "strips"
	keeps  = "keeps"
)

// notebook is the path under which the proxy of a notebook server serves a port.
const notebook = "/user/me/proxy/9001"

// startProxy starts a proxy that serves the server at target under a base path, as the proxies of
// notebook servers do. A request outside the base path fails the test.
func startProxy(t testing.TB, target, base, does string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
		if does == strips {
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, base)
			r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.RawPath, base)
		}
	}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != base && !strings.HasPrefix(r.URL.Path, base+"/") {
			t.Errorf("%s %s is not under %s", r.Method, r.URL, base)
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestJourney uses the dashboard directly and behind each kind of proxy.
func TestJourney(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]setup{
		"direct, open":            {},
		"direct":                  {auth: true},
		"proxy that strips, open": {base: notebook, proxy: strips},
		"proxy that keeps":        {auth: true, base: notebook, proxy: keeps},
	} {
		t.Run(name, func(t *testing.T) { journey(t, at) })
	}
}

func journey(t *testing.T, at setup) {
	s := start(t, at)
	s.clock.move(time.Since(s.clock.now()))
	project := s.project("alice", "digits", "", 0, 0)
	e := must(s.db.Projects.CreateExperiment(t.Context(), s.actor("alice"), project, projects.NewExperiment{Name: "sweep"}))(t)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))

	// An address with a trailing slash leads to the same page.
	for _, path := range []string{"", "/", "/project/" + project + "/"} {
		if path == "" && at.base == "" {
			continue
		}
		b.do(chromedp.Navigate(b.url + at.base + path))
		if at.auth && b.text(`document.querySelector('#username') !== null`) == "true" {
			b.logIn("alice")
		}
		b.is(`document.querySelector('h1').textContent`, map[bool]string{true: "digits", false: "Projects"}[len(path) > 1])
	}
	b.press(`main a[href="` + at.base + "/experiment/" + e.ID + `"]`)
	b.is(`document.querySelector('[data-testid="lesson"]') !== null`, "true")

	// The first run appears by itself, and its curve grows.
	id := s.run(e.ID, runs.NewIteration{Name: new("first")})
	s.log(id, "train/loss", 20)
	b.is(pointsText, "20 points")
	b.is(`document.documentElement.dataset.live`, "yes")
	s.log(id, "train/loss", 10)
	b.is(pointsText, "30 points")

	b.press("#scroll")
	b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)),
		chromedp.WaitVisible(chromedp.CSS(`[data-testid="find-name"]`)), chromedp.KeyEvent("first"))
	b.is(`document.querySelector('.find li bdi')?.textContent`, "first")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('h1').textContent`, "first")
	b.is(pointsText, "30 points")
	b.at(at.base + "/iteration/" + id)
	b.press(`[data-testid="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS("#notes"), "**it**"))
	b.press(".edit[open] button")
	b.is(`document.querySelector('[data-testid="notes"] strong')?.textContent`, "it")
	b.press(".brand")
	b.is(`document.querySelectorAll('[data-testid="project"]').length`, "1")
	b.at(at.base + "/")
	if at.auth {
		b.press(`[data-testid="sign-out"]`)
		b.at(at.base + "/login")
	}
	b.quiet()
}

// leave changes the password of alice and signs out. After that, the Back button shows no data.
func (b *browser) leave(s *site) {
	b.t.Helper()
	const next = "battery staple"
	const submit = `form[action$="/account/password"] button`
	b.press(`[data-testid="user"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS("#current")),
		chromedp.SendKeys(chromedp.CSS("#current"), password), chromedp.SendKeys(chromedp.CSS("#password"), next),
		chromedp.SendKeys(chromedp.CSS("#again"), "battery stable"))
	b.refused = b.text(`document.querySelector('form[action$="/account/password"]').action`)
	b.press(submit)
	b.is(`document.querySelector('[data-testid="wrong-again"]')?.textContent.includes('differ')`, "true")
	b.do(chromedp.SendKeys(chromedp.CSS("#current"), password), chromedp.SendKeys(chromedp.CSS("#password"), next),
		chromedp.SendKeys(chromedp.CSS("#again"), next))
	b.press(submit)
	b.is(`document.querySelector('[data-testid="saved"]')?.textContent`, "The password was changed.")
	b.press(`[data-testid="sign-out"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS("#username")), chromedp.NavigateBack(), chromedp.WaitVisible(chromedp.CSS("#username")))
	b.is(`document.querySelector('[data-testid="saved"]') === null`, "true")
	b.do(chromedp.SendKeys(chromedp.CSS("#username"), "alice"), chromedp.SendKeys(chromedp.CSS("#password"), next+"\r"))
	b.is(`document.querySelector('[data-testid="user"]')?.textContent`, "alice")
}

// TestRunPageBeginsWithTheRun checks that the top of a run's page shows the last values, the
// parameters, and the chart of the most interesting metric.
func TestRunPageBeginsWithTheRun(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	ctx, actor := t.Context(), s.actor("alice")
	id := s.run(w.experiment, runs.NewIteration{Name: new("the run")})
	for i := range 30 {
		must(s.db.Runs.CreateParameter(ctx, actor, id, fmt.Sprintf("p%02d", i), "1"))(t)
		s.record(id, fmt.Sprintf("layer%02d/norm", i), upTo(3), func(i int) float64 { return float64(i) })
	}
	s.record(id, "train/loss", upTo(3), func(i int) float64 { return float64(i) })
	s.record(id, "val/loss", upTo(3), func(i int) float64 { return float64(i) })
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+id))
	inSight := func(selector string) string {
		return `(() => { const r = document.querySelector('` + selector + `').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && r.height > 0 })()`
	}
	b.is(`document.querySelector('[data-testid="chart"]').dataset.key + document.querySelector('[data-testid="chart"]').dataset.drawn`, "val/loss1")
	b.is(`[...document.querySelectorAll('[data-testid="chart"]')].slice(0, 2).map((e) => e.dataset.key)`, "val/loss,train/loss")
	for _, selector := range []string{`#metrics [data-metric="val/loss"]`, `#metrics [data-metric="train/loss"]`, `#params tr`, `[data-testid="chart"]`} {
		b.is(inSight(selector), "true")
	}
	b.fits()
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment))
	b.is(`[...document.querySelectorAll('[data-testid="chart"]')].slice(0, 2).map((e) => e.dataset.key)`, "val/loss,train/loss")
	b.quiet()
}
