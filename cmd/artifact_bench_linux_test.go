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

var artifactSize = flag.Int64("artifact-size", 300_000_000, "the `bytes` of the larger artifact that BenchmarkArtifact sends")

// BenchmarkArtifact uploads an artifact to the real program and downloads it, for -artifact-size
// and a tenth of it. above-idle-MB is the maximum memory of the process minus the memory that it
// used before. up-MB/s and down-MB/s are the speeds. The object store is a separate process that
// stores its objects on disk.
func BenchmarkArtifact(b *testing.B) {
	for _, backend := range backends {
		for _, size := range []int64{*artifactSize / 10, *artifactSize} {
			b.Run(fmt.Sprintf("%s/%dMB", backend, size/1e6), func(b *testing.B) {
				dir := b.TempDir()
				env := []string{"SERVICE_LOG_LEVEL=warn", "SERVICE_ARTIFACT_BACKEND=" + backend}
				if backend == "s3" {
					env = append(env, processBucket(b, b.TempDir())...)
				}
				p := startServer(b, dir, env)
				defer p.stop()
				w := dial(b, p)
				path := "/resource/experiment/" + w.create(b, "/experiment/project/"+w.create(b, "/project", `{"name": "p"}`), `{"name": "e"}`)
				b.SetBytes(2 * size)
				idle := memoryMB(b, p.PID, "VmRSS:")
				var up, down time.Duration
				for b.Loop() {
					begun := time.Now()
					location := sendEndless(b, p, path, size)
					up, begun = up+time.Since(begun), time.Now()
					res, err := http.Get(p.API + location + "/data")
					if err != nil {
						b.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
						b.Fatal(n, err, p.log)
					}
					res.Body.Close()
					down += time.Since(begun)
				}
				moved := float64(size) * float64(b.N) / 1e6
				b.ReportMetric(moved/up.Seconds(), "up-MB/s")
				b.ReportMetric(moved/down.Seconds(), "down-MB/s")
				b.ReportMetric(memoryMB(b, p.PID, "VmHWM:")-idle, "above-idle-MB")
			})
		}
	}
}

// sendEndless creates an artifact of size bytes and returns its path.
func sendEndless(b *testing.B, p *process, path string, size int64) string {
	b.Helper()
	src, dst := io.Pipe()
	form := multipart.NewWriter(dst)
	go func() {
		part, _ := form.CreateFormFile("data", "large.bin") // an error here fails the request
		_, err := io.CopyN(part, endless{}, size)
		form.Close()
		dst.CloseWithError(err)
	}()
	res, err := http.Post(p.API+path, form.FormDataContentType(), src)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		text, err := io.ReadAll(res.Body)
		b.Fatalf("%d %s, %v\n%s", res.StatusCode, text, err, p.log)
	}
	return res.Header.Get("Location")
}

// endless is an infinite stream of bytes.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i * 7)
	}
	return len(p), nil
}

// memoryMB returns the named memory value of a process from /proc: VmRSS is the current memory,
// VmHWM the maximum so far.
func memoryMB(b testing.TB, pid int, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	var kb float64
	_, rest, _ := strings.Cut(string(text), name)
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb * 1024 / 1e6
}
