package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tracker/store/domain"
)

func TestSharesOfMemory(t *testing.T) {
	m := NewMemory(10 * quantum)
	m.wait = time.Millisecond
	small, large, third := m.Share(t.Context()), m.Share(t.Context()), m.Share(t.Context())
	if err := large.Grow(100 * quantum); err != nil { // alone, a request may be larger than the total
		t.Fatal(err)
	}
	if err := small.Grow(quantum); err != nil {
		t.Errorf("a small request waits for a large one: %v", err)
	}
	if err := third.Grow(2 * quantum); !errors.Is(err, errNoMemory) {
		t.Errorf("what nobody has is given: %v", err)
	}
	large.Release()
	if err := third.Grow(2 * quantum); err != nil {
		t.Error(err)
	}
	if err := large.Grow(11 * quantum); !errors.Is(err, errNoMemory) {
		t.Errorf("more than is left is given: %v", err)
	}
	third.Release()
	small.Release()
	if !m.sem.TryAcquire(10 * quantum) {
		t.Error("not everything was given back")
	}
}

func packed(t *testing.T, encoding, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The decompressed size of a body is counted before the body is decompressed.
func TestUnpackedSizeIsHeld(t *testing.T) {
	const size = 40 * quantum
	for _, encoding := range []string{"gzip", "zstd"} {
		body := packed(t, encoding, strings.Repeat(" ", size))
		if len(body) > quantum {
			t.Fatalf("the body has %d bytes", len(body))
		}
		read := func(m *Memory) (int, error) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Content-Encoding", encoding)
			share := m.Share(t.Context())
			defer share.Release()
			got, err := ReadBody(httptest.NewRecorder(), r, Limits{Size: 64 << 20, Packed: true, Share: share})
			return len(got), err
		}
		m := NewMemory(2*size + zstdWindow)
		m.wait = time.Millisecond
		if n, err := read(m); n != size || err != nil {
			t.Errorf("%s: %d bytes, %v", encoding, n, err)
		}
		other := m.Share(t.Context())
		if err := other.Grow(size + 2*quantum + zstdWindow); err != nil {
			t.Fatal(err)
		}
		if n, err := read(m); n != 0 || domain.AsError(err).Code != domain.CodeUnavailable {
			t.Errorf("%s: %d bytes, %v", encoding, n, err)
		}
		other.Release()
		if n, err := read(m); n != size || err != nil {
			t.Errorf("%s, afterwards: %d bytes, %v", encoding, n, err)
		}
	}
}

// A read without enough memory for its result is stopped, waits without a snapshot and is repeated.
func TestHoldRunsAgain(t *testing.T) {
	m := NewMemory(10 * quantum)
	m.wait = time.Minute
	first := m.Share(t.Context())
	if err := first.Grow(9 * quantum); err != nil {
		t.Fatal(err)
	}
	broken, done := make(chan struct{}), make(chan error)
	second := m.Share(t.Context())
	runs := 0
	go func() {
		done <- second.Hold(t.Context(), func(ctx context.Context) error {
			runs++
			for range 6 {
				if err := domain.Take(ctx, quantum); err != nil {
					close(broken)
					return err
				}
			}
			return nil
		})
	}()
	<-broken
	first.Release()
	if err := <-done; err != nil || runs != 2 {
		t.Errorf("%d runs, %v", runs, err)
	}
	second.Release()
	if !m.sem.TryAcquire(10 * quantum) {
		t.Error("not everything was given back")
	}
	m.sem.Release(10 * quantum)

	// If read itself fails, Hold returns the error and does not repeat it.
	failure := errors.New("a failure of the test's own")
	if err := first.Hold(t.Context(), func(context.Context) error { runs++; return failure }); !errors.Is(err, failure) || runs != 3 {
		t.Errorf("%d runs, %v", runs, err)
	}
	m.wait = time.Millisecond
	if err := first.Grow(11 * quantum); err != nil {
		t.Fatal(err)
	}
	if err := second.Hold(t.Context(), func(ctx context.Context) error { return domain.Take(ctx, 3*quantum) }); !errors.Is(err, errNoMemory) {
		t.Errorf("what nobody has is given: %v", err)
	}
}

// The decoded size of a body is counted: a list of short strings needs many times the memory of its
// JSON.
func TestBodyCountsItsElements(t *testing.T) {
	const elements = 500_000
	m := NewMemory(MaxMemory)
	share := m.Share(t.Context())
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("["+strings.Repeat(`"",`, elements)+`""]`))
	r.Header.Set("Content-Type", "application/json")
	if _, err := ReadBody(httptest.NewRecorder(), r, Limits{Size: 8 << 20, Share: share}); err != nil {
		t.Fatal(err)
	}
	if want := int64(elements * (3 + 32)); share.held < want {
		t.Errorf("%d bytes are held, want %d", share.held, want)
	}
	share.Release()
}
