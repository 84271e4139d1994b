package web

import (
	"sync/atomic"
	"time"

	"tracker/store/domain"
)

const (
	// MaxStreams is the maximum number of open event streams on all ports. Each is a
	// connection of its port.
	MaxStreams = MaxConnections / 2
	// patience is the time in which a client must read an event. After that its
	// stream is closed; the client can resume.
	patience = 10 * time.Second
	// maxBehind is the maximum number of unread events of a client. Above it, its
	// stream is closed.
	maxBehind = int(patience / pause)
)

// Streams bounds the event streams of all ports.
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
