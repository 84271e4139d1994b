package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tracker/store/artifact"
	"tracker/store/domain"
)

// badArtifactNames are rejected by every route that accepts an artifact name.
var badArtifactNames = []string{"", " ", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a", "a/.", "a/./b", `a\b`, `..\a`,
	"a\x00b", "a\nb", "a\x1bb", "a\u202eb", "a\u2066b", "a\u200fb", "a\u200eb", "a\u061cb", "a\ufeff", "a\xff", strings.Repeat("x", 251), strings.Repeat("x", 10_000)}

func TestBadArtifactFields(t *testing.T) {
	s := newSite(t)
	create, update := "/resource/experiment/"+s.experiment, "/resource/"+s.resource
	bad := map[string][]string{
		"name":         badArtifactNames,
		"description":  {"\xff", strings.Repeat("x", domain.MaxText+1)},
		"content_type": {"", "banana", "image", "/", "image/", "/png", "image/png/x", "image /png", "a/b;", "text/plain; charset", "a/b\r\nX: y", "é/b", "a/" + strings.Repeat("b", 300)},
		"iteration_id": {nobody, "x", s.api.iteration(s.api.experiment(s.project)), strings.ToUpper(s.iteration)},
	}
	for field, values := range bad {
		for _, v := range values {
			if v == "a/b;" {
				continue // a valid media type without parameters
			}
			for _, data := range []string{part("data", "bytes") + part(field, v), part(field, v) + part("data", "bytes")} {
				body := multi(data)
				if field != "name" {
					body = multi(part("name", "n"), data)
				}
				s.do("POST", create, body, asForm).fails(422, "INVALID_PAYLOAD", field)
				s.do("PATCH", update, multi(data), asForm).fails(422, "INVALID_PAYLOAD", field)
			}
		}
	}
	s.get(create).has(`{"total":1}`)
	s.wantData(s.resource, "the weights")
	s.wantKept(1)
}

func TestBadForms(t *testing.T) {
	s := newSite(t)
	create, update := "/resource/experiment/"+s.experiment, "/resource/"+s.resource
	name, data := part("name", "n"), part("data", "bytes")
	plain := func(headers string) string { return "--" + boundary + "\r\n" + headers + "\r\n\r\nx\r\n" }
	for _, tt := range []struct {
		what, body string
		status     int
		code       string
		field      string
		create     bool // only a create rejects this body
	}{
		{"no data", multi(name), 422, "INVALID_PAYLOAD", "data", true},
		{"nothing", multi(), 422, "INVALID_PAYLOAD", "data", true},
		{"no name", multi(data), 422, "INVALID_PAYLOAD", "name", true},
		{"empty file name", multi(file("", "x")), 422, "INVALID_PAYLOAD", "name", true},
		{"file name of dots", multi(file("..", "x")), 422, "INVALID_PAYLOAD", "name", true},
		{"data twice", multi(name, data, data), 422, "INVALID_PAYLOAD", "data", false},
		{"name twice", multi(name, data, name), 422, "INVALID_PAYLOAD", "name", false},
		{"unknown part", multi(name, part("nonsense", "x"), data), 422, "INVALID_PAYLOAD", "nonsense", false},
		{"unknown part at the end", multi(name, data, part("Data", "x")), 422, "INVALID_PAYLOAD", "Data", false},
		{"part without a name", multi(name, data, plain("Content-Disposition: form-data")), 422, "INVALID_PAYLOAD", "Content-Disposition", false},
		{"part with an empty name", multi(name, data, part("", "x")), 422, "INVALID_PAYLOAD", "Content-Disposition", false},
		{"part without a disposition", multi(name, data, plain("X-Y: z")), 422, "INVALID_PAYLOAD", "Content-Disposition", false},
		{"attachment", multi(name, data, plain(`Content-Disposition: attachment; name="description"`)), 422, "INVALID_PAYLOAD", "Content-Disposition", false},
		{"transfer encoding", multi(name, part("data", "eA==", "Content-Transfer-Encoding: base64")), 422, "INVALID_PAYLOAD", "data", false},
		{"wrong digest", multi(name, part("data", "x", "Content-Digest: "+digestOf("y"))), 422, "INVALID_PAYLOAD", "data", false},
		{"digest without colons", multi(name, part("data", "x", "Content-Digest: "+strings.ReplaceAll(digestOf("x"), ":", ""))), 422, "INVALID_PAYLOAD", "Content-Digest", false},
		{"digest of another kind", multi(name, part("data", "x", "Content-Digest: md5=:AAAA:")), 422, "INVALID_PAYLOAD", "Content-Digest", false},
		{"empty digest", multi(name, part("data", "x", "Content-Digest: ")), 422, "INVALID_PAYLOAD", "Content-Digest", false},
		{"cut off in the data", strings.TrimSuffix(multi(name, data), "\r\n--"+boundary+"--\r\n"), 400, "MALFORMED_BODY", "", false},
		{"cut off in a head", multi(name, data)[:120], 400, "MALFORMED_BODY", "", false},
		{"another boundary", strings.ReplaceAll(multi(name, data), boundary, "x"), 400, "MALFORMED_BODY", "", false},
		{"no form at all", "just bytes", 400, "MALFORMED_BODY", "", false},
		{"empty body", "", 400, "MALFORMED_BODY", "", false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := s.on(t)
			s.do("POST", create, tt.body, asForm).fails(tt.status, tt.code, tt.field)
			if !tt.create {
				s.do("PATCH", update, tt.body, asForm).fails(tt.status, tt.code, tt.field)
			}
		})
	}
	for _, ct := range []string{"", "application/json", "multipart/mixed; boundary=x", "text/plain", "nonsense;"} {
		s.do("POST", create, multi(name, data), header("Content-Type", ct)).fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
	}
	s.do("POST", create, multi(name, data), header("Content-Type", "multipart/form-data")).fails(400, "MALFORMED_BODY", "")
	s.do("POST", create, multi(name, data), asForm, header("Content-Encoding", "gzip")).fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
	s.do("POST", create, multi(name, data), asForm, header("Content-Digest", digestOf("other"))).fails(422, "INVALID_PAYLOAD", "Content-Digest")
	s.get(create).has(`{"total":1}`)
	s.wantData(s.resource, "the weights")
	s.wantKept(1)
	body := multi(name, data)
	s.do("POST", create, body, asForm, header("Content-Digest", "sha-512=:AAAA:, "+digestOf(body))).wants(201)
}

