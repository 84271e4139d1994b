package ui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/files"
)

// TestWithoutScripts signs in, reads pages and makes changes in a browser without JavaScript.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true, base: notebook, proxy: strips})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(3, 5)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	experiment, run := notebook+"/experiment/"+w.experiment, notebook+"/iteration/"+w.runs[0]
	press := func(selector string) { b.do(chromedp.Click(chromedp.CSS(selector))) }
	write := func(selector, text string) { b.do(chromedp.SendKeys(chromedp.CSS(selector), text)) }
	// The test polls the page, because a page without scripts can't wait.
	sees := func(selector, want string) {
		t.Helper()
		read := fmt.Sprintf(`document.querySelector(%q)?.textContent`, selector)
		for end := time.Now().Add(patience); !strings.Contains(b.text(read), want); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s reads %q, want %q", selector, b.text(read), want)
			}
		}
	}
	// hidden checks that elements that need a script are not visible.
	hidden := func(selectors ...string) {
		t.Helper()
		for _, selector := range selectors {
			b.do(chromedp.WaitNotVisible(chromedp.CSS(selector)))
		}
	}

	b.do(chromedp.Navigate(b.url + experiment))
	write("#username", "alice")
	write("#password", "wrong")
	b.refused = b.url + notebook + "/login"
	press(`[data-testid="sign-in"]`)
	sees("#message", "The user name or the password is wrong.")
	write("#password", password)
	press(`[data-testid="sign-in"]`)

	sees(`#table`, "run 3")
	sees(`#table`, "0.2")
	sees("#charts", "Charts, media, groups and saved views need JavaScript.")
	hidden(`[data-testid="choose"]`, `[data-testid="find"]`, `[data-testid="help"]`, `[data-testid="theme"]`, "#split")
	write("#filter", "param.lr < 0.25\r")
	sees("#total", "2")
	press(`#table a[href="` + run + `"]`)
	sees("h1", "run 1")
	sees("#metrics", "train/loss")
	sees("#params", "0.1")
	sees("#charts", "Charts and media need JavaScript.")
	hidden(`[data-copies]`, `[data-filters]`)
	press(`[data-testid="edit"]`)
	write("#notes", "**it**")
	press(".edit[open] button")
	sees(`[data-testid="notes"]`, "it")
	press(`[data-testid="end"]`)
	write("#error-message", "out of memory")
	press(".edit[open] button")
	sees(`[data-testid="status"]`, "killed")
	sees(`[data-testid="error-text"]`, "out of memory")

	b.do(chromedp.Navigate(b.url + notebook + "/compare?i=" + w.runs[0] + "&i=" + w.runs[1]))
	sees(".compare", "run 2")
	sees("#charts", "the importance of parameters need JavaScript.")
	same := chromedp.CSS(".compare .same")
	b.do(chromedp.WaitVisible(same), chromedp.Click(chromedp.CSS("#differences")), chromedp.WaitNotVisible(same))
	b.do(chromedp.Navigate(b.url + notebook + "/change?i=" + w.runs[0]))
	write("#tag", "best\r")
	sees(".head .tag", "best")
	press(`[data-testid="delete"]`)
	sees("h1", "Delete 1 run?")
	press(`[data-testid="confirm"]`)
	sees("#total", "2")

	b.do(chromedp.Navigate(b.url + notebook + "/users"))
	write(`main #username`, "dave")
	write(`main #password`, password)
	press(`[data-testid="add-user"]`)
	sees("h1", "dave")
	b.do(chromedp.Navigate(b.url + notebook + "/project/" + w.project + "/members"))
	write(`main #username`, "dave")
	press(`[data-testid="add-member"]`)
	sees("main", "dave")
	press(`[data-testid="sign-out"]`)
	sees("h1", "Sign in")
	b.quiet()
}

// TestLargeWithoutScripts sends a large file and a large text from a browser without JavaScript.
// The file is stored, and the text is shown again with a message.
func TestLargeWithoutScripts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{blobs: t.TempDir()})
	w := s.sweep(1, 1)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	const size = 40 << 20
	file := filepath.Join(t.TempDir(), "large.bin")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	run := "/iteration/" + w.runs[0]
	b.do(chromedp.Navigate(b.url+run), chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{file}),
		chromedp.Click(chromedp.CSS(`.upload button`)), chromedp.WaitVisible(chromedp.CSS(`details.artifact`)))
	list, err := s.db.Files.Artifacts(t.Context(), s.actor("alice"), w.experiment, files.ArtifactQuery{Page: domain.FirstPage})
	if err != nil || list.Total != 1 || list.Data[0].SizeBytes != size || *list.Data[0].IterationID != w.runs[0] {
		t.Errorf("kept were %+v (%v)", list, err)
	}

	// Each of these letters takes six bytes in the form.
	b.refused = b.url + run
	b.do(chromedp.Navigate(b.url+run), chromedp.Click(chromedp.CSS(`[data-testid="edit"]`)),
		chromedp.Evaluate[chromedp.Void](`void (document.querySelector('#notes').value = ('ж'.repeat(50) + '\n').repeat(30000))`),
		chromedp.Click(chromedp.CSS(`.edit[open] button`)), chromedp.WaitVisible(chromedp.CSS("#wrong-notes")))
	if got := b.text(`document.querySelector('#wrong-notes').textContent`); got != "notes must have at most 1048576 bytes, not 3030000." {
		t.Errorf("beside the notes: %q", got)
	}
	if got := b.text(`document.querySelector('#notes').value.length`); got != "1530000" {
		t.Errorf("%s of the notes came back", got)
	}
	b.quiet()
}
