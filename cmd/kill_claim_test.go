//go:build unix

package cmd

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// holdUp holds the requests that put an object in its final place, and then drops them.
type holdUp struct {
	held    atomic.Bool
	arrived chan struct{} // a request waits
	over    chan struct{} // closed when the held requests can end
}

func (h *holdUp) before(store http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || strings.Contains(r.URL.Path, "/staging/") || !h.held.Load() {
			store.ServeHTTP(w, r)
			return
		}
		select {
		case h.arrived <- struct{}{}:
		default:
		}
		<-h.over
		w.WriteHeader(http.StatusServiceUnavailable)
	})
}

// A server is killed after it has claimed a blob and before the object store has the blob. The
// claim is reported, the next start releases it, and the same bytes can be uploaded at once.
func TestKillBetweenClaimAndUpload(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content []byte
		staged  bool // the client sends the object to a temporary name first
	}{{"one request", killContent(2), false}, {"parts", killContent(6), true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h := &holdUp{arrived: make(chan struct{}, 1), over: make(chan struct{})}
			env := append([]string{"SERVICE_LOG_LEVEL=warn", "SERVICE_ARTIFACT_BACKEND=s3"}, objectStoreBehind(t, dir, h.before)...)
			p := startServer(t, dir, env)
			w := dial(t, p)
			experiment := w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "killed"}`), `{"name": "claims"}`)
			h.held.Store(true)
			unanswered := make(chan error, 1)
			go func() { unanswered <- uploadUnanswered(p.API+"/resource/experiment/"+experiment, tt.content) }()
			<-h.arrived
			p.kill()
			if err := <-unanswered; err != nil {
				t.Fatal(err)
			}
			h.held.Store(false)
			close(h.over)

			r := runBinary(t, dir, env, "", "check", "--deep")
			if r.code != 0 || r.stdout != "ok\n" || !strings.Contains(r.stderr, "of these, 1 is claimed by the server until its next start") {
				t.Errorf("check: %v", r)
			}
			hash := sha256Of(tt.content)
			text := runBinary(t, dir, env, "", "artifacts", "gc", "--delete").must(t)
			if !strings.Contains(text, hash+"  (claimed by the server; if it was killed, its next start releases it)") ||
				strings.Contains(text, "upload in progress or interrupted; until") != tt.staged {
				t.Errorf("gc: %s", text)
			}

			p = startServer(t, dir, env)
			id := upload(t, p, experiment, "again", tt.content)
			if shown := readArtifacts(t, p.API, experiment); len(shown) != 1 || shown[id].hash != hash {
				t.Errorf("the server shows %v", shown)
			}
			p.stop()
			left := 0
			if tt.staged {
				left = 1
			}
			if n := collectAfterKill(t, dir, env); n != left {
				t.Errorf("%d things were left over, want %d", n, left)
			}
			wantCollected(t, dir, env)
		})
	}
}

// uploadUnanswered sends an artifact to a server that is killed during the upload.
func uploadUnanswered(url string, content []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, _ := form.CreateFormFile("data", "first") // writing to a buffer can't fail
	_, _ = part.Write(content)
	form.Close()
	answer, err := http.Post(url, form.FormDataContentType(), &body)
	if err != nil {
		return nil
	}
	answer.Body.Close()
	return fmt.Errorf("the upload is answered %s", answer.Status)
}
