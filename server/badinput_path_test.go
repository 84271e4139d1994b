package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tracker/server"
	"tracker/store/domain"
)

// place is a route whose path variables are filled with records of the site.
type place struct {
	method, route string
	segments      []string // escaped
	variables     []int    // indexes of the segments that hold a record's id, its kind or a tag
	body          string   // a valid body, or ""
	opts          []opt    // options of the request
}

func (p place) path() string { return "/" + strings.Join(p.segments, "/") }

// with returns the path with another value for variable i. The value must be escaped.
func (p place) with(i int, value string) string {
	segments := slices.Clone(p.segments)
	segments[p.variables[i]] = value
	return "/" + strings.Join(segments, "/")
}

// places returns all routes, sorted by method.
func (s *site) places() (all []place) {
	ids := map[string]string{
		"user": s.ada.id, "userpermission": s.permission, "project": s.project, "experiment": s.experiment,
		"iteration": s.iteration, "parameter": s.parameter, "metric": s.metric, "resource": s.resource, "upload": s.upload, "trash": s.trashed, "report": s.report,
		"{user_id}": s.ada.id, "{key_id}": s.key, "{project_id}": s.project, "{experiment_id}": s.experiment, "{iteration_id}": s.iteration,
		"model": s.model, "modelversion": s.version, "{model_id}": s.model, "artifactversion": s.artifactVersion, "{name}": "flowers:latest",
		"{kind}": "project", "{other}": s.iteration, "{value}": "baseline", "{key}": "old",
	}
	bodies := map[string]string{}
	for _, x := range s.targets() {
		bodies[x.name()] = x.body()
	}
	for _, r := range server.Routes() {
		p := place{method: r[0], route: r[1], segments: strings.Split(r[1][1:], "/")}
		first := p.segments[0]
		for i, segment := range p.segments {
			if !strings.HasPrefix(segment, "{") {
				continue
			}
			value := ids[segment]
			if segment == "{id}" {
				value = ids[first]
			}
			if first == "tag" && segment == "{id}" {
				value = s.project
			}
			if first == "lineage" {
				value = map[string]string{"{kind}": "artifactversion", "{id}": s.artifactVersion}[segment]
			}
			if first == "property" {
				value = map[string]string{"{kind}": "iteration", "{id}": s.iteration, "{key}": "old"}[segment]
			}
			p.segments[i], p.variables = value, append(p.variables, i)
		}
		p.body = bodies[p.method+" "+p.path()]
		for _, sample := range samples {
			if sample.method == p.method && sample.route == p.route && sample.opts != nil {
				p.body, p.opts = sample.body, sample.opts
			}
			if sample.method == p.method && sample.route == p.route && p.body == "" {
				p.body = strings.NewReplacer("$artifactversion", s.artifactVersion, "$maker", "ada").Replace(sample.body)
			}
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b place) int {
		return strings.Compare(a.method, b.method) // no delete in these tests succeeds
	})
	return all
}

// strangeIDs returns ids, escaped for a path, that belong to no record.
func (s *site) strangeIDs() []string {
	ids := []string{
		nobody, "x", "0", "-1", "null", "undefined", "NaN", "me", "default", "ada", "*", "~", "%00", "%0A", "%20", "%22", "%27", "%2A", "%25",
		"%2F", "%5C", "%2e", "%2E%2E", "%2e%2e%2f", "..%2F..", "%C3%A9", "%FF", "%C3", "%ED%A0%80", "%F0%9F%98%80", "%E2%80%AE", "é", "'", "''", "1'OR'1'='1", "1;DROP",
		"{id}", "[1]", "id=1", "a;b=c", "01a1fd72-2c13-79ed-97b8-5face34acb1", "01a1fd722c1379ed97b85face34acb11", "%7B" + nobody + "%7D",
		"urn:uuid:" + nobody, strings.Repeat("a", 300), strings.Repeat("a", 100_000), strings.Repeat("%FF", 10_000), strings.Repeat("%00", 300),
	}
	for _, id := range []string{s.project, s.experiment, s.iteration, s.parameter, s.permission, s.ada.id, s.model, s.version} {
		ids = append(ids, strings.ToUpper(id), id+"%20", "%20"+id, id+"%00", id+"%2F", id[1:], id+"0", "{"+id+"}")
	}
	return ids
}

