package web

import (
	"sync/atomic"
	"time"

	"tracker/store/domain"
)

const (
	// MaxStreams is the maximum number of open event streams on all ports. Each stream also
	// counts as a connection to its port.
	MaxStreams = MaxConnections / 2
	// patience is the time in which a client must read an event. If the client is slower, the
	// server closes the stream, and the client can reconnect.
	patience = 10 * time.Second
	// maxBehind is the maximum number of unsent events of a stream. If a stream has more unsent
	// events, the server closes it.
	maxBehind = int(patience / pause)
)

// Streams limits the number of event streams on all ports.
type Streams struct {
	limit   int64
	observe func(int)
	open    atomic.Int64
}

// NewStreams returns a Streams that allows limit streams. It calls observe with 1 when a stream
// begins, and with -1 when a stream ends. observe can be nil.
func NewStreams(limit int, observe func(int)) *Streams {
	if observe == nil {
		observe = func(int) {}
	}
	return &Streams{limit: int64(limit), observe: observe}
}

var errStreams = domain.Errorf(domain.CodeUnavailable, "Too many open event streams; close some pages, or try again in a moment.")

// enter counts a new stream. It returns errStreams if too many streams are open.
func (s *Streams) enter() error {
	if s.open.Add(1) > s.limit {
		s.open.Add(-1)
		return errStreams
	}
	s.observe(1)
	return nil
}

// leave counts the end of a stream.
func (s *Streams) leave() {
	s.open.Add(-1)
	s.observe(-1)
}
