package ui_test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
)

// newArchive returns an archive of a new project from another database.
func newArchive(t testing.TB) []byte {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "elsewhere.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	project, err := db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "from elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := db.Projects.CreateExperiment(t.Context(), domain.System, project.ID, projects.NewExperiment{Name: "sweep"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Runs.CreateIteration(t.Context(), domain.System, experiment.ID, runs.NewIteration{Name: new("imported")}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := db.Archive.Export(t.Context(), domain.System, archive.Query{ProjectID: project.ID}, archive.Options{}, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// archiveForm returns a multipart form with an archive and the boundary x.
func archiveForm(t testing.TB) string {
	return "--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a.zip\"\r\n\r\n" + string(newArchive(t)) + "\r\n--x--\r\n"
}

// The archives of a project, an experiment, selected runs and filtered runs do not change if the
// archives are imported again.
func TestArchivePages(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(3, 2)
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	s.get("/project/"+w.project+"/settings", alice).wants(t, 200, "/project/"+w.project+"/archive")
	s.get("/experiment/"+w.experiment+"/settings", alice).wants(t, 200, "/experiment/"+w.experiment+"/archive")
	s.get("/change?i="+w.runs[0], alice).wants(t, 200, "/archive?i="+w.runs[0])
	for path, runs := range map[string]string{
		"/project/" + w.project + "/archive":       "3 runs",
		"/experiment/" + w.experiment + "/archive": "3 runs",
		"/experiment/" + w.experiment + "/archive?" + url.Values{"filter": {"id = '" + w.runs[0] + "'"}}.Encode(): "1 run",
		"/archive?i=" + w.runs[0] + "&i=" + w.runs[1]:                                                             "2 runs",
	} {
		a := s.get(path, alice)
		if a.StatusCode != 200 || a.Header.Get("Content-Type") != "application/zip" || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment;") {
			t.Fatalf("%s: %s %v", path, a.Status, a.Header)
		}
		body := "--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a.zip\"\r\n\r\n" + a.body + "\r\n--x--\r\n"
		multipart := header("Content-Type", "multipart/form-data; boundary=x")
		s.do("POST", "/import", strings.NewReader(body), alice, multipart).wants(t, 200, runs+" in the archive: 0 new, 0 changed, ", "unchanged, 0 not imported")
		s.get(path, bob).wants(t, 403)
		s.do("POST", "/import", strings.NewReader(body), bob, multipart).wants(t, 403, "wrong-archive")
	}
	for body, want := range map[string]string{
		"--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a.zip\"\r\n\r\nno zip\r\n--x--\r\n": "The archive can&#39;t be imported",
		"--x\r\nContent-Disposition: form-data; name=\"archive\"\r\n\r\n\r\n--x--\r\n":                           "Choose a file first.",
		"--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a.zip\"\r\n\r\nhalf":                "The file is incomplete.",
	} {
		a := s.do("POST", "/import", strings.NewReader(body), alice, header("Content-Type", "multipart/form-data; boundary=x"))
		a.wants(t, a.StatusCode, want)
		if a.StatusCode != 400 && a.StatusCode != 422 {
			t.Errorf("%q: %s", want, a.Status)
		}
	}
	s.get("/archive", alice).wants(t, 400)
}

// TestBrowserImport sends an archive from a browser.
func TestBrowserImport(t *testing.T) {
	s := start(t, setup{base: "/lab/one"})
	ctx, cancel := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, ctx, s.url)
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "elsewhere.zip"), filepath.Join(dir, "<b>.zip")
	for path, content := range map[string][]byte{good: newArchive(t), bad: []byte("no archive")} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+s.base+"/import"), chromedp.WaitVisible(chromedp.CSS(`#archive`)))
	b.accessible("the page", false)
	send := func(path string) {
		b.do(chromedp.SetUploadFiles(chromedp.CSS(`#archive`), []string{path}))
		b.click(`#import button`)
	}
	text := func(selector string) string { return `(document.querySelector('` + selector + `')?.textContent ?? '')` }
	send(bad)
	b.is(text("#wrong-archive")+`.startsWith("The archive can't be imported")`, "true")
	b.is(`document.querySelector('#import button').disabled`, "false")
	b.is(text(".progress"), "")
	send(good)
	b.is(text(`[data-testid="imported"] li`), "1 run in the archive: 1 new, 0 changed, 0 unchanged, 0 not imported")
	b.is(text("#wrong-archive"), "")
	b.is(text("#imported h2"), "Imported elsewhere.zip")
	b.is(`document.querySelector('#archive').value`, "")
	send(good)
	b.is(text(`[data-testid="imported"] li`), "1 run in the archive: 0 new, 0 changed, 1 unchanged, 0 not imported")
	b.accessible("after an import", false)
	b.fits()
	projects, err := s.db.Projects.Projects(context.Background(), domain.System, projects.ProjectQuery{Page: domain.Page{Limit: 10}, Name: "from elsewhere"})
	if err != nil || projects.Total != 1 {
		t.Errorf("%+v, %v", projects, err)
	}
	b.do(chromedp.Navigate(s.url+s.base+"/"), chromedp.WaitVisible(chromedp.CSS(`[data-testid="import"]`)))
}
