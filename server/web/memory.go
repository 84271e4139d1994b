package web

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"tracker/store/domain"
)

const (
	// MaxMemory is the maximum number of bytes for the bodies and responses of all requests to
	// a port.
	MaxMemory = 96 << 20
	// quantum is the number of bytes that a share takes from the Memory at once. The first
	// quantum of a request is not counted, so small requests never wait for large requests.
	quantum = 64 << 10
	// largeShare is the size in bytes above which Release runs the garbage collector first.
	largeShare = 16 << 20
	// memoryWait is the maximum time that a request waits for memory.
	memoryWait = 10 * time.Second
)

// Memory limits the number of bytes that all requests use together. A request that waits too
// long for its share fails with UNAVAILABLE. This time limit ends deadlocks between waiting
// requests.
type Memory struct {
	total int64
	sem   *semaphore.Weighted
	wait  time.Duration
}

// NewMemory returns a Memory with total bytes.
func NewMemory(total int64) *Memory {
	return &Memory{total: total, sem: semaphore.NewWeighted(total), wait: memoryWait}
}

// Share is the memory of one request. Only one goroutine can use a Share at a time.
type Share struct {
	of   *Memory
	ctx  context.Context
	used int64 // bytes used by the request
	held int64 // bytes taken from the Memory
}

// Share returns an empty Share for a request. The caller must call Release.
func (m *Memory) Share(ctx context.Context) *Share { return &Share{of: m, ctx: ctx, used: -quantum} }

var errNoMemory = &domain.Error{Code: domain.CodeUnavailable, RetryAfter: time.Second,
	Message: "Other large requests use all available memory; try again in a moment, or request less at once."}

// Grow takes n more bytes. If too few bytes are free, Grow waits. If it returns an error, it
// has taken nothing.
func (s *Share) Grow(n int64) error {
	if s.tryGrow(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.of.wait)
	defer cancel()
	need := s.need(n)
	if s.of.sem.Acquire(ctx, need) != nil {
		return errNoMemory
	}
	s.used += n
	s.held += need
	return nil
}

// Take is like Grow, but returns an error instead of waiting.
func (s *Share) Take(n int64) error {
	if s.tryGrow(n) {
		return nil
	}
	return errNoMemory
}

// Hold calls read, which reads data for a response. The memory of the data counts until Release.
// The store charges it to a budget in the context. If too little memory is free, read fails instead
// of waiting, because waiting would keep a database snapshot open. Hold then waits until twice the
// memory is free and calls read again.
func (s *Share) Hold(ctx context.Context, read func(context.Context) error) error {
	before := s.used
	for paid := int64(0); ; {
		var mu sync.Mutex
		var asked int64
		short := false
		err := read(domain.WithBudget(ctx, func(n int64) error {
			mu.Lock()
			defer mu.Unlock()
			if asked += n; asked > paid && !short {
				short = !s.tryGrow(asked - paid)
				paid = max(paid, asked)
			}
			if short {
				return errNoMemory
			}
			return nil
		}))
		if !short {
			return err
		}
		// Release the memory before waiting. Otherwise waiting requests would wait for each
		// other.
		s.Release()
		paid = 2 * paid
		s.used = before
		if err := s.Grow(paid); err != nil {
			return err
		}
	}
}

// tryGrow is like Grow, but returns false instead of waiting.
func (s *Share) tryGrow(n int64) bool {
	need := s.need(n)
	if need > 0 && !s.of.sem.TryAcquire(need) {
		return false
	}
	s.used += n
	s.held += max(0, need)
	return true
}

// need returns the number of bytes that s must take from the Memory to grow by n bytes.
func (s *Share) need(n int64) int64 {
	return min((s.used+n+quantum-1)/quantum*quantum, s.of.total) - s.held
}

// Release returns all bytes of s to the Memory.
func (s *Share) Release() {
	if s.held > 0 {
		if s.held > largeShare {
			runtime.GC() // free the garbage before other requests allocate
		}
		s.of.sem.Release(s.held)
	}
	s.used, s.held = -quantum, 0
}

// HoldBody replaces the body of r with a body that grows s while it is read.
func (s *Share) HoldBody(r *http.Request) { r.Body = heldBody{r.Body, s} }

type heldBody struct {
	io.ReadCloser
	share *Share
}

func (b heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if full := b.share.Grow(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}
