package ui_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/runs"
)

// TestBrowserArtifacts drives the pages of artifacts and models in Chromium.
func TestBrowserArtifacts(t *testing.T) {
	ctx := chromium(t)
	for name, drive := range map[string]func(*browser, *site, shelf){
		"previews": browsePreviews, "scripts": browseScripts, "uploads": browseUploads, "models": browseModels, "run": browseRun, "gone": browseGone, "no script": browsePlain,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, setup{base: "/lab/one", maxUpload: 4 << 20})
			h := s.shelf()
			ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
			defer cancel()
			b := newBrowser(t, ctx, s.url)
			b.do(chromedp.EmulateViewport(1280, 800))
			drive(b, s, h)
			b.quiet()
		})
	}
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.press(selector)
}

// show opens an artifact in a list and returns the selector of its element.
func (b *browser) show(s *site, h shelf, name string) string {
	b.t.Helper()
	item := `details:has(> #artifact-` + h.artifacts[name] + `)`
	b.click(item + ` > summary`)
	b.is(`Boolean(document.querySelector('`+item+` [data-testid="preview"]'))`, "true")
	return item
}

func browsePreviews(b *browser, s *site, h shelf) {
	b.do(chromedp.Navigate(s.url + s.base + "/experiment/" + h.experiment + "/artifacts"))
	kind := func(item string) string {
		return `document.querySelector('` + item + ` [data-testid="preview"]').dataset.kind`
	}
	for name, want := range map[string]string{"table.csv": "table", "config.json": "json", "weights_3.histogram.json": "json", "report.md": "markdown",
		"output.log": "text", "sound.wav": "audio", "film.webm": "video", "model.pt": "file"} {
		b.is(kind(b.show(s, h, name)), want)
	}
	b.is(`document.querySelectorAll('.histogram rect').length`, "3")
	b.is(`document.querySelectorAll('[data-testid="preview"] table.grid tbody tr').length`, "200")

	// The player can seek to any position.
	player := `document.querySelector('[data-kind="audio"] audio')`
	b.is(player+`.duration`, "60")
	b.is(`(`+player+`.currentTime = 50, `+player+`.seeking)`, "true")
	b.is(player+`.seeking ? 'seeking' : `+player+`.currentTime`, "50")

	b.is(`document.title`, "Artifacts of sweep · tracker")

	// The keyboard collapses a tree.
	b.is(`document.querySelectorAll('.tree details[open]').length`, "2")
	b.do(chromedp.Focus(chromedp.CSS(`.tree > details > summary`)), chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('.tree > details').open`, "false")

	item := b.show(s, h, "sample_0001.png")
	image := `document.querySelector('` + item + ` .picture img')`
	b.is(image+`.naturalWidth`, "32")
	b.do(chromedp.Focus(chromedp.CSS(item+` [data-testid="slider"]`)), chromedp.KeyEvent(kb.ArrowRight))
	b.is(`document.querySelector('`+item+` [data-testid="step"]').textContent`, "step 50")
	b.is(image+`.getAttribute('src').endsWith('/artifact/`+h.artifacts["sample_0050.png"]+`/data')`, "true")
	b.is(image+`.complete && `+image+`.naturalWidth`, "32")
	b.is(`document.activeElement.getAttribute('aria-valuetext')`, "step 50")
	b.is(`document.querySelector('`+item+` summary .name').textContent`, "sample_0050.png")
	b.is(`fetch(document.querySelector('`+item+` .picture img').src).then((r) => r.arrayBuffer()).then((a) => crypto.subtle.digest('SHA-256', a))
		.then((d) => { window.digest = [...new Uint8Array(d)].map((n) => n.toString(16).padStart(2, '0')).join('') }) && document.querySelector('`+item+` summary code').title === 'SHA-256: ' + window.digest`, "true")
	b.is(`document.querySelector('`+item+` .thumbnail').src === `+image+`.src`, "true")
	b.is(`getComputedStyle(document.querySelector('`+item+` .facts')).display`, "none") // the details of the artifact, which describe another image
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.is(`document.querySelector('`+item+` .place').textContent`, "3")
	b.is(`document.querySelector('`+item+` [rel="next"]').hidden`, "true")
	b.fits()
	b.enlarge(s, h, item)
}

// enlarge checks that an image of 32 by 24 pixels is enlarged by an integer factor, and opens the
// image.
func (b *browser) enlarge(s *site, h shelf, item string) {
	size := func(of string) string {
		return `(([i]) => [i.width / 32, i.height / 24, getComputedStyle(i).imageRendering].join(' '))(document.querySelectorAll('` + of + ` .picture img'))`
	}
	b.do(chromedp.EmulateViewport(1280, 800))
	b.is(size(item), "7 7 pixelated")
	b.do(chromedp.Focus(chromedp.CSS(item+` .open`)), chromedp.KeyEvent("\r"))
	b.is(size(`[data-testid="large"]`), "26 26 pixelated")
	b.is(`document.querySelector('[data-testid="large"] .count').textContent`, "32 × 24 pixels")
	b.is(`document.querySelector('[data-testid="large"] img').src.endsWith('/artifact/`+h.artifacts["sample_0200.png"]+`/data')`, "true")
	b.do(chromedp.KeyEvent("\x1b"))
	b.is(`document.querySelectorAll('dialog[open]').length`, "0")
	b.click(item + ` .picture img`)
	b.is(`document.querySelectorAll('[data-testid="large"]').length`, "1")
	b.click(`[data-testid="large"] button`)
	b.is(`document.querySelectorAll('dialog[open]').length`, "0")
}

// browseScripts opens artifacts that contain scripts, which must not run.
func browseScripts(b *browser, s *site, h shelf) {
	page := s.base + "/experiment/" + h.experiment + "/artifacts"
	b.do(chromedp.Navigate(s.url + page))
	item := b.show(s, h, "logo.svg")
	b.is(`document.querySelector('`+item+` .picture img').naturalWidth`, "40")
	b.show(s, h, "evil.html")
	b.show(s, h, "report.md")
	b.show(s, h, "table.csv")
	b.is(`window.ran`, "undefined")
	// If their addresses are opened, the browser downloads the files and stays on the page.
	for _, name := range []string{"logo.svg", "evil.html"} {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, chromedp.Navigate(s.url+s.base+"/artifact/"+h.artifacts[name]+"/data"))
		cancel()
		if err == nil || !strings.Contains(err.Error(), "ERR_ABORTED") {
			b.t.Errorf("%s was shown, and not saved (%v)", name, err)
		}
		b.at(page)
	}
	b.is(`window.ran`, "undefined")
}

func browseUploads(b *browser, s *site, h shelf) {
	const states = `[...document.querySelectorAll('[data-testid="upload"]')].map(l => l.className + ' ' + l.querySelector('[role]:not(progress)').textContent)`
	dir := b.t.TempDir()
	file := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o644); err != nil {
			b.t.Fatal(err)
		}
		return path
	}
	b.do(chromedp.Navigate(s.url+s.base+"/iteration/"+h.run), chromedp.WaitVisible(chromedp.CSS(`#files`)))
	b.is(`(() => { window.seen = new Set(); window.most = 0;
		new MutationObserver(() => { for (const l of document.querySelectorAll('[data-testid="upload"]')) {
			window.seen.add(l.querySelector('.count[role]').textContent);
			window.most = Math.max(window.most, l.querySelector('progress')?.value || 0); } })
		.observe(document.querySelector('.uploads'), { childList: true, subtree: true, characterData: true, attributes: true });
		return document.querySelectorAll('details.artifact').length })()`, "8")
	b.do(chromedp.SetUploadFiles(chromedp.CSS(`#files`), []string{
		file("<img src=x onerror=alert(1)>.txt", 100), file("large.bin", 5<<20), file("weights.bin", 1<<20)}))
	b.is(states+`.join('; ')`, "done added; failed Artifacts may be up to 4.0 MiB on this server.; done added")
	b.is(`window.seen.has('sending') && window.seen.has('storing')`, "true")
	b.is(`window.most`, "1")
	b.is(`document.querySelectorAll('details.artifact').length`, "10")
	b.is(`[...document.querySelectorAll('details.artifact .name')].some(n => n.textContent === '<img src=x onerror=alert(1)>.txt')`, "true")

	// One dropped file is uploaded, and another upload is cancelled.
	b.is(`(() => { const d = new DataTransfer(); d.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }));
		document.querySelector('.upload').dispatchEvent(new DragEvent('drop', { dataTransfer: d, bubbles: true, cancelable: true })); return 'yes' })()`, "yes")
	b.is(`document.querySelectorAll('details.artifact').length`, "11")
	slow := func(bytes float64) {
		_, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{DownloadThroughput: -1, UploadThroughput: bytes}}})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	slow(10_000)
	b.do(chromedp.SetUploadFiles(chromedp.CSS(`#files`), []string{file("slow.bin", 3<<20)}))
	b.is(`/^[0-9]+%$/.test(document.querySelector('[data-testid="upload"]:last-child [role="status"]').textContent)`, "true")
	b.click(`[data-testid="upload"]:last-child button`)
	b.is(`document.querySelector('[data-testid="upload"]:last-child').className`, "cancelled")
	slow(-1)
	b.fits()
	list, err := s.db.Files.Artifacts(b.t.Context(), s.actor("alice"), h.experiment, files.ArtifactQuery{Page: domain.Page{Limit: 50}, IterationID: &h.run})
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, r := range list.Data[13:] {
		names = append(names, r.Name)
	}
	if want := []string{"<img src=x onerror=alert(1)>.txt", "weights.bin", "dropped.txt"}; !slices.Equal(names, want) {
		b.t.Errorf("kept %q, not %q", names, want)
	}
}

