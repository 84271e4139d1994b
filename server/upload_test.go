package server_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// begin announces an artifact and returns the path of its upload.
func (a api) begin(experiment string, size int, pairs ...string) string {
	a.t.Helper()
	got := a.do("POST", "/resource/experiment/"+experiment+"/upload", "", tus,
		header("Upload-Length", fmt.Sprint(size)), metadata(append([]string{"name", "large.bin"}, pairs...)...)).wants(201)
	return got.header.Get("Location")
}

// add adds a part to an upload.
func (a api) add(path string, offset int, content string, more ...opt) answer {
	a.t.Helper()
	return a.do("PATCH", path, content, append(partAt(offset), more...)...)
}

// wantOffset checks the number of bytes that an upload has received.
func (a api) wantOffset(path string, want int) {
	a.t.Helper()
	got := a.do("HEAD", path, "", tus).wants(200)
	if got.header.Get("Upload-Offset") != fmt.Sprint(want) || got.header.Get("Cache-Control") != "no-store" {
		a.t.Errorf("HEAD %s: %v, want the offset %d", path, got.header, want)
	}
}

func (a api) uploadFiles() []string {
	a.t.Helper()
	files, err := filepath.Glob(a.file + ".uploads/*")
	a.must(err)
	return files
}

func TestResumableUpload(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		w := a.world()
		content := bytesOf(9, 3<<20)
		path := a.begin(w["experiment"], len(content), "description", "d", "iteration_id", w["iteration"],
			"content_type", "text/plain", "sha256", hashOf(content))
		a.wantOffset(path, 0)
		if got := a.add(path, 0, content[:1000]).wants(204); got.header.Get("Upload-Offset") != "1000" || got.header.Get("Upload-Expires") != "Sun, 22 Nov 2026 09:30:00 GMT" {
			t.Errorf("%v", got.header)
		}
		a.reopen() // the received bytes are kept
		a.wantOffset(path, 1000)
		a.add(path, 0, content[:10]).fails(409, "CONFLICT", "Upload-Offset")
		a.add(path, 1001, content[1001:]).fails(409, "CONFLICT", "Upload-Offset")
		a.add(path, 1000, "", loose).wants(204)
		a.add(path, 1000, content[1000:2_000_000]).wants(204)
		a.get(path).has(`{"name":"large.bin","offset":2000000,"size_bytes":3145728,"resource_id":null}`)
		a.get("/resource/experiment/" + w["experiment"]).has(`{"total":4}`) // the artifacts of the world, and no new one
		got := a.add(path, 2_000_000, content[2_000_000:]).wants(204)
		id := got.header.Get("Resource-Id")
		if got.header.Get("Location") != "/resource/"+id || got.header.Get("Upload-Offset") != fmt.Sprint(len(content)) {
			t.Errorf("%v", got.header)
		}
		a.wantData(id, content)
		a.get("/resource/" + id).has(`{"name":"large.bin","description":"d","iteration_id":"` + w["iteration"] + `","content_type":"text/plain"}`)
		// A client that missed the last response can still ask for the offset.
		a.wantOffset(path, len(content))
		a.get(path).has(`{"resource_id":"` + id + `"}`)
		if again := a.add(path, len(content), "", loose).wants(204); again.header.Get("Resource-Id") != id {
			t.Errorf("%v", again.header)
		}
		if files := a.uploadFiles(); len(files) > 0 {
			t.Errorf("%v are left", files)
		}
		a.do("DELETE", path, "", tus).wants(204)
		a.wantData(id, content)
		a.wantKept(2)
	})
}

func TestUploadWithoutBytes(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	got := a.do("POST", "/resource/experiment/"+e+"/upload", "", uploadOf("empty", 0)...).wants(201)
	a.wantData(got.header.Get("Resource-Id"), "")
	a.wantOffset(got.header.Get("Location"), 0)
}

