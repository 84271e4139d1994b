// Package rest reads experiments through the REST API of a server.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// timeout is the maximum duration of a request.
	timeout = time.Minute
	// maxAnswer is the maximum size of a response in bytes.
	maxAnswer = 64 << 20
	// page is the number of records that a listing requests at once. The API does not allow
	// more.
	page = 1000
)

// Client sends requests to one server. Its methods return an *Error if the server rejects the
// request, and a different error if the API does not respond.
type Client struct {
	token string
	http  http.Client

	mu   sync.Mutex
	base string // guarded by mu
}

// New returns a client of the API at base, an http or https URL. token can be empty.
func New(base, token string) (*Client, error) {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not the address of a server; write it like http://127.0.0.1:9000", base)
	}
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: http.Client{Timeout: timeout}}, nil
}

// URL returns the address of the API without a trailing slash.
func (c *Client) URL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base
}

// Error is an error response of the API.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

func (e *Error) Error() string { return e.Message }

// Is reports whether err is an *Error with the given code of the API.
func Is(err error, code string) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code == code
}

// do sends a request with body as JSON, and decodes the JSON response into into. body and into can
// be nil.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	answer, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the response of %s was interrupted: %w", c.URL(), err)
	case len(data) > maxAnswer:
		return fmt.Errorf("the response of %s is longer than %d bytes", c.URL(), maxAnswer)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is not the address of the API: it answered %s with %s; the dashboard has another port",
			c.URL(), answer.Status, answer.Header.Get("Content-Type"))
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	address := c.URL() + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return c.answer(ctx, request)
}

// answer sends a request with the token and returns the response. It returns an *Error if the
// server rejects the request.
func (c *Client) answer(ctx context.Context, request *http.Request) (*http.Response, error) {
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", c.URL(), reason(ctx, err))
	}
	if former, moved := c.move(answer); moved {
		answer.Body.Close()
		return c.repeat(ctx, request, former)
	}
	if answer.StatusCode >= 300 {
		defer answer.Body.Close()
		return nil, c.refusal(answer)
	}
	return answer, nil
}

// apiHeader is a header of the dashboard's responses: the path of the API on the dashboard's port.
const apiHeader = "Tracker-Api"

// move changes the address of the client from the dashboard to the API below it if answer is a
// response of the dashboard. It returns the former address, and reports whether the request must
// be repeated.
func (c *Client) move(answer *http.Response) (former string, moved bool) {
	path := answer.Header.Get(apiHeader)
	c.mu.Lock()
	defer c.mu.Unlock()
	u, err := url.Parse(c.base)
	if err != nil || u.Path == path || !strings.HasPrefix(path, "/") {
		return "", false
	}
	former = c.base
	u.Path, u.RawPath = path, ""
	c.base = u.String()
	return former, true
}

// repeat sends a request again, to the API instead of the dashboard at former. It returns an error
// if the body can't be sent again.
func (c *Client) repeat(ctx context.Context, request *http.Request, former string) (*http.Response, error) {
	again := request.Clone(ctx)
	switch {
	case request.GetBody != nil:
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	case request.Body != nil:
		return nil, fmt.Errorf("%s is the address of the dashboard; use %s", former, c.URL())
	}
	u, err := url.Parse(c.URL() + strings.TrimPrefix(request.URL.String(), former))
	if err != nil {
		return nil, err
	}
	again.URL = u
	return c.answer(ctx, again)
}

// reason returns ctx.Err() if ctx has ended. Otherwise it returns err without the URL, because
// the caller's message contains the URL.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var failedCall *net.OpError
	if errors.As(err, &failedCall) {
		err = failedCall.Err
	}
	return err
}

// refusal returns the error that a response of the API contains.
func (c *Client) refusal(answer *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("the response of %s was interrupted: %w", c.URL(), err)
	}
	refused := &Error{Status: answer.StatusCode}
	if json.Unmarshal(data, refused) != nil || refused.Code == "" {
		return fmt.Errorf("%s answered %s, which is not a response of the API", c.URL(), answer.Status)
	}
	if refused.Code == "TOKEN_MISSING" {
		refused.Message = c.URL() + " requires a sign-in: set TRACKER_TOKEN, or use `tracker login`"
	}
	return refused
}
