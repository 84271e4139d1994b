package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracker/store/artifact"
)

func TestArtifactRoundTrip(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		w := a.world()
		for _, n := range []int{0, 1, 262_144, 262_145, 6 << 20} {
			content := bytesOf(uint64(n), n)
			id := a.put(w["experiment"], "checkpoints/epoch.pt", content, part("description", "d"), part("iteration_id", w["iteration"]),
				part("content_type", "application/x-torch"))
			hash := hashOf(content)
			uri := map[artifact.Backend]string{artifact.Filesystem: hash[:2] + "/" + hash,
				artifact.S3: "s3://artifacts/tracker/" + hash[:2] + "/" + hash}[a.setup.backend]
			a.get("/resource/" + id).is(fmt.Sprintf(`{"id":%q,"experiment_id":%q,"iteration_id":%q,"name":"checkpoints/epoch.pt","description":"d",
				"backend":%q,"uri":%q,"size_bytes":%d,"content_hash":%q,"content_type":"application/x-torch","created_by":"default","created_key":null,"created_date":%q,"updated_date":%q}`,
				id, w["experiment"], w["iteration"], a.setup.backend, uri, n, hash, nowText, nowText))
			a.wantData(id, content)
			a.do("DELETE", "/resource/"+id, "").wants(204)
			a.get("/resource/"+id).fails(404, "NOT_FOUND", "")
			a.get("/resource/"+id+"/data").fails(404, "NOT_FOUND", "")
			a.do("DELETE", "/resource/"+id, "").fails(404, "NOT_FOUND", "")
		}
		a.emptyTrash()
		a.wantKept(1) // the artifact of the world
	})
}

func TestArtifactPartsInAnyOrder(t *testing.T) {
	a := start(t)
	w := a.world()
	parts := []string{part("data", "bytes"), part("name", "n"), part("description", "d"), part("content_type", "text/csv"), part("iteration_id", w["iteration"])}
	for i := range parts {
		rotated := append(append([]string{}, parts[i:]...), parts[:i]...)
		id := a.do("POST", "/resource/experiment/"+w["experiment"], multi(rotated...), asForm).id()
		a.get("/resource/" + id).has(`{"name":"n","description":"d","content_type":"text/csv","iteration_id":"` + w["iteration"] + `","size_bytes":5}`)
	}
}

func TestArtifactNameAndTypeOfTheFile(t *testing.T) {
	a := start(t)
	path := "/resource/experiment/" + a.world()["experiment"]
	for _, tt := range []struct{ body, want string }{
		{strings.TrimSuffix(multi(file("model.bin", "x")), "\r\n"), `{"name":"model.bin"}`},
		{multi(file("model.bin", "x")), `{"name":"model.bin","content_type":"application/octet-stream"}`},
		{multi(file("a/b/model.bin", "x")), `{"name":"model.bin"}`},
		{multi(file(`C:\\b\\model.bin`, "x")), `{"name":"model.bin"}`},
		{multi(file("größe.txt", "x", "Content-Type: text/plain; charset=utf-8")), `{"name":"größe.txt","content_type":"text/plain; charset=utf-8"}`},
		{multi(file("model.bin", "x"), part("name", "images/1.png")), `{"name":"images/1.png"}`},
		{multi(file("f", "x", "Content-Type: text/plain"), part("content_type", "image/png")), `{"content_type":"image/png"}`},
		{multi(part("data", "x"), part("name", "n"), part("iteration_id", "")), `{"iteration_id":null}`},
	} {
		id := a.do("POST", path, tt.body, asForm, loose).id()
		a.get("/resource/" + id).has(tt.want)
	}
}

