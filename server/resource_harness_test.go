package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
)

// backends returns the configuration of all backends, with this server's default.
func (a api) backends() artifact.Backends {
	return artifact.Backends{Default: a.setup.backend, Open: map[artifact.Backend]func() (blob.Store, error){
		artifact.Filesystem: func() (blob.Store, error) { return blob.NewFilesystem(a.artifactRoot()) },
		artifact.S3:         a.bucket.open,
	}}
}

// artifactRoot returns the folder of the filesystem backend.
func (a api) artifactRoot() string { return filepath.Join(filepath.Dir(a.file), "artifacts") }

// everyBackend runs a test for each backend on a server whose default is this backend.
func everyBackend(t *testing.T, test func(t *testing.T, a api)) {
	for _, b := range []artifact.Backend{artifact.Inline, artifact.Filesystem, artifact.S3} {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			test(t, startWith(t, setup{backend: b}))
		})
	}
}

// kept returns the number of objects in the backends, including staged ones.
func (a api) kept() int {
	a.t.Helper()
	n := 0
	a.must(a.watcher.QueryRow(`SELECT count(*) FROM blob_inline`).Scan(&n))
	err := filepath.WalkDir(a.artifactRoot(), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
	return n + a.bucket.objects(a.t)
}

// wantKept waits for background work to finish and checks that the backends hold n objects, without
// the contents of sample versions.
func (a api) wantKept(n int) {
	a.t.Helper()
	a.collect()
	if got := a.kept() - a.sampleContents; got != n {
		a.t.Errorf("the backend has %d contents, want %d", got, n)
	}
}

// collect finishes the background work that a deletion starts.
func (a api) collect() {
	a.t.Helper()
	_, err := a.db.Collect(a.t.Context())
	a.must(err)
}

// bytesOf returns n bytes that look random. The same seed gives the same
// bytes.
func bytesOf(seed uint64, n int) string {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	p := make([]byte, n)
	rand.NewChaCha8(key).Read(p)
	return string(p)
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf("%x", sum)
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

const boundary = "--the-tests-own--"

// part returns one part of a multipart body; header lines may follow its
// name.
func part(name, value string, headers ...string) string {
	return fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=%q%s\r\n\r\n%s\r\n",
		boundary, name, strings.Join(append([]string{""}, headers...), "\r\n"), value)
}

// file returns the data part with a file name.
func file(name, content string, headers ...string) string {
	return strings.Replace(part("data", content, headers...), `"data"`, fmt.Sprintf(`"data"; filename="%s"`, name), 1)
}

// multi returns a multipart body with these parts.
func multi(parts ...string) string { return strings.Join(parts, "") + "--" + boundary + "--\r\n" }

// asForm sets the Content-Type of a body that multi returned.
var asForm = header("Content-Type", "multipart/form-data; boundary="+boundary)

// put uploads an artifact and returns its id.
func (a api) put(experiment, name, content string, more ...string) string {
	a.t.Helper()
	body := multi(append([]string{part("name", name), part("data", content)}, more...)...)
	return a.do("POST", "/resource/experiment/"+experiment, body, asForm).id()
}

// wantData checks that an artifact has these bytes.
func (a api) wantData(id, content string) {
	a.t.Helper()
	got := a.get("/resource/" + id + "/data").wants(200)
	if got.body != content {
		a.t.Errorf("the artifact has %d bytes that begin with %.20q, want %d with %.20q", len(got.body), got.body, len(content), content)
	}
	if got.header.Get("ETag") != `"`+hashOf(content)+`"` {
		a.t.Errorf("the ETag is %s", got.header.Get("ETag"))
	}
}

// artifact creates an artifact in the store, without the API.
func (a api) artifact(experiment, name, content string) string {
	a.t.Helper()
	b, err := a.db.Files.Receive(a.t.Context(), strings.NewReader(content), "")
	a.must(err)
	defer b.Discard()
	created, err := a.db.Files.CreateArtifact(a.t.Context(), domain.System, experiment, files.NewArtifact{Name: name}, b)
	a.must(err)
	return created.ID
}

// artifactVersion creates a version with one file, and a file in the folder more of the iteration.
func (a api) artifactVersion(experiment, iteration, name string) string {
	a.t.Helper()
	for _, path := range []string{"data/rows.csv", "more/rows.csv"} {
		b, err := a.db.Files.Receive(a.t.Context(), strings.NewReader(path), "")
		a.must(err)
		defer b.Discard()
		_, err = a.db.Files.CreateArtifact(a.t.Context(), domain.System, experiment, files.NewArtifact{Name: path, IterationID: iteration}, b)
		a.must(err)
	}
	a.sampleContents = 2
	created, err := a.db.Collections.LogVersion(a.t.Context(), domain.System,
		collections.NewVersion{IterationID: iteration, Collection: name, Type: "dataset"}, "data")
	a.must(err)
	return created.ID
}

// unfinished starts an upload in the store, without the API.
func (a api) unfinished(experiment, name string, size int64) string {
	a.t.Helper()
	u, err := a.db.Files.CreateUpload(a.t.Context(), domain.System, experiment,
		files.NewUpload{NewArtifact: files.NewArtifact{Name: name}, Size: size})
	a.must(err)
	return u.ID
}

// tus sets the header that every request of the tus protocol must have.
var tus = header("Tus-Resumable", "1.0.0")

// uploadOf returns the headers that announce an artifact of size bytes.
func uploadOf(name string, size int) []opt {
	return []opt{tus, header("Upload-Length", fmt.Sprint(size)), metadata("name", name)}
}

// metadata returns the header with these keys and values.
func metadata(pairs ...string) opt {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, pairs[i]+" "+base64.StdEncoding.EncodeToString([]byte(pairs[i+1])))
	}
	return header("Upload-Metadata", strings.Join(all, ","))
}

// partAt sets the headers of a part of an upload that starts at offset.
func partAt(offset int) []opt {
	return []opt{tus, header("Upload-Offset", fmt.Sprint(offset)), header("Content-Type", "application/offset+octet-stream")}
}
