// Package httpconn is a minimal HTTP/1.1 client with one keep-alive connection to the API. The load
// generator and the tests that kill the server use it. The client sends each request exactly once,
// because retries would hide which requests the server has acknowledged. It does little work for
// each request, because in a benchmark it shares the processor with the server.
package httpconn

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Conn is one connection. Only Close can be called concurrently with other methods.
type Conn struct {
	Token   string        // bearer token; "" for no token
	Timeout time.Duration // time limit for one request and its response; 0 for no limit

	conn       net.Conn
	answers    *bufio.Reader
	host, base string
}

// Reply is a complete HTTP response.
type Reply struct {
	Status   int
	Location string
	Body     []byte
}

func (r Reply) String() string { return fmt.Sprintf("%d %s %s", r.Status, r.Location, r.Body) }

// Dial connects to the API at address, which is an http or https URL.
func Dial(ctx context.Context, address string) (*Conn, error) {
	api, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	dial, port := (&net.Dialer{}).DialContext, "80"
	if api.Scheme == "https" {
		dial, port = (&tls.Dialer{}).DialContext, "443"
	}
	if api.Port() != "" {
		port = api.Port()
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(api.Hostname(), port))
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, answers: bufio.NewReader(conn), host: api.Host, base: api.EscapedPath()}, nil
}

// Close closes the connection. A concurrent call of Send returns an error.
func (c *Conn) Close() error { return c.conn.Close() }

// Request returns the bytes of a request for Send. If key is not empty, it is sent as the
// Idempotency-Key header. If body is not empty, it is sent as JSON.
func (c *Conn) Request(method, path, key, body string) []byte {
	text := method + " " + c.base + path + " HTTP/1.1\r\nHost: " + c.host + "\r\n"
	if c.Token != "" {
		text += "Authorization: Bearer " + c.Token + "\r\n"
	}
	if key != "" {
		text += "Idempotency-Key: " + key + "\r\n"
	}
	if body != "" {
		text += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(text + "\r\n" + body)
}

// Send sends a request and reads the response. If Send returns an error, it is unknown whether the
// server has carried out the request.
func (c *Conn) Send(request []byte) (r Reply, err error) {
	if c.Timeout > 0 {
		if err := c.conn.SetDeadline(time.Now().Add(c.Timeout)); err != nil {
			return r, err
		}
	}
	if _, err := c.conn.Write(request); err != nil {
		return r, err
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	r.Status, r.Location = answer.StatusCode, answer.Header.Get("Location")
	r.Body, err = io.ReadAll(answer.Body)
	return r, err
}

// IDs returns the ids of the records that the request created.
func (r Reply) IDs() ([]string, error) {
	var created struct {
		ID  string   `json:"id"`
		IDs []string `json:"ids"`
	}
	if len(r.Body) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(r.Body, &created); err != nil {
		return nil, fmt.Errorf("%w in %q", err, r.Body)
	}
	if created.ID != "" {
		return []string{created.ID}, nil
	}
	return created.IDs, nil
}
