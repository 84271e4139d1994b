package ui_test

import (
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/users"
	"tracker/ui"
)

// cell is a request that succeeds for everybody who has the required rights. Names in path and body
// that begin with $ are replaced by ids of records in the world.
type cell struct {
	method, route string
	path          string // "" if it equals the route
	needs         string // rights in the project, separated by spaces; "admin"; "user" for any signed-in user; "" for everybody
	body          string // fields of a form, or JSON
	ended         bool   // the page redirects every user
}

// cells holds every route of the dashboard.
var cells = []cell{
	{method: "GET", route: "/", needs: "user"},
	{method: "POST", route: "/", needs: "user", body: "name=new"},
	{method: "POST", route: "/seen", needs: "user", body: "until=1"},
	{method: "GET", route: "/project/{id}", path: "/project/$project", needs: "read"},
	{method: "POST", route: "/project/{id}", path: "/project/$project", needs: "create", body: "name=new"},
	{method: "GET", route: "/project/{id}/reports", path: "/project/$project/reports", needs: "read"},
	{method: "POST", route: "/project/{id}/reports", path: "/project/$project/reports", needs: "create", body: "name=new&text=t"},
	{method: "GET", route: "/report/{id}", path: "/report/$report", needs: "read"},
	{method: "POST", route: "/report/{id}", path: "/report/$report", needs: "update", body: "name=new&text=t"},
	{method: "POST", route: "/report/{id}/delete", path: "/report/$report/delete", needs: "read delete", body: "x=y"},
	{method: "POST", route: "/report/{id}/block", path: "/report/$report/block", needs: "read update", body: "do=add&text=t"},
	{method: "GET", route: "/report/{id}/picture/{picture}", path: "/report/$report/picture/$picture", needs: "read"},
	{method: "GET", route: "/report/{id}/export", path: "/report/$report/export", needs: "read"},
	{method: "GET", route: "/project/{id}/runs", path: "/project/$project/runs", needs: "read"},
	{method: "GET", route: "/project/{id}/archive", path: "/project/$project/archive", needs: "read"},
	{method: "GET", route: "/experiment/{id}/archive", path: "/experiment/$experiment/archive", needs: "read"},
	{method: "GET", route: "/archive", path: "/archive?i=$run", needs: "read"},
	{method: "GET", route: "/import", needs: "user"},
	{method: "POST", route: "/import", needs: "user", body: "$archive"},
	{method: "GET", route: "/project/{id}/settings", path: "/project/$project/settings", needs: "read"},
	{method: "POST", route: "/project/{id}/settings", path: "/project/$project/settings", needs: "update", body: "name=new"},
	{method: "GET", route: "/project/{id}/members", path: "/project/$project/members", needs: "read"},
	{method: "POST", route: "/project/{id}/members", path: "/project/$project/members", needs: "admin", body: "username=carol&read=on"},
	{method: "GET", route: "/experiment/{id}", path: "/experiment/$experiment", needs: "read"},
	{method: "GET", route: "/experiment/{id}/runs.tex", path: "/experiment/$experiment/runs.tex", needs: "read"},
	{method: "GET", route: "/experiment/{id}/runs.md", path: "/experiment/$experiment/runs.md", needs: "read"},
	{method: "GET", route: "/experiment/{id}/runs.csv", path: "/experiment/$experiment/runs.csv", needs: "read"},
	{method: "GET", route: "/experiment/{id}/importance", path: "/experiment/$experiment/importance", needs: "read"},
	{method: "GET", route: "/experiment/{id}/failures", path: "/experiment/$experiment/failures", needs: "read"},
	{method: "GET", route: "/experiment/{id}/change", path: "/experiment/$experiment/change", needs: "read"},
	{method: "POST", route: "/experiment/{id}/change", path: "/experiment/$experiment/change", needs: "read create", body: "n=2&do=add&tag=new"},
	{method: "GET", route: "/experiment/{id}/settings", path: "/experiment/$experiment/settings", needs: "read"},
	{method: "POST", route: "/experiment/{id}/settings", path: "/experiment/$experiment/settings", needs: "update", body: "name=new&status=IN_PROGRESS"},
	{method: "GET", route: "/iteration/{id}", path: "/iteration/$run", needs: "read"},
	{method: "GET", route: "/experiment/{id}/sweeps", path: "/experiment/$experiment/sweeps", needs: "read"},
	{method: "GET", route: "/sweep/{id}", path: "/sweep/$sweep", needs: "read"},
	{method: "POST", route: "/sweep/{id}", path: "/sweep/$sweep", needs: "update", body: "state=PAUSED"},
	{method: "GET", route: "/wandb/{project}", path: "/wandb/$project", needs: "read"},
	{method: "GET", route: "/wandb/{project}/{run}", path: "/wandb/$project/$run", needs: "read"},
	{method: "GET", route: "/iteration/{id}/console", path: "/iteration/$run/console", needs: "read"},
	{method: "POST", route: "/iteration/{id}", path: "/iteration/$run", needs: "update", body: "name=new&notes=n"},
	{method: "POST", route: "/iteration/{id}/stop", path: "/iteration/$run/stop", needs: "update"},
	{method: "POST", route: "/iteration/{id}/status", path: "/iteration/$run/status", needs: "update", body: "status=SUCCEEDED"},
	{method: "POST", route: "/iteration/{id}/tag", path: "/iteration/$run/tag", needs: "create", body: "tag=new"},
	{method: "POST", route: "/iteration/{id}/tag", path: "/iteration/$run/tag", needs: "delete", body: "remove=old"},
	{method: "GET", route: "/compare.tex", path: "/compare.tex?i=$run $second", needs: "read"},
	{method: "GET", route: "/compare.md", path: "/compare.md?i=$run $second", needs: "read"},
	{method: "GET", route: "/compare.csv", path: "/compare.csv?i=$run $second", needs: "read"},
	{method: "GET", route: "/compare", path: "/compare?i=$run $second", needs: "read"},
	{method: "GET", route: "/iteration/{id}/best", path: "/iteration/$run/best", needs: "read", ended: true}, // the experiment has no objective
	{method: "GET", route: "/change", path: "/change?i=$run", needs: "read"},
	{method: "POST", route: "/change", needs: "read create", body: "i=$run&do=add&tag=new"},
	{method: "POST", route: "/change", needs: "read delete", body: "i=$run&do=remove&tag=old"},
	{method: "POST", route: "/change", needs: "read update", body: "i=$run&do=status&status=SUCCEEDED"},
	{method: "GET", route: "/delete", path: "/delete?i=$run", needs: "read"},
	{method: "POST", route: "/delete", needs: "read delete", body: "i=$free"},
	{method: "GET", route: "/trash", needs: "user"},
	{method: "POST", route: "/trash", needs: "delete", body: "do=restore&id=$trashed"},
	{method: "POST", route: "/trash", needs: "delete", body: "do=purge&id=$trashed"},
	{method: "POST", route: "/trash", needs: "admin", body: "do=empty&until=1"},

	{method: "GET", route: "/experiment/{id}/artifacts", path: "/experiment/$experiment/artifacts", needs: "read"},
	{method: "POST", route: "/experiment/{id}/artifacts", path: "/experiment/$experiment/artifacts", needs: "create", body: oneFile},
	{method: "GET", route: "/artifact/{id}", path: "/artifact/$artifact", needs: "read"},
	{method: "GET", route: "/artifact/{id}/data", path: "/artifact/$artifact/data", needs: "read"},
	{method: "GET", route: "/artifact/{id}/frame", path: "/artifact/$html/frame", needs: "read"},
	{method: "GET", route: "/artifact/{id}/table", path: "/artifact/$table/table", needs: "read"},
	{method: "GET", route: "/artifact/{id}/table.csv", path: "/artifact/$table/table.csv", needs: "read"},
	{method: "GET", route: "/artifact/{id}/table.parquet", path: "/artifact/$table/table.parquet", needs: "read"},
	{method: "POST", route: "/artifact/{id}/delete", path: "/artifact/$loose/delete", needs: "read delete", body: "x=y"},
	{method: "POST", route: "/artifact/{id}/versions", path: "/artifact/$loose/versions", needs: "read create", body: "model_id=$model&iteration_id=$run"},
	{method: "GET", route: "/project/{id}/models", path: "/project/$project/models", needs: "read"},
	{method: "POST", route: "/project/{id}/models", path: "/project/$project/models", needs: "create", body: "name=new"},
	{method: "GET", route: "/experiment/{id}/collections", path: "/experiment/$experiment/collections", needs: "read"},
	{method: "GET", route: "/project/{id}/collections", path: "/project/$project/collections", needs: "read"},
	{method: "GET", route: "/collection/{id}", path: "/collection/$collection", needs: "read"},
	{method: "POST", route: "/collection/{id}", path: "/collection/$collection", needs: "update", body: "part=aliases&aliases=best&tags=new"},
	{method: "POST", route: "/collection/{id}/delete", path: "/collection/$collection/delete", needs: "delete", body: "x=y"},
	{method: "GET", route: "/lineage/{kind}/{id}", path: "/lineage/iteration/$run", needs: "read"},
	{method: "GET", route: "/model/{id}", path: "/model/$model", needs: "read"},
	{method: "POST", route: "/model/{id}", path: "/model/$model", needs: "update", body: "name=new"},
	{method: "POST", route: "/model/{id}/delete", path: "/model/$model/delete", needs: "read delete", body: "x=y"},
	{method: "POST", route: "/modelversion/{id}", path: "/modelversion/$version", needs: "read update", body: "description=new"},
	{method: "POST", route: "/modelversion/{id}/stage", path: "/modelversion/$version/stage", needs: "update", body: "stage=STAGING"},

	{method: "GET", route: "/login"},
	{method: "POST", route: "/login", body: "username=alice&password=" + password},
	{method: "POST", route: "/logout", body: "x=y"},

	{method: "GET", route: "/account", needs: "user"},
	{method: "POST", route: "/account", needs: "user", body: "first_name=A"},
	{method: "POST", route: "/account/keys", needs: "user", body: "do=create&name=cluster"},
	{method: "POST", route: "/user/{id}/keys", path: "/user/$carol/keys", needs: "admin", body: "do=create&name=cluster"},
	{method: "POST", route: "/account/password", needs: "user", body: "current=" + password + "&password=" + password + "&again=" + password},
	{method: "GET", route: "/users", needs: "admin"},
	{method: "POST", route: "/users", needs: "admin", body: "username=$fresh&password=" + password},
	{method: "GET", route: "/user/{id}", path: "/user/$carol", needs: "admin"},
	{method: "POST", route: "/user/{id}", path: "/user/$carol", needs: "admin", body: "do=save&first_name=C"},
	{method: "GET", route: "/server", needs: "admin"},
	{method: "GET", route: "/audit", needs: "admin"},

	{method: "GET", route: "/data/find", path: "/data/find?q=x", needs: "user"},
	{method: "GET", route: "/data/experiment/{id}/iterations", path: "/data/experiment/$experiment/iterations", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/best", path: "/data/experiment/$experiment/best", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/analysis", path: "/data/experiment/$experiment/analysis", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/columns", path: "/data/experiment/$experiment/columns", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/panel", path: "/data/experiment/$experiment/panel?x=param.lr", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/front", path: "/data/experiment/$experiment/front?x=a&xgoal=minimize&y=b&ygoal=maximize", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/groups", path: "/data/experiment/$experiment/groups?group=param.lr", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/varying", path: "/data/experiment/$experiment/varying", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/same", path: "/data/experiment/$experiment/same?key=lr", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/keys", path: "/data/experiment/$experiment/keys", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/values", path: "/data/experiment/$experiment/values?param=lr", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/views", path: "/data/experiment/$experiment/views", needs: "read"},
	{method: "POST", route: "/data/experiment/{id}/views", path: "/data/experiment/$experiment/views", needs: "create", body: `{"name":"new","query":"q=1"}`},
	{method: "GET", route: "/data/experiment/{id}/reports", path: "/data/experiment/$experiment/reports", needs: "read"},
	{method: "POST", route: "/data/experiment/{id}/reports", path: "/data/experiment/$experiment/reports", needs: "read create", body: `{"name":"new","item":{"metrics":["train/loss"]}}`},
	{method: "POST", route: "/data/report/{id}/items", path: "/data/report/$report/items", needs: "read update", body: `{"experiment":"$experiment","metrics":["train/loss"]}`},
	{method: "GET", route: "/data/view/{id}", path: "/data/view/$view", needs: "read"},
	{method: "POST", route: "/data/markdown", needs: "user", body: `{"text":"*a*"}`},
	{method: "PATCH", route: "/data/view/{id}", path: "/data/view/$view", needs: "update", body: `{"name":"new"}`},
	{method: "DELETE", route: "/data/view/{id}", path: "/data/view/$view", needs: "update"},
	{method: "POST", route: "/data/tags", needs: "create", body: `{"iterations":["$run"],"value":"new","attach":true}`},
	{method: "POST", route: "/data/tags", needs: "delete", body: `{"iterations":["$run"],"value":"old","attach":false}`},
	{method: "GET", route: "/data/curves", path: `/data/curves?q={"iterations":["$run"],"keys":["train/loss"],"points":100,"x":"step","scale":"linear"}`, needs: "read"},
	{method: "POST", route: "/data/curves", needs: "read", body: `{"iterations":["$run"],"keys":["train/loss"],"points":100,"x":"step","scale":"linear"}`},
	{method: "POST", route: "/data/media", needs: "read", body: `{"iterations":["$run"]}`},
	{method: "POST", route: "/data/histograms", needs: "read", body: `{"iterations":["$run"],"key":"weights"}`},
	{method: "GET", route: "/data/compare", path: "/data/compare?i=$run $second", needs: "read"},
	{method: "GET", route: "/data/events", path: "/data/events?on=experiment/$experiment/ iteration/$run/", needs: "read"},
	{method: "GET", route: "/data/iteration/{id}/console", path: "/data/iteration/$run/console", needs: "read"},
	{method: "GET", route: "/data/iteration/{id}/summary", path: "/data/iteration/$run/summary", needs: "read"},
	{method: "GET", route: "/data/experiment/{id}/artifacts", path: "/data/experiment/$experiment/artifacts?size=1", needs: "create"},
	{method: "POST", route: "/data/experiment/{id}/artifacts", path: "/data/experiment/$experiment/artifacts", needs: "create", body: oneFile},

	{method: "GET", route: "/health"},
	{method: "GET", route: "/openapi.yaml"},
	{method: "GET", route: "/openapi.json"},
	{method: "GET", route: "/static/{file}", path: ui.Static("theme.js")},
	{method: "GET", route: "/client/python{rest:(?:/.*)?}", path: "/client/python/", ended: true},
}

// oneFile is a form with one file.
const oneFile = "--x\r\nContent-Disposition: form-data; name=\"data\"; filename=\"f\"\r\n\r\nbytes\r\n--x--\r\n"

func TestMatrixHasEveryRoute(t *testing.T) {
	for _, r := range ui.Routes() {
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.method == r[0] && c.route == r[1] }) {
			t.Errorf("no cell for %s %s: say who may ask it, and how", r[0], r[1])
		}
	}
}

