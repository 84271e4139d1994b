package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"tracker/server"
	"tracker/store/domain"
	"tracker/store/scalar"
)

// sound checks that a response is acceptable for any input: no server error, no redirect, and JSON
// with a code if it is an error.
func sound(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	switch {
	case w.Code >= 200 && w.Code < 300:
		if w.Code != http.StatusNoContent && w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d with %q", what, w.Code, w.Body)
		}
	case w.Code >= 400 && w.Code < 500:
		var e struct{ Code, Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code == "" || e.Message == "" {
			t.Errorf("%s: %d with %q (%v)", what, w.Code, w.Body, err)
		}
	default:
		t.Errorf("%s: %d %s", what, w.Code, w.Body)
	}
}

func FuzzBody(f *testing.F) {
	s := newSite(f)
	targets := s.targets()
	for i, x := range targets {
		// A PATCH can end the iteration, so it uses another iteration than the routes that write to
		// it.
		switch x.name() {
		case "PATCH /iteration/" + s.iteration:
			targets[i].path = "/iteration/" + s.api.iteration(s.experiment)
		case "PATCH /experiment/" + s.experiment:
			targets[i].path = "/experiment/" + s.stopped
		}
		f.Add(uint8(i), []byte(x.body()))
		for _, body := range []string{"", " ", "null", "[]", "{}", "{", `{"":1}`, "\xff", `{"a":"\ud800"}`, `{"value":1e400}`, strings.Repeat("[", 200)} {
			f.Add(uint8(i), []byte(body))
		}
		for _, field := range x.fields {
			f.Add(uint8(i), []byte(x.with(field.name, "null")))
			f.Add(uint8(i), []byte(x.plus(`"`+field.name+`":1`)))
			f.Add(uint8(i), []byte(x.with(field.name, `"\u0000\u202e"`)))
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, body []byte) {
		x := targets[int(i)%len(targets)]
		s := s.on(t)
		sound(t, x.name(), s.direct(x.method, x.path, "", string(body)))
	})
}