func TestUploadToWhatTakesNone(t *testing.T) {
	s := newSite(t)
	body := multi(part("name", "n"), part("data", "bytes"))
	for _, status := range []string{"STOPPED", "FINISHED"} {
		s.do("PATCH", "/experiment/"+s.stopped, `{"status":"`+status+`"}`).wants(204)
		s.refused("POST", "/resource/experiment/"+s.stopped, body, 422, "EXPERIMENT_NOT_IN_PROGRESS", "", asForm)
		s.refused("POST", "/resource/experiment/"+s.stopped, "nonsense", 422, "EXPERIMENT_NOT_IN_PROGRESS", "", asForm)
		s.refused("POST", "/resource/experiment/"+s.stopped+"/upload", "", 422, "EXPERIMENT_NOT_IN_PROGRESS", "", uploadOf("n", 5)...)
	}
	s.refused("POST", "/resource/experiment/"+s.experiment, body, 403, "PROJECT_PERMISSION_REQUIRED", "", asForm, as(s.eve))
	s.wantKept(1)
}

// The rules are checked again after all bytes have arrived.
func TestExperimentThatEndsDuringAnUpload(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		src, send := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), "POST", a.server.URL+"/resource/experiment/"+e, src)
		a.must(err)
		asForm(&request{Request: r})
		as(a.root)(&request{Request: r})
		// The client sends the body only after the server has started to read it, that is, has
		// allowed the upload.
		r.Header.Set("Expect", "100-continue")
		transport := &http.Transport{ExpectContinueTimeout: 10 * time.Minute}
		defer transport.CloseIdleConnections()
		status := make(chan int)
		go func() {
			res, err := (&http.Client{Transport: transport}).Do(r)
			if err != nil {
				t.Error(err)
				status <- 0
				return
			}
			res.Body.Close()
			status <- res.StatusCode
		}()
		whole := multi(part("name", "n"), part("data", bytesOf(1, 300_000)))
		_, err = io.WriteString(send, whole[:200_000]) // returns after the server has read this part
		a.must(err)
		a.do("PATCH", "/experiment/"+e, `{"status":"FINISHED"}`).wants(204)
		if _, err = io.WriteString(send, whole[200_000:]); !errors.Is(err, io.ErrClosedPipe) { // the server may reject it before its end
			a.must(err)
		}
		send.Close()
		if got := <-status; got != 422 {
			t.Errorf("answered with %d", got)
		}
		a.wantKept(0)
	})
}

