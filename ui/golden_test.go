package ui_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/ui"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	staticHash = regexp.MustCompile(`\?v=[0-9a-f]{16}`)
	cursor     = regexp.MustCompile(`data-cursor="[0-9a-f]+-[0-9]+"`)
	madeUpID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

func TestGolden(t *testing.T) {
	broken := func(o *ui.Options) {
		o.Document = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
	}
	open := start(t, setup{edit: broken})
	empty := start(t, setup{auth: true, base: "/lab"})
	full := start(t, setup{auth: true, base: "/lab", edit: broken})
	full.project("alice", "iris", "Softmax classifiers on 150 measurements", 2, 3)
	full.clock.move(26 * time.Hour)
	full.project("alice", "R&D <draft>", "", 0, 0)
	full.clock.move(time.Minute)
	full.project("alice", "mnist", "First line\nsecond line", 1, 40)
	full.clock.move(5 * time.Second)

	runs := start(t, setup{auth: true, base: "/lab"})
	digits := runs.sweep(3, 4)
	blank := runs.sweep(0, 0)
	alice := with(runs.signIn("alice"))
	shelf := start(t, setup{auth: true, base: "/lab"})
	sorted := shelf.shelf()
	shelf.clock.move(time.Hour)
	reader := with(shelf.signIn("alice"))
	htmx := func(target string) []edit {
		return []edit{reader, header("HX-Request", "true"), header("HX-Target", target)}
	}

	id := header("X-Request-Id", "request-1")
	for name, a := range map[string]answer{
		"login":         full.get("/lab/login?next=/%3Fq=iris"),
		"login-wrong":   full.post("/lab/login", credentials("alice", "wrong", "/")),
		"projects":      full.get("/lab/", with(full.signIn("alice"))),
		"projects-page": full.get("/lab/?limit=1&offset=1", with(full.signIn("alice"))),
		"projects-none": full.get("/lab/?q=zebra", with(full.signIn("alice"))),
		"project":       runs.get("/lab/project/"+digits.project, alice),
		"experiment":    runs.get("/lab/experiment/"+digits.experiment+"?filter=param.lr+>+0.1", alice),
		"first-run":     runs.get("/lab/experiment/"+blank.experiment, alice),
		"iteration":     runs.get("/lab/iteration/"+digits.runs[1], alice),
		"delete":        runs.get("/lab/delete?i="+digits.runs[0]+"&i="+digits.runs[1], alice),
		"change":        runs.get("/lab/change?i="+digits.runs[0], alice),
		"artifacts":     shelf.get("/lab/experiment/"+sorted.experiment+"/artifacts", reader),
		"artifact":      shelf.get("/lab/artifact/"+sorted.artifacts["sample_0050.png"], reader),
		"artifact-part": shelf.get("/lab/artifact/"+sorted.artifacts["evil.html"], htmx("div#artifact-"+sorted.artifacts["evil.html"])...),
		"models":        shelf.get("/lab/project/"+sorted.project+"/models", reader),
		"first-model":   runs.get("/lab/project/"+digits.project+"/models", alice),
		"model":         shelf.get("/lab/model/"+sorted.model, reader),
		"settings":      shelf.get("/lab/experiment/"+sorted.experiment+"/settings", reader),
		"first-steps":   empty.get("/lab/", with(empty.signIn("bob"))),
		"open":          open.get("/"),
		"not-found":     full.get("/lab/nowhere", with(full.signIn("alice"))),
		"cross-origin":  full.post("/lab/login", nil, header("Sec-Fetch-Site", "cross-site")),
		"broken":        full.get("/lab/openapi.json", id),
	} {
		t.Run(name, func(t *testing.T) {
			// A tag to a line, so that a change can be read.
			got := madeUpID.ReplaceAllString(staticHash.ReplaceAllString(a.body, "?v=HASH"), "ID")
			got = cursor.ReplaceAllString(got, `data-cursor="CURSOR"`)
			got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
			path := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the page differs from %s; -update writes it anew:\n%s", path, got)
			}
		})
	}
}
