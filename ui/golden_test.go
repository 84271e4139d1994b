package ui_test

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
	"tracker/ui"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	staticHash = regexp.MustCompile(`-[0-9A-Z]{8}(\.(?:js|css|svg))`)
	preloads   = regexp.MustCompile(`(<link rel="modulepreload" [^>]*>)+`) // there is one for each part of the scripts
	cursor     = regexp.MustCompile(`data-cursor="[0-9a-f]+-[0-9]+"`)
	madeUpName = regexp.MustCompile(`<bdi>[a-z]+-[a-z]+(?:-[0-9]+)?</bdi>`) // generated name of a run
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

	found := start(t, setup{auth: true, base: "/lab"})
	digits := found.sweep(3, 4)
	blank := found.sweep(0, 0)
	alice, bob := with(found.signIn("alice")), with(found.signIn("bob"))
	first := "/lab/iteration/" + digits.runs[0]
	must(found.db.Users.CreateUserPermission(t.Context(), domain.System, found.actor("bob").UserID, blank.project, users.PermissionPatch{}))(t)
	long := strings.Repeat("x", 251)

	// Use a second server, because the following changes would change the pages above.
	late := start(t, setup{auth: true, base: "/lab"})
	silent := late.sweep(1, 2)
	model := must(late.db.Models.CreateModel(t.Context(), late.actor("alice"), silent.project, registry.NewModel{Name: "fraud"}))(t)
	must(late.db.Models.CreateModelVersion(t.Context(), late.actor("alice"), model.ID, registry.NewModelVersion{IterationID: silent.runs[0]}))(t)
	ended := late.run(silent.experiment, runs.NewIteration{Name: new("done")})
	if err := late.db.Runs.UpdateIteration(t.Context(), late.actor("alice"), ended, runs.IterationPatch{Status: new(domain.Succeeded)}); err != nil {
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
	var frames []string
	for name, a := range map[string]answer{
		"login":         full.get("/lab/login?next=/%3Fq=iris"),
		"login-wrong":   full.post("/lab/login", credentials("alice", "wrong", "/")),
		"projects":      full.get("/lab/", with(full.signIn("alice"))),
		"projects-page": full.get("/lab/?limit=1&offset=1", with(full.signIn("alice"))),
		"projects-none": full.get("/lab/?q=zebra", with(full.signIn("alice"))),
		"project":       found.get("/lab/project/"+digits.project, alice),
		"experiment":    found.get("/lab/experiment/"+digits.experiment+"?filter=param.lr+>+0.1", alice),
		"first-run":     found.get("/lab/experiment/"+blank.experiment, alice),
		"iteration":     found.get("/lab/iteration/"+digits.runs[1], alice),
		"delete":        found.get("/lab/delete?i="+digits.runs[0]+"&i="+digits.runs[1], alice),
		"change-all":    found.get("/lab/experiment/"+digits.experiment+"/change?filter="+url.QueryEscape("param.lr < 0.2"), alice),
		"change":        found.get("/lab/change?i="+digits.runs[0], alice),
		"artifacts":     shelf.get("/lab/experiment/"+sorted.experiment+"/artifacts", reader),
		"artifact":      shelf.get("/lab/artifact/"+sorted.artifacts["sample_0050.png"], reader),
		"artifact-part": shelf.get("/lab/artifact/"+sorted.artifacts["evil.html"], htmx("div#artifact-"+sorted.artifacts["evil.html"])...),
		"models":        shelf.get("/lab/project/"+sorted.project+"/models", reader),
		"first-model":   found.get("/lab/project/"+digits.project+"/models", alice),
		"model":         shelf.get("/lab/model/"+sorted.model, reader),
		"settings":      shelf.get("/lab/experiment/"+sorted.experiment+"/settings", reader),
		"first-steps":   empty.get("/lab/", with(empty.signIn("bob"))),
		"open":          open.get("/"),
		"not-found":     full.get("/lab/nowhere", with(full.signIn("alice"))),
		"cross-origin":  full.post("/lab/login", nil, header("Sec-Fetch-Site", "cross-site")),
		"broken":        full.get("/lab/openapi.json", id),

		"forbidden":       found.get(first, bob),
		"no-such-run":     found.get("/lab/iteration/none", alice),
		"method":          found.get("/lab/logout", alice),
		"too-large":       found.post("/lab/login", credentials("alice", strings.Repeat("x", 9<<20), "/")),
		"too-few":         found.get("/lab/compare?i="+digits.runs[0], alice),
		"unavailable":     down.get("/", id),
		"filter-wrong":    found.get("/lab/experiment/"+digits.experiment+"?filter=param.lr+<<+1", alice),
		"iteration-wrong": found.post(first, url.Values{"name": {long}, "notes": {"kept"}}, alice),
		"end-wrong":       found.post(first+"/status", url.Values{"status": {"ASLEEP"}, "error_message": {"kept"}}, alice),
		"iteration-lost":  late.get("/lab/iteration/"+silent.runs[0], later),
		"experiment-lost": late.get("/lab/experiment/"+silent.experiment, later),
		"ended-twice":     late.post("/lab/iteration/"+ended+"/status", url.Values{"status": {"KILLED"}}, later),
		"delete-refused":  late.post("/lab/delete", url.Values{"i": silent.runs}, later),
		"change-wrong":    found.post("/lab/change", url.Values{"i": digits.runs, "do": {"add"}, "tag": {long}}, alice),
		"compare":         found.get("/lab/compare?i="+digits.runs[0]+"&i="+digits.runs[2], alice),
		"members":         found.get("/lab/project/"+blank.project+"/members", alice),
		"members-reader":  found.get("/lab/project/"+blank.project+"/members", bob),
		"members-wrong": found.post("/lab/project/"+blank.project+"/members",
			url.Values{"do": {"add"}, "username": {"nobody"}}, alice),
		"member-removed": found.post("/lab/project/"+blank.project+"/members", url.Values{"do": {"save"}, "permission": {"none"}}, alice),
		"users":          found.get("/lab/users", alice),
		"users-wrong":    found.post("/lab/users", url.Values{"username": {"alice"}, "password": {"long enough"}, "first_name": {"kept"}}, alice),
		"user":           found.get("/lab/user/"+found.actor("bob").UserID, alice),
		"user-wrong":     found.post("/lab/user/"+found.actor("bob").UserID, url.Values{"do": {"password"}, "password": {"short"}}, alice),
		"account":        found.get("/lab/account?saved=names", bob),
		"account-wrong": found.post("/lab/account/password",
			url.Values{"current": {password}, "password": {"battery staple"}, "again": {"battery stable"}}, bob),
		"sign-in-ended": found.post(first, url.Values{"name": {"better <b>"}, "notes": {""}}),
		"sent-again":    late.post("/lab/login", again),
		"arrival":       found.get(first, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate")),
	} {
		t.Run(name, func(t *testing.T) {
			// One tag per line makes differences readable.
			got := madeUpID.ReplaceAllString(staticHash.ReplaceAllString(a.body, "-HASH$1"), "ID")
			got = preloads.ReplaceAllString(got, "$1")
			got = cursor.ReplaceAllString(got, `data-cursor="CURSOR"`)
			got = madeUpName.ReplaceAllString(got, "<bdi>NAME</bdi>")
			got = strings.ReplaceAll(got, a.Request.URL.Host, "HOST")
			got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
			if at := mainPart.FindStringSubmatchIndex(got); at != nil {
				layout := got[:at[2]] + "MAIN\n" + got[at[3]:]
				if path := layouts[name]; path != "" {
					wantGolden(t, path, layout)
				}
				frames = append(frames, name+": "+frameOf(layout))
				got = got[at[2]:at[3]]
			}
			wantGolden(t, name+".html", got)
		})
	}
	slices.Sort(frames)
	wantGolden(t, "frames.txt", strings.Join(frames, "\n")+"\n")
}

// layouts holds the pages whose layout is compared as a whole. The layouts of other pages are
// compared by their differing parts only, in frames.txt.
var layouts = map[string]string{"experiment": "layout.html", "open": "layout-open.html"}

var (
	mainPart  = regexp.MustCompile(`(?s)<main [^>]*>\n(?:<div id="problem"[^>]*>\n</div>\n)?(.*)</main>`)
	framePart = regexp.MustCompile(`(?s)<title>(.*?) · |/static/(?:js/)?([a-z]+)-HASH\.|rel="preload" as="fetch" href="([^"]*)"|` +
		`(aria-current="[a-z]+")|class="(?:user[a-z -]*|all|more)"[^>]*>(?:\n<bdi>)?(.*?)(?:</bdi>\n)?</a>|` +
		`<bdi>(.*?)</bdi>|data-testid="(problem|open|sign-out|find)"|class="(wide)"`)
)

// frameOf returns the parts in which the layouts of pages differ: the title, the files, the links
// and the buttons.
func frameOf(layout string) string {
	var parts []string
	for _, found := range framePart.FindAllStringSubmatch(layout, -1) {
		if part := strings.Join(strings.Fields(strings.Join(found[1:], "")), " "); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// wantGolden compares a text with a file of testdata, or writes the file.
func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
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
		t.Errorf("it differs from %s; run with -update to replace it:\n%s", path, got)
	}
}
