package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// request is a request that a test sends.
type request struct {
	*http.Request
	loose bool // the request may succeed although the document does not allow it
}

// opt changes a request before it is sent. By default a request is sent by
// the default user, with JSON as its content type.
type opt func(*request)

// as sends the request with the token of p.
func as(p person) opt { return header("Authorization", "Bearer "+p.token) }

// anonymous sends the request without a token.
func anonymous(r *request) { r.Header.Del("Authorization") }

// loose permits a request that the server accepts although the document does
// not allow it.
func loose(r *request) { r.loose = true }

// header sets a header; an empty value removes it.
func header(name, value string) opt {
	return func(r *request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Set(name, value)
	}
}

// inOnePart sets the headers that declare the body to be the only part of an archive.
func inOnePart(r *request) {
	r.URL.RawQuery = "upload=" + nobody
	r.Header.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", r.ContentLength-1, r.ContentLength))
}

// key sets the idempotency key, which makes the request repeatable.
func key(k string) opt { return header("Idempotency-Key", k) }

// do sends a request, checks the exchange against the document, and returns the response. path does
// not include the base path; body is sent unchanged.
func (a api) do(method, path, body string, opts ...opt) answer {
	a.t.Helper()
	return a.send(method, a.setup.prefix()+path, body, opts...)
}

// send is like do, but path is sent unchanged.
func (a api) send(method, path, body string, opts ...opt) answer {
	a.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, a.server.URL+path, reader)
	a.must(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !a.setup.open {
		r.Header.Set("Authorization", "Bearer "+a.root.token)
	}
	req := &request{Request: r}
	for _, o := range opts {
		o(req)
	}
	res, err := a.server.Client().Transport.RoundTrip(r) // follows no redirect
	a.must(err)
	defer res.Body.Close()
	got, err := readAnswer(res)
	a.must(err)
	ans := answer{t: a.t, what: method + " " + path, status: res.StatusCode, header: res.Header, body: string(got)}
	if err := checkExchange(req, a.setup.prefix(), body, ans); err != nil {
		a.t.Errorf("%s: %d %.2000s\nis not what the document says: %v", ans.what, ans.status, ans.body, err)
	}
	return ans
}

// readAnswer reads a body to its end. An event stream does not end, so it is read to the end of its
// first event.
func readAnswer(res *http.Response) ([]byte, error) {
	if res.Header.Get("Content-Type") != "text/event-stream" || res.Request.Method == http.MethodHead {
		return io.ReadAll(res.Body)
	}
	var got []byte
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadBytes('\n')
		got = append(got, line...)
		if err != nil || len(line) == 1 {
			return got, err
		}
	}
}

// get sends a GET request, the most frequent one.
func (a api) get(path string, opts ...opt) answer {
	a.t.Helper()
	return a.do(http.MethodGet, path, "", opts...)
}
