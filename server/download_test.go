package server_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/store/artifact"
)

// For each backend, the server answers range and conditional requests as http.ServeContent does for
// bytes in memory.
func TestRangesAreThoseOfServeContent(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		for _, content := range []string{"", "0123456789", bytesOf(3, 600_000)} {
			id := a.put(e, "a.bin", content)
			tag := `"` + hashOf(content) + `"`
			var headers []http.Header
			for _, r := range []string{"", "bytes=0-0", "bytes=0-", "bytes=-1", "bytes=2-5", "bytes=5-2", "bytes=-0", "bytes=9-9", "bytes=10-", "bytes=10-20",
				"bytes=0-1,4-5", "bytes=0-1,0-1,0-1", "bytes=262143-262144", "bytes=-300000", "bytes=599999-", "bytes=0-99999999", "bytes=99999999999999999999-",
				"bytes=", "bytes=a-b", "bytes=1", "items=0-1", "bytes = 0-1", "bytes=0-1,x"} {
				headers = append(headers, http.Header{"Range": {r}})
				for _, condition := range []string{tag, `"other"`, "W/" + tag, "Sat, 21 Nov 2026 09:30:00 GMT"} {
					headers = append(headers, http.Header{"Range": {r}, "If-Range": {condition}})
				}
			}
			for _, condition := range []string{tag, `"other"`, "*", "W/" + tag, `"other", ` + tag, ""} {
				headers = append(headers, http.Header{"If-None-Match": {condition}}, http.Header{"If-Match": {condition}},
					http.Header{"If-None-Match": {condition}, "Range": {"bytes=0-1"}})
			}
			for _, h := range headers {
				for _, method := range []string{"GET", "HEAD"} {
					compareWithServeContent(t, a, method, id, content, h)
				}
			}
		}
	})
}

func compareWithServeContent(t *testing.T, a api, method, id, content string, h http.Header) {
	t.Helper()
	r := httptest.NewRequest(method, "/", nil)
	r.Header = h
	want := httptest.NewRecorder()
	want.Header().Set("Content-Type", "application/octet-stream")
	want.Header().Set("ETag", `"`+hashOf(content)+`"`)
	http.ServeContent(want, r, "", time.Time{}, strings.NewReader(content))
	got := a.do(method, "/resource/"+id+"/data", "", func(r *request) {
		for name, v := range h {
			if v[0] != "" {
				r.Header[name] = v
			}
		}
		r.loose = true
	})
	names := []string{"Content-Length", "Content-Range", "ETag", "Accept-Ranges"}
	body := want.Body.String()
	contentType, params, _ := mime.ParseMediaType(want.Header().Get("Content-Type"))
	switch {
	case want.Code == http.StatusRequestedRangeNotSatisfiable:
		names = []string{"Content-Range"}
		if method == "GET" {
			got.fails(416, "RANGE_NOT_SATISFIABLE", "Range")
		}
		body = got.body
	case want.Code == http.StatusPreconditionFailed:
		names = nil
	case contentType == "multipart/byteranges":
		_, own, err := mime.ParseMediaType(got.header.Get("Content-Type"))
		a.must(err)
		body = strings.ReplaceAll(body, params["boundary"], own["boundary"])
	case want.Code < 300 && got.header.Get("Content-Type") != "application/octet-stream":
		t.Errorf("%s %v: the type is %s", method, h, got.header.Get("Content-Type"))
	}
	if got.status != want.Code || !bytes.Equal([]byte(got.body), []byte(body)) {
		t.Errorf("%s %v of %d bytes: %d with %d bytes, want %d with %d", method, h, len(content), got.status, len(got.body), want.Code, len(body))
	}
	for _, name := range names {
		if got.header.Get(name) != want.Header().Get(name) {
			t.Errorf("%s %v of %d bytes: %s is %q, want %q", method, h, len(content), name, got.header.Get(name), want.Header().Get(name))
		}
	}
}

// Any range of an artifact is returned correctly, even if it spans several of the pieces in which a
// backend stores or requests the bytes.
func TestRandomRanges(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		e := a.experiment(a.project(a.root))
		for _, size := range []int{1, 262_144, 262_145, 6 << 20} {
			content := bytesOf(uint64(size), size)
			id := a.put(e, "a.bin", content)
			for range 25 {
				from := random.IntN(size)
				to := min(from+random.IntN(1<<random.IntN(23)), size-1)
				got := a.get("/resource/"+id+"/data", header("Range", fmt.Sprintf("bytes=%d-%d", from, to))).wants(206)
				if got.body != content[from:to+1] || got.header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", from, to, size) {
					t.Errorf("%d to %d of %d: %d bytes, %s", from, to, size, len(got.body), got.header.Get("Content-Range"))
				}
			}
		}
	})
}

