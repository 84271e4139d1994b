package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"tracker/server/web"
	"unicode/utf16"
)

func TestTruncatedJSON(t *testing.T) {
	t.Parallel()
	newSite(t).each(func(s *site, x target) {
		body := x.body()
		for n := range len(body) {
			if n == 0 && x.optional {
				continue
			}
			s.refused(x.method, x.path, body[:n], 400, "MALFORMED_BODY", "")
		}
	})
}

func TestMalformedJSON(t *testing.T) {
	t.Parallel()
	wrong := []string{
		" ", "\n\t\r ", "x", "{", "}", "{]", "[}", "{}}", "{}{}", "{} x", "{}\x00", "\x00", "\ufeff{}", "\u00a0{}",
		"{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":undefined}`,
		"{} // comment", "/* comment */ {}", "# comment\n{}", "name=x&value=1", "<name>x</name>", "---\nname: x\n",
		`{"a":"` + "\n" + `"}`, `{"a":"` + "\x00" + `"}`, `{"a":"\x41"}`, `{"a":"\u12"}`, `{"a":"\u00zz"}`, `{"a":"\`,
		"nul", "tru", "True", "NaN", "Infinity", `"x`,
	}
	for _, number := range []string{"01", "-01", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x10", "1_000", "1,5", "--1", "-", "NaN", "-Infinity", "Infinity", "٣", "1f"} {
		wrong = append(wrong, `{"value":`+number+`}`)
	}
	newSite(t).each(func(s *site, x target) {
		for _, body := range wrong {
			s.refused(x.method, x.path, body, 400, "MALFORMED_BODY", "")
		}
		// The same holds for text after a good body.
		for _, tail := range []string{"}", ",", "{}", "x", "\x00", "null"} {
			s.refused(x.method, x.path, x.body()+tail, 400, "MALFORMED_BODY", "")
		}
	})
}

func TestTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	wrong := []string{
		"\xff", "\xc3", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
		`\ud800`, `\udfff`, `\ud800\ud800`, `\udc00\ud800`, `\ud83dx`, `\uD83D\u0041`,
	}
	newSite(t).each(func(s *site, x target) {
		for _, text := range wrong {
			for _, f := range x.fields {
				s.refused(x.method, x.path, x.with(f.name, `"`+text+`"`), 400, "MALFORMED_BODY", "")
			}
			s.refused(x.method, x.path, x.plus(`"`+text+`":1`), 400, "MALFORMED_BODY", "")
		}
		wide := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(x.body())) {
			wide = append(wide, byte(u), byte(u>>8))
		}
		s.refused(x.method, x.path, string(wide), 400, "MALFORMED_BODY", "")
		s.refused(x.method, x.path, string(wide[2:]), 400, "MALFORMED_BODY", "")
	})
}

func TestTopLevelMustBeAnObject(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		for _, body := range []string{"null", "true", "false", "0", "-1.5", "1e400", `""`, `"{}"`, "[]", "[{}]", " null ", "\n[\n]\n"} {
			s.refused(x.method, x.path, body, 422, "INVALID_PAYLOAD", "")
		}
		s.refused(x.method, x.path, "["+x.body()+"]", 422, "INVALID_PAYLOAD", "")
	})
}

func TestEmptyBody(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		if !x.optional {
			s.refused(x.method, x.path, "", 400, "MALFORMED_BODY", "")
			s.refused(x.method, x.path, "", 400, "MALFORMED_BODY", "", header("Content-Type", "application/json"))
			return
		}
		if got := s.do(x.method, x.path, ""); got.status != http.StatusCreated {
			t.Errorf("%s without a body: %d %s", x.name(), got.status, got.body)
		}
	})
}

func TestUnknownFields(t *testing.T) {
	t.Parallel()
	newSite(t).each(func(s *site, x target) {
		unknown := []string{"", " ", "nonsense", "Name", "KEY", "Metrics", "__proto__", "constructor", "$where", "updated_date",
			"name ", " name", "näme", "a.b", "a/b", "a~b", "0", "\U0001f600", "user_id", "experiment_id", "password_hash"}
		for _, f := range x.fields {
			unknown = append(unknown, strings.ToUpper(f.name), f.name+"s", f.name+" ")
		}
		for _, name := range unknown {
			for _, body := range []string{x.plus(`"` + name + `":1`), `{"` + name + `":null}`} {
				message := s.refused(x.method, x.path, body, 422, "INVALID_PAYLOAD", name)
				if !strings.Contains(message, `"`+name+`"`) || !strings.Contains(message, x.fields[0].name) {
					s.t.Errorf("the message names neither %q nor what there is: %s", name, message)
				}
			}
		}
	})
}

// The error quotes the rejected value, truncated to a maximum length.
func TestLongNamesAreCutInAnswers(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		for _, c := range []string{"x", "é", `\u0001`, `\u202e`, "\U0001f600", "."} {
			n := 1 << 13
			if x.path == "/auth" {
				n = 1 << 10 // its body is smaller
			}
			long := strings.Repeat(c, n)
			for _, body := range []string{x.plus(`"` + long + `":1`), x.plus(`"` + long + `":1,"` + long + `":1`),
				`{"metrics":{"` + long + `":true}}`, `{"metrics":{"` + long + `":1,"` + long + `":1}}`} {
				s.unchanged(x.name(), func() {
					if got := s.do(x.method, x.path, body); got.status != 422 || len(got.body) > 5_000 {
						s.t.Errorf("%d with %d bytes", got.status, len(got.body))
					}
				})
			}
		}
		if got := s.do(x.method, x.path+"?"+strings.Repeat("%01", 100_000), ""); got.status != 422 || len(got.body) > 5_000 {
			s.t.Errorf("%d with %d bytes", got.status, len(got.body))
		}
	})
}