func TestArtifactListing(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	i := a.iteration(e)
	first, second, third := a.put(e, "Model.bin", "1"), a.put(e, "images/1.png", "2", part("iteration_id", i)), a.put(e, "model.txt", "1")
	ids := func(query string, want ...string) {
		t.Helper()
		if got := a.get("/resource/experiment/" + e + query).ids(); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	ids("", first, second, third)
	ids("?limit=1&offset=1", second)
	ids("?name=MODEL", first, third)
	ids("?name=%25")
	ids("?iteration_id="+i, second)
	ids("?iteration_id=" + nobody)
	a.get("/resource/experiment/" + e + "?limit=1").has(`{"total":3,"limit":1,"offset":0}`)
}

func TestArtifactUpdate(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		w := a.world()
		id := a.put(w["experiment"], "a", "one", part("description", "d"), part("iteration_id", w["iteration"]))
		path := "/resource/" + id
		patch := func(parts ...string) { t.Helper(); a.do("PATCH", path, multi(parts...), asForm).wants(204) }
		a.clock.move(time.Hour)
		before := a.get(path).body
		a.unchanged(func() { patch() })
		patch(part("name", "a"), part("description", "d"), part("data", "one"))
		a.get(path).is(before) // the same request again changes nothing
		patch(part("description", ""))
		a.get(path).has(`{"name":"a","description":"","iteration_id":"` + w["iteration"] + `","updated_date":"2026-11-21T10:30:00.123Z","created_date":"` + nowText + `"}`)
		patch(part("iteration_id", ""), part("content_type", "text/plain"), part("name", "b"))
		a.get(path).has(`{"name":"b","iteration_id":null,"content_type":"text/plain"}`)
		patch(part("data", "two", "Content-Digest: "+digestOf("two")))
		a.get(path).has(`{"name":"b","content_type":"text/plain","size_bytes":3,"content_hash":"` + hashOf("two") + `"}`)
		a.wantData(id, "two")
		a.wantKept(2) // the replaced bytes are deleted
		a.do("PATCH", "/experiment/"+w["experiment"], `{"status":"FINISHED"}`).wants(204)
		a.do("PATCH", path, multi(part("data", "three")), asForm).fails(422, "EXPERIMENT_NOT_IN_PROGRESS", "")
		patch(part("description", "the final one"))
		a.wantData(id, "two")
		a.wantKept(2)
	})
}

// Identical bytes are stored once and deleted together with the last artifact that has them.
func TestSameBytesAreKeptOnce(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		one, two := a.put(e, "a", "same"), a.put(e, "b", "same")
		a.wantKept(1)
		a.do("DELETE", "/resource/"+one, "").wants(204)
		a.emptyTrash()
		a.wantData(two, "same")
		a.do("PATCH", "/resource/"+two, multi(part("data", "other")), asForm).wants(204)
		a.wantData(two, "other")
		a.wantKept(1)
		a.do("DELETE", "/resource/"+two, "").wants(204)
		a.wantKept(1)
		a.emptyTrash()
		a.wantKept(0)
	})
}

func TestBytesGoWithWhatHoldsThem(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		for _, path := range []string{"/iteration/$iteration", "/experiment/$experiment", "/project/$project"} {
			w := a.world()
			other := a.put(a.experiment(w["other"]), "kept", "shared")
			a.do("DELETE", "/resource/"+w["resource"], "").wants(204)
			a.put(w["experiment"], "a", "alone", part("iteration_id", w["iteration"]))
			a.put(w["experiment"], "b", "shared", part("iteration_id", w["iteration"]))
			a.do("DELETE", w.expand(path), "").wants(204)
			a.wantKept(3)
			a.emptyTrash()
			a.wantKept(1)
			a.wantData(other, "shared")
			a.do("DELETE", "/resource/"+other, "").wants(204)
			a.emptyTrash()
			a.wantKept(0)
		}
	})
}

// Each row records its backend, so a change of the default backend does not affect stored
// artifacts.
func TestBackendsOfRowsAreRemembered(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	var ids []string
	for i, b := range []artifact.Backend{artifact.Inline, artifact.Filesystem, artifact.S3} {
		a.instance.setup.backend = b
		a.reopen()
		ids = append(ids, a.put(e, string(b), "the same bytes"), a.put(e, string(b), fmt.Sprint(i)))
		for j, id := range ids {
			a.get("/resource/" + id).has(`{"backend":"` + []string{"inline", "filesystem", "s3"}[j/2] + `"}`)
			a.wantData(id, map[bool]string{true: "the same bytes", false: fmt.Sprint(j / 2)}[j%2 == 0])
		}
	}
	a.wantKept(6)
	for _, id := range ids {
		a.do("DELETE", "/resource/"+id, "").wants(204)
	}
	a.wantKept(6)
	a.emptyTrash()
	a.wantKept(0)
}

// Nothing is lost while an object store is down or denies access: a record whose bytes can't be
// deleted stays, and the error suggests a remedy.
func TestObjectStoreThatFails(t *testing.T) {
	for _, noTrash := range []bool{true, false} {
		t.Run(fmt.Sprint("without a trash: ", noTrash), func(t *testing.T) { testObjectStoreThatFails(t, noTrash) })
	}
}