// A browser saves an uploaded file of any type instead of executing it.
func TestDownloadIsHarmless(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	page := "<script>alert(1)</script>" + strings.Repeat(" ", 5000)
	for name, want := range map[string]string{
		"page.html":         `attachment; filename="page.html"`,
		"images/1.png":      `attachment; filename="1.png"`,
		`a "quoted" one`:    `attachment; filename="a _quoted_ one"; filename*=UTF-8''a%20%22quoted%22%20one`,
		"größe 100%;x=y":    `attachment; filename="gr__e 100_;x=y"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20100%25%3Bx%3Dy`,
		"日本.txt":            `attachment; filename="__.txt"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt`,
		"it's (1)*.html":    `attachment; filename="it's (1)*.html"`,
		"a; filename=b.exe": `attachment; filename="a; filename=b.exe"`,
	} {
		id := a.put(e, name, page, part("content_type", "text/html"))
		got := a.get("/resource/"+id+"/data", header("Accept-Encoding", "gzip, zstd")).wants(200)
		for header, want := range map[string]string{
			"Content-Disposition":     want,
			"Content-Type":            "text/html",
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "sandbox; default-src 'none'",
			"Content-Encoding":        "",
			"Cache-Control":           "private, no-cache",
		} {
			if got.header.Get(header) != want {
				t.Errorf("%s of %s is %s, want %s", header, name, got.header.Get(header), want)
			}
		}
		if _, params, err := mime.ParseMediaType(got.header.Get("Content-Disposition")); err != nil || params["filename"] != name[strings.LastIndex(name, "/")+1:] {
			t.Errorf("%s is read as %q, %v", name, params["filename"], err)
		}
		if got.body != page {
			t.Errorf("%s has other bytes", name)
		}
	}
}

// Damaged bytes are never sent as a complete file. A part of the file can't be checked, because
// only the hash of the whole file is known, which is in the response.
func TestDamagedDownload(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		for _, size := range []int{1, 1000, 1_000_000} {
			content := bytesOf(uint64(size), size)
			id := a.put(e, "a.bin", content)
			want := a.get("/resource/" + id + "/data").wants(200).header.Get("Repr-Digest")
			if want != digestOf(content) {
				t.Errorf("Repr-Digest is %s, want %s", want, digestOf(content))
			}
			damaged := []byte(content)
			damaged[size/2] ^= 1
			a.damage(hashOf(content), damaged)
			for _, bytes := range []string{"", "bytes=0-", fmt.Sprintf("bytes=0-%d", size-1)} {
				if size <= 1000 { // the damage is found before anything is sent
					a.get("/resource/"+id+"/data", header("Range", bytes)).fails(500, "SERVER_ERROR", "")
					continue
				}
				res := a.download(id, bytes, func() {})
				got, err := io.ReadAll(res.Body)
				a.must(res.Body.Close())
				if res.StatusCode < 300 && err == nil {
					t.Errorf("%q of %d damaged bytes: %d with %d bytes, as if they were whole", bytes, size, res.StatusCode, len(got))
				}
			}
			if !strings.Contains(a.log.String(), "The content of "+hashOf(content)) {
				t.Errorf("the log does not say what is wrong:\n%s", a.log)
			}
			if size == 1 {
				continue
			}
			part := a.get("/resource/"+id+"/data", header("Range", "bytes=1-9")).wants(206)
			if part.body != string(damaged[1:10]) || part.header.Get("Repr-Digest") != want {
				t.Errorf("a range has %d bytes and the digest %s", len(part.body), part.header.Get("Repr-Digest"))
			}
		}
	})
}

// damage replaces the bytes stored under a hash.
func (a api) damage(hash string, damaged []byte) {
	a.t.Helper()
	switch a.setup.backend {
	case artifact.Filesystem:
		a.must(os.WriteFile(filepath.Join(a.artifactRoot(), hash[:2], hash), damaged, 0o600))
	case artifact.S3:
		_, err := a.bucket.memory.PutObject("artifacts", "tracker/"+hash[:2]+"/"+hash, map[string]string{}, bytes.NewReader(damaged), int64(len(damaged)), nil)
		a.must(err)
	default:
		file, err := openForWriting(a.file)
		a.must(err)
		defer file.Close()
		const piece = 256 << 10
		for part := 0; part*piece < len(damaged); part++ {
			_, err := file.Exec(`UPDATE blob_piece SET data = ? WHERE part = ? AND inline_id = (SELECT id FROM blob_inline WHERE hash = ?)`,
				damaged[part*piece:min(len(damaged), (part+1)*piece)], part, hash)
			a.must(err)
		}
	}
}
