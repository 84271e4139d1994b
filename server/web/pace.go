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
	// bodyGrace is the time that any body may take.
	bodyGrace = 20 * time.Second
	// bodyRate is the minimum rate in bytes per second after that.
	bodyRate = 8 << 10
	// restTime is the maximum time for reading and dropping the rest of a body
	// after the answer.
	restTime = 10 * time.Second
	// RestSize is the maximum number of bytes that are read of that rest, and
	// restUpload is the maximum after AllowUpload.
	RestSize   = 16 << 20
	restUpload = 1 << 30
)

// Pace ends the reading of a body that arrives too slowly: a body has 20 seconds,
// and one more for each 8 KiB that have arrived. A handler removes this limit by
// calling AllowUpload. When a handler has answered before the end of a body, Pace
// reads the rest, within bounds.
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

// AllowUpload removes the time limit of the body of r. It must be called only after
// the right to upload was checked.
func AllowUpload(r *http.Request) {
	if b := InfoOf(r).body; b != nil {
		b.upload = true
		b.deadline(time.Time{})
	}
}

// drop sends the answer and reads the rest of the body, for at most limit: many
// clients read an answer only after they have sent everything, and lose it if the
// connection is closed before. A client that expects a reply of 100 sends nothing
// if the handler has not begun to read.
func (b *pacedBody) drop(limit time.Duration, expects bool) {
	b.deadline(time.Now().Add(limit))
	if expects && b.n == 0 || b.conn.Flush() != nil {
		return
	}
	size := int64(RestSize)
	if b.upload {
		size = restUpload
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(b.ReadCloser, size)) // the client may have gone
}

// pacedBody is a body with a deadline that is extended as bytes arrive.
type pacedBody struct {
	io.ReadCloser
	conn   *http.ResponseController
	start  time.Time
	grace  time.Duration
	n      int64 // bytes that have arrived
	upload bool  // it has no deadline
	late   bool  // it has not arrived in time; net/http does not wait for the rest
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
		// net/http goes on reading, to notice when the client disconnects.
		b.deadline(time.Time{})
	default:
		b.deadline(b.start.Add(b.grace + time.Duration(b.n)*time.Second/bodyRate))
	}
	return n, err
}

// deadline sets the time at which reads of the connection fail. A writer in a test
// has no connection.
func (b *pacedBody) deadline(at time.Time) { _ = b.conn.SetReadDeadline(at) }
