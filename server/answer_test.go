package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// answer is a response whose body has been read.
type answer struct {
	t      testing.TB
	what   string // the request
	status int
	header http.Header
	body   string
}

// wants stops the test if the status differs.
func (r answer) wants(status int) answer {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: %d %s, want %d", r.what, r.status, r.body, status)
	}
	return r
}

// fails checks that the response is this error. field is "" if the error names no field.
func (r answer) fails(status int, code, field string) answer {
	r.t.Helper()
	r.wants(status)
	var got struct{ Code, Field string }
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		r.t.Fatalf("%s: %v in %s", r.what, err, r.body)
	}
	if got.Code != code || got.Field != field {
		r.t.Errorf("%s: %s, want the code %q and the field %q", r.what, r.body, code, field)
	}
	return r
}

// is checks that the response has status 200 or 201 and exactly this JSON. The string "<any>" in it
// matches any value.
func (r answer) is(want string) answer {
	r.t.Helper()
	r.compare(want, true)
	return r
}

// has is like is, but objects in the response may have further fields. Lists must be complete.
func (r answer) has(want string) answer {
	r.t.Helper()
	r.compare(want, false)
	return r
}

func (r answer) compare(want string, exact bool) {
	r.t.Helper()
	if r.status != http.StatusOK && r.status != http.StatusCreated {
		r.t.Fatalf("%s: %d %s, want %s", r.what, r.status, r.body, want)
	}
	if diff := difference("", parse(r.t, want), parse(r.t, r.body), exact); diff != "" {
		r.t.Errorf("%s: %s\ngot  %s\nwant %s", r.what, diff, r.body, want)
	}
}

// id returns the id of the created record.
func (r answer) id() string {
	r.t.Helper()
	r.wants(http.StatusCreated)
	var got struct{ ID string }
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.ID == "" {
		r.t.Fatalf("%s: %s has no id (%v)", r.what, r.body, err)
	}
	return got.ID
}

// ids returns the ids in the response to a batch or in a page of a list.
func (r answer) ids() []string {
	r.t.Helper()
	var got struct {
		IDs  []string
		Data []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		r.t.Fatalf("%s: %v in %s", r.what, err, r.body)
	}
	for _, d := range got.Data {
		got.IDs = append(got.IDs, d.ID)
	}
	return got.IDs
}

// parse parses JSON. Numbers keep their literal text.
func parse(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// difference returns the JSON path at which got differs from want, or "" if they are equal.
func difference(at string, want, got any, exact bool) string {
	if want == "<any>" {
		return ""
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is not an object", at)
		}
		for name := range w {
			if _, ok := g[name]; !ok {
				return fmt.Sprintf("%s.%s is missing", at, name)
			}
			if d := difference(at+"."+name, w[name], g[name], exact); d != "" {
				return d
			}
		}
		for name := range g {
			if _, ok := w[name]; exact && !ok {
				return fmt.Sprintf("%s.%s is too much", at, name)
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is not a list of %d", at, len(w))
		}
		for i := range w {
			if d := difference(fmt.Sprintf("%s[%d]", at, i), w[i], g[i], exact); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// row is a request and its expected response. Empty fields are not checked, except code and field,
// which are always checked for an error.
type row struct {
	name   string // "" for method and path
	method string
	path   string
	body   string
	opts   []opt
	status int
	code   string
	field  string
	is     string // the complete JSON of the response
	has    string // a part of the JSON
}

// run sends the rows in order, each in a subtest.
func run(a api, rows []row) {
	a.t.Helper()
	for _, r := range rows {
		name := r.name
		if name == "" {
			name = r.method + " " + r.path
		}
		a.t.(*testing.T).Run(name, func(t *testing.T) {
			t.Helper()
			got := a.on(t).do(r.method, r.path, r.body, r.opts...).wants(r.status)
			if r.status >= 400 {
				got.fails(r.status, r.code, r.field)
			}
			if r.is != "" {
				got.is(r.is)
			}
			if r.has != "" {
				got.has(r.has)
			}
		})
	}
}

// quote returns a string as JSON.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // impossible
	}
	return string(b)
}