func FuzzQuery(f *testing.F) {
	s := newSite(f)
	var paths []string
	for _, p := range s.places() {
		if p.method == http.MethodGet && p.route != "/metrics" {
			paths = append(paths, p.path())
		}
	}
	for i := range paths {
		for _, query := range []string{"", "limit=1", "limit=0&offset=5", "limit=-1", "limit=99999999999999999999", "limit=1&limit=2", "name=%25_%5C",
			"status=STOPPED", "key=loss", "offset=%2B1", "%", "%FF=%FF", "a;b", "&&&", "=", "limit", "limit=%00", "name=\x00"} {
			f.Add(uint8(i), query)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, query string) {
		path := paths[int(i)%len(paths)]
		s := s.on(t)
		method := http.MethodGet
		if strings.HasSuffix(path, "/events") {
			method = http.MethodHead // an event stream needs a connection and does not end
		}
		w := s.direct(method, path, query, "")
		sound(t, path+"?"+query, w)
		if w.Code != http.StatusOK {
			return
		}
		var page struct {
			Data                 []json.RawMessage
			Total, Limit, Offset *int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Total == nil {
			return // a single record
		}
		if *page.Limit < 0 || *page.Limit > domain.MaxLimit || *page.Offset < 0 || len(page.Data) > *page.Limit || len(page.Data) > *page.Total {
			t.Errorf("%s?%s: %s", path, query, w.Body)
		}
	})
}

func FuzzPath(f *testing.F) {
	s := newSite(f)
	for _, p := range s.places() {
		f.Add(p.method, p.path())
	}
	for _, path := range []string{"/", "//", "/..", "/project/../user", "/project%2F", "/project/%00", "/project;x=1", "/tag/project/%FF/%2F", "/%252e", "*"} {
		for _, method := range []string{"GET", "post", "TRACE", "CONNECT", "OPTIONS", "HEAD", ""} {
			f.Add(method, path)
		}
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || u.Scheme != "" || method == http.MethodHead {
			return
		}
		s := s.on(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Method, r.URL = method, u
		r.Header.Set("Authorization", "Bearer "+s.root.token)
		w := httptest.NewRecorder()
		s.server.Config.Handler.ServeHTTP(w, r)
		sound(t, method+" "+path, w)
	})
}

func FuzzMetricID(f *testing.F) {
	s := newSite(f)
	for _, id := range []string{s.metric, s.moved, s.endedMetric, "1.7.2", "0.0.0", "1.0.1.1", "+1.0.1", "1.-0.1", "01.0.1", "1.0.1\x00", "..", "é.0.1"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if id == "" || id == "." || id == ".." {
			return // not an id
		}
		s := s.on(t)
		w := s.direct(http.MethodGet, "/metric/"+url.PathEscape(id), "", "")
		sound(t, id, w)
		switch w.Code {
		case http.StatusNotFound:
		case http.StatusOK:
			// A point has one id and is found only by this id.
			var m struct{ ID string }
			if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || m.ID != id {
				t.Errorf("%q finds %s", id, w.Body)
			}
		default:
			t.Errorf("%q: %d %s", id, w.Code, w.Body)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, text := range append(badTimes, nowText, "2026-11-21T09:30:00", "2026-11-21t09:30:00.5z", "1969-12-31T23:59:59.999999999Z",
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2026-11-21T09:30:00-23:59", "") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := scalar.ParseTime(text)
		if err != nil {
			return
		}
		again, err := scalar.ParseTime(at.String())
		if err != nil || again != at {
			t.Errorf("%q is %v, and that is %v, %v", text, at, again, err)
		}
		if len(at.String()) != len(nowText) || at.Time().Location() != time.UTC {
			t.Errorf("%q is written as %s", text, at)
		}
		// A time with a zone is the time that Go parses, truncated to milliseconds.
		if want, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err == nil && want.UnixMilli() != int64(at) {
			t.Errorf("%q is %v, want %v", text, at, want)
		}
	})
}

// FuzzBulk checks that the memory allocated to decode any bulk body is proportional to the length
// of the body. An entry takes at least 22 bytes and becomes a point of 40 bytes in a list whose
// capacity doubles.
func FuzzBulk(f *testing.F) {
	point := `{"key":"a","value":1}`
	for _, body := range []string{
		`{"metrics":[` + point + `]}`,
		`{"metrics":[{"key":"loss","value":"NaN","step":-3,"recorded_at":"2026-11-21T09:30:00Z"}]}`,
		`{"metrics":[` + strings.Repeat(point+",", 5000) + point + `]}`,
		`{"metrics":[` + strings.Repeat(point+",", server.MaxBulk) + point + `]}`,
		`{"metrics":[` + strings.Repeat("[", 20_000),
		`{"metrics":[` + strings.Repeat(`{"key":`, 5000),
		`{"metrics":[{"key":"` + strings.Repeat(`\u0061`, 10_000) + `","value":1}]}`,
		`{"metrics":[{` + strings.Repeat(`"step":null,`, 5000) + `"key":"a","value":1}]}`,
		`{"metrics":[{"key":"a","value":` + strings.Repeat("9", 50_000) + `}]}`,
		strings.Repeat(`{"metrics":`, 5000), "", "null", `{"metrics":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return // rejected before it is decoded
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := server.DecodeBulk(body)
		runtime.ReadMemStats(&after)
		const perByte, fixed = 32, 4 << 20 // most of fixed is for nesting, up to 10,000 levels
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(body))*perByte+fixed {
			t.Errorf("%d bytes allocate %d", len(body), took)
		}
		if n > server.MaxBulk || err == nil && n*len(`{"key":"","value":0}`) > len(body) {
			t.Errorf("%d bytes have %d points", len(body), n)
		}
	})
}
