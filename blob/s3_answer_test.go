package blob_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// TestS3Hangs uses a store that reads requests and then sends no response or only part of one.
func TestS3Hangs(t *testing.T) {
	t.Parallel() // it waits
	const timeout = time.Second
	o := newObjectStore(t)
	options := o.options()
	options.Timeout = timeout
	s := newS3(t, options)
	s.SetPartSize(partSize)
	small, large := blobtest.Bytes(1, partSize), blobtest.Bytes(2, partSize+1)
	b := blobtest.Put(t, s, small)
	stagedSmall, stagedLarge := blobtest.Stage(t, s, blobtest.Bytes(3, 10)), blobtest.Stage(t, s, large)
	other := blobtest.Stage(t, s, large)
	o.set(hangs)
	var group sync.WaitGroup
	for name, do := range map[string]func() error{
		"Ping":         func() error { return s.Ping(t.Context()) },
		"Stage":        func() error { _, err := s.Stage(t.Context(), bytes.NewReader(large)); return err },
		"Commit small": func() error { return stagedSmall.Commit(t.Context()) },
		"Commit large": func() error { return stagedLarge.Commit(t.Context()) },
		"Discard":      func() error { return other.Discard() },
		"Open":         func() error { _, err := s.Open(t.Context(), b); return err },
		"Delete":       func() error { return s.Delete(t.Context(), b.Hash) },
		"Walk":         func() error { return s.Walk(t.Context(), func(blob.Info) error { return nil }) },
		"WalkStaged": func() error {
			return s.WalkStaged(t.Context(), time.Now(), func(blob.StagedInfo) error { return nil })
		},
	} {
		group.Go(func() {
			if err := do(); !errors.Is(err, blob.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	group.Wait()
	o.set(nil)
	r, err := s.Open(t.Context(), b)
	wantOK(t, err)
	o.set(hangsInside)
	n, err := io.Copy(io.Discard, r)
	wantKind(t, err, blob.ErrUnavailable)
	if n == 0 || n >= b.Size {
		t.Errorf("%d bytes read", n)
	}
	o.set(nil)
	wantOK(t, stagedSmall.Commit(t.Context()))
	wantOK(t, stagedLarge.Commit(t.Context()))
	wantOK(t, other.Discard())
	deleteStaged(t, s) // left behind by the Stage call that could not clean up
	blobtest.WantExactly(t, s, small, large, blobtest.Bytes(3, 10))
}

// A slow store is not treated as a store that hangs.
func TestS3Slow(t *testing.T) {
	t.Parallel() // it waits
	const timeout = 2 * time.Second
	o := newObjectStore(t)
	options := o.options()
	options.Timeout = timeout
	s := newS3(t, options)
	data := blobtest.Bytes(1, 1<<20)
	b := blobtest.Put(t, s, data)
	r, err := s.Open(t.Context(), b)
	wantOK(t, err)
	o.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		for whole.Body.Len() > 0 {
			_, _ = w.Write(whole.Body.Next(len(data) / 30))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(timeout / 25)
		}
	})
	begun := time.Now()
	got, err := io.ReadAll(r)
	wantOK(t, err)
	if !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, or others", len(got))
	}
	if time.Since(begun) < timeout {
		t.Error("the answer did not take longer than the timeout")
	}
}

// TestS3ListingFails lists two pages, and the request for the second page fails. Walk retries that
// page and reports each blob once.
func TestS3ListingFails(t *testing.T) {
	o := newObjectStore(t)
	s := newS3(t, o.options())
	const many = 1100
	for i := range many {
		data := fmt.Append(nil, i)
		key := strings.TrimPrefix(s.URI(blobtest.Of(data).Hash), "s3://"+bucket+"/")
		_, err := o.memory.PutObject(bucket, key, nil, bytes.NewReader(data), int64(len(data)), nil)
		wantOK(t, err)
	}
	for name, f := range transient {
		for _, times := range []int{1, attempts} {
			requests := o.spoil(f, 1, times)
			if found := len(blobtest.Blobs(t, s)); found != many {
				t.Errorf("%s, %d times: Walk finds %d of %d blobs", name, times, found, many)
			}
			if n := requests(); n <= 1+times {
				t.Errorf("%s, %d times: %d requests", name, times, n)
			}
		}
	}
	o.spoil(answers(http.StatusServiceUnavailable, "SlowDown"), 0, attempts)
	err := s.Walk(t.Context(), func(blob.Info) error { return nil })
	wantKind(t, err, blob.ErrUnavailable)
}

// TestS3Answers checks the errors that are returned for typical error responses of object stores.
func TestS3Answers(t *testing.T) {
	o := newObjectStore(t)
	s := newS3(t, o.options())
	s.SetPartSize(partSize)
	data := blobtest.Bytes(1, 10)
	b := blobtest.Put(t, s, data)
	for _, c := range []struct {
		status int
		code   string
		kind   error
		says   string
	}{
		{403, "InvalidAccessKeyId", blob.ErrRefused, "SERVICE_S3_ACCESS_KEY"},
		{403, "SignatureDoesNotMatch", blob.ErrRefused, "SERVICE_S3_SECRET_KEY"},
		{403, "AccessDenied", blob.ErrRefused, "right to list"},
		{401, "Unauthorized", blob.ErrRefused, "right to list"},
		{403, "RequestTimeTooSkewed", blob.ErrRefused, "clock"},
		{404, "NoSuchBucket", blob.ErrRefused, "SERVICE_S3_BUCKET"},
		{400, "InvalidBucketName", blob.ErrRefused, "SERVICE_S3_BUCKET"},
		{400, "AuthorizationHeaderMalformed", blob.ErrRefused, "SERVICE_S3_REGION"},
		{301, "PermanentRedirect", blob.ErrRefused, "SERVICE_S3_REGION"},
		{405, "MethodNotAllowed", blob.ErrRefused, "SERVICE_S3"},
		{507, "XMinioStorageFull", blob.ErrFull, "space"},
		{507, "", blob.ErrFull, "space"},
		{400, "QuotaExceeded", blob.ErrFull, "space"},
		{500, "InternalError", blob.ErrUnavailable, "again"},
		{502, "", blob.ErrUnavailable, "again"},
		{503, "SlowDown", blob.ErrUnavailable, "again"},
		{503, "ServiceUnavailable", blob.ErrUnavailable, "again"},
		{504, "", blob.ErrUnavailable, "again"},
		{429, "TooManyRequests", blob.ErrUnavailable, "again"},
		{400, "RequestTimeout", blob.ErrUnavailable, "again"},
	} {
		t.Run(fmt.Sprint(c.status, c.code), func(t *testing.T) {
			o.set(nil)
			large, small := blobtest.Stage(t, s, blobtest.Bytes(2, partSize+1)), blobtest.Stage(t, s, blobtest.Bytes(3, 10))
			o.set(answers(c.status, c.code))
			wantKind(t, s.Ping(t.Context()), c.kind, c.says)
			wantKind(t, small.Commit(t.Context()), c.kind, c.says)
			wantKind(t, large.Commit(t.Context()), c.kind, c.says)
			wantKind(t, s.Delete(t.Context(), b.Hash), c.kind, c.says)
			wantKind(t, s.Walk(t.Context(), func(blob.Info) error { return nil }), c.kind, c.says)
			_, err := s.Stage(t.Context(), bytes.NewReader(blobtest.Bytes(4, partSize+1)))
			wantKind(t, err, c.kind, c.says)
			_, err = s.Open(t.Context(), b)
			if c.kind != blob.ErrFull { // a store does not respond to HEAD like this
				wantKind(t, err, c.kind, c.says)
			}
			o.set(nil)
			wantOK(t, large.Discard())
			blobtest.WantExactly(t, s, data)
		})
	}
}

// TestS3Settings checks the errors for wrong settings.
func TestS3Settings(t *testing.T) {
	o := newObjectStore(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	late := newObjectStore(t, gofakes3.WithTimeSource(gofakes3.FixedTimeSource(time.Now().Add(-24*time.Hour))))
	for _, c := range []struct {
		change func(*blob.S3Options)
		kind   error
		says   string
	}{
		{func(o *blob.S3Options) { o.Bucket = "" }, blob.ErrRefused, "SERVICE_S3_BUCKET"},
		{func(o *blob.S3Options) { o.Bucket = "nobody-made-it" }, blob.ErrRefused, "SERVICE_S3_BUCKET"},
		{func(o *blob.S3Options) { o.Bucket = "_" }, blob.ErrRefused, "SERVICE_S3"},
		{func(o *blob.S3Options) { o.AccessKey = "" }, blob.ErrRefused, "SERVICE_S3_ACCESS_KEY"},
		{func(o *blob.S3Options) { o.SecretKey = "" }, blob.ErrRefused, "SERVICE_S3_SECRET_KEY"},
		{func(o *blob.S3Options) { o.PartSize = 1000 }, blob.ErrRefused, "5 MiB"},
		{func(o *blob.S3Options) { o.Endpoint = "ftp://host" }, blob.ErrRefused, "SERVICE_S3_ENDPOINT"},
		{func(o *blob.S3Options) { o.Endpoint += "/bucket" }, blob.ErrRefused, "SERVICE_S3_ENDPOINT"},
		{func(o *blob.S3Options) { o.Endpoint = "https://" }, blob.ErrRefused, "SERVICE_S3_ENDPOINT"},
		{func(o *blob.S3Options) { o.Endpoint = "host:port:port" }, blob.ErrRefused, "SERVICE_S3_ENDPOINT"},
		{func(o *blob.S3Options) { o.RootCAs = x509.NewCertPool() }, blob.ErrRefused, "certificate"},
		{func(o *blob.S3Options) { o.Endpoint = "https" + plain.URL[len("http"):] }, blob.ErrRefused, "http://"},
		{func(o *blob.S3Options) { o.Endpoint = gone.URL }, blob.ErrUnavailable, gone.URL[len("http://"):]},
		{func(o *blob.S3Options) { *o = late.options() }, blob.ErrRefused, "clock"},
	} {
		options := o.options()
		c.change(&options)
		s, err := blob.NewS3(options)
		if err != nil {
			wantKind(t, err, c.kind, c.says)
			continue
		}
		s.SetPartSize(partSize)
		wantKind(t, s.Ping(t.Context()), c.kind, c.says)
		_, err = s.Open(t.Context(), blobtest.Of(nil))
		wantKind(t, err, c.kind, c.says)
		wantKind(t, put(t, s, []byte("data")), c.kind, c.says)
		wantKind(t, put(t, s, blobtest.Bytes(1, partSize+1)), c.kind, c.says)
	}
}

// An error about an endpoint never quotes a part that might be secret.
func TestS3EndpointWithASecret(t *testing.T) {
	for _, given := range []string{
		"https://key:hidden@host:port/", "https://key:hid/hidden@host/path", "ftp://key:hidden@host",
		"https://host/path?signature=hidden", "https://host/path#hidden", "key:hidden@host:port:port", "https://host:port?a@hidden",
	} {
		_, err := blob.NewS3(blob.S3Options{Bucket: "bucket", AccessKey: "key", SecretKey: "secret", Endpoint: given})
		if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "SERVICE_S3_ENDPOINT") {
			t.Errorf("%s: %v", given, err)
		}
	}
}
