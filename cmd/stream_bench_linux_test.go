package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// idleStreams is the number of event streams to open: one for each open page in a large lab.
const idleStreams = 500

// BenchmarkStreams opens many event streams of one experiment. MB is the memory that the server
// needs for them, and core-% the processor time that it uses while nothing happens for idleTime.
func BenchmarkStreams(b *testing.B) {
	p := startServer(b, b.TempDir(), []string{"SERVICE_ARTIFACT_BACKEND=inline"}, "--log-level", "error")
	w := dial(b, p)
	experiment := w.create(b, "/experiment/project/"+w.create(b, "/project", `{"name": "p"}`), `{"name": "e"}`)
	before := memoryMB(b, p.PID, "VmRSS:")
	for b.Loop() {
		for range idleStreams {
			c, err := openStream(p.API, "/experiment/"+experiment+"/events")
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
		}
		start, used := time.Now(), cpuTime(b, p.PID)
		time.Sleep(idleTime)
		b.ReportMetric(memoryMB(b, p.PID, "VmRSS:")-before, "MB")
		b.ReportMetric(100*float64(cpuTime(b, p.PID)-used)/float64(time.Since(start)), "core-%")
	}
}

// openStream requests an event stream and returns the connection once the stream has begun.
func openStream(api, path string) (net.Conn, error) {
	address, err := url.Parse(api)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", address.Host)
	if err != nil {
		return nil, err
	}
	if err = c.SetDeadline(time.Now().Add(time.Minute)); err == nil {
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address.Host)
	}
	var line string
	if err == nil {
		line, err = bufio.NewReaderSize(c, 512).ReadString('\n')
	}
	if err == nil && !strings.Contains(line, fmt.Sprint(http.StatusOK)) {
		err = errors.New("a stream is answered with " + line)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
