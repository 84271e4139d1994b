package server_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// bucket is an object store with TLS. It is started on first use.
type bucket struct {
	t      testing.TB
	once   sync.Once
	memory *s3mem.Backend
	server *httptest.Server
	// fault, if not nil, handles requests instead of the object store.
	fault atomic.Pointer[http.HandlerFunc]
}

func (b *bucket) start() {
	b.memory = s3mem.New()
	if err := b.memory.CreateBucket("artifacts"); err != nil {
		b.t.Error(err)
	}
	fake := gofakes3.New(b.memory).Server()
	b.server = blobtest.Serve(b.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := b.fault.Load(); fault != nil {
			(*fault)(w, r)
			return
		}
		fake.ServeHTTP(w, r)
	}))
}

func (b *bucket) open() (blob.Store, error) {
	b.once.Do(b.start)
	roots := x509.NewCertPool()
	roots.AddCert(b.server.Certificate())
	return blob.NewS3(blob.S3Options{
		Bucket: "artifacts", Prefix: "tracker", Endpoint: b.server.URL, Region: "us-east-1", AccessKey: "key", SecretKey: "secret",
		Style: blob.S3StylePath, RootCAs: roots, PartSize: 5 << 20, RetryPause: time.Millisecond,
	})
}

// objects returns the number of objects.
func (b *bucket) objects(t testing.TB) int {
	t.Helper()
	if b.memory == nil {
		return 0
	}
	l, err := b.memory.ListBucket("artifacts", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	return len(l.Contents)
}

// refusing makes the bucket answer every request with this error until end is called.
func (b *bucket) refusing(status int, code string) (end func()) {
	f := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>No.</Message></Error>`)
		}
	})
	b.fault.Store(&f)
	return func() { b.fault.Store(nil) }
}

// cut makes every download end before the byte at offset at, until fault is set to nil. It closes
// the connections of downloads in progress.
func (b *bucket) cut(at int) {
	fake := gofakes3.New(b.memory).Server()
	f := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			fake.ServeHTTP(w, r)
			return
		}
		got := httptest.NewRecorder()
		fake.ServeHTTP(got, r)
		for name, values := range got.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(got.Body.Len()))
		w.WriteHeader(got.Code)
		var first int
		_, _ = fmt.Sscanf(got.Header().Get("Content-Range"), "bytes %d-", &first) // a response with the whole object has no such header
		_, _ = w.Write(got.Body.Bytes()[:min(got.Body.Len(), max(0, at-first))])
		panic(http.ErrAbortHandler)
	})
	b.fault.Store(&f)
	b.server.CloseClientConnections()
}