func browseModels(b *browser, s *site, h shelf) {
	version := func(n int) string { return fmt.Sprintf(`[data-version="%d"]`, n) }
	stage := func(n int) string {
		return `document.querySelector('` + version(n) + ` [aria-pressed="true"]').value`
	}
	// Register an artifact as a version of a new model, without leaving the page.
	b.do(chromedp.Navigate(s.url + s.base + "/experiment/" + h.experiment + "/artifacts"))
	b.is(`window.same = 'same'`, "same")
	item := b.show(s, h, "sample_0001.png")
	b.click(item + ` [data-testid="register"]`)
	b.do(chromedp.SetValue(chromedp.CSS(item+` select`), ""), chromedp.SendKeys(chromedp.CSS(item+` input[name="name"]`), bad))
	b.click(item + ` form button.primary`)
	b.is(`document.querySelector('`+item+` .facts li a').textContent`, bad+", version 1")

	// An artifact that a version uses can't be deleted, so it has no button; another artifact has one.
	item = b.show(s, h, "model.pt")
	b.click(item + ` [data-testid="delete-artifact"]`)
	b.is(`document.querySelectorAll('`+item+` [data-testid="delete-artifact"] + form li').length`, "3")
	b.is(`document.querySelector('`+item+` [data-testid="confirm-delete"]')`, "null")
	item = b.show(s, h, "film.webm")
	b.click(item + ` [data-testid="delete-artifact"]`)
	b.click(item + ` [data-testid="confirm-delete"]`)
	b.is(`document.querySelectorAll('details.artifact').length`, "12")
	b.is(`window.same`, "same")

	// Go to the model by its name, and move a version to production.
	b.click(`[data-testid="find"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="find-name"]`)), chromedp.KeyEvent("classifier"))
	b.is(`document.querySelectorAll('.find li').length + document.querySelector('.find li').textContent`, "1classifiermodel in digits")
	b.do(chromedp.KeyEvent("\r"))
	b.at(s.base + "/model/" + h.model)
	b.is(`window.same = 'same'`, "same")
	b.is(stage(2), "PRODUCTION")
	b.click(version(3) + ` button[value="PRODUCTION"]`)
	b.is(`document.querySelector('[data-testid="done"]').textContent`, "Version 3 is in production now, in place of version 2, which is archived.")
	b.is(stage(3)+` + `+stage(2), "PRODUCTIONARCHIVED")
	b.is(`document.activeElement.value`, "PRODUCTION") // it still has the focus
	b.is(`window.same`, "same")
	b.at(s.base + "/model/" + h.model)
	b.click(`[data-testid="edit"]`)
	b.do(chromedp.SetValue(chromedp.CSS(`#model-name`), "judge"))
	b.click(`.edit[open] button.primary`)
	b.is(`document.querySelector('h1').textContent + document.title + document.querySelector('#crumbs [aria-current]').textContent`, "judgejudge · trackerjudge")
	b.is(`window.same`, "same")
	b.fits()
}

