package web

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tracker/store/json"
	"tracker/store/runs"
)

const (
	// pause is the time between two checks for changes.
	pause = 500 * time.Millisecond
	// keepAlive is the maximum time without data on a stream. After this time, the server sends
	// a comment to keep the stream open.
	keepAlive = 15 * time.Second
)

// Events serves streams of server-sent events. Streams with the same subject share work: a single
// goroutine finds and encodes the changes. It also checks, once for each viewer, whether the viewer
// can still read the subject.
type Events struct {
	streams *Streams
	mu      sync.Mutex
	feeds   map[string]*feed // feeds by subject

	closing context.Context
	close   context.CancelFunc
}

// NewEvents returns an Events that counts its streams in the given Streams. If streams is nil,
// NewEvents creates a Streams with the limit MaxStreams.
func NewEvents(streams *Streams) *Events {
	if streams == nil {
		streams = NewStreams(MaxStreams, nil)
	}
	e := &Events{streams: streams, feeds: map[string]*feed{}}
	e.closing, e.close = context.WithCancel(context.Background())
	return e
}

// Close ends all streams. Later calls of Serve fail.
func (e *Events) Close() { e.close() }

// EventStream describes a stream that a request opens.
type EventStream struct {
	Subject string // streams with equal subjects receive the same events
	Viewer  string // streams with equal viewers have the same permissions
	Cursor  string // position at which the stream begins; "" for the current position
	// Allow returns an error if the viewer can't read the subject. Events calls Allow
	// repeatedly, even after the request has ended.
	Allow func(context.Context) error
	// Changes returns all changes of the subject since the given cursor. The result does not
	// depend on the viewer.
	Changes func(ctx context.Context, cursor string) (runs.Changes, error)
	// Watch returns a function that adds changes not caused by a write, such as a run that
	// becomes lost. Watch can be nil. Events calls Watch for the first stream of a subject. A
	// single goroutine calls the returned function.
	Watch func(context.Context) (add func(context.Context, *runs.Changes) error, err error)
	// Ended reports whether the server should end the stream. A nil function means never. Ended
	// must not block.
	Ended func() bool
}

// feed sends the events of one subject to its streams.
type feed struct {
	start   sync.Once
	failed  error // error that launch returned
	changes func(context.Context, string) (runs.Changes, error)
	add     func(context.Context, *runs.Changes) error
	stop    context.CancelFunc
	ended   chan struct{} // closed after the last event

	mu      sync.Mutex
	tail    *event // the next event, still incomplete
	members map[*member]struct{}
}

func newFeed() *feed {
	return &feed{ended: make(chan struct{}), tail: newEvent(0), members: map[*member]struct{}{}}
}

// member is one stream of a feed.
type member struct {
	viewer string
	allow  func(context.Context) error
	over   func() bool
	next   *event        // next event to write
	ended  chan struct{} // closed if the stream must end after its pending events
}

// event is an element in the linked list of a feed's events. Each stream has its own position
// in the list. Events that all streams have sent become garbage.
type event struct {
	number int
	ready  chan struct{} // closed after text and next are set
	text   string
	next   *event
}

func newEvent(number int) *event { return &event{number: number, ready: make(chan struct{})} }

// Serve sends server-sent events until the client disconnects. The event "change" contains all
// changes since the previous event. The event "reset" means that older changes are no longer
// available. The id of an event is the cursor after the event. A change can be sent twice. If Serve
// returns an error, it has sent nothing.
func (e *Events) Serve(w http.ResponseWriter, r *http.Request, s EventStream) error {
	if err := e.streams.enter(); err != nil {
		return err
	}
	defer e.streams.leave()
	p, err := e.open(r.Context(), &s)
	if err != nil {
		return err
	}
	defer p.drop()
	if begin(w, r) && send(w, ": connected\nretry: 1000\nid: "+p.cursor+"\n\n"+p.missed) == nil {
		p.feed.serve(r.Context(), p.member, func(text string) error { return send(w, text) })
	}
	return nil
}

