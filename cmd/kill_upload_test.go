//go:build unix

package cmd

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The real process is killed at random moments, 25 times on one database, while clients send each
// artifact in several requests. Each client continues at the offset that the server reports. The
// server never requests acknowledged bytes again, and at the end every artifact has exactly its
// bytes.
func TestKillWithResumableUploads(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			const rounds, writers = 25, 4
			seed := *killSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("-kill-seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			dir := t.TempDir()
			env := backendEnv(t, dir, backend)
			p := startServer(t, dir, env)
			w := dial(t, p)
			experiment := w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "killed"}`), `{"name": "uploads"}`)
			senders := make([]*sender, writers)
			for i := range senders {
				senders[i] = &sender{number: i, random: rand.New(rand.NewPCG(seed, uint64(i)+1)), experiment: experiment, made: map[string]int{}}
			}
			for range rounds {
				wrong := make(chan error, writers)
				ctx, cancel := context.WithCancel(t.Context())
				for _, s := range senders {
					go func() { wrong <- s.work(ctx, p.API) }()
				}
				select {
				case <-time.After(time.Duration(10+random.IntN(150)) * time.Millisecond): // the pause until the random moment
				case <-p.ended:
				}
				p.kill()
				cancel()
				for range writers {
					if err := <-wrong; err != nil {
						t.Error(err)
					}
				}
				if t.Failed() {
					t.Fatal(p.log)
				}
				p = startServer(t, dir, env)
			}
			made := 0
			shown := readArtifacts(t, p.API, experiment)
			for _, s := range senders {
				made += len(s.made)
				for id, n := range s.made {
					if got := shown[id]; got.name != s.name(n) || got.hash != sha256Of(s.content(n)) {
						t.Errorf("%s of %s is %v", id, s.name(n), got)
					}
					delete(shown, id)
				}
				// The last response may have been lost.
				for id, a := range shown {
					if a.name == s.name(s.sent) && a.hash == sha256Of(s.content(s.sent)) {
						delete(shown, id)
					}
				}
			}
			if len(shown) > 0 {
				t.Errorf("nobody made %v", shown)
			}
			t.Logf("%d artifacts", made)
			p.stop()
			t.Logf("%d things were left over", collectAfterKill(t, dir, env))
			wantCollected(t, dir, env)
		})
	}
}

// sender is a client that sends artifacts in parts, one after another.
type sender struct {
	number     int
	random     *rand.Rand
	experiment string
	made       map[string]int // artifacts that the server has acknowledged, by id

	sent  int    // number of uploads that the client has begun
	path  string // path of the current upload, "" if there is none
	acked int    // number of acknowledged bytes of the upload
	tried int    // number of bytes of the upload that may have arrived
}

func (s *sender) name(n int) string { return fmt.Sprintf("sender %d, artifact %d", s.number, n) }

func (s *sender) content(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%d of %d,", n, s.number), 1+n%5*30_000)
}

// work sends requests until a request gets no response. It fails the test after an impossible
// response.
func (s *sender) work(ctx context.Context, api string) error {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		var done bool
		var err error
		if s.path == "" {
			done, err = s.begin(ctx, client, api)
		} else {
			done, err = s.add(ctx, client, api)
		}
		if err != nil || !done {
			return err
		}
	}
}

func (s *sender) begin(ctx context.Context, client *http.Client, api string) (answered bool, err error) {
	s.sent++
	content := s.content(s.sent)
	encode := base64.StdEncoding.EncodeToString
	answer := tusRequest(ctx, client, "POST", api+"/resource/experiment/"+s.experiment+"/upload", nil, map[string]string{
		"Upload-Length":   strconv.Itoa(len(content)),
		"Upload-Metadata": "name " + encode([]byte(s.name(s.sent))) + ",sha256 " + encode([]byte(sha256Of(content))),
	})
	if answer == nil {
		return false, nil // the upload expires after a day
	}
	if answer.StatusCode != http.StatusCreated {
		return true, fmt.Errorf("a new upload is answered with %d", answer.StatusCode)
	}
	s.path, s.acked, s.tried = answer.Header.Get("Location"), 0, 0
	return true, nil
}

// add requests the offset of the upload and sends a part of the missing bytes.
func (s *sender) add(ctx context.Context, client *http.Client, api string) (answered bool, err error) {
	content := s.content(s.sent)
	answer := tusRequest(ctx, client, "HEAD", api+s.path, nil, nil)
	if answer == nil {
		return false, nil
	}
	offset, err := strconv.Atoi(answer.Header.Get("Upload-Offset"))
	if err != nil || answer.StatusCode != http.StatusOK || offset < s.acked || offset > max(s.acked, s.tried) {
		return true, fmt.Errorf("%s: %d with the offset %d; acknowledged are %d, sent %d", s.path, answer.StatusCode, offset, s.acked, s.tried)
	}
	s.acked = offset
	if offset < len(content) {
		part := content[offset:]
		if part = part[:1+s.random.IntN(len(part))]; s.random.IntN(3) == 0 {
			part = content[offset:]
		}
		headers := map[string]string{"Upload-Offset": strconv.Itoa(offset), "Content-Type": "application/offset+octet-stream"}
		if sum := sha1.Sum(part); s.random.IntN(2) == 0 {
			headers["Upload-Checksum"] = "sha1 " + base64.StdEncoding.EncodeToString(sum[:])
		}
		s.tried = offset + len(part)
		if answer = tusRequest(ctx, client, "PATCH", api+s.path, part, headers); answer == nil {
			return false, nil
		}
		if answer.StatusCode != http.StatusNoContent || answer.Header.Get("Upload-Offset") != strconv.Itoa(s.tried) {
			return true, fmt.Errorf("%s: a part from %d to %d is answered with %d and %v", s.path, offset, s.tried, answer.StatusCode, answer.Header)
		}
		s.acked = s.tried
	}
	id := answer.Header.Get("Resource-Id")
	if (id == "") != (s.acked < len(content)) {
		return true, fmt.Errorf("%s has %d of %d bytes and is the artifact %q", s.path, s.acked, len(content), id)
	}
	if id != "" {
		s.made[id] = s.sent
		s.path = ""
	}
	return true, nil
}

// tusRequest sends a request and returns the response, after reading its body. It returns nil if
// there is no response.
func tusRequest(ctx context.Context, client *http.Client, method, url string, body []byte, headers map[string]string) *http.Response {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	for name, text := range headers {
		r.Header.Set(name, text)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return nil
	}
	answer.Header.Set("Location", strings.TrimPrefix(answer.Header.Get("Location"), strings.TrimSuffix(url, r.URL.Path)))
	return answer
}
