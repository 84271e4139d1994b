package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"tracker/server"
)

func TestDocumentIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(server.OpenAPIYAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

func TestDocumentAndRoutesAreTheSame(t *testing.T) {
	doc, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	var routed, documented []string
	for _, r := range server.Routes() {
		routed = append(routed, r[0]+" "+parameter.ReplaceAllString(r[1], "{}"))
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+parameter.ReplaceAllString(path, "{}"))
		}
	}
	slices.Sort(routed)
	slices.Sort(documented)
	if !slices.Equal(routed, documented) {
		t.Errorf("the routes\n%s\nare not those of the document\n%s",
			strings.Join(routed, "\n"), strings.Join(documented, "\n"))
	}
}

// Every operation has an example for each request and response body, and documents the error
// responses common to operations of its kind.
func TestDocumentIsComplete(t *testing.T) {
	doc, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			want := []int{403, 422, 500, 503}
			if op.Security == nil {
				want = append(want, 401)
			}
			if strings.Contains(path, "{") {
				want = append(want, 404)
			}
			if op.RequestBody != nil {
				want = append(want, 400, 413, 415)
				if op.RequestBody.Value.Content["application/json"] != nil {
					want = append(want, 408) // uploads have no time limit
				}
				checkExamples(t, name+": the request", op.RequestBody.Value.Content)
			}
			for _, status := range want {
				if op.Responses.Status(status) == nil {
					t.Errorf("%s: there is no answer %d", name, status)
				}
			}
			for status, response := range op.Responses.Map() {
				checkExamples(t, name+": answer "+status, response.Value.Content)
			}
		}
	}
}

func checkExamples(t *testing.T, what string, content openapi3.Content) {
	t.Helper()
	for _, media := range content {
		if media.Example == nil && len(media.Examples) == 0 {
			t.Errorf("%s has no example", what)
		}
	}
}

// Every repeatable create documents the Idempotency-Key header. These are the creates with a JSON
// body, except the sign-in.
func TestDocumentOffersIdempotencyKeys(t *testing.T) {
	doc, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			want := method == http.MethodPost && op.RequestBody != nil && op.RequestBody.Value.Content["application/json"] != nil && path != "/auth" && path != "/series" && path != "/project/{id}/archive" && path != "/user/{id}/keys"
			if got := op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil; got != want {
				t.Errorf("%s %s: offers a key: %v, want %v", method, path, got, want)
			}
		}
	}
}

func TestDocumentIsServed(t *testing.T) {
	a := start(t)
	asYAML := a.get("/openapi.yaml").wants(http.StatusOK)
	if asYAML.body != string(server.OpenAPIYAML) {
		t.Error("/openapi.yaml is not the file")
	}
	if got := asYAML.header.Get("Content-Type"); got != "application/yaml" {
		t.Errorf("/openapi.yaml is %s", got)
	}
	var doc any
	if err := yaml.Unmarshal(server.OpenAPIYAML, &doc); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	a.get("/openapi.json").is(string(want))
	a.get("/openapi.yaml", anonymous).fails(401, "TOKEN_MISSING", "")

	// The handler that Document returns needs no token.
	for _, path := range []string{"/openapi.yaml", "/openapi.json"} {
		w := httptest.NewRecorder()
		server.Document().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		want := a.get(path)
		if w.Code != http.StatusOK || w.Body.String() != want.body ||
			w.Header().Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("%s without a token: %d %v, %d bytes", path, w.Code, w.Header(), w.Body.Len())
		}
	}
}

// The checks of exchanges must be able to find errors.
func TestHarnessSeesWhatTheDocumentDoesNotSay(t *testing.T) {
	doc, err := newDocument() // not the shared document, because these exchanges are invented
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"X-Request-Id": {"x"}, "Content-Type": {"application/json"}, "X-Content-Type-Options": {"nosniff"}}
	health := `{"status":"ok","app_name":"tracker","version":"1","server_time":"` + nowText + `"}`
	without := func(name string) http.Header {
		h := header.Clone()
		h.Del(name)
		return h
	}
	project := `{"name":"iris"}`
	created := `{"id":"` + nobody + `"}`
	located := header.Clone()
	located.Set("Location", "/project/"+nobody)
	for _, tt := range []struct {
		name         string
		method, path string
		body         string
		answer       answer
		fine         bool
	}{
		{"as documented", "GET", "/health", "", answer{status: 200, header: header, body: health}, true},
		{"a field too much", "GET", "/health", "", answer{status: 200, header: header, body: health[:len(health)-1] + `,"x":1}`}, false},
		{"a field too little", "GET", "/health", "", answer{status: 200, header: header, body: `{"status":"ok"}`}, false},
		{"no request id", "GET", "/health", "", answer{status: 200, header: without("X-Request-Id"), body: health}, false},
		{"another status", "GET", "/health", "", answer{status: 418, header: header, body: health}, false},
		{"another type", "GET", "/health", "", answer{status: 200, header: http.Header{"X-Request-Id": {"x"}, "Content-Type": {"text/plain"}}, body: health}, false},
		{"sniffable", "GET", "/health", "", answer{status: 200, header: without("X-Content-Type-Options"), body: health}, false},
		{"head", "HEAD", "/health", "", answer{status: 200, header: header}, true},
		{"head with a body", "HEAD", "/health", "", answer{status: 200, header: header, body: health}, false},
		{"create", "POST", "/project", project, answer{status: 201, header: located, body: created}, true},
		{"create without a place", "POST", "/project", project, answer{status: 201, header: header, body: created}, false},
		{"unknown field that is taken", "POST", "/project", `{"name":"iris","x":1}`, answer{status: 201, header: located, body: created}, false},
		{"unknown field that is refused", "POST", "/project", `{"name":"iris","x":1}`, answer{status: 422, header: header, body: `{"code":"INVALID_PAYLOAD","message":"No.","field":"x"}`}, true},
		{"code of another status", "POST", "/project", project, answer{status: 422, header: header, body: `{"code":"NOT_FOUND","message":"No."}`}, false},
		{"an error without a message", "POST", "/project", project, answer{status: 422, header: header, body: `{"code":"INVALID_PAYLOAD"}`}, false},
		{"unknown path that is known", "GET", "/nothing", "", answer{status: 200, header: header, body: `{}`}, false},
		{"unknown method that is known", "PUT", "/project", "", answer{status: 200, header: header, body: `{}`}, false},
		{"405 without Allow", "PUT", "/project", "", answer{status: 405, header: header, body: `{"code":"METHOD_NOT_ALLOWED","message":"No."}`}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://box"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			err = doc.check(&request{Request: r}, "", tt.body, tt.answer)
			if (err == nil) != tt.fine {
				t.Errorf("got %v", err)
			}
		})
	}
}