// ServeAll sends the events of several streams on one connection, like Serve. The first line of the
// data of each event is the index of the stream in all. After the changes that the client has
// missed, the event "live" follows. The event "gone" means that the viewer can't read the subject.
// If the viewer can read none of the subjects, ServeAll returns the error of the first. The
// connection ends when one of the streams ends.
func (e *Events) ServeAll(w http.ResponseWriter, r *http.Request, all []EventStream) error {
	if err := e.streams.enter(); err != nil {
		return err
	}
	defer e.streams.leave()
	parts := make([]*part, len(all))
	var first strings.Builder
	var refused error
	opened := false
	for i := range all {
		p, err := e.open(r.Context(), &all[i])
		if err != nil {
			if refused == nil {
				refused = err
			}
			first.WriteString(number(i, "event: gone\n\n"))
			continue
		}
		defer p.drop()
		parts[i], opened = p, true
		first.WriteString(number(i, p.missed) + number(i, "event: live\nid: "+p.cursor+"\n\n"))
	}
	if !opened {
		return refused
	}
	if !begin(w, r) || send(w, ": connected\n\n"+first.String()) != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var writing sync.Mutex
	var serving sync.WaitGroup
	for i, p := range parts {
		if p == nil {
			continue
		}
		serving.Go(func() {
			defer cancel()
			p.feed.serve(ctx, p.member, func(text string) error {
				writing.Lock()
				defer writing.Unlock()
				return send(w, number(i, text))
			})
		})
	}
	serving.Wait()
	return nil
}

// number adds the index of a stream to the data of an event. It returns comments unchanged.
func number(i int, text string) string {
	if !strings.HasPrefix(text, "event:") {
		return text
	}
	return fmt.Sprintf("data: %d\n%s", i, text)
}

// part is an open stream of a connection.
type part struct {
	feed   *feed
	member *member
	drop   func()
	cursor string // position after missed
	missed string // event with the changes since the stream's cursor, or ""
}

// open checks that the viewer can read the subject, and opens the stream. The caller must call drop
// when the stream ends.
func (e *Events) open(ctx context.Context, s *EventStream) (*part, error) {
	if err := s.Allow(ctx); err != nil {
		return nil, err
	}
	// Join the feed before reading older changes. Otherwise a change between the two steps
	// could be missed.
	f, m, err := e.join(s)
	if err != nil {
		return nil, err
	}
	drop := func() { e.drop(s.Subject, f, m) }
	found, err := s.Changes(ctx, s.Cursor)
	if err != nil {
		drop()
		return nil, err
	}
	text, err := encodeChanges(found)
	if err != nil {
		drop()
		return nil, err
	}
	return &part{feed: f, member: m, drop: drop, cursor: found.Cursor, missed: text}, nil
}

// begin sets the headers of a response with events. It returns false if the method is HEAD, whose
// response ends with the headers.
func begin(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	InfoOf(r).begun = time.Now()
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return false
	}
	return true
}

// serve calls write with the events of f until the stream m or ctx ends, or until write fails.
func (f *feed) serve(ctx context.Context, m *member, write func(string) error) {
	for f.wait(ctx, m) && !f.isBehind(m) && write(m.next.text) == nil {
		m.next = m.next.next
	}
}

// wait waits for the next event of a stream. It returns false if the stream has ended.
func (f *feed) wait(ctx context.Context, m *member) bool {
	select {
	case <-m.next.ready:
		return true
	case <-ctx.Done():
		return false
	case <-m.ended:
	case <-f.ended:
	}
	select {
	case <-m.next.ready:
		return true
	default:
		return false
	}
}

// isBehind reports whether a stream has more than maxBehind unsent events.
func (f *feed) isBehind(m *member) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tail.number-m.next.number > maxBehind
}

// send sends text to the client of a stream. It returns an error if the client does not read the
// text within patience.
func send(w http.ResponseWriter, text string) error {
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return c.Flush()
}

