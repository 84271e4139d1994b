//go:build unix

package cmd

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The error for a rejected upload reaches a client that sends its whole body before it reads the
// response.
func TestRefusalOfAnUpload(t *testing.T) {
	p := startServer(t, t.TempDir(), []string{"SERVICE_MAX_UPLOAD=1M"})
	w := dial(t, p)
	iteration := w.create(t, "/iteration/experiment/"+w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "p"}`), `{"name": "e"}`), `{}`)
	upload := strings.Repeat("x", 60<<20)
	for _, route := range []string{
		"PUT /api/2.0/mlflow-artifacts/artifacts/1/" + strings.ReplaceAll(iteration, "-", "") + "/artifacts/model.bin",
		"POST /archive",
	} {
		method, path, _ := strings.Cut(route, " ")
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/zip\r\nContent-Length: %d\r\n\r\n%s", method, path, len(upload), upload); err != nil {
			t.Errorf("%s: %v", route, err)
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", route, err)
			continue
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 413 {
			t.Errorf("%s: %d %s %v", route, answer.StatusCode, text, err)
		}
	}
}
