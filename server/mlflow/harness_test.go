package mlflow_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"tracker/server/servertest"
	"tracker/store"
)

const password = servertest.Password

// api is the prefix of most routes.
const api = "/api/2.0/mlflow/"

// begin is the initial time of a bed's clock in Unix milliseconds.
const begin = servertest.Begin

// bed is a running server with its own database.
type bed struct {
	testing.TB
	db     *store.DB
	server *httptest.Server
	now    *atomic.Int64 // time of the server's clock in Unix milliseconds
}

// start runs a server without authentication.
func start(t testing.TB) bed { t.Helper(); return startWith(t, false) }

func startWith(t testing.TB, signIn bool) bed {
	t.Helper()
	s := servertest.Start(t, servertest.Options{SignIn: signIn})
	return bed{t, s.DB, s.HTTP, s.Now}
}

func (b bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// answer is a response whose body has been read.
type answer struct {
	b      bed
	what   string
	status int
	header http.Header
	body   string
}

// opt changes a request before it is sent.
type opt func(*http.Request)

func basic(name, password string) opt {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

// send sends a request to a path of the server.
func (b bed) send(method, path, body string, opts ...opt) answer {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.server.URL+path, strings.NewReader(body))
	b.must(err)
	if !strings.HasPrefix(path, "/api/2.0/mlflow-artifacts/") || method != "PUT" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, o := range opts {
		o(r)
	}
	res, got := servertest.Send(b, r)
	return answer{b, method + " " + path + " " + body, res.StatusCode, res.Header, got}
}

// post sends a POST request to a route below api.
func (b bed) post(path, body string, opts ...opt) answer {
	b.Helper()
	return b.send("POST", api+path, body, opts...)
}

// get sends a GET request to a route below api. query holds names and values of query parameters in
// turn.
func (b bed) get(path string, query ...string) answer {
	b.Helper()
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Add(query[i], query[i+1])
	}
	return b.send("GET", api+path+"?"+q.Encode(), "")
}

// wants stops the test if the status differs.
func (a answer) wants(status int) answer {
	a.b.Helper()
	if a.status != status {
		a.b.Fatalf("%.500s: %d %s, want %d", a.what, a.status, a.body, status)
	}
	return a
}

// fails checks that the response is this error.
func (a answer) fails(status int, code string) answer {
	a.b.Helper()
	var got struct {
		Code    string `json:"error_code"`
		Message string
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != status || got.Code != code || got.Message == "" {
		a.b.Errorf("%.500s: %d %s, want %d %s", a.what, a.status, a.body, status, code)
	}
	return a
}

// hides checks that the response to a user without rights is an error, or has nothing of a project that
// the user can't find by its name.
func (a answer) hides(secrets ...string) {
	a.b.Helper()
	switch a.status {
	case http.StatusForbidden:
		a.fails(403, "PERMISSION_DENIED")
	case http.StatusNotFound:
		a.fails(404, "RESOURCE_DOES_NOT_EXIST")
	default:
		a.wants(200)
		for _, secret := range secrets {
			if strings.Contains(a.body, secret) {
				a.b.Errorf("%.500s: %q is in %s", a.what, secret, a.body)
			}
		}
	}
}

// is checks that the response has status 200 and exactly this JSON.
func (a answer) is(want string) {
	a.b.Helper()
	a.wants(http.StatusOK)
	var got, wanted any
	a.b.must(json.Unmarshal([]byte(a.body), &got))
	a.b.must(json.Unmarshal([]byte(want), &wanted))
	if !reflect.DeepEqual(got, wanted) {
		a.b.Errorf("%.500s\ngot  %s\nwant %s", a.what, a.body, want)
	}
}

// text returns the string at a path of fields in the response.
func (a answer) text(fields ...string) string {
	a.b.Helper()
	a.wants(http.StatusOK)
	var at any
	a.b.must(json.Unmarshal([]byte(a.body), &at))
	for _, f := range fields {
		m, _ := at.(map[string]any)
		at = m[f]
	}
	s, ok := at.(string)
	if !ok {
		a.b.Fatalf("%s: no text %v in %s", a.what, fields, a.body)
	}
	return s
}

// experiment creates an experiment and returns its id.
func (b bed) experiment(name string) string {
	b.Helper()
	return b.post("experiments/create", `{"name":`+quote(name)+`}`).text("experiment_id")
}

// run creates a run with the given additional fields and returns its id.
func (b bed) run(experiment, fields string) string {
	b.Helper()
	return b.post("runs/create", `{"experiment_id":`+quote(experiment)+fields+`}`).text("run", "info", "run_id")
}

func quote(s string) string {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(q)
}