// identity is a client that sends requests. rights are the rights of bob in the project.
type identity struct {
	name   string
	user   string // "" for nobody
	rights string
}

var identities = []identity{
	{"nobody", "", ""}, {"outsider", "bob", ""},
	{"reader", "bob", "read"}, {"creator", "bob", "create"}, {"updater", "bob", "update"}, {"deleter", "bob", "delete"},
	{"reader who creates", "bob", "read create"}, {"reader who updates", "bob", "read update"}, {"reader who deletes", "bob", "read delete"},
	{"member", "bob", "read create update delete"}, {"admin", "alice", ""},
}

// may reports whether the identity has the rights that a cell needs.
func (i identity) may(c cell) bool {
	switch {
	case c.needs == "":
		return true
	case i.user == "" || c.needs == "user":
		return i.user != ""
	case i.user == "alice":
		return true
	case c.needs == "admin":
		return false
	}
	for need := range strings.FieldsSeq(c.needs) {
		if !strings.Contains(i.rights, need) {
			return false
		}
	}
	return true
}

// Each identity can make exactly the requests that the matrix allows.
func TestRoutesByIdentity(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := start(t, setup{auth: true, edit: func(o *ui.Options) { o.Document = document }})
	made, err := s.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "carol", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	cookies := map[string]*http.Cookie{"bob": s.signIn("bob"), "alice": s.signIn("alice")}
	fresh := 0
	for _, c := range cells {
		t.Run(c.method+" "+c.route+" "+c.needs, func(t *testing.T) {
			s := *s
			s.t = t
			var w map[string]string
			for _, i := range identities {
				if w == nil || c.method != http.MethodGet {
					w = s.world()
					fresh++
					w["fresh"], w["carol"] = "user"+strings.Repeat("x", fresh%200), made.ID
				}
				s.permit(w["project"], i.rights)
				a := s.ask(c, w, cookies[i.user])
				switch {
				case i.may(c):
					if a.StatusCode >= 400 && !c.ended || a.StatusCode == http.StatusSeeOther && strings.HasPrefix(a.Header.Get("Location"), "/login") && c.route != "/logout" {
						t.Errorf("%s gets %s, %s", i.name, a.Status, problemOf(a))
					}
				case i.user == "":
					toSignIn := a.StatusCode == http.StatusSeeOther && strings.HasPrefix(a.Header.Get("Location"), "/login")
					if a.StatusCode != http.StatusUnauthorized && !toSignIn {
						t.Errorf("%s gets %s", i.name, a.Status)
					}
				case a.StatusCode != http.StatusForbidden:
					t.Errorf("%s gets %s, %s", i.name, a.Status, problemOf(a))
				}
			}
		})
	}
}

