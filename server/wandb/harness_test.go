package wandb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tracker/server/servertest"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

const password = servertest.Password

// bed is a running server with its own database.
type bed struct {
	testing.TB
	db     *store.DB
	auth   *auth.Auth
	server *httptest.Server
	now    *atomic.Int64 // time of the server's clock in Unix milliseconds
}

// start runs a server that trusts the given proxies.
func start(t testing.TB, signIn bool, proxies ...netip.Prefix) bed {
	t.Helper()
	s := servertest.Start(t, servertest.Options{SignIn: signIn, Proxies: proxies})
	return bed{t, s.DB, s.Auth, s.HTTP, s.Now}
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
	body   string
}

// opt changes a request before it is sent.
type opt func(*http.Request)

func key(key string) opt {
	return func(r *http.Request) { r.SetBasicAuth("api", key) }
}

// send sends a request. path is a path of the server or a complete address.
func (b bed) send(method, path, body string, opts ...opt) answer {
	b.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.server.URL + path
	}
	r, err := http.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body))
	b.must(err)
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, o := range opts {
		o(r)
	}
	res, got := servertest.Send(b, r)
	return answer{b, method + " " + path + " " + body, res.StatusCode, got}
}

// query sends a GraphQL document with variables.
func (b bed) query(document string, variables map[string]any, opts ...opt) answer {
	b.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	b.must(err)
	return b.send("POST", "/graphql", string(body), opts...)
}

// run creates a run in a project.
func (b bed) run(project, name string, opts ...opt) {
	b.Helper()
	b.query(`mutation { upsertBucket(input: {modelName: "`+project+`", name: "`+name+`"}) { bucket { id } } }`, nil, opts...).wants(200)
}

// stream sends a stream part of a run.
func (b bed) stream(project, name, body string, opts ...opt) answer {
	b.Helper()
	return b.send("POST", "/files/me/"+project+"/"+name+"/file_stream", body, opts...)
}

// history sends rows of a run's history, starting at line number offset.
func (b bed) history(project, name string, offset int, rows ...string) answer {
	b.Helper()
	body, err := json.Marshal(map[string]any{"files": map[string]any{"wandb-history.jsonl": map[string]any{"offset": offset, "content": rows}}})
	b.must(err)
	return b.stream(project, name, string(body))
}

// id returns the id of the iteration that stores a run.
func (b bed) id(project, name string) (id string) {
	b.Helper()
	b.must(b.db.View(b.Context(), domain.System, func(v *store.View) (err error) {
		id, err = v.Wandb.Iteration(project, name)
		return err
	}))
	return id
}

// points returns the points of a run as a sorted list, each as key, step and value.
func (b bed) points(project, name string) string {
	b.Helper()
	l, err := b.db.Runs.Metrics(b.Context(), domain.System, b.id(project, name), runs.MetricQuery{Page: domain.Page{Limit: domain.MaxLimit}})
	b.must(err)
	var out []string
	for _, p := range l.Data {
		out = append(out, fmt.Sprintf("%s %d %v", p.Key, p.Step, float64(p.Value)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// wants stops the test if the status differs.
func (a answer) wants(status int) answer {
	a.b.Helper()
	if a.status != status {
		a.b.Fatalf("%.500s: %d %.500s, want %d", a.what, a.status, a.body, status)
	}
	return a
}

// is checks that the response has status 200 and exactly this JSON.
func (a answer) is(want string) {
	a.b.Helper()
	a.wants(200)
	var got, wanted bytes.Buffer
	a.b.must(json.Compact(&got, []byte(a.body)))
	a.b.must(json.Compact(&wanted, []byte(want)))
	if got.String() != wanted.String() {
		a.b.Errorf("%.500s\ngot  %s\nwant %s", a.what, got.String(), wanted.String())
	}
}

// has checks that the response has status 200 and that its body contains part.
func (a answer) has(part string) {
	a.b.Helper()
	if a.wants(200); !strings.Contains(a.body, part) {
		a.b.Errorf("%.500s: %s is not in %s", a.what, part, a.body)
	}
}