func TestIDsThatNobodyHas(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := newSite(t)
	for _, p := range s.places() {
		if p.variables == nil {
			continue
		}
		t.Run(p.method+" "+p.route, func(t *testing.T) {
			s := s.on(t)
			others := []string{s.metric, s.parameter, s.permission, s.project, s.experiment, s.iteration, s.ada.id, s.model, s.version}
			s.unchanged(p.method+" "+p.route, func() {
				for i := range p.variables {
					for _, id := range append(others, s.strangeIDs()...) {
						path := p.with(i, id)
						if path != p.path() && !(id == "me" && p.route == "/user/{id}") {
							s.refusal(p.method, path, p.body, 404, "NOT_FOUND", "", p.opts...)
						}
					}
				}
			})
		})
	}
}

func TestMetricIDsThatNobodyHas(t *testing.T) {
	s := newSite(t)
	parts := strings.Split(s.metric, ".")
	moved := strings.Split(s.moved, ".")
	later := s.api.metric(s.iteration, "loss", 1)
	s.must(s.db.Runs.DeleteMetric(t.Context(), domain.System, later))
	ids := []string{
		later, // deleted; ids are never used again
		moved[0] + ".7." + moved[2],
		"", ".", "..", "...", "1", "1.1", "1.1.1.1", "0.0.0", "-1.-1.-1", "1.0.9999", "9999.0.1", parts[0] + "." + parts[1],
		parts[0] + "." + parts[1] + "." + parts[2] + ".", "." + s.metric, "+" + s.metric, "0" + s.metric, "-" + s.metric,
		parts[0] + ".+" + parts[1] + "." + parts[2], parts[0] + ".00." + parts[2], parts[0] + ".-0." + parts[2], parts[0] + "." + parts[1] + ".0" + parts[2],
		parts[0] + ". " + parts[1] + "." + parts[2], parts[0] + "_1.0." + parts[2], parts[0] + ".1." + parts[2], parts[0] + "," + parts[1] + "," + parts[2],
		strings.ToUpper("a.b.c"), "1y2p0ij32e8e7.0.1", "1y2p0ij32e8e8.0.1", "1.-1y2p0ij32e8e8.1", "1.-1y2p0ij32e8e9.1", "zzzzzzzzzzzzzzzzzzzz.0.1",
		strings.Repeat("1", 100_000), strings.Repeat(".", 100_000), strings.Repeat("1.", 50_000), "１.0.1", "1.0.1é", "1.0x1.1",
	}
	for _, id := range ids {
		path := "/metric/" + url.PathEscape(id)
		for method, body := range map[string]string{"GET": "", "PATCH": `{"value":1}`, "DELETE": ""} {
			if id != "" { // an empty segment would give another route
				s.refused(method, path, body, 404, "NOT_FOUND", "")
			}
		}
	}
	// A deleted point that is written again gets a new id.
	if again := s.api.metric(s.iteration, "loss", 1); again == later {
		t.Errorf("%s was given out twice", again)
	}
	s.get("/metric/" + s.moved).has(`{"step":7}`)
}

func TestUnknownTagKinds(t *testing.T) {
	s := newSite(t)
	for _, kind := range []string{"user", "parameter", "metric", "Project", "PROJECT", "projects", "project%20", "experiment_id", "%00", "x'--", "resource", "model"} {
		for _, id := range []string{s.project, s.experiment, s.iteration, s.ada.id} {
			s.refused("GET", "/tag/"+kind+"/"+id, "", 404, "NOT_FOUND", "")
			s.refused("POST", "/tag/"+kind+"/"+id, `{"value":"x"}`, 404, "NOT_FOUND", "")
			s.refused("DELETE", "/tag/"+kind+"/"+id+"/baseline", "", 404, "NOT_FOUND", "")
		}
	}
	for _, value := range []string{"Baseline", "baseline%20", "base", "%25", "_aseline", "%FF", "%00"} {
		s.refused("DELETE", "/tag/project/"+s.project+"/"+value, "", 404, "NOT_FOUND", "")
	}
}