// problemOf returns the beginning of the main part of a response, for error messages.
func problemOf(a answer) string {
	_, main, found := strings.Cut(a.body, "<main")
	if !found {
		main = a.body
	}
	return main[:min(len(main), 600)]
}

// world creates a project of alice with a record of each kind.
func (s *site) world() map[string]string {
	s.t.Helper()
	p := s.sweep(2, 1)
	w := map[string]string{"project": p.project, "experiment": p.experiment, "run": p.runs[0], "second": p.runs[1]}
	w["artifact"] = s.keep(w["experiment"], files.NewArtifact{Name: "used.bin", IterationID: w["run"]}, "used")
	w["loose"] = s.keep(w["experiment"], files.NewArtifact{Name: "loose.bin"}, "loose")
	w["table"] = s.keep(w["experiment"], files.NewArtifact{Name: "rows.csv", IterationID: w["run"]}, "a,b\n1,2\n")
	w["html"] = s.keep(w["experiment"], files.NewArtifact{Name: "page.html"}, "<p>")
	w["collection"] = s.logVersion(w["run"], "net", "model", "used.bin")
	w["model"], w["version"] = s.register(w["project"], w["run"], w["artifact"])
	const drawing = "eJyzKS5LV6jIzckrtlXKKCkpsNLXLy8v1ys31ssvStc3MjAw0AeqUNK3AwApuA1I" // an empty SVG image, compressed
	w["report"] = s.report(w["project"], "findings", "# Found\n\n```image\nsvg: "+drawing+"\n```\n")
	w["picture"] = domain.Fingerprint(drawing)
	w["sweep"] = s.search(w["project"], "grid")
	other, err := s.db.Projects.CreateExperiment(s.t.Context(), s.actor("alice"), w["project"], projects.NewExperiment{Name: "other"})
	if err != nil {
		s.t.Fatal(err)
	}
	w["archive"] = archiveForm(s.t)
	w["free"] = s.run(other.ID, runs.NewIteration{})
	if _, err := s.db.Runs.CreateTag(s.t.Context(), s.actor("alice"), runs.IterationTag, w["run"], "old"); err != nil {
		s.t.Fatal(err)
	}
	view, err := s.db.Projects.CreateSavedView(s.t.Context(), s.actor("alice"), w["experiment"], projects.NewSavedView{Name: "old", Query: "q=1"})
	if err != nil {
		s.t.Fatal(err)
	}
	w["view"] = view.ID
	w["trashed"] = s.run(other.ID, runs.NewIteration{})
	if err := s.db.Runs.DeleteIteration(s.t.Context(), s.actor("alice"), w["trashed"]); err != nil {
		s.t.Fatal(err)
	}
	return w
}