// join adds a stream to the feed of its subject, and creates the feed if necessary. The stream
// receives all events after this call.
func (e *Events) join(s *EventStream) (*feed, *member, error) {
	m := &member{viewer: s.Viewer, allow: s.Allow, over: s.Ended, ended: make(chan struct{})}
	e.mu.Lock()
	f := e.feeds[s.Subject]
	if f == nil {
		f = newFeed()
		e.feeds[s.Subject] = f
	}
	f.mu.Lock()
	f.members[m] = struct{}{}
	m.next = f.tail
	f.mu.Unlock()
	e.mu.Unlock()
	f.start.Do(func() { f.failed = e.launch(f, s) })
	if f.failed != nil {
		e.drop(s.Subject, f, m)
		return nil, nil, f.failed
	}
	return f, m, nil
}

// drop removes a stream from its feed. It ends the feed if no stream remains.
func (e *Events) drop(subject string, f *feed, m *member) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.members, m); len(f.members) > 0 {
		return
	}
	e.remove(subject, f)
	f.stop()
}

// remove removes a feed from e. The next stream with the same subject creates a new feed. The
// caller must hold e.mu.
func (e *Events) remove(subject string, f *feed) {
	if e.feeds[subject] == f {
		delete(e.feeds, subject)
	}
}

// launch starts a feed. The feed sends changes that occur after this call.
func (e *Events) launch(f *feed, s *EventStream) (err error) {
	var ctx context.Context
	ctx, f.stop = context.WithCancel(e.closing)
	now, err := s.Changes(ctx, "")
	if err == nil && s.Watch != nil {
		f.add, err = s.Watch(ctx)
	}
	if err != nil {
		return err
	}
	f.changes = s.Changes
	subject := s.Subject
	go func() {
		f.run(ctx, now.Cursor)
		e.mu.Lock()
		e.remove(subject, f)
		e.mu.Unlock()
		close(f.ended)
	}()
	return nil
}

// run sends changes since cursor to the streams. It returns when ctx ends or when the changes can't
// be read, for example because the subject was deleted.
func (f *feed) run(ctx context.Context, cursor string) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for quiet := time.Duration(0); ; quiet += pause {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		f.check(ctx)
		found, err := f.changes(ctx, cursor)
		if err == nil && f.add != nil {
			err = f.add(ctx, &found)
		}
		if err != nil {
			return
		}
		cursor = found.Cursor
		switch {
		case !found.Empty():
			text, err := encodeChanges(found)
			if err != nil {
				return
			}
			quiet = 0
			f.send(text)
		case quiet >= keepAlive:
			quiet = 0
			f.send(": alive\n\n")
		}
	}
}

// check ends the streams whose viewer has lost the permission and the streams whose Ended function
// returns true. Only run calls check.
func (f *feed) check(ctx context.Context) {
	f.mu.Lock()
	members := slices.Collect(maps.Keys(f.members))
	f.mu.Unlock()
	allowed := map[string]bool{}
	for _, m := range members {
		ok, known := allowed[m.viewer]
		if !known {
			ok = m.allow(ctx) == nil
			allowed[m.viewer] = ok
		}
		if !ok || m.over != nil && m.over() {
			m.end()
		}
	}
}

// end tells a stream to end after its pending events.
func (m *member) end() {
	select {
	case <-m.ended:
	default:
		close(m.ended)
	}
}

// send adds an event with the given text to the list that all streams read.
func (f *feed) send(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.tail
	f.tail = newEvent(sent.number + 1)
	sent.text, sent.next = text, f.tail
	close(sent.ready)
}

// encodeChanges returns changes as the text of an event. It returns "" if there are no changes.
func encodeChanges(found runs.Changes) (string, error) {
	if found.Empty() {
		return "", nil
	}
	event, data := "change", []byte("{}")
	if found.Reset {
		event = "reset"
	} else {
		var err error
		if data, err = json.Marshal(found); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", event, found.Cursor, data), nil
}
