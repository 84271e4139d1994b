//go:build unix

package cmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"sync"
	"testing"
	"time"
)

// The real process is killed at random moments, 25 times on one database, while clients upload,
// replace and delete artifacts with a few different contents. After each kill, every listed
// artifact has exactly its bytes, no acknowledged change is lost, and a garbage collection removes
// the remains.
func TestKillWithArtifacts(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			const rounds, writers = 25, 4
			within := 150 // milliseconds after the first response
			if backend == "s3" {
				within = 400 // long enough to complete some uploads in parts
			}
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
			experiment := w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "killed"}`), `{"name": "artifacts"}`)
			keepers := make([]*keeper, writers)
			for i := range keepers {
				keepers[i] = &keeper{name: fmt.Sprint("of ", i), contents: 6, random: rand.New(rand.NewPCG(seed, uint64(i)+1)), experiment: experiment, known: map[string]string{}, trashed: map[string]string{}}
			}
			if backend == "s3" {
				keepers[0].contents++
			}
			requests := 0
			for range rounds {
				first := make(chan bool, writers)
				var all sync.WaitGroup
				for _, k := range keepers {
					all.Go(func() { k.work(p.API, first) })
				}
				select {
				case <-first:
					time.Sleep(time.Duration(random.IntN(within)) * time.Millisecond) // the pause until the random moment
				case <-p.ended:
				}
				p.kill()
				all.Wait()
				p = startServer(t, dir, env)
				shown := readArtifacts(t, p.API, experiment)
				for _, k := range keepers {
					k.verify(t, shown)
				}
				if len(shown) > 0 {
					t.Errorf("nobody made %v", shown)
				}
				if t.Failed() {
					t.Fatal(p.log)
				}
			}
			for _, k := range keepers {
				requests += k.count
			}
			t.Logf("%d requests", requests)
			p.stop()
			t.Logf("%d things were left over", collectAfterKill(t, dir, env))
			wantCollected(t, dir, env)
		})
	}
}

// keeper is a client with artifacts. known holds the hashes that the server has acknowledged.
type keeper struct {
	name       string // name of all its artifacts
	contents   int    // number of different contents to choose from
	random     *rand.Rand
	experiment string
	known      map[string]string
	trashed    map[string]string // artifacts in the trash
	count      int

	// State of the request without a response: id is "" for a create, and hash is "" for a delete
	// or a purge.
	doubt    bool
	id, hash string
}

// work sends requests until a request gets no response.
func (k *keeper) work(api string, first chan<- bool) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		method, path, id, hash := "POST", "/resource/experiment/"+k.experiment, "", ""
		var body bytes.Buffer
		contentType := ""
		for known := range k.known {
			switch k.random.IntN(3) {
			case 0:
				method, path, id = "PATCH", "/resource/"+known, known
			case 1:
				method, path, id = "DELETE", "/resource/"+known, known
			}
			break
		}
		for gone, was := range k.trashed {
			switch k.random.IntN(6) {
			case 0:
				method, path, id, hash = "POST", "/trash/"+gone+"/restore", gone, was
			case 1:
				method, path, id = "DELETE", "/trash/"+gone, gone
				delete(k.trashed, gone)
			}
			break
		}
		if method != "DELETE" && hash == "" {
			content := killContent(k.random.IntN(k.contents))
			hash = fmt.Sprintf("%x", sha256.Sum256(content))
			form := multipart.NewWriter(&body)
			part, _ := form.CreateFormFile("data", k.name) // writing to a buffer can't fail
			_, _ = part.Write(content)
			form.Close()
			contentType = form.FormDataContentType()
		}
		k.count++
		k.doubt, k.id, k.hash = true, id, hash
		r, err := http.NewRequest(method, api+path, &body)
		if err != nil {
			panic(err)
		}
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		answer, err := client.Do(r)
		if err != nil {
			return
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return
		}
		var made struct{ ID string }
		switch answer.StatusCode {
		case http.StatusCreated:
			if json.Unmarshal(text, &made) != nil {
				return
			}
			k.known[made.ID] = hash
		case http.StatusNoContent:
			if was := k.known[id]; hash == "" && was != "" {
				k.trashed[id] = was
			}
			if k.known[id] = hash; hash == "" {
				delete(k.known, id)
			} else {
				delete(k.trashed, id)
			}
		}
		k.doubt = false
		select {
		case first <- true:
		default:
		}
	}
}

func sha256Of(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// killContent returns the nth of a few contents. Some of them have many pieces, and the seventh is
// sent to an object store in parts.
func killContent(n int) []byte {
	if n == 6 {
		return bytes.Repeat([]byte("multipart"), 2<<20)
	}
	return bytes.Repeat([]byte{byte(n), 1, 2, 3, 5, 7, 11}, 1<<(3*n)+n)
}

// verify checks that shown has the known artifacts, and removes them and the artifact that the last
// request may have created from shown.
func (k *keeper) verify(t *testing.T, shown map[string]artifactLine) {
	t.Helper()
	for id, hash := range k.known {
		got, want := shown[id].hash, hash
		if k.doubt && k.id == id && got == k.hash {
			hash = got
		}
		if got != hash {
			t.Errorf("%s has %q, want %q", id, got, hash)
		}
		if k.known[id] = got; got == "" {
			delete(k.known, id)
			k.trashed[id] = want
		}
		delete(shown, id)
	}
	if was := k.trashed[k.id]; k.doubt && was != "" && k.hash == was && shown[k.id].hash == was {
		k.known[k.id] = was // it was restored
		delete(k.trashed, k.id)
		delete(shown, k.id)
	}
	for id, a := range shown {
		if a.name == k.name && k.doubt && k.id == "" && a.hash == k.hash {
			k.known[id] = a.hash
			delete(shown, id)
			k.doubt = false
		}
	}
}

// artifactLine is an artifact as the server lists it.
type artifactLine struct{ name, hash string }

// readArtifacts returns all artifacts. It checks that the bytes of each match its record.
func readArtifacts(t *testing.T, api, experiment string) map[string]artifactLine {
	t.Helper()
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			Hash string `json:"content_hash"`
			Size int64  `json:"size_bytes"`
		} `json:"data"`
	}
	get := func(path string) []byte {
		answer, err := http.Get(api + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, answer.StatusCode, err)
		}
		return body
	}
	if err := json.Unmarshal(get("/resource/experiment/"+experiment+"?limit=1000"), &list); err != nil {
		t.Fatal(err)
	}
	shown := map[string]artifactLine{}
	for _, r := range list.Data {
		body := get("/resource/" + r.ID + "/data")
		if got := fmt.Sprintf("%x", sha256.Sum256(body)); got != r.Hash || int64(len(body)) != r.Size {
			t.Errorf("%s has %d bytes with the hash %s, want %d with %s", r.ID, len(body), got, r.Size, r.Hash)
		}
		shown[r.ID] = artifactLine{r.Name, r.Hash}
	}
	return shown
}