func testObjectStoreThatFails(t *testing.T, noTrash bool) {
	a := startWith(t, setup{backend: artifact.S3, noTrash: noTrash})
	e := a.experiment(a.project(a.root))
	id := a.put(e, "a", "bytes")
	removed := "/resource/" + id
	if !noTrash {
		trashed := a.put(e, "b", "bytes, too")
		a.do("DELETE", "/resource/"+trashed, "").wants(204)
		removed = "/trash/" + trashed
	}
	kept := a.kept()
	for _, tt := range []struct {
		status int
		code   string
		says   string
	}{{503, "SlowDown", "try again"}, {403, "AccessDenied", "administrator"}} {
		end := a.bucket.refusing(tt.status, tt.code)
		for _, got := range []answer{
			a.do("POST", "/resource/experiment/"+e, multi(part("name", "n"), part("data", "new")), asForm),
			a.do("PATCH", "/resource/"+id, multi(part("data", "new")), asForm),
			a.get("/resource/" + id + "/data"),
			a.do("DELETE", removed, ""),
		} {
			got.fails(503, "UNAVAILABLE", "")
			if !strings.Contains(got.body, tt.says) || strings.Contains(got.body, tt.code) {
				t.Errorf("%s: %s", got.what, got.body)
			}
		}
		if !strings.Contains(a.log.String(), "denies access to the bucket") && tt.status == 403 {
			t.Errorf("the log does not say why:\n%s", a.log)
		}
		end()
		a.wantData(id, "bytes")
		a.wantKept(kept)
	}
	a.do("DELETE", removed, "").wants(204)
	a.wantKept(kept - 1)
}

// If stored bytes are missing, the download fails or is cut off. It never looks complete, whether
// the bytes are missing before the download starts or disappear during it.
func TestDownloadThatBreaksOff(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		content := strings.Repeat("0123456789abcdef", 1_000_000) // more than the buffers of the connection hold
		for _, whileReading := range []bool{false, true} {
			for _, want := range []string{"", "bytes=100-15900000"} {
				id := a.artifact(e, "a", content)
				res := a.download(id, want, func() {
					if !whileReading {
						a.cutShort()
					}
				})
				if whileReading && res.StatusCode >= 300 {
					t.Fatalf("%d", res.StatusCode)
				}
				if whileReading {
					a.cutShort()
				}
				if got, err := readAnswer(res); err == nil && res.StatusCode < 300 {
					t.Errorf("range %q, while it is read %v: %d bytes are taken for the whole", want, whileReading, len(got))
				}
				res.Body.Close()
				a.mend()
				a.do("DELETE", "/resource/"+id, "").wants(204)
				a.collect()
			}
		}
		says := map[artifact.Backend]string{artifact.Inline: "piece 58", artifact.Filesystem: "15000000 bytes instead of 16000000", artifact.S3: "object store"}
		if !strings.Contains(a.log.String(), says[a.setup.backend]) {
			t.Errorf("the log does not say what is wrong:\n%s", a.log)
		}
	})
}

// download calls before, starts a download and returns the response.
func (a api) download(id, bytes string, before func()) *http.Response {
	a.t.Helper()
	before()
	r, err := http.NewRequestWithContext(a.t.Context(), "GET", a.server.URL+"/resource/"+id+"/data", nil)
	a.must(err)
	r.Header.Set("Authorization", "Bearer "+a.root.token)
	if bytes != "" {
		r.Header.Set("Range", bytes)
	}
	res, err := a.server.Client().Do(r)
	a.must(err)
	return res
}

// cutShort truncates all stored objects, in any backend.
func (a api) cutShort() {
	a.t.Helper()
	switch a.setup.backend {
	case artifact.Filesystem:
		files, err := filepath.Glob(filepath.Join(a.artifactRoot(), "??", "*"))
		a.must(err)
		for _, f := range files {
			a.must(os.Truncate(f, 15_000_000))
		}
	case artifact.S3:
		a.bucket.cut(15_000_000)
	default:
		file, err := openForWriting(a.file)
		a.must(err)
		defer file.Close()
		_, err = file.Exec(`DELETE FROM blob_piece WHERE part > 57`)
		a.must(err)
	}
}

// mend makes the object store work again. Bytes removed from other backends stay removed.
func (a api) mend() { a.bucket.fault.Store(nil) }
