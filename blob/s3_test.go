package blob_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"

	"tracker/blob"
	"tracker/blob/blobtest"
)

const bucket = "artifacts"

// The library also waits after each failure. Shorten these waits.
func init() { minio.DefaultRetryUnit = time.Millisecond }

// objectStore is a fake S3 server with TLS.
type objectStore struct {
	*httptest.Server
	memory *s3mem.Backend
	fault  atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
}

func newObjectStore(t testing.TB, options ...gofakes3.Option) *objectStore {
	t.Helper()
	o := &objectStore{memory: s3mem.New()}
	wantOK(t, o.memory.CreateBucket(bucket))
	fake := o.copyingParts(checkingHashes(gofakes3.New(o.memory, options...).Server()))
	o.Server = blobtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := o.fault.Load(); fault != nil {
			(*fault)(w, r, fake)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	return o
}

// withoutTLS serves the same store at another address without TLS.
func (o *objectStore) withoutTLS(t *testing.T) string {
	plain := httptest.NewUnstartedServer(o.Config.Handler)
	plain.Config.ErrorLog = o.Config.ErrorLog
	plain.Start()
	t.Cleanup(plain.Close)
	return plain.URL
}

// checkingHashes rejects a body that does not match the signed hash. S3 does the same, but the fake
// does not.
func checkingHashes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		sum := sha256.Sum256(body)
		if signed := r.Header.Get("X-Amz-Content-Sha256"); len(signed) == 64 && signed != hex.EncodeToString(sum[:]) {
			refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// copyingParts adds a feature to the fake: copying a part from an object.
func (o *objectStore) copyingParts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		source := r.Header.Get("X-Amz-Copy-Source")
		if source == "" || r.URL.Query().Get("uploadId") == "" {
			next.ServeHTTP(w, r)
			return
		}
		var from, to int64
		if _, err := fmt.Sscanf(r.Header.Get("X-Amz-Copy-Source-Range"), "bytes=%d-%d", &from, &to); err != nil {
			refuse(w, http.StatusBadRequest, "InvalidArgument")
			return
		}
		_, key, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
		object, err := o.memory.GetObject(bucket, key, &gofakes3.ObjectRangeRequest{Start: from, End: to})
		if err != nil {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		part, err := io.ReadAll(object.Contents)
		if err != nil {
			panic(err)
		}
		r.Header.Del("X-Amz-Copy-Source")
		r.Header.Del("X-Amz-Content-Sha256")
		r.Header.Set("Content-Length", strconv.Itoa(len(part)))
		r.ContentLength, r.Body = int64(len(part)), io.NopCloser(bytes.NewReader(part))
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if answer.Code != http.StatusOK {
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes())
			return
		}
		fmt.Fprintf(w, "<CopyPartResult><ETag>%s</ETag></CopyPartResult>", strings.Trim(answer.Header().Get("ETag"), `"`))
	})
}

// refuse responds with an error in the format of S3.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>The fake says so.</Message></Error>`, code)
}

func (o *objectStore) options() blob.S3Options {
	roots := x509.NewCertPool()
	roots.AddCert(o.Certificate())
	return blob.S3Options{
		Bucket: bucket, Prefix: "lab/one", Endpoint: o.URL, Region: "eu-central-1",
		AccessKey: "key", SecretKey: "secret", RootCAs: roots,
		PartSize: 5 << 20, RetryPause: time.Millisecond,
	}
}

func newS3(t testing.TB, o blob.S3Options) *blob.S3 {
	t.Helper()
	s, err := blob.NewS3(o)
	wantOK(t, err)
	return s
}

func TestS3(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return newS3(t, newObjectStore(t).options()) })
}

// TestS3Variants stores blobs with various settings.
func TestS3Variants(t *testing.T) {
	small, large := blobtest.Bytes(1, 1000), blobtest.Bytes(2, 13<<20)
	for name, change := range map[string]func(*objectStore, *blob.S3Options){
		"no prefix":         func(_ *objectStore, o *blob.S3Options) { o.Prefix = "" },
		"slashes":           func(_ *objectStore, o *blob.S3Options) { o.Prefix = "/a b/ü+%/" },
		"region unknown":    func(_ *objectStore, o *blob.S3Options) { o.Region = "" },
		"path":              func(_ *objectStore, o *blob.S3Options) { o.Style = blob.S3StylePath },
		"endpoint no https": func(_ *objectStore, o *blob.S3Options) { o.Endpoint = strings.TrimPrefix(o.Endpoint, "https://") },
		"endpoint slash":    func(_ *objectStore, o *blob.S3Options) { o.Endpoint += "/" },
		"large parts":       func(_ *objectStore, o *blob.S3Options) { o.PartSize = 13 << 20 },
		"no TLS":            func(s *objectStore, o *blob.S3Options) { o.Endpoint = s.withoutTLS(t) },
		"copied in pieces":  func(*objectStore, *blob.S3Options) {},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObjectStore(t)
			options := o.options()
			change(o, &options)
			s := newS3(t, options)
			if name == "copied in pieces" {
				s.SetPartSize(5 << 20)
			}
			wantOK(t, s.Ping(t.Context()))
			blobtest.Put(t, s, small)
			b := blobtest.Put(t, s, large)
			blobtest.WantExactly(t, s, small, large)
			want := "s3://" + bucket + "/" + strings.Trim(options.Prefix+"/", "/") + "/" + b.Hash[:2] + "/" + b.Hash
			if got := s.URI(b.Hash); got != strings.ReplaceAll(want, bucket+"//", bucket+"/") {
				t.Errorf("URI is %s, want %s", got, want)
			}
		})
	}
}
