package ui_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/ui"
)

// shown is a page in one of its states.
type shown struct {
	name  string
	route string // route in the route table, "" for an unknown address
	user  string // "" for nobody
	path  string
	ready string // JavaScript expression that is true when the page has settled
	press string // keys to press after that
	then  string // JavaScript expression that is true when the keys have had an effect
	error bool   // whether it is an error page
}

const (
	chartsDrawn = `[...document.querySelectorAll('[data-testid="chart"]')].some((c) => Number(c.dataset.drawn) > 0)`
	analysed    = `document.querySelector('#analyse')?.dataset.ready === 'yes'`
	mediaShown  = `document.querySelectorAll('[data-testid="media-cell"]').length > 1`
	dialogOpen  = `document.querySelector('dialog[open]') !== null`
)

// pages holds all pages of the dashboard, in the states that look different. A new page in the
// route table needs a line here.
func (c showcase) pages() []shown {
	two := "?i=" + c.w.runs[0] + "&i=" + c.failed
	experiment, run := "/experiment/"+c.w.experiment, "/iteration/"+c.failed
	return []shown{
		{name: "sign in", route: "/login", path: "/login?next=/%3Fq=iris"},
		{name: "projects", route: "/", user: "alice", path: "/"},
		{name: "projects, next page", route: "/", user: "alice", path: "/?limit=1&offset=1"},
		{name: "projects, none found", route: "/", user: "alice", path: "/?q=zebra"},
		{name: "projects, none", route: "/", user: "carol", path: "/"},
		{name: "keys", user: "alice", path: "/", press: "?", then: dialogOpen},
		{name: "project", route: "/project/{id}", user: "alice", path: "/project/" + c.w.project},
		{name: "project, empty", route: "/project/{id}", user: "alice", path: "/project/" + c.empty},
		{name: "project, none found", route: "/project/{id}", user: "alice", path: "/project/" + c.w.project + "?q=zebra"},
		{name: "reports", route: "/project/{id}/reports", user: "alice", path: "/project/" + c.w.project + "/reports"},
		{name: "reports, none", user: "alice", path: "/project/" + c.empty + "/reports"},
		{name: "report", route: "/report/{id}", user: "alice", path: "/report/" + c.findings},
		{name: "project, runs", route: "/project/{id}/runs", user: "alice", path: "/project/" + c.w.project + "/runs"},
		{name: "project, runs, wrong filter", user: "alice", path: "/project/" + c.w.project + "/runs?filter=x+%3C"},
		{name: "members", route: "/project/{id}/members", user: "alice", path: "/project/" + c.w.project + "/members"},
		{name: "members, for a reader", route: "/project/{id}/members", user: "bob", path: "/project/" + c.w.project + "/members"},
		{name: "experiment", route: "/experiment/{id}", user: "alice", path: experiment, ready: rows + ` === 13 && ` + chartsDrawn},
		{name: "experiment, wrong filter", route: "/experiment/{id}", user: "alice", path: experiment + "?filter=" + url.QueryEscape("param.lr << 1"),
			ready: wrong + `.querySelector('mark') !== null`},
		{name: "experiment, none found", route: "/experiment/{id}", user: "alice", path: experiment + "?filter=" + url.QueryEscape("name = 'x'"),
			ready: `document.querySelector('#total').textContent === '0' && ` + rows + ` === 0`},
		{name: "experiment, completing a filter", route: "/experiment/{id}", user: "alice", path: experiment, ready: rows + ` === 13 && ` + chartsDrawn,
			press: "/l", then: offers + ` > 0`},
		{name: "experiment, all runs", route: "/experiment/{id}/change", user: "alice", path: experiment + "/change?filter=" + url.QueryEscape("param.lr > 0.2")},
		{name: "experiment, baseline, zoom and axes", route: "/experiment/{id}", user: "alice",
			path: experiment + "?base=" + c.w.runs[0] + "&zoom=5~20&smooth=0.6&columns=param.lr,metric.gpu", ready: rows + ` === 13 && ` + chartsDrawn},
		{name: "importance", route: "/experiment/{id}/importance", user: "alice", path: experiment + "/importance", ready: analysed},
		{name: "importance, few runs", route: "/experiment/{id}/importance", user: "alice", path: experiment + "/importance?goal=none&filter=" + url.QueryEscape("param.lr > 0.2"), ready: analysed},
		{name: "project, settings", route: "/project/{id}/settings", user: "alice", path: "/project/" + c.w.project + "/settings"},
		{name: "experiment, settings", route: "/experiment/{id}/settings", user: "alice", path: experiment + "/settings"},
		{name: "artifacts", route: "/experiment/{id}/artifacts", user: "alice", path: "/experiment/" + c.shelf.experiment + "/artifacts"},
		{name: "artifact versions", route: "/experiment/{id}/collections", user: "alice", path: "/experiment/" + c.w.experiment + "/collections"},
		{name: "artifact versions, none", route: "/experiment/{id}/collections", user: "alice", path: "/experiment/" + c.blank + "/collections"},
		{name: "artifact versions of a project", route: "/project/{id}/collections", user: "alice", path: "/project/" + c.w.project + "/collections"},
		{name: "artifact version", route: "/collection/{id}", user: "alice", path: "/collection/" + c.collection},
		{name: "artifact version, for a reader", route: "/collection/{id}", user: "bob", path: "/collection/" + c.collection},
		{name: "lineage", route: "/lineage/{kind}/{id}", user: "alice", path: "/lineage/iteration/" + c.w.runs[0]},
		{name: "artifacts, none", route: "/experiment/{id}/artifacts", user: "alice", path: experiment + "/artifacts"},
		{name: "artifact, picture", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["sample_0050.png"]},
		{name: "artifact, table", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["table.csv"]},
		{name: "table", route: "/artifact/{id}/table", user: "alice", path: "/artifact/" + c.shelf.artifacts["table.csv"] + "/table"},
		{name: "table, column and row", route: "/artifact/{id}/table", user: "alice",
			path: "/artifact/" + c.shelf.artifacts["table.csv"] + "/table?about=id&row=1&hide=name&fc=id&fo=min&fv=0"},
		{name: "table, none found", route: "/artifact/{id}/table", user: "alice", path: "/artifact/" + c.shelf.artifacts["table.csv"] + "/table?q=nothing"},
		{name: "table, groups", route: "/artifact/{id}/table", user: "alice", path: "/artifact/" + c.shelf.artifacts["table.csv"] + "/table?group=name"},
		{name: "artifact, histogram", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["weights_3.histogram.json"]},
		{name: "artifact, JSON", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["config.json"]},
		{name: "artifact, Markdown", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["report.md"]},
		{name: "artifact, log", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["output.log"]},
		{name: "artifact, sound", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["sound.wav"]},
		{name: "run with artifacts", route: "/iteration/{id}", user: "alice", path: "/iteration/" + c.shelf.run, ready: chartsDrawn + ` && ` + mediaShown},
		{name: "artifact, HTML", route: "/artifact/{id}", user: "alice", path: "/artifact/" + c.shelf.artifacts["evil.html"]},
		{name: "experiment, media", route: "/experiment/{id}", user: "alice", path: "/experiment/" + c.shelf.experiment + "?media=1", ready: mediaShown},
		{name: "models", route: "/project/{id}/models", user: "alice", path: "/project/" + c.shelf.project + "/models"},
		{name: "models, none", route: "/project/{id}/models", user: "alice", path: "/project/" + c.empty + "/models"},
		{name: "model", route: "/model/{id}", user: "alice", path: "/model/" + c.shelf.model},
		{name: "experiment, empty", route: "/experiment/{id}", user: "alice", path: "/experiment/" + c.blank},
		{name: "palette", user: "alice", path: experiment, ready: rows + ` === 13 && ` + chartsDrawn, press: "ctrl k",
			then: `document.querySelectorAll('.find li').length > 2`},
		{name: "sweeps", route: "/experiment/{id}/sweeps", user: "alice", path: c.searched + "/sweeps"},
		{name: "sweep", route: "/sweep/{id}", user: "alice", path: "/sweep/" + c.search},
		{name: "link of W&B, project", route: "/wandb/{project}", user: "alice", path: "/wandb/digits"},
		{name: "link of W&B, run", route: "/wandb/{project}/{run}", user: "alice", path: "/wandb/digits/" + c.w.runs[0], ready: chartsDrawn},
		{name: "run", route: "/iteration/{id}", user: "alice", path: run, ready: chartsDrawn},
		{name: "run, explained", route: "/iteration/{id}", user: "alice", path: "/iteration/" + c.w.runs[0] + "?diagnosis=1", ready: chartsDrawn},
		{name: "failures", route: "/experiment/{id}/failures", user: "alice", path: experiment + "/failures"},
		{name: "run, asked to stop", route: "/iteration/{id}", user: "alice", path: "/iteration/" + c.w.runs[11], ready: chartsDrawn},
		{name: "run, for a reader", route: "/iteration/{id}", user: "bob", path: "/iteration/" + c.child},
		{name: "compare", route: "/compare", user: "alice", path: "/compare" + two + "&i=" + c.w.runs[2] + "&i=" + c.w.runs[3],
			ready: chartsDrawn + ` && document.querySelectorAll('.plots .spot').length === 4`},
		{name: "compare, two runs", route: "/compare", user: "alice", path: "/compare?i=" + c.w.runs[2] + "&i=" + c.w.runs[3],
			ready: chartsDrawn + ` && document.querySelectorAll('.code-block ins').length === 2`},
		{name: "change", route: "/change", user: "alice", path: "/change" + two},
		{name: "delete", route: "/delete", user: "alice", path: "/delete" + two},
		{name: "trash", route: "/trash", user: "alice", path: "/trash"},
		{name: "trash, none", route: "/trash", user: "bob", path: "/trash"},
		{name: "project, after a deletion", route: "/project/{id}", user: "alice", path: "/project/" + c.empty + "?deleted=" + c.gone},
		{name: "experiment, after a deletion", route: "/experiment/{id}", user: "alice", path: experiment + "?deleted=" + c.gone,
			ready: rows + ` === 13 && ` + chartsDrawn},
		{name: "own account", route: "/account", user: "alice", path: "/account?saved=names"},
		{name: "users", route: "/users", user: "alice", path: "/users"},
		{name: "import", route: "/import", user: "alice", path: "/import"},
		{name: "server", route: "/server", user: "alice", path: "/server"},
		{name: "audit", route: "/audit", user: "alice", path: "/audit"},
		{name: "audit, wrong", route: "/audit", user: "alice", path: "/audit?since=x"},
		{name: "audit, none", route: "/audit", user: "alice", path: "/audit?actor=nobody&kind=report"},
		{name: "user", route: "/user/{id}", user: "alice", path: "/user/" + c.bobID},
		{name: "no such page", user: "alice", path: "/nowhere", error: true},
		{name: "no such run", user: "alice", path: "/iteration/none", error: true},
		{name: "not allowed", user: "carol", path: run, error: true},
		{name: "too few to compare", user: "alice", path: "/compare?i=" + c.failed, error: true},
		{name: "users, for others", user: "bob", path: "/users", error: true},
	}
}

