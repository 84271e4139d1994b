package cmd

import (
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

var artifactSize = flag.Int64("artifact-size", 300_000_000, "the `bytes` that BenchmarkArtifact sends; s3 gets 250 MB at most")

// BenchmarkArtifact sends an artifact through the real program and back.
// peak-MB is the most memory that the process has had; up-MB/s and down-MB/s are
// the speed of each way.
func BenchmarkArtifact(b *testing.B) {
	for _, backend := range []string{"inline", "filesystem", "s3"} {
		b.Run(backend, func(b *testing.B) {
			size := *artifactSize
			if backend == "s3" {
				size = min(size, 250_000_000) // the object store of this test can't copy more than 256 MiB at once
			}
			dir := b.TempDir()
			env := []string{"SERVICE_LOG_LEVEL=warn", "SERVICE_ARTIFACT_BACKEND=" + backend}
			if backend == "s3" {
				env = append(env, objectStore(b, dir)...)
			}
			p := startServer(b, dir, env)
			w := dial(b, p)
			path := "/resource/experiment/" + w.create(b, "/experiment/project/"+w.create(b, "/project", `{"name": "p"}`), `{"name": "e"}`)
			b.SetBytes(2 * size)
			var up, down time.Duration
			for range b.N {
				begun := time.Now()
				src, dst := io.Pipe()
				form := multipart.NewWriter(dst)
				go func() {
					part, _ := form.CreateFormFile("data", "large.bin")
					_, err := io.CopyN(part, endless{}, size)
					form.Close()
					dst.CloseWithError(err)
				}()
				res, err := http.Post(p.API+path, form.FormDataContentType(), src)
				if err != nil || res.StatusCode != http.StatusCreated {
					b.Fatal(err, p.log)
				}
				res.Body.Close()
				up, begun = up+time.Since(begun), time.Now()
				res, err = http.Get(p.API + res.Header.Get("Location") + "/data")
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
					b.Fatal(n, err)
				}
				res.Body.Close()
				down += time.Since(begun)
			}
			b.ReportMetric(float64(size)*float64(b.N)/up.Seconds()/1e6, "up-MB/s")
			b.ReportMetric(float64(size)*float64(b.N)/down.Seconds()/1e6, "down-MB/s")
			b.ReportMetric(peakMB(b, p.PID), "peak-MB")
			p.stop()
		})
	}
}

// endless are bytes without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i * 7)
	}
	return len(p), nil
}

// peakMB is the largest resident size of a process.
func peakMB(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	var kb float64
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1000
}
