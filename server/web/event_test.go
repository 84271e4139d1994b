package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tracker/store/runs"
)

// subject counts the calls of its methods. Its cursor is the number of its
// changes.
type subject struct {
	mu       sync.Mutex
	changed  int64
	deleted  bool
	barred   map[string]bool // viewers
	asked    int             // calls of changes that found some
	looks    atomic.Int64    // calls of changes that looked for new changes
	allowed  atomic.Int64    // calls of allow
	watching int
}

func (s *subject) changes(_ context.Context, cursor string) (c runs.Changes, err error) {
	s.looks.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Cursor = fmt.Sprint(s.changed)
	if s.deleted {
		return c, errors.New("gone")
	}
	if cursor != "" && cursor != c.Cursor {
		s.asked++
		c.Deleted = []string{"change " + c.Cursor}
	}
	return c, nil
}

func (s *subject) allow(viewer string) error {
	s.allowed.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.barred[viewer] {
		return errors.New("barred")
	}
	return nil
}

func (s *subject) do(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// allowAll allows every viewer.
func (s *subject) allowAll(context.Context) error { return s.allow("") }

// eventBed serves the events of a subject. The parameter viewer names the viewer.
func eventBed(t *testing.T, s *subject) (*Events, *httptest.Server) {
	return eventBedOf(t, s, nil)
}

// eventBedOf is like eventBed, but with the given limit of streams.
func eventBedOf(t *testing.T, s *subject, streams *Streams) (*Events, *httptest.Server) {
	e := NewEvents(streams)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		viewer := r.URL.Query().Get("viewer")
		if err := e.Serve(w, r, EventStream{
			Subject: "subject",
			Viewer:  viewer,
			Cursor:  r.Header.Get("Last-Event-ID"),
			Allow:   func(context.Context) error { return s.allow(viewer) },
			Changes: s.changes,
			Watch: func(context.Context) (func(context.Context, *runs.Changes) error, error) {
				s.do(func() { s.watching++ })
				return func(context.Context, *runs.Changes) error { return nil }, nil
			},
		}); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(e.Close)
	return e, server
}

// listen opens a stream and returns its lines after the first one, which is a comment.
func listen(t *testing.T, server *httptest.Server, viewer, cursor string) *bufio.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"?viewer="+viewer, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", cursor)
	res, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != ": connected\n" {
		t.Fatalf("%s %q (%v)", res.Status, line, err)
	}
	return lines
}

// data returns the next data of a stream.
func data(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			return text
		}
	}
}

// Streams with the same subject share the work: each check for changes is made once for all
// streams, and the permission is checked once for each viewer.
func TestStreamsShareTheirWork(t *testing.T) {
	const streams, viewers = 60, 3
	s := &subject{}
	_, server := eventBed(t, s)
	var all []*bufio.Reader
	for i := range streams {
		all = append(all, listen(t, server, fmt.Sprint(i%viewers), ""))
	}
	looked := s.looks.Load() // before allowed is read here, and after it is read below
	before := s.allowed.Load()
	const changes = 3
	for n := range changes {
		s.do(func() { s.changed++ })
		for _, lines := range all {
			if got := data(t, lines); !strings.Contains(got, fmt.Sprint("change ", n+1)) {
				t.Fatalf("change %d came as %s", n+1, got)
			}
		}
	}
	s.do(func() {
		if s.asked != changes {
			t.Errorf("%d changes were read %d times", changes, s.asked)
		}
		if s.watching != 1 {
			t.Errorf("the subject is watched %d times", s.watching)
		}
	})
	// Each check for changes first checks each viewer once and is counted only after that. One such
	// check may be in progress.
	n := s.allowed.Load() - before
	looks := s.looks.Load() - looked
	if n > viewers*(looks+1) {
		t.Errorf("the %d viewers of %d streams were checked %d times, in %d looks", viewers, streams, n, looks)
	}
	late := listen(t, server, "0", "1")
	if got := data(t, late); !strings.Contains(got, "change 3") {
		t.Errorf("a stream from an earlier cursor begins with %s", got)
	}
}

// When a viewer loses the permission to read the subject, only the streams of this viewer end. All
// streams end when the subject is deleted or the server closes.
func TestStreamsEnd(t *testing.T) {
	s := &subject{barred: map[string]bool{}}
	e, server := eventBed(t, s)
	ada, bob := listen(t, server, "ada", ""), listen(t, server, "bob", "")
	s.do(func() { s.barred["ada"] = true })
	if _, err := io.ReadAll(ada); err != nil {
		t.Error(err)
	}
	s.do(func() { s.changed++ })
	if got := data(t, bob); !strings.Contains(got, "change 1") {
		t.Errorf("the other stream got %s", got)
	}
	s.do(func() { s.deleted = true })
	if _, err := io.ReadAll(bob); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		n := len(e.feeds)
		e.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d feeds go on without streams", n)
		}
	}
	s.do(func() { s.deleted = false })
	again := listen(t, server, "bob", "")
	e.Close()
	if _, err := io.ReadAll(again); err != nil {
		t.Error(err)
	}
}

// ServeAll numbers the events of its streams, and reports the subjects that the viewer can't read.
// The connection ends with its first stream.
func TestServeAll(t *testing.T) {
	first, second := &subject{changed: 3}, &subject{}
	e := NewEvents(nil)
	t.Cleanup(e.Close)
	stream := func(name string, s *subject, cursor string) EventStream {
		return EventStream{Subject: name, Cursor: cursor, Allow: s.allowAll, Changes: s.changes}
	}
	barred := EventStream{Subject: "barred", Allow: func(context.Context) error { return errors.New("barred") }}
	all := []EventStream{stream("first", first, "2"), barred, stream("second", second, "")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := e.ServeAll(w, r, all); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	lines := listen(t, server, "", "")
	wants := func(want string) {
		t.Helper()
		for line := range strings.Lines(want) {
			if got, err := lines.ReadString('\n'); got != line {
				t.Fatalf("%q instead of %q (%v)", got, line, err)
			}
		}
	}
	wants("\n" +
		"data: 0\nevent: change\nid: 3\ndata: {\"iterations\":[],\"deleted\":[\"change 3\"],\"series\":[]}\n\n" +
		"data: 0\nevent: live\nid: 3\n\n" +
		"data: 1\nevent: gone\n\n" +
		"data: 2\nevent: live\nid: 0\n\n")
	second.do(func() { second.changed++ })
	wants("data: 2\nevent: change\nid: 1\ndata: {\"iterations\":[],\"deleted\":[\"change 1\"],\"series\":[]}\n\n")
	first.do(func() { first.deleted = true })
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("after the end of a stream: %q (%v)", rest, err)
	}

	all = []EventStream{barred, barred}
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("without a readable subject: %s", res.Status)
	}
}