// A path is taken literally: no segment is resolved, truncated or joined, and no request is
// redirected.
func TestPathTricks(t *testing.T) {
	s := newSite(t)
	for _, p := range s.places() {
		t.Run(p.method+" "+p.route, func(t *testing.T) {
			s := s.on(t)
			path := p.path()
			tricks := []string{"/" + path, path + "//", path + "/.", path + "/..", "/." + path, "/.." + path, "/x/.." + path, "/%2e" + path, "/%2e%2e" + path,
				path + "/%2e", path + "/%2F", path + "%2F", path + "/%2e%2e", path + "/;x", "/;" + path, path + "/x", path + "%00", path + "%20", path + "%3Flimit=1",
				path + ".json", path + "%23", "/api" + path, "/v1" + path, "/%2F" + path, strings.Replace(path, "/", "/%20", 1), path + ";jsessionid=1",
				strings.ReplaceAll(path, "/", "//"), strings.ReplaceAll(path, "/", "%2F"), strings.ReplaceAll(path, "/", "%5C"), strings.ToUpper(path)}
			for _, trick := range tricks {
				if trick == path {
					continue
				}
				s.unchanged(trick, func() {
					got := s.direct(p.method, trick, "", p.body, p.opts...)
					if got.Code != 404 && got.Code != 405 {
						t.Errorf("%s %s: %d %s", p.method, trick, got.Code, got.Body)
					}
					if place := got.Header().Get("Location"); place != "" {
						t.Errorf("%s %s sends on to %q", p.method, trick, place)
					}
				})
			}
		})
	}
}

// direct calls the server's handler without an HTTP client, because a client would clean the path
// and the query. Both must be escaped.
func (s *site) direct(method, path, query, body string, opts ...opt) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "/", strings.NewReader(body))
	decoded, err := url.PathUnescape(path)
	s.must(err)
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = decoded, path, query
	r.Header.Set("Authorization", "Bearer "+s.root.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, o := range opts {
		o(&request{Request: r})
	}
	w := httptest.NewRecorder()
	s.server.Config.Handler.ServeHTTP(w, r)
	return w
}

// Only the request line sets the method, which is case-sensitive. No header overrides it.
func TestMethodTricks(t *testing.T) {
	s := newSite(t)
	for _, p := range s.places() {
		t.Run(p.method+" "+p.route, func(t *testing.T) {
			s := s.on(t)
			for _, method := range []string{strings.ToLower(p.method), p.method[:1] + strings.ToLower(p.method[1:]), p.method + "S", "TRACE", "OPTIONS", "PUT", "LINK", "M-SEARCH", "QUERY"} {
				if method != "OPTIONS" || !strings.HasSuffix(p.route, "/upload") {
					s.refused(method, p.path(), "", 405, "METHOD_NOT_ALLOWED", "")
				}
			}
		})
	}
	overrides := []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"}
	for _, name := range overrides {
		s.unchanged(name, func() {
			s.get("/project/"+s.project, header(name, "DELETE")).has(`{"id":"` + s.project + `"}`)
			s.do("POST", "/project/"+s.project, "", header(name, "DELETE")).fails(405, "METHOD_NOT_ALLOWED", "")
			s.do("POST", "/project/"+s.project, "", header(name, "PATCH")).fails(405, "METHOD_NOT_ALLOWED", "")
			s.do("GET", "/project?_method=DELETE", "").fails(422, "INVALID_PAYLOAD", "_method")
		})
	}
	for _, name := range []string{"X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix", "X-Forwarded-Path"} {
		s.get("/health", header(name, "/project/"+s.project)).has(`{"status":"ok"}`)
	}
	for _, path := range []string{"/auth", "/auth/refresh", "/iteration/" + s.iteration + "/heartbeat", "/metric/iteration/" + s.iteration + "/batch"} {
		s.refused("HEAD", path, "", 405, "", "")
	}
}

