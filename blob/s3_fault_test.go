package blob_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// fault handles a request instead of next, or changes the response of next.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

func answers(status int, code string) fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(w, status, code)
	}
}

// resets closes the connection instead of responding.
func resets(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// cutsRequest reads half of the request and closes the connection.
func cutsRequest(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
	panic(http.ErrAbortHandler)
}

// losesAnswer executes the request but sends no response.
func losesAnswer(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// failsAfter executes the request but responds with an error.
func failsAfter(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	refuse(w, http.StatusInternalServerError, "InternalError")
}

// cuts sends part of the response and closes the connection.
func cuts(part float64) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		beginAnswer(w, r, next, part)
		panic(http.ErrAbortHandler)
	}
}

// beginAnswer sends part of the body, with the headers of the complete response.
func beginAnswer(w http.ResponseWriter, r *http.Request, next http.Handler, part float64) {
	whole := httptest.NewRecorder()
	next.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	}
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:int(math.Ceil(part*float64(whole.Body.Len())))])
	_ = http.NewResponseController(w).Flush()
}

// emptyAnswer responds to requests other than DELETE with status 200 and an empty body.
func emptyAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodDelete {
		next.ServeHTTP(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
}

// hangs reads the request and sends nothing until the client gives up.
func hangs(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// hangsInside sends half of the response and hangs.
func hangsInside(w http.ResponseWriter, r *http.Request, next http.Handler) {
	beginAnswer(w, r, next, 0.5)
	<-r.Context().Done()
}

// transient holds the faults after which the same request can succeed.
var transient = map[string]fault{
	"500":          answers(http.StatusInternalServerError, "InternalError"),
	"503":          answers(http.StatusServiceUnavailable, "SlowDown"),
	"reset":        resets,
	"cut request":  cutsRequest,
	"lost answer":  losesAnswer,
	"500 after":    failsAfter,
	"cut answer":   cuts(0.5),
	"empty answer": emptyAnswer,
}

// leavesNothing holds the faults after which the client can clean up
// completely.
var leavesNothing = map[string]bool{"500": true, "503": true, "reset": true, "cut request": true}

// set sets the fault of the store. nil means that the store works.
func (o *objectStore) set(f fault) {
	if f == nil {
		o.fault.Store(nil)
		return
	}
	g := (func(http.ResponseWriter, *http.Request, http.Handler))(f)
	o.fault.Store(&g)
}

// spoil applies f to n requests, beginning with request number from. It returns a function that
// returns the number of requests so far.
func (o *objectStore) spoil(f fault, from, n int) (requests func() int) {
	var mu sync.Mutex
	count := 0
	o.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		number := count
		count++
		mu.Unlock()
		if number >= from && number < from+n {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

const (
	attempts = 4         // for each request
	partSize = 100 << 10 // small, so that there are many parts
)

// put stages and commits data. If Commit returns an error, put discards the staged bytes.
func put(t *testing.T, s blob.Store, data []byte) error {
	staged, err := s.Stage(t.Context(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	err = staged.Commit(t.Context())
	if err != nil {
		if err := staged.Discard(); err != nil {
			t.Errorf("Discard: %v", err)
		}
	}
	return err
}

// TestS3EachRequestFails makes each request of an upload fail in each way. If a request fails once,
// the upload succeeds. If all attempts fail, the upload leaves nothing behind.
func TestS3EachRequestFails(t *testing.T) {
	for name, f := range transient {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1000, partSize + 1} {
				data := blobtest.Bytes(1, size)
				o := newObjectStore(t)
				s := newS3(t, o.options())
				s.SetPartSize(partSize)
				each(t, o, f, 1, func(n int) {
					if err := put(t, s, data); err != nil {
						t.Fatalf("%d bytes: request %d failed once, and so did the upload: %v", size, n, err)
					}
					o.set(nil)
					deleteStaged(t, s)
					blobtest.WantExactly(t, s, data)
					wantOK(t, s.Delete(t.Context(), blobtest.Of(data).Hash))
				})
				each(t, o, f, attempts, func(n int) {
					err := put(t, s, data)
					o.set(nil)
					if err == nil { // the upload did not need this request
						deleteStaged(t, s)
						blobtest.WantExactly(t, s, data)
						wantOK(t, s.Delete(t.Context(), blobtest.Of(data).Hash))
						return
					}
					wantKind(t, err, blob.ErrUnavailable)
					for _, done := range blobtest.Blobs(t, s) { // stored, although the response was lost
						wantOK(t, blob.Verify(t.Context(), s, done.Blob))
						wantOK(t, s.Delete(t.Context(), done.Hash))
					}
					if !leavesNothing[name] {
						deleteStaged(t, s)
					}
					blobtest.WantExactly(t, s)
				})
			}
		})
	}
}

// each calls do for n = 0, 1, 2 and so on. During each call, it applies f to the given number of
// requests, beginning with request n. It stops after do makes at most n requests.
func each(t *testing.T, o *objectStore, f fault, times int, do func(n int)) {
	for n := 0; !t.Failed(); n++ {
		requests := o.spoil(f, n, times)
		do(n)
		if requests() <= n {
			return
		}
	}
}

func deleteStaged(t *testing.T, s blob.Store) {
	t.Helper()
	for _, l := range blobtest.AllStaged(t, s) {
		wantOK(t, s.DeleteStaged(t.Context(), l.Name))
	}
}

// TestS3RandomFaults uploads, reads and deletes blobs through an unreliable connection. It checks
// that the store matches the acknowledged operations.
func TestS3RandomFaults(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	intN := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	var kinds []fault
	for _, name := range []string{"500", "503", "reset", "cut request", "lost answer", "500 after", "cut answer", "empty answer"} {
		kinds = append(kinds, transient[name])
	}
	o := newObjectStore(t)
	s := newS3(t, o.options())
	s.SetPartSize(partSize)
	oneIn := 3
	o.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if intN(oneIn) == 0 {
			kinds[intN(len(kinds))](w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
	data := func(i int) []byte {
		return blobtest.Bytes(uint64(i), []int{0, 1, 1000, partSize - 1, partSize, partSize + 1, 2*partSize + 1000}[i])
	}
	acknowledged, unknown := map[int]bool{}, map[int]bool{}
	failed := map[string]int{}
	for range 120 {
		i := intN(7)
		switch op := intN(4); op {
		case 0, 1:
			staged, err := s.Stage(t.Context(), bytes.NewReader(data(i)))
			if err == nil {
				if err = staged.Commit(t.Context()); err == nil {
					acknowledged[i] = true
					delete(unknown, i)
				} else {
					unknown[i] = !acknowledged[i]
				}
				_ = staged.Discard()
			}
			if err != nil {
				failed["upload"]++
				wantKind(t, err, blob.ErrUnavailable)
			}
		case 2:
			r, err := s.Open(t.Context(), blobtest.Of(data(i)))
			if err == nil {
				var got []byte
				got, err = io.ReadAll(r)
				if err == nil && !bytes.Equal(got, data(i)) {
					t.Errorf("blob %d was read as %d bytes, without an error", i, len(got))
				}
				if !bytes.HasPrefix(data(i), got) {
					t.Errorf("blob %d begins with other bytes", i)
				}
				wantOK(t, r.Close())
			}
			if errors.Is(err, blob.ErrNotFound) && !acknowledged[i] {
				err = nil
			}
			if err != nil {
				failed["download"]++
				wantKind(t, err, blob.ErrUnavailable)
			}
		case 3:
			err := s.Delete(t.Context(), blobtest.Of(data(i)).Hash)
			delete(acknowledged, i)
			if unknown[i] = err != nil; err != nil {
				failed["delete"]++
				wantKind(t, err, blob.ErrUnavailable)
			}
		}
	}
	t.Logf("failed: %v", failed)
	o.set(nil)

	deleteStaged(t, s)
	found := blobtest.Blobs(t, s)
	var want [][]byte
	for i := range 7 {
		if _, there := found[blobtest.Of(data(i)).Hash]; there && unknown[i] || acknowledged[i] {
			want = append(want, data(i))
		}
	}
	blobtest.WantExactly(t, s, want...)
}

// TestS3CutDownload truncates every response. A read that makes progress continues. A read without
// progress returns an error.
func TestS3CutDownload(t *testing.T) {
	o := newObjectStore(t)
	s := newS3(t, o.options())
	data := blobtest.Bytes(1, 3<<20)
	b := blobtest.Put(t, s, data)
	open := func() io.ReadSeekCloser {
		o.set(nil)
		r, err := s.Open(t.Context(), b)
		wantOK(t, err)
		return r
	}
	r := open()
	o.set(cuts(0.7))
	got, err := io.ReadAll(r)
	wantOK(t, err)
	if !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, or others", len(got))
	}

	for name, f := range transient {
		if name == "cut answer" {
			continue
		}
		r := open()
		first := make([]byte, 1000)
		_, err := io.ReadFull(r, first)
		wantOK(t, err)
		_, err = r.Seek(5000, io.SeekCurrent)
		wantOK(t, err)
		o.set(f)
		n, err := io.Copy(io.Discard, r)
		if n != 0 {
			t.Errorf("%s: %d bytes read", name, n)
		}
		wantKind(t, err, blob.ErrUnavailable)
		o.set(nil)
		rest, err := io.ReadAll(r)
		wantOK(t, err)
		if !bytes.Equal(rest, data[6000:]) {
			t.Errorf("%s: after it works again, %d bytes are read, or others", name, len(rest))
		}
	}
}

// TestS3Garbled changes a byte of a request that is sent without TLS. The store notices the change,
// and the request is sent again.
func TestS3Garbled(t *testing.T) {
	o := newObjectStore(t)
	options := o.options()
	options.Endpoint = o.withoutTLS(t)
	s := newS3(t, options)
	s.SetPartSize(partSize)
	garbles := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if len(body) > 0 {
			body[len(body)/2] ^= 1
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}
	for _, size := range []int{1000, 2*partSize + 1} {
		data := blobtest.Bytes(1, size)
		each(t, o, garbles, 1, func(n int) {
			wantOK(t, put(t, s, data))
			o.set(nil)
			blobtest.WantExactly(t, s, data)
			wantOK(t, s.Delete(t.Context(), blobtest.Of(data).Hash))
		})
		o.set(garbles)
		wantKind(t, put(t, s, data), blob.ErrUnavailable)
		o.set(nil)
		blobtest.WantExactly(t, s)
	}
}
