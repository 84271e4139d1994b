//go:build unix

package cmd

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bucketDir is the environment variable with the folder of the object store. If it is set, the test
// program runs an object store and no tests.
const bucketDir = "TRACKER_TEST_BUCKET"

// processBucket starts an object store for objects of any size in a separate process, so that its
// memory does not count as memory of the test. It returns the settings for the store.
func processBucket(t testing.TB, dir string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env, c.Stderr = append(os.Environ(), bucketDir+"="+dir), os.Stderr
	stdin, err := c.StdinPipe() // the object store ends when this pipe is closed
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return bucketSettings(strings.TrimSpace(url), filepath.Join(dir, certificateFile))
}

// serveBucket runs the object store until the standard input ends.
func serveBucket(dir string) error {
	s := httptest.NewTLSServer(&diskBucket{dir: dir, objects: map[string][]segment{}})
	defer s.Close()
	if err := writeCertificate(filepath.Join(dir, certificateFile), s.Certificate()); err != nil {
		return err
	}
	fmt.Println(s.URL)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// diskBucket stores each request body in a file. An object consists of segments of such files, so
// copying is as cheap as in large object stores.
type diskBucket struct {
	dir     string
	files   atomic.Int64
	mu      sync.Mutex
	objects map[string][]segment // objects by path; parts by the path of their upload and their number
}

type segment struct {
	file         string
	offset, size int64
}

func length(segments []segment) (n int64) {
	for _, s := range segments {
		n += s.size
	}
	return n
}

// cut returns the bytes between two offsets as segments.
func cut(segments []segment, from, to int64) (part []segment) {
	for _, s := range segments {
		first, last := max(0, from), min(s.size, to)
		if first < last {
			part = append(part, segment{s.file, s.offset + first, last - first})
		}
		from, to = from-s.size, to-s.size
	}
	return part
}

func (b *diskBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, query := r.URL.Path, r.URL.Query()
	w.Header().Set("ETag", `"etag"`)
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	part := func(n int) string { return fmt.Sprintf("%s?%s/%d", key, query.Get("uploadId"), n) }
	switch source := r.Header.Get("X-Amz-Copy-Source"); {
	case r.Method == http.MethodPost && query.Has("uploads"):
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%d</UploadId></InitiateMultipartUploadResult>", b.files.Add(1))
	case r.Method == http.MethodPost:
		var parts struct {
			Part []struct{ PartNumber int }
		}
		if err := xml.NewDecoder(r.Body).Decode(&parts); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var whole []segment
		for _, p := range parts.Part {
			whole = append(whole, b.object(part(p.PartNumber))...)
		}
		b.set(key, whole)
		for _, p := range parts.Part {
			b.set(part(p.PartNumber), nil)
		}
		fmt.Fprint(w, "<CompleteMultipartUploadResult><Bucket>artifacts</Bucket><ETag>etag</ETag></CompleteMultipartUploadResult>")
	case r.Method == http.MethodPut && source != "":
		copied := b.object("/" + strings.TrimPrefix(source, "/"))
		to := key
		if query.Has("partNumber") {
			var from, last int64
			if _, err := fmt.Sscanf(r.Header.Get("X-Amz-Copy-Source-Range"), "bytes=%d-%d", &from, &last); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			n, _ := strconv.Atoi(query.Get("partNumber")) // sent by the program's own client, so valid
			copied, to = cut(copied, from, last+1), part(n)
		}
		b.set(to, copied)
		fmt.Fprint(w, "<CopyObjectResult><ETag>etag</ETag></CopyObjectResult>")
	case r.Method == http.MethodPut:
		to := key
		if query.Has("partNumber") {
			n, _ := strconv.Atoi(query.Get("partNumber"))
			to = part(n)
		}
		received, err := b.keep(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		b.set(to, []segment{received})
	case r.Method == http.MethodDelete:
		b.set(key, nil)
		w.WriteHeader(http.StatusNoContent)
	case query.Has("list-type"):
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	case query.Has("uploads"):
		fmt.Fprint(w, "<ListMultipartUploadsResult></ListMultipartUploadsResult>")
	default:
		b.send(w, r, b.object(key))
	}
}

// keep stores a body in a new file.
func (b *diskBucket) keep(body io.Reader) (segment, error) {
	s := segment{file: filepath.Join(b.dir, fmt.Sprint(b.files.Add(1)))}
	f, err := os.Create(s.file)
	if err != nil {
		return s, err
	}
	s.size, err = io.CopyBuffer(struct{ io.Writer }{f}, body, make([]byte, 256<<10))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return s, err
}

func (b *diskBucket) object(key string) []segment {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.objects[key]
}

// set sets or removes an object and removes the files that no object uses anymore.
func (b *diskBucket) set(key string, segments []segment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	former := b.objects[key]
	delete(b.objects, key)
	if len(segments) > 0 {
		b.objects[key] = segments
	}
	used := map[string]bool{}
	for _, o := range b.objects {
		for _, s := range o {
			used[s.file] = true
		}
	}
	for _, s := range former {
		if !used[s.file] {
			_ = os.Remove(s.file) // otherwise the file is removed with the folder
		}
	}
}

func (b *diskBucket) send(w http.ResponseWriter, r *http.Request, segments []segment) {
	size := length(segments)
	if size == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	status, from, last := http.StatusOK, int64(0), size-1
	if given := r.Header.Get("Range"); given != "" {
		status = http.StatusPartialContent
		_, _ = fmt.Sscanf(given, "bytes=%d-%d", &from, &last) // the end can be omitted
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, last, size))
	}
	w.Header().Set("Content-Length", strconv.FormatInt(last+1-from, 10))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	for _, s := range cut(segments, from, last+1) {
		f, err := os.Open(s.file)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, err = io.Copy(w, io.NewSectionReader(f, s.offset, s.size))
		f.Close()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
