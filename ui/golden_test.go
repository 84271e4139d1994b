package ui_test

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/ui"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	staticHash = regexp.MustCompile(`-[0-9A-Z]{8}(\.(?:js|css|svg))`)
	preloads   = regexp.MustCompile(`(<link rel="modulepreload" [^>]*>)+`) // as many as the scripts have parts
	cursor     = regexp.MustCompile(`data-cursor="[0-9a-f]+-[0-9]+"`)
	madeUpName = regexp.MustCompile(`<bdi>[a-z]+-[a-z]+(?:-[0-9]+)?</bdi>`) // of a run without a name
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
	alice, bob := with(runs.signIn("alice")), with(runs.signIn("bob"))
	first := "/lab/iteration/" + digits.runs[0]
	must(runs.db.CreateUserPermission(t.Context(), store.System, runs.actor("bob").UserID, blank.project, store.PermissionPatch{}))(t)
	long := strings.Repeat("x", 251)

	// What follows changes what the pages above show.
	late := start(t, setup{auth: true, base: "/lab"})
	silent := late.sweep(1, 2)
	model := must(late.db.CreateModel(t.Context(), late.actor("alice"), silent.project, store.NewModel{Name: "fraud"}))(t)
	must(late.db.CreateModelVersion(t.Context(), late.actor("alice"), model.ID, store.NewModelVersion{IterationID: silent.runs[0]}))(t)
	ended := late.run(silent.experiment, store.NewIteration{Name: new("done")})
	if err := late.db.UpdateIteration(t.Context(), late.actor("alice"), ended, store.IterationPatch{Status: new(store.Succeeded)}); err != nil {
		t.Fatal(err)
	}
	late.clock.move(6 * time.Minute)
	later := with(late.signIn("alice"))
	again := credentials("alice", password, "/iteration/"+silent.runs[0])
	again.Set("kept.name", "better <b>")
	down := start(t, setup{})
	down.close()
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
		"change-all":    runs.get("/lab/experiment/"+digits.experiment+"/change?filter="+url.QueryEscape("param.lr < 0.2"), alice),
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

		"forbidden":       runs.get(first, bob),
		"no-such-run":     runs.get("/lab/iteration/none", alice),
		"method":          runs.get("/lab/logout", alice),
		"too-large":       runs.post("/lab/login", credentials("alice", strings.Repeat("x", 9<<20), "/")),
		"too-few":         runs.get("/lab/compare?i="+digits.runs[0], alice),
		"unavailable":     down.get("/", id),
		"filter-wrong":    runs.get("/lab/experiment/"+digits.experiment+"?filter=param.lr+<<+1", alice),
		"iteration-wrong": runs.post(first, url.Values{"name": {long}, "notes": {"kept"}}, alice),
		"end-wrong":       runs.post(first+"/status", url.Values{"status": {"ASLEEP"}, "error_message": {"kept"}}, alice),
		"iteration-lost":  late.get("/lab/iteration/"+silent.runs[0], later),
		"experiment-lost": late.get("/lab/experiment/"+silent.experiment, later),
		"ended-twice":     late.post("/lab/iteration/"+ended+"/status", url.Values{"status": {"KILLED"}}, later),
		"delete-refused":  late.post("/lab/delete", url.Values{"i": silent.runs}, later),
		"change-wrong":    runs.post("/lab/change", url.Values{"i": digits.runs, "do": {"add"}, "tag": {long}}, alice),
		"compare":         runs.get("/lab/compare?i="+digits.runs[0]+"&i="+digits.runs[2], alice),
		"members":         runs.get("/lab/project/"+blank.project+"/members", alice),
		"members-reader":  runs.get("/lab/project/"+blank.project+"/members", bob),
		"members-wrong": runs.post("/lab/project/"+blank.project+"/members",
			url.Values{"do": {"add"}, "username": {"nobody"}}, alice),
		"member-removed": runs.post("/lab/project/"+blank.project+"/members", url.Values{"do": {"save"}, "permission": {"none"}}, alice),
		"users":          runs.get("/lab/users", alice),
		"users-wrong":    runs.post("/lab/users", url.Values{"username": {"alice"}, "password": {"long enough"}, "first_name": {"kept"}}, alice),
		"user":           runs.get("/lab/user/"+runs.actor("bob").UserID, alice),
		"user-wrong":     runs.post("/lab/user/"+runs.actor("bob").UserID, url.Values{"do": {"password"}, "password": {"short"}}, alice),
		"account":        runs.get("/lab/account?saved=names", bob),
		"account-wrong": runs.post("/lab/account/password",
			url.Values{"current": {password}, "password": {"battery staple"}, "again": {"battery stable"}}, bob),
		"sign-in-ended": runs.post(first, url.Values{"name": {"better <b>"}, "notes": {""}}),
		"sent-again":    late.post("/lab/login", again),
		"arrival":       runs.get(first, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate")),
	} {
		t.Run(name, func(t *testing.T) {
			// A tag to a line, so that a change can be read.
			got := madeUpID.ReplaceAllString(staticHash.ReplaceAllString(a.body, "-HASH$1"), "ID")
			got = preloads.ReplaceAllString(got, "$1")
			got = cursor.ReplaceAllString(got, `data-cursor="CURSOR"`)
			got = madeUpName.ReplaceAllString(got, "<bdi>NAME</bdi>")
			got = strings.ReplaceAll(got, a.Request.URL.Host, "HOST")
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
