//go:build unix

package cmd

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tracker/blob/blobtest"
)

// backends are the names of all artifact backends.
var backends = []string{"inline", "filesystem", "s3"}

// backendEnv returns the settings that store new artifacts in a backend.
func backendEnv(t testing.TB, dir, backend string) []string {
	t.Helper()
	env := []string{"SERVICE_LOG_LEVEL=warn", "SERVICE_ARTIFACT_BACKEND=" + backend}
	if backend == "s3" {
		env = append(env, objectStore(t, dir)...)
	}
	return env
}

// objectStore starts an object store and returns the settings for it.
func objectStore(t testing.TB, dir string) []string {
	t.Helper()
	return objectStoreBehind(t, dir, func(store http.Handler) http.Handler { return store })
}

// objectStoreBehind is like objectStore, but requests pass through the handler that before returns.
func objectStoreBehind(t testing.TB, dir string, before func(http.Handler) http.Handler) []string {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("artifacts"); err != nil {
		t.Fatal(err)
	}
	s, busy := blobtest.ServeWatched(t, before(gofakes3.New(memory).Server()))
	objectStores.Store(s.URL, busy)
	certificate := filepath.Join(dir, certificateFile)
	if err := writeCertificate(certificate, s.Certificate()); err != nil {
		t.Fatal(err)
	}
	return bucketSettings(s.URL, certificate)
}

// objectStores maps the address of an object store to a function that reports whether the store is
// handling a request.
var objectStores sync.Map

// waitForObjectStore waits until the object store has finished the requests of a killed command.
func waitForObjectStore(env []string) {
	for _, setting := range env {
		if url, ok := strings.CutPrefix(setting, "SERVICE_S3_ENDPOINT="); ok {
			if busy, ok := objectStores.Load(url); ok {
				for busy.(func() bool)() {
					time.Sleep(time.Millisecond)
				}
			}
		}
	}
}

// certificateFile is the name of the certificate file in the folder of an object store.
const certificateFile = "cert.pem"

func writeCertificate(path string, c *x509.Certificate) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o600)
}

// bucketSettings returns the settings for an object store.
func bucketSettings(url, certificate string) []string {
	return []string{"SSL_CERT_FILE=" + certificate, "SERVICE_S3_BUCKET=artifacts", "SERVICE_S3_ENDPOINT=" + url, "SERVICE_S3_REGION=us-east-1",
		"SERVICE_S3_ACCESS_KEY=key", "SERVICE_S3_SECRET_KEY=secret"}
}

// upload creates an artifact and returns its id.
func upload(t testing.TB, p *process, experiment, name string, content []byte) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, _ := form.CreateFormFile("data", name) // writing to a buffer can't fail
	_, _ = part.Write(content)
	form.Close()
	answer, err := http.Post(p.API+"/resource/experiment/"+experiment, form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var made struct{ ID string }
	if err != nil || answer.StatusCode != http.StatusCreated || json.Unmarshal(text, &made) != nil {
		t.Fatalf("%d %s, %v", answer.StatusCode, text, err)
	}
	return made.ID
}
