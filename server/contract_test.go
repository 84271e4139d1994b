package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"tracker/server"
)

// document holds the parsed openapi.yaml and the results of checks against it.
type document struct {
	*openapi3.T
	router routers.Router

	mu        sync.Mutex
	refusals  map[string]bool // rejections already found to match the document
	succeeded map[string]bool // operations that have returned 2xx
}

// loadDocument returns the document that all tests share.
var loadDocument = sync.OnceValues(newDocument)

func newDocument() (*document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(server.OpenAPIYAML)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the router would treat "." as a part of the path
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	return &document{T: doc, router: router, refusals: map[string]bool{}, succeeded: map[string]bool{}}, nil
}

// checkExchange checks a request and its response against the document.
func checkExchange(r *request, base, body string, a answer) error {
	doc, err := loadDocument()
	if err != nil {
		return err
	}
	return doc.check(r, base, body, a)
}

// check does the work of checkExchange. A request that succeeds must be valid according to the
// document.
func (doc *document) check(r *request, base, body string, a answer) error {
	doc.mu.Lock()
	defer doc.mu.Unlock()
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		return nil // the document does not describe preflight requests
	}
	if a.body != "" && a.header.Get("X-Content-Type-Options") != "nosniff" &&
		a.header.Get("Content-Type") == "application/json" {
		return errors.New("X-Content-Type-Options: nosniff is missing")
	}
	input, err := doc.input(r, base, body)
	switch {
	case errors.Is(err, routers.ErrPathNotFound):
		return checkRefusal(doc.T, input, a, "NotFound", http.StatusNotFound)
	case errors.Is(err, routers.ErrMethodNotAllowed):
		return checkRefusal(doc.T, input, a, "MethodNotAllowed", http.StatusMethodNotAllowed)
	case err != nil:
		return err
	}
	// The validator compiles the schema for each response, so equal rejections are checked only
	// once.
	seen := fmt.Sprint(r.Method, input.Route.Path, a.status, present(a.header), a.body)
	if a.status >= 400 && doc.refusals[seen] {
		return nil
	}
	if err := checkResponse(input, a, r.Method == http.MethodHead); err != nil {
		return err
	}
	if a.status >= 400 {
		doc.refusals[seen] = true
	}
	if a.status >= 300 || r.loose {
		return nil
	}
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
		return fmt.Errorf("it succeeds, but the document does not allow the request: %w", err)
	}
	if r.Method != http.MethodHead {
		doc.succeeded[input.Route.Operation.OperationID] = true
	}
	return nil
}

// present returns the response headers with the values that always differ removed.
func present(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		if h.Get(name) != "" {
			h.Set(name, "some")
		}
	}
	return h
}

// input returns the request in the form that the document uses: without base path and trailing
// slash, and with GET for HEAD.
func (doc *document) input(r *request, base, body string) (*openapi3filter.RequestValidationInput, error) {
	plain := r.Clone(context.Background())
	if plain.Method == http.MethodHead {
		plain.Method = http.MethodGet
	}
	path := plain.URL.EscapedPath()
	if base != "" && (path == base || strings.HasPrefix(path, base+"/")) {
		path = path[len(base):]
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	u, err := url.Parse("http://document" + path) // plain.URL.Parse would resolve ..
	if err != nil {
		return nil, err
	}
	u.RawQuery = plain.URL.RawQuery
	plain.URL, plain.Host = u, u.Host
	plain.Body = io.NopCloser(strings.NewReader(body))
	if body == "" {
		plain.Body = http.NoBody
	}
	input := &openapi3filter.RequestValidationInput{Request: plain, Options: &openapi3filter.Options{
		IncludeResponseStatus: true,
		SkipSettingDefaults:   true,
		AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
	}}
	input.Route, input.PathParams, err = doc.router.FindRoute(plain)
	return input, err
}

func checkResponse(input *openapi3filter.RequestValidationInput, a answer, headOnly bool) error {
	options := *input.Options
	options.ExcludeResponseBody = headOnly
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input,
		Status:                 a.status,
		Header:                 a.header,
		Options:                &options,
	}
	out.SetBodyBytes([]byte(a.body))
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		return err
	}
	if (headOnly || a.status == http.StatusNoContent) && a.body != "" {
		return errors.New("it has a body")
	}
	return nil
}

// checkRefusal checks the response to a request that the document does not describe. A request from
// another origin is rejected before its path is looked up.
func checkRefusal(doc *openapi3.T, input *openapi3filter.RequestValidationInput, a answer, name string, status int) error {
	responses := openapi3.NewResponsesWithCapacity(2)
	responses.Set(fmt.Sprint(status), doc.Components.Responses[name])
	responses.Set(fmt.Sprint(http.StatusForbidden), doc.Components.Responses["ForbiddenOrigin"])
	input.Route = &routers.Route{Spec: doc, Operation: &openapi3.Operation{Responses: responses}}
	return checkResponse(input, a, a.body == "" && input.Request.Method == http.MethodGet)
}
