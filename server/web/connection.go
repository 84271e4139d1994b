package web

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxConnections is the maximum number of connections to a port. Each connection needs
	// about 20 KiB and a file descriptor.
	MaxConnections = 2000
	// refusalTime is the maximum duration of a connection above the limit. The server keeps such a
	// connection open only to send an error.
	refusalTime = time.Second
	// maxRefusals is the maximum number of connections above the limit that get an error. The
	// server closes any further connection immediately.
	maxRefusals = 64
)

// LimitConnections returns a listener that accepts at most limit concurrent connections from l.
// It sends status 503 to a connection above the limit and closes that connection.
func LimitConnections(l net.Listener, limit int) net.Listener {
	return &limitedListener{Listener: l, limit: int64(limit)}
}

type limitedListener struct {
	net.Listener
	limit     int64
	open      atomic.Int64
	refusals  atomic.Int64
	refusing  sync.WaitGroup
	closeOnce sync.Once
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			return &limitedConn{Conn: c, release: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refuse(c)
	}
}

const refusal = `{"code":"UNAVAILABLE","message":"Too many open connections; close some, or try again in a moment."}`

func (l *limitedListener) refuse(c net.Conn) {
	if l.refusals.Add(1) > maxRefusals {
		l.refusals.Add(-1)
		c.Close()
		return
	}
	l.refusing.Go(func() {
		defer l.refusals.Add(-1)
		defer c.Close()
		if c.SetDeadline(time.Now().Add(refusalTime)) != nil {
			return
		}
		_, err := io.WriteString(c, "HTTP/1.1 "+strconv.Itoa(http.StatusServiceUnavailable)+" Service Unavailable\r\nConnection: close\r\n"+
			"Retry-After: 1\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(refusal))+"\r\n\r\n"+refusal)
		if t, ok := c.(*net.TCPConn); ok && err == nil && t.CloseWrite() == nil {
			// Most clients read the response only after they have sent the whole request.
			_, _ = io.Copy(io.Discard, io.LimitReader(c, maxHeader))
		}
	})
}

// maxHeader is the maximum number of bytes that are read from a rejected request.
const maxHeader = 64 << 10

func (l *limitedListener) Close() error {
	err := l.Listener.Close()
	l.closeOnce.Do(l.refusing.Wait)
	return err
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