// byHand sends raw bytes to the server and returns the status of the first response, or 0 if there
// is none.
func (s *site) byHand(request string) (status int) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	s.must(err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	s.must(err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// Paths that no client library would send are also rejected.
func TestRequestLinesByHand(t *testing.T) {
	s := newSite(t)
	head := " HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer " + s.root.token + "\r\nConnection: close\r\n"
	for request, want := range map[string]int{
		"GET /project" + head + "\r\n":                                                           200,
		"GET http://elsewhere/project" + head + "\r\n":                                           200, // the form used for a proxy
		"GET /%" + head + "\r\n":                                                                 400,
		"GET /project/%zz" + head + "\r\n":                                                       400,
		"GET /project/%2" + head + "\r\n":                                                        400,
		"GET project" + head + "\r\n":                                                            400,
		"GET * HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n":                               404,
		"CONNECT box:80" + head + "\r\n":                                                         404,
		"GET /project\x00" + head + "\r\n":                                                       400,
		"DELETE /project/" + s.project + "/../" + nobody + head + "\r\n":                         404,
		"DELETE /project/" + s.project + "#" + head + "\r\n":                                     404,
		"POST /project" + head + "Content-Length: -1\r\n\r\n":                                    400,
		"POST /project" + head + "Transfer-Encoding: gzip\r\n\r\n":                               501,
		"POST /project" + head + "Content-Length: 2\r\n\r\n{}":                                   415,
		"POST /project" + head + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}": 422,
		"POST /project" + head + "Idempotency-Key: a\x01b\r\n\r\n":                               400,
		"POST /project" + head + "Content-Type: application/json\r\nIdempotency-Key:\r\nContent-Length: 12\r\n\r\n{\"name\":\"x\"}": 422,
	} {
		s.unchanged(request, func() {
			if got := s.byHand(request); got != want {
				t.Errorf("%.80q is answered with %d, want %d", request, got, want)
			}
		})
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, p := range s.places() {
		t.Run(p.method+" "+p.route, func(t *testing.T) {
			s := s.on(t)
			path := p.path()
			for query, field := range map[string]string{"nonsense=1": "nonsense", "=": "", "=1": "", "LIMIT=1": "LIMIT", "limit[]=1": "limit[]", "id=1": "id",
				"access_token=x": "access_token", "%FF=1": "\ufffd", "a%00b=1": "a\x00b", "%E2%80%AE=1": "\u202e"} {
				s.refused(p.method, path+"?"+query, "", 422, "INVALID_PAYLOAD", field)
			}
			for _, query := range []string{"%", "%zz=1", "a=%zz", "a;b", "a=1;b=2", "%"} {
				s.unchanged(query, func() {
					got := s.direct(p.method, path, query, "{}")
					if got.Code != 422 || !strings.Contains(got.Body.String(), `"field":"query"`) {
						t.Errorf("%s?%s: %d %s", path, query, got.Code, got.Body)
					}
				})
			}
		})
	}
}

func TestBadPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bad := []string{"", "-1", "-0.5", "1.5", "1.0", "abc", "1e2", "0x10", "1_000", " 1", "1 ", "١", "null", "NaN", "Infinity", "1,2", "--1", "-99999999999999999999", "1\x00", "\xff"}
	seen := 0
	for _, p := range s.places() {
		path := p.path()
		// The limit of a lineage is a number of records, not the length of a page.
		if p.method != "GET" || strings.HasPrefix(path, "/lineage/") || path == "/audit" || s.get(path+"?limit=1", loose).status != 200 {
			continue
		}
		seen++
		for _, name := range []string{"limit", "offset"} {
			for _, v := range bad {
				s.refused("GET", path+"?"+name+"="+url.QueryEscape(v), "", 422, "INVALID_PAYLOAD", name)
			}
			s.refused("GET", path+"?"+name+"=1&"+name+"=1", "", 422, "INVALID_PAYLOAD", name)
		}
		// loose, because the validator does not accept integers beyond 64 bits
		most := 1000
		if strings.HasSuffix(path, "/records") {
			most = 100 // this route reads all points of each iteration
		}
		s.get(path+"?limit=99999999999999999999999", loose).has(fmt.Sprintf(`{"limit":%d}`, most))
		s.get(path+"?offset=99999999999999999999999", loose).has(`{"data":[]}`)
		s.get(path + "?limit=1001&offset=0").has(fmt.Sprintf(`{"limit":%d,"offset":0}`, most))
		s.get(path + "?limit=0").has(`{"limit":0,"data":[]}`)
		s.get(path + "?offset=1000000").has(`{"data":[],"offset":1000000}`)
	}
	if seen < 8 {
		t.Errorf("only %d routes have pages", seen)
	}
	s.refused("GET", "/experiment/project/"+s.project+"?status=DONE", "", 422, "INVALID_PAYLOAD", "status")
	s.refused("GET", "/experiment/project/"+s.project+"?status=", "", 422, "INVALID_PAYLOAD", "status")
	for _, stage := range []string{"", "production", "DONE", "PRODUCTION%20", "PRODUCTION,STAGING"} {
		s.refused("GET", "/modelversion/model/"+s.model+"?stage="+stage, "", 422, "INVALID_PAYLOAD", "stage")
	}
	for _, name := range []string{"%25", "_", "%5C", "%FF", "%00", "iris%00", "%00iris", "'", "%27%20OR%201=1--"} {
		s.get(fmt.Sprintf("/project?name=%s", name)).has(`{"total":0,"data":[]}`)
		s.get(fmt.Sprintf("/model/project/%s?name=%s", s.project, name)).has(`{"total":0,"data":[]}`)
		s.get(fmt.Sprintf("/project/%s/model?name=%s", s.project, name)).has(`{"total":0,"data":[]}`)
		s.get(fmt.Sprintf("/metric/iteration/%s?key=%s", s.iteration, name)).has(`{"total":0,"data":[]}`)
	}
}
