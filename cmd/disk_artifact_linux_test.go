package cmd

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An artifact that does not fit on the disk is rejected and leaves no files behind. Other artifacts
// can still be read, and artifacts can be added once there is space again.
func TestFullDiskForArtifacts(t *testing.T) {
	for _, backend := range []string{"inline", "filesystem"} {
		t.Run(backend+", file system", func(t *testing.T) {
			if d := mountTight(t, 64<<20); d != nil {
				testFullDiskForArtifacts(t, d, backend)
			}
		})
		t.Run(backend+", file size limit", func(t *testing.T) { testFullDiskForArtifacts(t, limitFiles(t, 5<<20), backend) })
	}
}

func testFullDiskForArtifacts(t *testing.T, d *tightDisk, backend string) {
	p := startServer(t, d.dir, []string{"SERVICE_ARTIFACT_BACKEND=" + backend})
	w := dial(t, p)
	path := "/resource/experiment/" + w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "p"}`), `{"name": "e"}`)
	upload := func(size int) (status int, body string) {
		t.Helper()
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		part, _ := parts.CreateFormFile("data", "model.bin") // writing to a buffer can't fail
		_, _ = io.WriteString(part, strings.Repeat("x", size))
		parts.Close()
		answer, err := http.Post(p.API+path, parts.FormDataContentType(), &form)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	wants := func(size, want int) {
		t.Helper()
		if status, body := upload(size); status != want {
			t.Fatalf("%d bytes: %d %s, want %d\n%s", size, status, body, want, p.log)
		}
	}
	wants(100_000, 201)
	content := strings.Repeat("y", 26<<20) // two copies of the artifact exist at the same time for a moment
	client := &http.Client{}
	begun := tusRequest(t.Context(), client, "POST", p.API+path+"/upload", nil, map[string]string{
		"Upload-Length": strconv.Itoa(len(content)), "Upload-Metadata": "name " + base64.StdEncoding.EncodeToString([]byte("resumed.bin"))})
	d.limit(p)
	wants(26<<20, 507)
	// add sends the rest of the resumable upload.
	add := func() *http.Response {
		t.Helper()
		at := tusRequest(t.Context(), client, "HEAD", p.API+begun.Header.Get("Location"), nil, nil).Header.Get("Upload-Offset")
		offset, err := strconv.Atoi(at)
		if err != nil || offset > len(content) {
			t.Fatalf("the offset is %q", at)
		}
		return tusRequest(t.Context(), client, "PATCH", p.API+begun.Header.Get("Location"), []byte(content[offset:]),
			map[string]string{"Upload-Offset": at, "Content-Type": "application/offset+octet-stream"})
	}
	if answer := add(); answer == nil || answer.StatusCode != http.StatusInsufficientStorage {
		t.Fatalf("a resumable upload without room is answered with %v\n%s", answer, p.log)
	}
	list := w.must(t, 200, "GET", path, "")
	var shown struct {
		Total int
		Data  []struct{ ID string }
	}
	if err := json.Unmarshal(list.Body, &shown); err != nil || shown.Total != 1 {
		t.Fatalf("%s, %v", list.Body, err)
	}
	if r := w.must(t, 200, "GET", "/resource/"+shown.Data[0].ID+"/data", ""); len(r.Body) != 100_000 {
		t.Errorf("%d bytes", len(r.Body))
	}
	if left, err := filepath.Glob(filepath.Join(d.dir, "artifacts", "staging", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	d.free(p)
	wants(200_000, 201)
	if answer := add(); answer == nil || answer.StatusCode != http.StatusNoContent || answer.Header.Get("Resource-Id") == "" {
		t.Errorf("a resumable upload goes on with %v\n%s", answer, p.log)
	} else {
		p.wantData(answer.Header.Get("Resource-Id"), content)
	}
	p.stop()
}

// An upload whose announced size exceeds the free space is rejected before the client has sent any
// of it.
func TestNoRoomForAnAnnouncedSize(t *testing.T) {
	p := startServer(t, t.TempDir(), nil)
	w := dial(t, p)
	path := "/resource/experiment/" + w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "p"}`), `{"name": "e"}`)
	const size = "1152921504606846976" // 1 EiB, which no disk has
	begun := tusRequest(t.Context(), &http.Client{}, "POST", p.API+path+"/upload", nil, map[string]string{"Upload-Length": size,
		"Upload-Metadata": "name " + base64.StdEncoding.EncodeToString([]byte("a"))})
	if begun == nil || begun.StatusCode != http.StatusInsufficientStorage {
		t.Errorf("a resumable upload: %v", begun)
	}

	conn, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: " + size + "\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusInsufficientStorage || !strings.Contains(string(text), "but the artifact has ") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}