// TestPages opens every page in both themes and at two widths. The page must fit the window and be
// accessible, and the browser must log no errors.
func TestPages(t *testing.T) {
	t.Parallel()
	c := newShowcase(t, setup{auth: true})
	pages := c.pages()
	for _, path := range ui.Pages() {
		if !slices.ContainsFunc(pages, func(p shown) bool { return p.route == path }) {
			t.Errorf("the page %s is not in the table of pages", path)
		}
	}
	browsers := map[string]*browser{}
	for _, p := range pages {
		b := browsers[p.user]
		if b == nil {
			b = c.openBrowser(t)
			if p.user != "" {
				b.signIn(c.site, p.user)
			}
			browsers[p.user] = b
		}
		t.Run(p.name, func(t *testing.T) {
			b.t = t
			b.check(p)
		})
		b.t = t
	}
}

// check opens a page and checks that it fits and is accessible, at both widths and in both themes.
func (b *browser) check(p shown) {
	b.t.Helper()
	b.open(p)
	for _, width := range []int64{1280, 400} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.is(tooWide, "")
		for _, theme := range []string{"light", "dark"} {
			b.prefer(theme)
			state := p.name + ", " + theme
			if width == 400 {
				state += ", narrow"
			}
			b.accessible(state, theme == "dark") // only the colours differ
		}
	}
	b.prefer("light")
	b.quiet()
}

// open opens a page in a wide window in the light theme, and waits until the page has settled.
func (b *browser) open(p shown) {
	b.t.Helper()
	b.refused = ""
	if p.error {
		b.refused = b.url + p.path
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+p.path))
	if p.ready != "" {
		b.is(p.ready, "true")
	}
	b.is(`document.querySelector('.error') !== null`, map[bool]string{true: "true", false: "false"}[p.error])
	if p.press != "" {
		key, ctrl := strings.CutPrefix(p.press, "ctrl ")
		var options []chromedp.KeyOption
		if ctrl {
			options = append(options, chromedp.KeyModifiers(chromedp.ModifierCtrl))
		}
		b.do(chromedp.KeyEvent(key, options...))
		b.is(p.then, "true")
	}
}
