package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tracker/server"
)

func TestHeadIsGetWithoutBody(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, s := range samples {
		if s.method != http.MethodGet {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			plain := header("Accept-Encoding", "identity") // the client would decompress a GET response and drop its length
			get := s.send(a, w, plain).wants(http.StatusOK)
			s.method = http.MethodHead
			head := s.send(a, w, plain).wants(http.StatusOK)
			for _, name := range []string{"Content-Type", "Content-Length", "X-Content-Type-Options"} {
				// The response of /metrics differs from request to request.
				if s.route == "/metrics" && name == "Content-Length" {
					continue
				}
				if head.header.Get(name) != get.header.Get(name) {
					t.Errorf("%s is %q, want %q", name, head.header.Get(name), get.header.Get(name))
				}
			}
			if head.body != "" {
				t.Errorf("the body is %q", head.body)
			}
		})
	}
	a.do(http.MethodHead, "/project/"+nobody, "").wants(http.StatusNotFound)
	a.do(http.MethodHead, "/project", "", anonymous).wants(http.StatusUnauthorized)
	a.do(http.MethodHead, "/auth", "").wants(http.StatusMethodNotAllowed)
}

// A path with a trailing slash gets the same response as without it, and no redirect.
func TestTrailingSlashMakesNoDifference(t *testing.T) {
	t.Parallel()
	a := start(t)
	w := a.world()
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			w := a.worldFor(s, w)
			path, body := s.in(a, w)
			path, query, has := strings.Cut(path, "?")
			path += "/"
			if has {
				path += "?" + query
			}
			got := a.do(s.method, path, body, s.opts...).wants(s.status)
			if s.status != http.StatusOK || s.route == "/metrics" || s.route == "/auth" || s.route == "/auth/refresh" || s.route == "/archive" ||
				s.method == http.MethodDelete && s.route == "/trash" { // the first request has emptied the trash
				return
			}
			if want := s.send(a, w); got.body != want.body {
				t.Errorf("with a slash %s, without %s", got.body, want.body)
			}
		})
	}
	a.get("/project//").fails(404, "NOT_FOUND", "")
}

// A proxy may or may not strip the path prefix; both work. Paths in the server's responses have the
// prefix.
func TestBasePath(t *testing.T) {
	t.Parallel()
	a := startWith(t, setup{base: "/lab/tracker"})
	w := a.world()
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			for _, prefix := range []string{"/lab/tracker", ""} {
				path, body := s.in(a, a.worldFor(s, w))
				got := a.send(s.method, prefix+path, body, s.opts...).wants(s.status)
				if place := got.header.Get("Location"); s.status == http.StatusCreated && !strings.HasSuffix(s.route, "/batch") &&
					!strings.HasSuffix(s.route, "/bulk") && !strings.HasSuffix(s.route, "/console") &&
					!strings.HasPrefix(place, "/lab/tracker/") {
					t.Errorf("Location is %q", place)
				}
			}
		})
	}
	for _, path := range []string{"/lab/trackers/health", "/lab/health", "/lab/tracker/lab/tracker/health", "/lab/tracker", "/lab/tracker/", "/", ""} {
		a.send(http.MethodGet, path, "").fails(404, "NOT_FOUND", "")
	}
}

// Below /api, the dashboard's port serves all routes. Paths in responses have this prefix.
func TestBelowTheDashboard(t *testing.T) {
	t.Parallel()
	a := startWith(t, setup{base: "/lab/tracker", onDashboard: true})
	w := a.world()
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			path, body := s.in(a, a.worldFor(s, w))
			got := a.do(s.method, path, body, s.opts...).wants(s.status)
			if place := got.header.Get("Location"); place != "" && !strings.HasPrefix(place, "/lab/tracker/api/") {
				t.Errorf("Location is %q", place)
			}
			if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") {
				t.Errorf("the policy %q lets the response run as a page of the dashboard", policy)
			}
		})
	}
}

