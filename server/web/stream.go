package web

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"tracker/store/domain"
)

const (
	// MaxStreams is the maximum number of open event streams on all ports. Each
	// takes some 10 KiB and a file descriptor.
	MaxStreams = 10_000
	// patience is the time in which a client must read an event. After that its
	// stream is closed; the client can resume.
	patience = 10 * time.Second
	// maxBehind is the maximum number of unread events of a client. Above it, its
	// stream is closed.
	maxBehind = int(patience / pause)
)

// Streams bounds the event streams of all ports, which do not count as connections
// of their port.
type Streams struct {
	limit   int64
	observe func(int)
	open    atomic.Int64
}

// NewStreams returns a bound of limit streams. It calls observe with 1 when a
// stream begins and with -1 when it has ended; observe may be nil.
func NewStreams(limit int, observe func(int)) *Streams {
	if observe == nil {
		observe = func(int) {}
	}
	return &Streams{limit: int64(limit), observe: observe}
}

var errStreams = domain.Errorf(domain.CodeUnavailable, "Too many open event streams; close some pages, or try again in a moment.")

// enter counts a stream that begins.
func (s *Streams) enter() error {
	if s.open.Add(1) > s.limit {
		s.open.Add(-1)
		return errStreams
	}
	s.observe(1)
	return nil
}

// leave counts a stream that has ended.
func (s *Streams) leave() {
	s.open.Add(-1)
	s.observe(-1)
}

// member is a stream that is being answered. One goroutine waits for its client to
// disconnect; another one writes while there are events to write. The connection
// is taken from net/http, whose buffers and goroutines take four times as much
// memory.
type member struct {
	viewer string
	allow  func(context.Context) error
	over   func() bool
	conn   net.Conn

	// Guarded by the mutex of the feed.
	next    *event // to be written
	writing bool   // a goroutine is writing, or the stream has not begun
	ended   bool   // it ends after the pending events
}

// takeOver takes the connection of a request from net/http and from the bound of
// connections.
func takeOver(w http.ResponseWriter) (net.Conn, error) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if counted, ok := c.(*limitedConn); ok {
		counted.release()
	}
	return c, nil
}

// answerHead returns the headers of a successful answer that ends with its
// connection.
func answerHead(h http.Header) string {
	h.Set("Connection", "close")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&b) // never fails
	b.WriteString("\r\n")
	return b.String()
}

// wake starts writing the pending events. f must be locked.
func (f *feed) wake(m *member) {
	if !m.writing {
		m.writing = true
		go f.write(m)
	}
}

// write writes the pending events.
func (f *feed) write(m *member) {
	for text, ok := f.take(m); ok; text, ok = f.take(m) {
		if m.send(text) != nil {
			m.conn.Close()
			return
		}
	}
}

// take returns the next event to write. If there is none, the writing ends, and so
// does a stream that must end.
func (f *feed) take(m *member) (text string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.next == f.tail {
		m.writing = false
		if m.ended || f.ended {
			m.conn.Close()
		}
		return "", false
	}
	text, m.next = m.next.text, m.next.next
	return text, true
}

// wait returns when the client has disconnected, or the connection was closed.
func (m *member) wait() {
	var b [1]byte
	_, _ = m.conn.Read(b[:]) // a client sends nothing more, so any result means that it has disconnected
}

func (m *member) send(text string) error {
	if err := m.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := io.WriteString(m.conn, text)
	return err
}