func TestDuplicateFields(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		for _, f := range x.fields {
			escaped := `\u00` + hex(f.name[0]) + f.name[1:]
			for _, member := range []string{`"` + f.name + `":` + f.good, `"` + f.name + `":null`, `"` + escaped + `":` + f.good} {
				message := s.refused(x.method, x.path, x.plus(member), 422, "INVALID_PAYLOAD", f.name)
				if !strings.Contains(message, "twice") {
					s.t.Errorf("the message is %q", message)
				}
			}
		}
	})
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

func TestDeepNesting(t *testing.T) {
	t.Parallel()
	newSite(t).each(func(s *site, x target) {
		depth := 100_000
		if x.path == "/auth" {
			depth = 2_000 // its body is smaller
		}
		for _, body := range []string{
			strings.Repeat("[", depth), strings.Repeat("{", depth), strings.Repeat(`{"a":`, depth),
			strings.Repeat("[", depth) + strings.Repeat("]", depth),
			x.with(x.fields[0].name, strings.Repeat("[", depth)+strings.Repeat("]", depth)),
		} {
			s.unchanged("deep nesting", func() {
				got := s.do(x.method, x.path, body)
				if got.status != 400 && got.status != 422 {
					s.t.Errorf("%.40s…: %d %s", body, got.status, got.body)
				}
			})
		}
	})
}

// endless is a request body without an end. It counts the bytes read from it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += int64(len(p))
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// The limit applies whether or not the length is declared. No more than the limit is read, so
// memory does not grow with the body. After the response the server reads and drops only little
// more.
func TestTooLargeBody(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	newSite(t).each(func(s *site, x target) {
		limit := int64(limit)
		if x.packed() {
			limit = 64 << 20
		}
		for _, declared := range []int64{-1, 10 << 20} {
			body := new(endless)
			r := httptest.NewRequestWithContext(t.Context(), x.method, x.path, body)
			r.ContentLength = declared
			r.Header.Set("Authorization", "Bearer "+s.root.token)
			w := httptest.NewRecorder()
			s.unchanged(x.name(), func() { s.server.Config.Handler.ServeHTTP(w, r) })
			if w.Code != 413 || !strings.Contains(w.Body.String(), "PAYLOAD_TOO_LARGE") {
				s.t.Errorf("%d %s", w.Code, w.Body)
			}
			if body.read > limit+web.RestSize+64<<10 {
				s.t.Errorf("%d bytes were read, want hardly more than %d", body.read, limit+web.RestSize)
			}
		}
	})
	s := newSite(t)
	s.refused("POST", "/project", `{"name":"`+strings.Repeat("x", 10<<20)+`"}`, 413, "PAYLOAD_TOO_LARGE", "")
	s.refused("POST", "/project", strings.Repeat(" ", limit+1), 413, "PAYLOAD_TOO_LARGE", "")
	s.refused("POST", "/project", strings.Repeat(" ", limit), 400, "MALFORMED_BODY", "")
	s.do("POST", "/project", strings.Repeat(" ", limit-14)+`{"name":"big"}`).wants(201)
}

func TestContentType(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		for _, ct := range []string{"text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
			"application/xml", "application/problem+json", "application/jsonp", "json", "*/*", "application/", ";", "application/json; charset=latin1",
			"application/json; charset=utf-16", "application/json; charset", "application/json, text/plain", ""} {
			s.refused(x.method, x.path, x.body(), 415, "UNSUPPORTED_MEDIA_TYPE", "", header("Content-Type", ct))
		}
		for _, enc := range []string{"gzip", "zstd", "br", "deflate", "x", "gzip, gzip", "identity, gzip"} {
			if x.packed() && (enc == "gzip" || enc == "zstd") {
				s.refused(x.method, x.path, x.body(), 400, "MALFORMED_BODY", "", header("Content-Encoding", enc))
				continue
			}
			s.refused(x.method, x.path, x.body(), 415, "UNSUPPORTED_MEDIA_TYPE", "", header("Content-Encoding", enc))
		}
		// These media types are accepted as JSON, so the error is about the body.
		for _, ct := range []string{"application/json", "APPLICATION/JSON", "application/json; charset=utf-8", "application/json;charset=UTF-8", `application/json; charset="utf-8"`, "application/json; v=1"} {
			s.refused(x.method, x.path, "[]", 422, "INVALID_PAYLOAD", "", header("Content-Type", ct))
		}
		s.refused(x.method, x.path, "[]", 422, "INVALID_PAYLOAD", "", header("Content-Encoding", "identity"))
	})
}

func TestBodyThatBreaksOff(t *testing.T) {
	newSite(t).each(func(s *site, x target) {
		half, half2 := io.Pipe()
		go func() {
			io.WriteString(half2, x.body()[:len(x.body())/2])
			half2.CloseWithError(io.ErrUnexpectedEOF)
		}()
		r := httptest.NewRequestWithContext(t.Context(), x.method, x.path, half)
		r.Header.Set("Authorization", "Bearer "+s.root.token)
		w := httptest.NewRecorder()
		s.unchanged(x.name(), func() { s.server.Config.Handler.ServeHTTP(w, r) })
		if w.Code != 400 || !strings.Contains(w.Body.String(), "MALFORMED_BODY") {
			s.t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