// A broken connection, or a body shorter than its declared length, leaves nothing behind.
func TestUploadThatBreaksOff(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		whole := multi(part("name", "n"), part("data", bytesOf(1, 700_000)))
		for _, sent := range []int{0, 50, 400, 300_000, len(whole) - 1} {
			conn, err := net.Dial("tcp", a.server.Listener.Addr().String())
			a.must(err)
			_, err = fmt.Fprintf(conn, "POST /resource/experiment/%s HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer %s\r\n"+
				"Content-Type: multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n%s", e, a.root.token, boundary, len(whole), whole[:sent])
			a.must(err)
			a.must(conn.(*net.TCPConn).CloseWrite())
			res, err := http.ReadResponse(bufio.NewReader(conn), nil) // the server has noticed
			if err == nil && res.StatusCode < 400 {
				t.Errorf("%d bytes of %d are answered with %d", sent, len(whole), res.StatusCode)
			}
			conn.Close()
		}
		a.get("/resource/experiment/" + e).has(`{"total":0}`)
		a.wantKept(0)
	})
}

// A request with a wrong Content-Length, or with two, is rejected and leaves nothing behind.
func TestUploadWithALyingLength(t *testing.T) {
	everyBackend(t, func(t *testing.T, a api) {
		e := a.experiment(a.project(a.root))
		whole := multi(part("name", "n"), part("data", bytesOf(1, 300_000)))
		length := "Content-Length: %d\r\n"
		for what, head := range map[string]string{
			"too short":     fmt.Sprintf(length, len(whole)-20_000),
			"too long":      fmt.Sprintf(length, len(whole)+1),
			"zero":          fmt.Sprintf(length, 0),
			"none":          "",
			"negative":      fmt.Sprintf(length, -1),
			"no number":     "Content-Length: many\r\n",
			"two of them":   fmt.Sprintf(length+length, len(whole), 5),
			"beside chunks": fmt.Sprintf(length, len(whole)) + "Transfer-Encoding: chunked\r\n",
			"too large":     "Content-Length: 99999999999999999999\r\n",
		} {
			conn, err := net.Dial("tcp", a.server.Listener.Addr().String())
			a.must(err)
			go func() {
				// The write fails once the server has read enough and closed the connection.
				_, _ = fmt.Fprintf(conn, "POST /resource/experiment/%s HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer %s\r\n"+
					"Content-Type: multipart/form-data; boundary=%s\r\n%s\r\n%s", e, a.root.token, boundary, head, whole)
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && (res.StatusCode < 400 || res.StatusCode >= 500) {
				t.Errorf("%s: answered with %d", what, res.StatusCode)
			}
			conn.Close()
		}
		a.get("/resource/experiment/" + e).has(`{"total":0}`)
		a.wantKept(0)
	})
}

func TestUploadThatIsTooLarge(t *testing.T) {
	a := startWith(t, setup{maxUpload: 1000})
	w := a.world()
	path := "/resource/experiment/" + w["experiment"]
	a.put(w["experiment"], "fits", strings.Repeat("x", 1000))
	body := multi(part("name", "n"), part("data", strings.Repeat("x", 1001)))
	a.do("POST", path, body, asForm).fails(413, "PAYLOAD_TOO_LARGE", "")
	a.do("PATCH", "/resource/"+w["resource"], body, asForm).fails(413, "PAYLOAD_TOO_LARGE", "")
	a.do("POST", path+"/upload", "", uploadOf("n", 1001)...).fails(413, "PAYLOAD_TOO_LARGE", "")
	if got := a.do("OPTIONS", path+"/upload", "").wants(204).header.Get("Tus-Max-Size"); got != "1000" {
		t.Errorf("Tus-Max-Size is %q", got)
	}
	// A declared size above the limit is rejected before any of the body has arrived.
	conn, err := net.Dial("tcp", a.server.Listener.Addr().String())
	a.must(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\n"+
		"Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n", path, a.root.token)
	a.must(err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	a.must(err)
	if res.StatusCode != 413 {
		t.Errorf("answered with %d", res.StatusCode)
	}
	a.wantKept(2)
}

// An unwritable folder is reported, and nothing is left behind.
func TestUploadToAFolderThatIsGone(t *testing.T) {
	a := startWith(t, setup{backend: artifact.Filesystem})
	e := a.experiment(a.project(a.root))
	a.put(e, "a", "bytes")
	if err := os.RemoveAll(a.artifactRoot() + "/staging"); err != nil {
		t.Fatal(err)
	}
	a.do("POST", "/resource/experiment/"+e, multi(part("name", "n"), part("data", "x")), asForm).fails(503, "UNAVAILABLE", "")
	a.get("/resource/experiment/" + e).has(`{"total":1}`)
}
