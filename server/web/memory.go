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
	// MaxMemory is the maximum number of bytes in bodies and answers that all
	// requests of a port hold together.
	MaxMemory = 96 << 20
	// quantum is the number of bytes that are taken at a time. The first
	// quantum of a request is not counted, so that small requests never wait
	// for large ones.
	quantum = 64 << 10
	// largeShare is the minimum size in bytes of a share that is garbage
	// collected before it is released.
	largeShare = 16 << 20
	// memoryWait is the maximum time that a request waits for others to release
	// memory.
	memoryWait = 10 * time.Second
)

// Memory bounds the bytes that requests hold together. A request that waits too
// long for its share is refused with UNAVAILABLE, so requests that wait for
// each other end.
type Memory struct {
	total int64
	sem   *semaphore.Weighted
	wait  time.Duration
}

// NewMemory returns a Memory of total bytes.
func NewMemory(total int64) *Memory {
	return &Memory{total: total, sem: semaphore.NewWeighted(total), wait: memoryWait}
}

// Share is the memory that one request holds. It must be used by one goroutine
// only.
type Share struct {
	of   *Memory
	ctx  context.Context
	used int64 // bytes that the request holds
	held int64 // bytes that are taken from the Memory
}

// Share returns a share for a request. The caller must call Release.
func (m *Memory) Share(ctx context.Context) *Share { return &Share{of: m, ctx: ctx, used: -quantum} }

var errNoMemory = &domain.Error{Code: domain.CodeUnavailable, RetryAfter: time.Second,
	Message: "Other large requests use all available memory; try again in a moment, or request less at once."}

// Grow takes n more bytes, waiting for them if necessary. If it returns an
// error, it has taken nothing.
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

// Take is Grow without waiting.
func (s *Share) Take(n int64) error {
	if s.tryGrow(n) {
		return nil
	}
	return errNoMemory
}

// Hold runs read, which creates an answer, and counts the memory of the answer
// until Release. The store takes that memory from a budget in the context. If
// there is not enough, read is stopped, so that it holds no snapshot, and runs
// again when twice as much is available.
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
		// The memory must be released, or else waiting requests would wait for
		// each other.
		s.Release()
		paid = 2 * paid
		s.used = before
		if err := s.Grow(paid); err != nil {
			return err
		}
	}
}

// tryGrow is Grow without waiting. It reports whether there was enough.
func (s *Share) tryGrow(n int64) bool {
	need := s.need(n)
	if need > 0 && !s.of.sem.TryAcquire(need) {
		return false
	}
	s.used += n
	s.held += max(0, need)
	return true
}

// need returns the number of bytes to take to grow by n bytes.
func (s *Share) need(n int64) int64 {
	return min((s.used+n+quantum-1)/quantum*quantum, s.of.total) - s.held
}

// Release returns all memory of s.
func (s *Share) Release() {
	if s.held > 0 {
		if s.held > largeShare {
			runtime.GC() // otherwise the next requests would allocate beside this garbage
		}
		s.of.sem.Release(s.held)
	}
	s.used, s.held = -quantum, 0
}

// HoldBody makes s grow while the body of r is read.
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