// permit gives bob exactly the given rights in a project.
func (s *site) permit(project, rights string) {
	s.t.Helper()
	has := func(name string) *bool { return new(strings.Contains(rights, name)) }
	patch := users.PermissionPatch{Create: has("create"), Read: has("read"), Update: has("update"), Delete: has("delete")}
	bob := s.actor("bob").UserID
	old, err := s.db.Users.UserPermission(s.t.Context(), domain.System, bob, project)
	if err == nil {
		err = s.db.Users.UpdateUserPermission(s.t.Context(), domain.System, old.ID, patch)
	} else {
		_, err = s.db.Users.CreateUserPermission(s.t.Context(), domain.System, bob, project, patch)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// ask sends the request of a cell for the records of a world, with the cookie if it is not nil. If
// the response is a stream, ask reads only its header.
func (s *site) ask(c cell, w map[string]string, cookie *http.Cookie) answer {
	s.t.Helper()
	path, query, _ := strings.Cut(expand(c.path, w), "?")
	if c.path == "" {
		path = c.route
	}
	values := url.Values{}
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values[name] = strings.Fields(value)
		}
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	method := c.method
	if strings.HasSuffix(c.route, "/events") {
		method = http.MethodHead
	}
	contentType := "application/x-www-form-urlencoded"
	switch {
	case c.body == oneFile, c.route == "/import":
		contentType = "multipart/form-data; boundary=x"
	case strings.HasPrefix(c.route, "/data/"):
		contentType = "application/json"
	}
	edits := []edit{header("Content-Type", contentType)}
	if cookie != nil {
		edits = append(edits, with(cookie))
	}
	return s.do(method, path, strings.NewReader(expand(c.body, w)), edits...)
}

func expand(s string, w map[string]string) string {
	return os.Expand(s, func(name string) string { return w[name] })
}