// browseRun changes a run without leaving its page.
func browseRun(b *browser, s *site, h shelf) {
	b.do(chromedp.Navigate(s.url + s.base + "/iteration/" + h.run))
	b.is(`window.same = 'same'`, "same")
	b.click(`[data-testid="tags"]`)
	b.do(chromedp.SendKeys(chromedp.CSS(`#tag`), "best\r"))
	b.is(`document.querySelector('.head .tag').textContent`, "best")
	b.expect("status of 422")
	b.click(`[data-testid="edit"]`)
	b.is(`document.querySelector('#name').value = ''`, "")
	b.do(chromedp.SendKeys(chromedp.CSS(`#notes`), "**why**"))
	b.click(`.edit[open] button.primary`)
	b.is(`document.querySelector('[data-testid="wrong-name"]').textContent`, "name must not be empty.")
	b.is(`document.querySelector('#notes').value`, "**why**")
	b.is(`document.activeElement.id`, "name")
	b.do(chromedp.SendKeys(chromedp.CSS(`#name`), "best run\r"))
	b.is(`document.querySelector('[data-testid="notes"] strong').textContent + document.title`, "whybest run · tracker")
	b.is(`window.same`, "same")

	// No input is lost while the server is unreachable.
	b.expect("ERR_INTERNET_DISCONNECTED")
	b.expect("console.error") // htmx also logs the error
	b.click(`[data-testid="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS(`#notes`), " not"))
	if _, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{DownloadThroughput: -1, UploadThroughput: -1, Offline: true}}}); err != nil {
		b.t.Fatal(err)
	}
	b.click(`.edit[open] button.primary`)
	b.is(`document.querySelector('#problem').textContent.includes('did not respond')`, "true")
	b.is(`document.querySelector('#notes').value`, " not**why**")
}

