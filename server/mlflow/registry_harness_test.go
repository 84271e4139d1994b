package mlflow_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/server"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/users"
)

// registryClient is a client of the model registry and its server.
type registryClient struct {
	t     testing.TB
	db    *store.DB
	auth  *auth.Auth
	url   string
	token string // "" for the default user
}

// fields holds the fields of a request or response.
type fields = map[string]any

func newRegistry(t testing.TB, enableAuth bool) registryClient {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "tracker.db"), Exclusive: true, BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.Users.Seed(t.Context(), "correct horse battery"); err != nil {
		t.Fatal(err)
	}
	r := registryClient{t: t, db: db, auth: auth.New(db, auth.Options{Enabled: enableAuth, Secret: "the secret of these tests, long enough"})}
	h, err := server.New(server.Options{DB: db, Auth: r.auth, Logger: slog.New(slog.DiscardHandler), Metrics: server.NewMetrics()})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// as returns a client that acts as the named user, which it creates if necessary, and the user's
// id.
func (r registryClient) as(name string) (registryClient, string) {
	r.t.Helper()
	created, err := r.db.Users.CreateUser(r.t.Context(), domain.System, users.NewUser{Username: name, Password: "correct horse battery"})
	if err != nil {
		r.t.Fatal(err)
	}
	u, err := r.db.Users.User(r.t.Context(), domain.System, created.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	g, err := r.auth.Grant(u, time.Hour)
	if err != nil {
		r.t.Fatal(err)
	}
	r.token = g.AccessToken
	return r, created.ID
}

// send sends a request and returns the status and body of the response.
func (r registryClient) send(method, path string, body []byte) (int, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if method != "GET" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, answer
}

// call sends a request to a path of the protocol. For GET, path contains the query; otherwise in is
// the body.
func (r registryClient) call(method, path string, in any) (int, fields) {
	r.t.Helper()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			r.t.Fatal(err)
		}
	}
	status, answer := r.send(method, "/api/2.0/mlflow/"+path, body)
	var out fields
	if err := json.Unmarshal(answer, &out); err != nil {
		r.t.Fatalf("%s %s: %d %s: %v", method, path, status, answer, err)
	}
	return status, out
}

// must is like call, but the request must succeed.
func (r registryClient) must(method, path string, in any) fields {
	r.t.Helper()
	status, out := r.call(method, path, in)
	if status != http.StatusOK {
		r.t.Fatalf("%s %s %v: %d %v", method, path, in, status, out)
	}
	return out
}

// fails is like call, but the request must fail with this error. It returns the error message.
func (r registryClient) fails(method, path string, in any, status int, code string) string {
	r.t.Helper()
	got, out := r.call(method, path, in)
	if got != status || out["error_code"] != code || out["message"] == "" {
		r.t.Errorf("%s %s %v: %d %v, want %d %s", method, path, in, got, out, status, code)
	}
	message, _ := out["message"].(string)
	return message
}

// at returns the value at a path of names and indexes, like model_version.tags.0.key, or nil if
// there is none.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case fields:
			v = in[name]
		case []any:
			var n int
			if err := json.Unmarshal([]byte(name), &n); err != nil || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

// wants checks values in a response. pairs holds paths and expected values in turn.
func (r registryClient) wants(answer fields, pairs ...any) {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		got, err := json.Marshal(at(answer, pairs[i].(string)))
		if err != nil {
			r.t.Fatal(err)
		}
		want, err := json.Marshal(pairs[i+1])
		if err != nil {
			r.t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			r.t.Errorf("%s is %s, want %s, in %v", pairs[i], got, want, answer)
		}
	}
}

// list returns one field of all records in a list of a response.
func list(answer fields, records, field string) []any {
	all, _ := answer[records].([]any)
	values := []any{}
	for _, record := range all {
		values = append(values, at(record, field))
	}
	return values
}
