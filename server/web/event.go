package web

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"tracker/store/json"
	"tracker/store/runs"
)

const (
	// pause is the time between two checks for changes.
	pause = 500 * time.Millisecond
	// keepAlive is the time between two comments that keep an idle stream open.
	keepAlive = 15 * time.Second
)

// Events serves streams of server-sent events. Streams with the same subject share
// the work: one goroutine looks for changes and encodes them, and checks once for
// all streams of a viewer whether the viewer may still see them.
type Events struct {
	streams *Streams
	mu      sync.Mutex
	feeds   map[string]*feed // by subject

	closing context.Context
	close   context.CancelFunc
}

// NewEvents returns an Events whose streams count towards the bound of streams. If
// streams is nil, it has a bound of its own.
func NewEvents(streams *Streams) *Events {
	if streams == nil {
		streams = NewStreams(MaxStreams, nil)
	}
	e := &Events{streams: streams, feeds: map[string]*feed{}}
	e.closing, e.close = context.WithCancel(context.Background())
	return e
}

// Close ends all streams, and refuses later ones.
func (e *Events) Close() { e.close() }

// EventStream describes the stream that a request opens.
type EventStream struct {
	Subject string // streams with the same subject have the same events
	Viewer  string // streams with the same viewer have the same rights
	Cursor  string // where the stream begins; "" for now
	// Allow returns an error if the viewer may not, or no longer, see the subject.
	// It may be called after the request has ended.
	Allow func(context.Context) error
	// Changes returns the changes of the subject since a cursor, for any viewer.
	Changes func(ctx context.Context, cursor string) (runs.Changes, error)
	// Watch returns a function that adds changes without a write, such as a run
	// that becomes lost. It may be nil. It is called for the first stream of a
	// subject; the returned function is called by one goroutine.
	Watch func(context.Context) (add func(context.Context, *runs.Changes) error, err error)
	// Ended reports whether the stream should end by itself; nil means never. It
	// must not wait.
	Ended func() bool
}

// feed has the events of one subject for its streams.
type feed struct {
	start   sync.Once
	failed  error // the error of start
	changes func(context.Context, string) (runs.Changes, error)
	add     func(context.Context, *runs.Changes) error
	stop    context.CancelFunc
	ended   chan struct{} // closed when there will be no more events

	mu      sync.Mutex
	tail    *event // the next event, which is not complete yet
	members map[*member]struct{}
}

func newFeed() *feed {
	return &feed{ended: make(chan struct{}), tail: newEvent(0), members: map[*member]struct{}{}}
}

// member is a stream of a feed.
type member struct {
	viewer string
	allow  func(context.Context) error
	over   func() bool
	next   *event        // to be written
	ended  chan struct{} // closed when the stream must end after the pending events
}

// event is an event of a feed, in a linked list. Each stream walks the list by
// itself, and events that all streams have sent are garbage collected.
type event struct {
	number int
	ready  chan struct{} // closed when text and next are set
	text   string
	next   *event
}

func newEvent(number int) *event { return &event{number: number, ready: make(chan struct{})} }

// Serve answers with a stream of server-sent events until the client disconnects.
// An event "change" contains the changes since the event before it. An event
// "reset" means that some older changes can't be sent. The id of an event is the
// next cursor. A change may be sent twice. If Serve returns an error, nothing was
// answered yet.
func (e *Events) Serve(w http.ResponseWriter, r *http.Request, s EventStream) error {
	if err := s.Allow(r.Context()); err != nil {
		return err
	}
	if err := e.streams.enter(); err != nil {
		return err
	}
	defer e.streams.leave()
	// After join the feed has the events after the first one.
	f, m, err := e.join(&s)
	if err != nil {
		return err
	}
	defer e.drop(s.Subject, f, m)
	found, err := s.Changes(r.Context(), s.Cursor)
	if err != nil {
		return err
	}
	text, err := encodeChanges(found)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	InfoOf(r).begun = time.Now()
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if send(w, ": connected\nretry: 1000\nid: "+found.Cursor+"\n\n"+text) == nil {
		f.serve(w, r, m)
	}
	return nil
}

// serve sends the events of f to a stream until it ends.
func (f *feed) serve(w http.ResponseWriter, r *http.Request, m *member) {
	for f.wait(r.Context(), m) && !f.isBehind(m) && send(w, m.next.text) == nil {
		m.next = m.next.next
	}
}

// wait waits for the next event of a stream. It reports false if the stream ends.
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

// isBehind reports whether a stream has more than maxBehind unread events.
func (f *feed) isBehind(m *member) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tail.number-m.next.number > maxBehind
}

// send sends a part of a stream to the client.
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

// join adds a stream to the feed of its subject. The stream gets the events from
// there on.
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

// drop removes a stream, and ends the feed of its subject if it was the last.
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

// remove removes a feed, so that the next stream of its subject creates another
// one. e must be locked.
func (e *Events) remove(subject string, f *feed) {
	if e.feeds[subject] == f {
		delete(e.feeds, subject)
	}
}

// launch starts a feed, which sends the changes from now on.
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

// run looks for changes since cursor until ctx ends or the changes can't be read,
// for example because the subject was deleted.
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

// check ends the streams that must end. Only run calls it.
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

// end makes a stream end after the pending events.
func (m *member) end() {
	select {
	case <-m.ended:
	default:
		close(m.ended)
	}
}

// send sends an event to all streams.
func (f *feed) send(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.tail
	f.tail = newEvent(sent.number + 1)
	sent.text, sent.next = text, f.tail
	close(sent.ready)
}

// encodeChanges returns the event for changes, "" for none.
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
