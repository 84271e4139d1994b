package files_test

import (
	"crypto/x509"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// bucket is an object store with TLS. It starts when it is first used.
type bucket struct {
	t      testing.TB
	start  sync.Once
	server *httptest.Server
}

func newBucket(t testing.TB) *bucket { return &bucket{t: t} }

func (b *bucket) open() (blob.Store, error) {
	b.start.Do(func() {
		memory := s3mem.New()
		if err := memory.CreateBucket("artifacts"); err != nil {
			b.t.Error(err)
		}
		b.server = blobtest.Serve(b.t, gofakes3.New(memory).Server())
	})
	roots := x509.NewCertPool()
	roots.AddCert(b.server.Certificate())
	return blob.NewS3(blob.S3Options{
		Bucket: "artifacts", Prefix: "tracker", Endpoint: b.server.URL, Region: "us-east-1", AccessKey: "key", SecretKey: "secret",
		RootCAs: roots, PartSize: 5 << 20, RetryPause: time.Millisecond,
	})
}