func TestUploadCapabilities(t *testing.T) {
	a := start(t)
	got := a.do("OPTIONS", "/resource/experiment/"+a.world()["experiment"]+"/upload", "").wants(204)
	for name, want := range map[string]string{"Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Max-Size": "",
		"Tus-Extension": "creation,termination,checksum,expiration", "Tus-Checksum-Algorithm": "sha1,sha256"} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q", name, got.header.Get(name))
		}
	}
}

func TestUploadChecksum(t *testing.T) {
	a := start(t)
	path := a.begin(a.experiment(a.project(a.root)), 10)
	sum := sha1.Sum([]byte("01234"))
	right := header("Upload-Checksum", "sha1 "+base64.StdEncoding.EncodeToString(sum[:]))
	a.add(path, 0, "01235", right).fails(460, "CHECKSUM_MISMATCH", "Upload-Checksum")
	a.wantOffset(path, 0)
	a.add(path, 0, "01234", right).wants(204)
	a.wantOffset(path, 5)
	for _, bad := range []string{"md5 AAAA", "sha1", "sha1 AAAA", "sha256 x", "nonsense"} {
		a.add(path, 5, "56789", header("Upload-Checksum", bad)).fails(400, "MALFORMED_BODY", "Upload-Checksum")
	}
	a.wantOffset(path, 5)
	// The checksum is also checked for the last part: an artifact is not
	// created.
	a.add(path, 5, "56780", right).fails(460, "CHECKSUM_MISMATCH", "Upload-Checksum")
	a.wantData(a.add(path, 5, "56789").wants(204).header.Get("Resource-Id"), "0123456789")
}

// Bytes whose hash differs from the announced one do not become an artifact.
func TestUploadOfOtherBytes(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	path := a.begin(e, 5, "sha256", hashOf("01234"))
	a.add(path, 0, "01235").fails(422, "INVALID_PAYLOAD", "data")
	a.do("HEAD", path, "", tus).wants(404)
	a.get("/resource/experiment/" + e).has(`{"total":0}`)
	a.wantKept(0)
}

func TestUploadEnds(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	given, expired, kept := a.begin(e, 5), a.begin(e, 5), a.begin(e, 5)
	for _, path := range []string{given, expired, kept} {
		a.add(path, 0, "01").wants(204)
	}
	a.do("DELETE", given, "", tus).wants(204)
	a.clock.move(23 * time.Hour)
	a.add(kept, 2, "2").wants(204)
	a.clock.move(time.Hour)
	for _, path := range []string{given, expired} {
		a.do("HEAD", path, "", tus).wants(404)
		a.add(path, 2, "234").fails(404, "NOT_FOUND", "")
		a.do("DELETE", path, "", tus).fails(404, "NOT_FOUND", "")
	}
	// The modification times of files come from the system clock, not from the test's clock.
	for _, f := range a.uploadFiles() {
		if !strings.HasSuffix(f, filepath.Base(kept)) {
			a.must(os.Chtimes(f, time.Time{}, a.clock.now().Add(-25*time.Hour)))
		}
	}
	a.collect()
	if files := a.uploadFiles(); len(files) != 1 || !strings.HasSuffix(files[0], filepath.Base(kept)) {
		t.Errorf("%v are left", files)
	}
	a.wantOffset(kept, 3)
	// Deleting the experiment also ends the upload.
	a.do("DELETE", "/experiment/"+e, "").wants(204)
	a.add(kept, 3, "34").fails(404, "NOT_FOUND", "")
}

