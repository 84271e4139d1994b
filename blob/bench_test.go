package blob_test

import (
	"context"
	"crypto/x509"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tracker/blob"
	"tracker/blob/blobtest"
)

// endless repeats the same bytes, so that a stream of any size costs hardly any memory or time.
type endless struct {
	block []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	return n, nil
}

// stream returns a reader of size pseudorandom bytes. The same seed gives the same bytes.
func stream(seed uint64, size int64) io.Reader {
	return io.LimitReader(&endless{block: blobtest.Bytes(seed, 1<<20+13)}, size)
}

// versus calls ours and plain alternately and reports the ratio of their median times. Other load
// on the machine affects single calls, but hardly the medians.
func versus(b *testing.B, size int64, ours, plain func(i int) error) {
	var us, them []time.Duration
	for i := 0; b.Loop(); i++ {
		for _, side := range []struct {
			do   func(int) error
			took *[]time.Duration
		}{{ours, &us}, {plain, &them}} {
			begun := time.Now()
			if err := side.do(i); err != nil {
				b.Fatal(err)
			}
			*side.took = append(*side.took, time.Since(begun))
		}
	}
	slices.Sort(us)
	slices.Sort(them)
	took, plainly := us[len(us)/2].Seconds(), them[len(them)/2].Seconds()
	b.ReportMetric(float64(size)/took/1e6, "MB/s")
	b.ReportMetric(plainly/took, "ratio")
}

func store(s blob.Store, seed int, size int64) (blob.Blob, error) {
	staged, err := s.Stage(context.Background(), stream(uint64(seed), size))
	if err != nil {
		return blob.Blob{}, err
	}
	return staged.Blob(), staged.Commit(context.Background())
}

func read(s blob.Store, of blob.Blob) error {
	r, err := s.Open(context.Background(), of)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 256<<10))
	return err
}

var benchSizes = []int64{64 << 10, 64 << 20}

// BenchmarkFilesystem compares Filesystem with writing and reading plain files.
func BenchmarkFilesystem(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("write/%dKiB", size>>10), func(b *testing.B) {
			s, dir := newFilesystem(b, b.TempDir()), b.TempDir()
			versus(b, size, func(i int) error {
				stored, err := store(s, i, size)
				if err != nil {
					return err
				}
				return s.Delete(context.Background(), stored.Hash)
			}, func(i int) error {
				f, err := os.Create(filepath.Join(dir, "plain"))
				if err != nil {
					return err
				}
				defer os.Remove(f.Name())
				defer f.Close()
				if _, err := io.CopyBuffer(struct{ io.Writer }{f}, stream(uint64(i), size), make([]byte, 256<<10)); err != nil {
					return err
				}
				return f.Sync()
			})
		})
		b.Run(fmt.Sprintf("read/%dKiB", size>>10), func(b *testing.B) {
			root := b.TempDir()
			s := newFilesystem(b, root)
			stored, err := store(s, 1, size)
			wantOK(b, err)
			versus(b, size, func(int) error { return read(s, stored) }, func(int) error {
				f, err := os.Open(filepath.Join(root, filepath.FromSlash(s.URI(stored.Hash))))
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 256<<10))
				return err
			})
		})
	}
}

// sink is an object store that stores only sizes, so that benchmarks measure the client and not the
// store.
type sink struct {
	*httptest.Server
	mu    sync.Mutex
	sizes map[string]int64
	block []byte
}

