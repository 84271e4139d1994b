//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"

	"tracker/cmd/bench/httpconn"
)

// conn is a connection to the API of a process.
type conn struct{ *httpconn.Conn }

func dial(t testing.TB, p *process) *conn {
	t.Helper()
	w, err := httpconn.Dial(t.Context(), p.API)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return &conn{w}
}

// must sends a request and ends the test if the status is not want.
func (w *conn) must(t testing.TB, want int, method, path, body string) httpconn.Reply {
	t.Helper()
	r, err := w.Send(w.Request(method, path, "", body))
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if r.Status != want {
		t.Fatalf("%s %s answers %s, want %d", method, path, r, want)
	}
	return r
}

// create creates a record and returns its id.
func (w *conn) create(t testing.TB, path, body string) string {
	t.Helper()
	ids, err := w.must(t, 201, "POST", path, body).IDs()
	if err != nil || len(ids) != 1 {
		t.Fatalf("POST %s gives the ids %v, %v", path, ids, err)
	}
	return ids[0]
}

// read decodes the response to GET path. It returns false if the status is 404.
func (w *conn) read(t testing.TB, path string, into any) bool {
	t.Helper()
	r, err := w.Send(w.Request("GET", path, "", ""))
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	if r.Status == 404 {
		return false
	}
	if r.Status != 200 {
		t.Fatalf("GET %s answers %s", path, r)
	}
	if err := json.Unmarshal(r.Body, into); err != nil {
		t.Fatalf("GET %s: %v in %q", path, err, r.Body)
	}
	return true
}

// readAll reads all pages of a list. It returns false if the status is 404.
func readAll[T any](t testing.TB, w *conn, path string) (all []T, found bool) {
	t.Helper()
	for {
		var page struct {
			Data  []T `json:"data"`
			Total int `json:"total"`
		}
		if !w.read(t, path+"?limit=1000&offset="+strconv.Itoa(len(all)), &page) {
			return nil, false
		}
		all = append(all, page.Data...)
		if len(all) == page.Total {
			return all, true
		}
		if len(page.Data) == 0 || len(all) > page.Total {
			t.Fatalf("GET %s counts %d records and gives %d", path, page.Total, len(all))
		}
	}
}

// float is a metric value in the format of the API.
type float float64

func (f float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 0):
		return json.Marshal(map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0])
	default:
		return json.Marshal(v)
	}
}

func (f *float) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) != nil {
		return json.Unmarshal(text, (*float64)(f))
	}
	v, known := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[name]
	if !known {
		return fmt.Errorf("%q is not a value of a metric", name)
	}
	*f = float(v)
	return nil
}

// same reports whether two values are identical to the last bit.
func (f float) same(o float) bool {
	return math.Float64bits(float64(f)) == math.Float64bits(float64(o)) || math.IsNaN(float64(f)) && math.IsNaN(float64(o))
}

// point is a point in the format of the API.
type point struct {
	ID    string `json:"id"`
	Key   string `json:"key"`
	Step  int64  `json:"step"`
	Value float  `json:"value"`
}