// browseGone saves changes to a run that another user has deleted.
func browseGone(b *browser, s *site, h shelf) {
	id := s.run(h.experiment, runs.NewIteration{})
	b.do(chromedp.Navigate(s.url + s.base + "/iteration/" + id))
	b.is(`document.documentElement.dataset.live`, "yes")
	b.click(`[data-testid="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS(`#notes`), "long thoughts"))
	b.expect("status of 404")
	if err := s.db.Runs.DeleteIteration(b.t.Context(), s.actor("alice"), id); err != nil {
		b.t.Fatal(err)
	}
	b.click(`.edit[open] button.primary`)
	b.is(`document.querySelector('#problem strong').textContent`, "Not found.")
	b.is(`document.querySelector('#notes').value`, "long thoughts")
}

// browsePlain repeats the actions of the other tests without scripts.
func browsePlain(b *browser, s *site, h shelf) {
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
	login, err := filepath.Abs("testdata/login.html")
	if err != nil {
		b.t.Fatal(err)
	}
	list := s.base + "/experiment/" + h.experiment + "/artifacts"
	b.do(chromedp.Navigate(s.url+list), chromedp.SetUploadFiles(chromedp.CSS(`#files`), []string{login}))
	b.click(`form.upload button`)
	b.is(`document.querySelectorAll('details.artifact').length`, "14")
	b.at(list)
	item := `details:has(> #artifact-` + h.artifacts["sample_0050.png"] + `)`
	b.click(item + ` > summary`)
	b.click(item + ` .artifact-body a`)
	b.at(s.base + "/artifact/" + h.artifacts["sample_0050.png"])
	b.click(`figure [rel="next"]`)
	b.at(s.base + "/artifact/" + h.artifacts["sample_0200.png"])
	b.click(`[data-testid="register"]`)
	b.click(`.edit[open] button.primary`)
	b.is(`document.querySelector('.facts li a').textContent`, "classifier, version 4")
	b.click(`.facts li a`)
	b.click(`[data-version="4"] button[value="PRODUCTION"]`)
	b.is(`document.querySelector('[data-testid="done"]').textContent`, "Version 4 is in production now, in place of version 2, which is archived.")
}

// expect allows an error message in the browser's console that the test causes.
func (b *browser) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, part)
}