// The dashboard's cookie does not authenticate requests to the API.
func TestCookieIsNoToken(t *testing.T) {
	t.Parallel()
	a := startWith(t, setup{onDashboard: true})
	cookie := "tracker_token=" + a.root.token
	for _, request := range []string{"GET /api/project", "GET /api/auth/me", "POST /api/project", "DELETE /api/trash",
		"GET /api/api/2.0/mlflow/experiments/get?experiment_id=0", "POST /api/api/2.0/mlflow/experiments/create", "POST /api/graphql"} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, a.server.URL+path, strings.NewReader(`{"name":"by a cookie"}`))
		a.must(err)
		r.Header = http.Header{"Cookie": {cookie}, "Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-origin"}}
		answer, err := a.server.Client().Do(r)
		a.must(err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with only a cookie: %s", request, answer.Status)
		}
	}
	for _, elsewhere := range []opt{header("Sec-Fetch-Site", "cross-site"), header("Origin", "https://evil.example")} {
		a.do(http.MethodPost, "/project", `{"name":"from elsewhere"}`, elsewhere).fails(403, "CROSS_ORIGIN", "")
	}
}

func TestConnection(t *testing.T) {
	t.Parallel()
	for _, onDashboard := range []bool{false, true} {
		a := startWith(t, setup{base: "/lab", onDashboard: onDashboard})
		host := strings.TrimPrefix(a.server.URL, "http://")
		prefix := a.setup.prefix()
		got := a.get("/connection", anonymous, header("X-Forwarded-Proto", "https"), header("X-Forwarded-Host", "evil.example")).wants(200)
		got.has(`{"api_url":"https://` + host + prefix + `","scheme":"https","host":"` + host + `","path":"` + prefix + `/connection",
			"base_path":"/lab","client_address":"127.0.0.1","public_url":null,"forwarded":["X-Forwarded-Proto"]}`)
		if strings.Contains(got.body, "evil") {
			t.Errorf("a header of an untrusted client is used: %s", got.body)
		}
	}
}

func TestWrongMethodIsToldWhatThePathTakes(t *testing.T) {
	a := start(t)
	allowed := map[string][]string{}
	for _, r := range server.Routes() {
		allowed[r[1]] = append(allowed[r[1]], r[0])
		if r[0] == http.MethodGet {
			allowed[r[1]] = append(allowed[r[1]], http.MethodHead)
		}
	}
	want := map[string]string{
		"GET HEAD":              "GET, HEAD",
		"POST":                  "POST",
		"POST PATCH":            "PATCH, POST",
		"OPTIONS POST":          "OPTIONS, POST",
		"DELETE":                "DELETE",
		"PATCH DELETE":          "DELETE, PATCH",
		"GET HEAD POST":         "GET, HEAD, POST",
		"GET HEAD PATCH":        "GET, HEAD, PATCH",
		"GET HEAD DELETE":       "DELETE, GET, HEAD",
		"GET HEAD PATCH DELETE": "DELETE, GET, HEAD, PATCH",
	}
	for path, methods := range allowed {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(methods, method) {
				continue
			}
			t.Run(method+" "+path, func(t *testing.T) {
				a := a.on(t)
				for _, slash := range []string{"", "/"} {
					got := a.do(method, path+slash, "", anonymous).wants(http.StatusMethodNotAllowed)
					if method != http.MethodHead {
						got.fails(405, "METHOD_NOT_ALLOWED", "")
					}
					if allow := got.header.Get("Allow"); allow != want[strings.Join(methods, " ")] || allow == "" {
						t.Errorf("Allow is %q, want %v", allow, methods)
					}
				}
			})
		}
	}
}

func TestUnknownPath(t *testing.T) {
	a := start(t)
	for _, path := range []string{"/", "/projects", "/project/x/y", "/auth/me/x", "//project", "/Project", "/resources/" + nobody, "/tag/iteration"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			a.do(method, path, "").fails(404, "NOT_FOUND", "")
		}
	}
}

func TestRequestIDIsEchoed(t *testing.T) {
	a := start(t)
	for _, id := range []string{"abc-123", strings.Repeat("x", 64), "a/b=c;d"} {
		got := a.get("/health", header("X-Request-Id", id))
		if got.header.Get("X-Request-Id") != id {
			t.Errorf("%q became %q", id, got.header.Get("X-Request-Id"))
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"", strings.Repeat("x", 65), `"quoted"`, "two words", "tab\there", "é"} {
		got := a.get("/health", header("X-Request-Id", id)).header.Get("X-Request-Id")
		if got == "" || got == id || seen[got] {
			t.Errorf("%q became %q, want a new one", id, got)
		}
		seen[got] = true
	}
	for _, status := range []int{404, 401, 405} {
		path, method := "/nothing", "GET"
		if status == 401 {
			path = "/project"
		} else if status == 405 {
			method, path = "PUT", "/project"
		}
		got := a.do(method, path, "", anonymous, header("X-Request-Id", "mine")).wants(status)
		if got.header.Get("X-Request-Id") != "mine" {
			t.Errorf("%d: %q", status, got.header.Get("X-Request-Id"))
		}
	}
}

func TestUnknownQueryParameterIsRefused(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			path, body := s.in(a, w)
			a.unchanged(func() {
				path, query, _ := strings.Cut(path, "?")
				a.do(s.method, path+"?wrong=1&"+query, body).fails(422, "INVALID_PAYLOAD", "wrong")
				a.do(s.method, path+"/?Limit=1&"+query, body).fails(422, "INVALID_PAYLOAD", "Limit")
			})
		})
	}
	a.get("/project?limit=1&limit=2").fails(422, "INVALID_PAYLOAD", "limit")
	a.get("/health?limit=1").fails(422, "INVALID_PAYLOAD", "limit")
}