func newSink(b *testing.B) (*sink, blob.S3Options, *minio.Client) {
	s := &sink{sizes: map[string]int64{}, block: blobtest.Bytes(0, 1<<20)}
	s.Server = blobtest.Serve(b, s)
	options := (&objectStore{Server: s.Server}).options()
	options.PartSize = 0
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	transport, err := minio.DefaultTransport(true)
	wantOK(b, err)
	transport.TLSClientConfig.RootCAs = roots
	plain, err := minio.New(strings.TrimPrefix(s.URL, "https://"), &minio.Options{
		Creds: credentials.NewStaticV4("key", "secret", ""), Secure: true, Region: options.Region, Transport: transport,
	})
	wantOK(b, err)
	return s, options, plain
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, query := r.URL.Path, r.URL.Query()
	w.Header().Set("ETag", `"etag"`)
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	switch {
	case r.Method == http.MethodPost && query.Has("uploads"):
		delete(s.sizes, key)
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPost:
		_ = xml.NewEncoder(w).Encode(struct {
			XMLName      xml.Name `xml:"CompleteMultipartUploadResult"`
			Bucket, ETag string
		}{Bucket: bucket, ETag: "etag"})
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		source := "/" + strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/")
		if query.Has("partNumber") {
			var from, to int64
			fmt.Sscanf(r.Header.Get("X-Amz-Copy-Source-Range"), "bytes=%d-%d", &from, &to)
			s.sizes[key] += to - from + 1
		} else {
			s.sizes[key] = s.sizes[source]
		}
		fmt.Fprint(w, "<CopyObjectResult><ETag>etag</ETag></CopyObjectResult>")
	case r.Method == http.MethodPut && query.Has("partNumber"):
		s.sizes[key] += received
	case r.Method == http.MethodPut:
		s.sizes[key] = received
	case r.Method == http.MethodDelete:
		delete(s.sizes, key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Length", strconv.FormatInt(s.sizes[key], 10))
	case r.Method == http.MethodGet:
		size := s.sizes[key]
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		if r.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", size-1, size))
			w.WriteHeader(http.StatusPartialContent)
		}
		for size > 0 {
			n, err := w.Write(s.block[:min(size, int64(len(s.block)))])
			if err != nil {
				return
			}
			size -= int64(n)
		}
	}
}

// BenchmarkS3 compares S3 with direct use of the minio library.
func BenchmarkS3(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("write/%dKiB", size>>10), func(b *testing.B) {
			_, options, plain := newSink(b)
			s := newS3(b, options)
			versus(b, size, func(i int) error {
				_, err := store(s, i, size)
				return err
			}, func(i int) error {
				_, err := plain.PutObject(context.Background(), bucket, "plain", stream(uint64(i), size), -1, minio.PutObjectOptions{PartSize: 12 << 20})
				return err
			})
		})
		b.Run(fmt.Sprintf("read/%dKiB", size>>10), func(b *testing.B) {
			_, options, plain := newSink(b)
			s := newS3(b, options)
			stored, err := store(s, 1, size)
			wantOK(b, err)
			versus(b, size, func(int) error { return read(s, stored) }, func(int) error {
				o, err := plain.GetObject(context.Background(), bucket, strings.TrimPrefix(s.URI(stored.Hash), "s3://"+bucket+"/"), minio.GetObjectOptions{})
				if err != nil {
					return err
				}
				defer o.Close()
				if _, err := o.Stat(); err != nil {
					return err
				}
				_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{o}, make([]byte, 256<<10))
				return err
			})
		})
	}
}

// BenchmarkHeap reports the maximum heap size while a stream is stored and read back.
func BenchmarkHeap(b *testing.B) {
	for _, size := range []int64{64 << 20, 1 << 30} {
		for name, open := range map[string]func() blob.Store{
			"filesystem": func() blob.Store { return newFilesystem(b, b.TempDir()) },
			"s3": func() blob.Store {
				_, options, _ := newSink(b)
				return newS3(b, options)
			},
		} {
			b.Run(fmt.Sprintf("%s/%dMiB", name, size>>20), func(b *testing.B) {
				s := open()
				var peak atomic.Uint64
				done := make(chan struct{})
				var watch sync.WaitGroup
				watch.Go(func() {
					for {
						select {
						case <-done:
							return
						case <-time.After(time.Millisecond):
							var m runtime.MemStats
							runtime.ReadMemStats(&m)
							peak.Store(max(peak.Load(), m.HeapAlloc))
						}
					}
				})
				for i := 0; b.Loop(); i++ {
					stored, err := store(s, i, size)
					wantOK(b, err)
					wantOK(b, read(s, stored))
					wantOK(b, s.Delete(context.Background(), stored.Hash))
				}
				close(done)
				watch.Wait()
				b.ReportMetric(float64(peak.Load())/(1<<20), "MiB-peak")
			})
		}
	}
}
