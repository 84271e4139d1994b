package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// idleStreams is the number of event streams that are opened: one for each open page of a large lab.
const idleStreams = 500

// measureStreams opens many event streams of one experiment and measures their
// memory and processor time while nothing happens.
func (b *benchmark) measureStreams(ctx context.Context) error {
	memory := fmt.Sprintf("memory of %s idle event streams", comma(idleStreams))
	cpu := fmt.Sprintf("processor time of the server for them, in %v", b.Steady)
	if b.URL != "" {
		b.addUnknown(memory, "MB")
		b.addUnknown(cpu, "% of a core")
		return nil
	}
	s, t, err := b.launchEmpty(ctx)
	if err != nil {
		return err
	}
	defer s.kill()
	b.progress("streams", idleStreams)
	before := s.memory()
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for range idleStreams {
		c, err := openStream(ctx, s.api, "/experiment/"+t.experiment+"/events")
		if err != nil {
			return err
		}
		all = append(all, c)
		b.advance(1)
	}
	start, used := time.Now(), s.cpuTime()
	select {
	case <-time.After(b.Steady):
	case <-ctx.Done():
		return ctx.Err()
	}
	share := float64(s.cpuTime()-used) / float64(time.Since(start))
	known := s.cpuTime() > 0
	b.addSystemValue(memory, "MB", float64(s.memory()-before)/1e6, known)
	b.addSystemValue(cpu, "% of a core", 100*share, known)
	return nil
}

// openStream requests an event stream and returns the connection once the stream has begun.
func openStream(ctx context.Context, api, path string) (net.Conn, error) {
	address, err := url.Parse(api)
	if err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address.Host)
	if err != nil {
		return nil, err
	}
	if err = c.SetDeadline(time.Now().Add(requestTimeout)); err == nil {
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