func TestBadUploads(t *testing.T) {
	s := newSite(t)
	path := "/resource/experiment/" + s.experiment + "/upload"
	s.unchanged("bad uploads", func() {
		for _, v := range []string{"", "0.9.9", "1", "1.0.0, 0.2.2"} {
			got := s.do("POST", path, "", append(uploadOf("n", 5), header("Tus-Resumable", v))...).fails(412, "UNSUPPORTED_VERSION", "Tus-Resumable")
			if got.header.Get("Tus-Version") != "1.0.0" {
				t.Errorf("%v", got.header)
			}
		}
		for _, v := range []string{"", "-1", "1.5", "x", "+1", " ", "99999999999999999999", "0x10"} {
			s.do("POST", path, "", append(uploadOf("n", 5), header("Upload-Length", v))...).fails(422, "INVALID_PAYLOAD", "Upload-Length")
		}
		for _, v := range []string{"name", "name !!!", "nonsense YQ==", "name YQ==,name YQ==", "name YQ==,filename YQ==", "name YQ==,,", ",", "Name YQ==", "name  YQ=="} {
			want := "Upload-Metadata"
			if v == "name" {
				want = "name" // the name is empty
			}
			s.do("POST", path, "", tus, header("Upload-Length", "5"), header("Upload-Metadata", v)).fails(422, "INVALID_PAYLOAD", want)
		}
		for _, name := range badArtifactNames {
			s.do("POST", path, "", tus, header("Upload-Length", "5"), metadata("name", name)).fails(422, "INVALID_PAYLOAD", "name")
		}
		s.do("POST", path, "", tus, header("Upload-Length", "5"), header("Upload-Metadata", "")).fails(422, "INVALID_PAYLOAD", "name")
		for key, v := range map[string]string{"iteration_id": nobody, "content_type": "banana", "sha256": "x", "description": "\xff"} {
			s.do("POST", path, "", tus, header("Upload-Length", "5"), metadata("name", "n", key, v)).fails(422, "INVALID_PAYLOAD", key)
		}
		s.do("POST", path, "", tus, header("Upload-Length", "5"), metadata("name", "n", "sha256", strings.ToUpper(hashOf("x")))).fails(422, "INVALID_PAYLOAD", "sha256")
		up := "/upload/" + s.upload
		s.do("PATCH", up, "x", append(partAt(0), header("Content-Type", "application/octet-stream"))...).fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
		for _, v := range []string{"", "-1", "x", "1.0"} {
			s.do("PATCH", up, "x", append(partAt(0), header("Upload-Offset", v))...).fails(422, "INVALID_PAYLOAD", "Upload-Offset")
		}
		s.do("PATCH", up, "more than seven", partAt(0)...).fails(422, "INVALID_PAYLOAD", "Upload-Length")
		s.do("PATCH", up, "weights", append(partAt(0), as(s.eve))...).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
		s.do("DELETE", up, "", tus, as(s.eve)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	})
	s.do("PATCH", "/experiment/"+s.experiment, `{"status":"STOPPED"}`).wants(204)
	s.refused("PATCH", "/upload/"+s.upload, "weights", 422, "EXPERIMENT_NOT_IN_PROGRESS", "", partAt(0)...)
}

// A client whose connection broke can reconnect before the server notices. This interrupts the
// earlier request, and no received bytes are lost.
func TestUploadIsTakenOver(t *testing.T) {
	a := start(t)
	content := bytesOf(4, 100_000)
	path := a.begin(a.experiment(a.project(a.root)), len(content))
	conn, err := net.Dial("tcp", a.server.Listener.Addr().String())
	a.must(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer %s\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"+
		"Content-Type: application/offset+octet-stream\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, a.root.token, len(content))
	a.must(err)
	answers := bufio.NewReader(conn)
	res, err := http.ReadResponse(answers, nil)
	a.must(err)
	if res.StatusCode != http.StatusContinue { // the server is reading
		t.Fatalf("answered with %d", res.StatusCode)
	}
	_, err = conn.Write([]byte(content[:60_000]))
	a.must(err)
	got := a.do("HEAD", path, "", tus).wants(200)
	var offset int
	if _, err := fmt.Sscan(got.header.Get("Upload-Offset"), &offset); err != nil || offset > 60_000 {
		t.Fatalf("%v", got.header)
	}
	if res, err := http.ReadResponse(answers, nil); err == nil && res.StatusCode < 400 {
		t.Errorf("the former request is answered with %d", res.StatusCode)
	}
	a.wantData(a.add(path, offset, content[offset:]).wants(204).header.Get("Resource-Id"), content)
}
