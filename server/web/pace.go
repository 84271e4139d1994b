package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"tracker/store/domain"
)

const (
	// bodyGrace is the time in which any body may arrive, whatever its size.
	bodyGrace = 20 * time.Second
	// bodyRate is the number of bytes that extend the time limit of a body by a second.
	bodyRate = 8 << 10
	// restTime is the maximum time for reading the unread part of a body after the response.
	restTime = 10 * time.Second
	// RestSize is the maximum number of bytes that are read from a body after the response.
	// After AllowUpload, the maximum is restUpload.
	RestSize   = 16 << 20
	restUpload = 1 << 30
)

// Pace returns a handler that limits the time in which a request body must arrive: 20 seconds, plus
// one second for each 8 KiB that have arrived. AllowUpload removes this limit. If next returns
// before it has read the whole body, Pace reads and discards the unread part, up to RestSize bytes.
func Pace(next http.Handler) http.Handler { return pace(next, bodyGrace) }

func pace(next http.Handler, grace time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &pacedBody{ReadCloser: r.Body, conn: http.NewResponseController(w), start: time.Now(), grace: grace}
		b.deadline(b.start.Add(grace))
		InfoOf(r).body = b
		r2 := *r
		r2.Body = b
		next.ServeHTTP(w, &r2)
		if !b.ended && !b.late {
			b.drop(min(grace, restTime), r.Header.Get("Expect") != "")
		}
	})
}

// AllowUpload removes the time limit for the body of r. The caller must first check the
// permission to upload.
func AllowUpload(r *http.Request) {
	if b := InfoOf(r).body; b != nil {
		b.upload = true
		b.deadline(time.Time{})
	}
}

// drop sends the response and discards the unread part of the body for at most limit. Many clients
// read the response only after they have sent the whole request, and would lose it if the
// connection were closed earlier. expects reports whether the client waits for status 100 before it
// sends the body. If such a client has sent nothing, drop does not wait for the body.
func (b *pacedBody) drop(limit time.Duration, expects bool) {
	b.deadline(time.Now().Add(limit))
	if expects && b.n == 0 || b.conn.Flush() != nil {
		return
	}
	size := int64(RestSize)
	if b.upload {
		size = restUpload
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(b.ReadCloser, size)) // the client might have disconnected
}

// pacedBody is a request body with a read deadline. Arriving bytes extend the deadline.
type pacedBody struct {
	io.ReadCloser
	conn   *http.ResponseController
	start  time.Time
	grace  time.Duration
	n      int64 // number of bytes received
	upload bool  // whether AllowUpload has removed the deadline
	late   bool  // whether the deadline was exceeded; net/http then closes the connection
	ended  bool
}

var errBodyTimeout = domain.Errorf(CodeRequestTimeout, "The body did not arrive in time; send it again, over a faster connection or in smaller parts.")

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	switch {
	case b.upload:
		b.ended = err != nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.late, err = true, errBodyTimeout
	case err != nil:
		b.ended = true
		// net/http continues reading to detect that the client disconnects.
		b.deadline(time.Time{})
	default:
		b.deadline(b.start.Add(b.grace + time.Duration(b.n)*time.Second/bodyRate))
	}
	return n, err
}

// deadline sets the read deadline of the connection. It ignores the error, because writers in
// tests do not support deadlines.
func (b *pacedBody) deadline(at time.Time) { _ = b.conn.SetReadDeadline(at) }