// listings holds the routes that return lists in pages.
var listings = []string{"/user", "/user/$user/permissions", "/project", "/project/$project/members",
	"/experiment/project/$project", "/iteration/experiment/$experiment", "/iteration/$iteration/children",
	"/parameter/iteration/$iteration", "/metric/iteration/$iteration", "/tag/project/$project",
	"/tag/experiment/$experiment", "/tag/iteration/$iteration",
	"/model/project/$project", "/project/$project/model", "/modelversion/model/$model", "/report/project/$project"}

// All lists are divided into pages in the same way.
func TestPagination(t *testing.T) {
	t.Parallel()
	a := start(t)
	w := a.world()
	for i := range 4 {
		u := a.user(fmt.Sprintf("u%d", i))
		a.permit(u, w["project"], "read")
		a.permit(person{id: w["user"]}, a.project(u), "read")
		a.experiment(w["project"])
		a.do("POST", "/iteration/experiment/"+w["experiment"], fmt.Sprintf(`{"parent_iteration_id":%q}`, w["iteration"])).wants(201)
		a.parameter(w["iteration"], fmt.Sprintf("p%d", i), "1")
		a.metric(w["iteration"], "loss", float64(i))
		a.tag("project", w["project"], fmt.Sprintf("t%d", i))
		a.tag("experiment", w["experiment"], fmt.Sprintf("t%d", i))
		a.tag("iteration", w["iteration"], fmt.Sprintf("t%d", i))
		a.model(w["project"], fmt.Sprintf("m%d", i))
		a.version(w["model"], w["iteration"])
		a.do("POST", "/report/project/"+w["project"], fmt.Sprintf(`{"name":"r%d"}`, i)).wants(201)
	}
	for _, listing := range listings {
		t.Run(listing, func(t *testing.T) {
			a, path := a.on(t), w.expand(listing)
			all := a.get(path).has(`{"limit":50,"offset":0}`).ids()
			total := len(all)
			if total < 4 {
				t.Fatalf("there are %d, want at least 4", total)
			}
			for _, tt := range []struct {
				query         string
				limit, offset int
				want          []string
			}{
				{"?limit=2", 2, 0, all[:2]},
				{"?limit=2&offset=1", 2, 1, all[1:3]},
				{"?offset=3", 50, 3, all[3:]},
				{"?limit=0", 0, 0, nil},
				{"?limit=1000", 1000, 0, all},
				{"?limit=1001", 1000, 0, all},
				{"?limit=9223372036854775807", 1000, 0, all},
				{fmt.Sprintf("?offset=%d", total), 50, total, nil},
				{"?offset=1000000", 50, 1000000, nil},
			} {
				got := a.get(path + tt.query).has(fmt.Sprintf(`{"total":%d,"limit":%d,"offset":%d}`, total, tt.limit, tt.offset))
				if fmt.Sprint(got.ids()) != fmt.Sprint(tt.want) {
					t.Errorf("%s: %v, want %v", tt.query, got.ids(), tt.want)
				}
				if len(tt.want) == 0 {
					got.has(`{"data":[]}`)
				}
			}
			// A number is accepted even if the validator of the document can't represent it.
			a.get(path+"?limit=123456789012345678901234567890", loose).has(`{"limit":1000,"offset":0}`)
			for _, name := range []string{"limit", "offset"} {
				for _, bad := range []string{"-1", "x", "1.5", "", "1e3", "0x10", "%201", "NaN", "-99999999999999999999"} {
					a.get(path+"?"+name+"="+bad).fails(422, "INVALID_PAYLOAD", name)
				}
			}
		})
	}
}
