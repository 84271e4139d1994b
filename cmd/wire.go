package cmd

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

// wire is one keep-alive connection to the API. It sends a request once: a
// client that repeats by itself would hide what the server has acknowledged.
// It is light, for in a benchmark it shares the processor with the server.
type wire struct {
	conn       net.Conn
	answers    *bufio.Reader
	host, base string
	token      string        // "" sends none
	patience   time.Duration // with one request; 0 for no end
}

// reply is a whole answer.
type reply struct {
	status   int
	location string
	body     []byte
}

func (r reply) String() string { return fmt.Sprintf("%d %s %s", r.status, r.location, r.body) }

// openWire connects to the API at address, an http or https URL.
func openWire(ctx context.Context, address string) (*wire, error) {
	api, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	dialer, port := (&net.Dialer{}).DialContext, "80"
	if api.Scheme == "https" {
		dialer, port = (&tls.Dialer{}).DialContext, "443"
	}
	if api.Port() != "" {
		port = api.Port()
	}
	conn, err := dialer(ctx, "tcp", net.JoinHostPort(api.Hostname(), port))
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, answers: bufio.NewReader(conn), host: api.Host, base: api.EscapedPath()}, nil
}

// request is what send takes. A key is sent as the Idempotency-Key.
func (w *wire) request(method, path, key, body string) []byte {
	text := method + " " + w.base + path + " HTTP/1.1\r\nHost: " + w.host + "\r\n"
	if w.token != "" {
		text += "Authorization: Bearer " + w.token + "\r\n"
	}
	if key != "" {
		text += "Idempotency-Key: " + key + "\r\n"
	}
	if body != "" {
		text += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(text + "\r\n" + body)
}

// send sends a request and reads its answer. An error means that it is not
// known whether the request was carried out.
func (w *wire) send(request []byte) (r reply, err error) {
	if w.patience > 0 {
		if err := w.conn.SetDeadline(time.Now().Add(w.patience)); err != nil {
			return r, err
		}
	}
	if _, err := w.conn.Write(request); err != nil {
		return r, err
	}
	answer, err := http.ReadResponse(w.answers, nil)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	r.status, r.location = answer.StatusCode, answer.Header.Get("Location")
	r.body, err = io.ReadAll(answer.Body)
	return r, err
}

// ids are those of the records that were made.
func (r reply) ids() ([]string, error) {
	var made struct {
		ID  string   `json:"id"`
		IDs []string `json:"ids"`
	}
	if len(r.body) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(r.body, &made); err != nil {
		return nil, fmt.Errorf("%w in %q", err, r.body)
	}
	if made.ID != "" {
		return []string{made.ID}, nil
	}
	return made.IDs, nil
}
