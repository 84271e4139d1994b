package web

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"tracker/store/domain"
	"tracker/store/files"
)

// ServeContent sends the bytes of r or the requested range. The bytes are untrusted, so the
// response headers keep browsers from guessing the content type and from executing the content. The
// caller must set Content-Type and Content-Disposition. ServeContent calls fail if the range is
// invalid or if content can't be read.
func ServeContent(w http.ResponseWriter, req *http.Request, r files.Artifact, content io.ReadSeeker, fail func(*domain.Error)) {
	ServeContentUnder(w, req, r, content, "sandbox; default-src 'none'", fail)
}

// ServeContentUnder is like ServeContent, but with the given Content-Security-Policy.
func ServeContentUnder(w http.ResponseWriter, req *http.Request, r files.Artifact, content io.ReadSeeker, policy string, fail func(*domain.Error)) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // a PATCH can replace the bytes of this URL
	h.Set("ETag", `"`+r.ContentHash+`"`)
	if sum, err := hex.DecodeString(r.ContentHash); err == nil {
		// Repr-Digest covers all bytes, even if the response contains a range (RFC 9530).
		h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	}
	source := &failingReader{ReadSeeker: content}
	answer := &lateWriter{ResponseWriter: w, fail: fail}
	http.ServeContent(answer, req, "", time.Time{}, source)
	switch {
	case source.err == nil:
		answer.begin()
	case !answer.begun:
		answer.refuse(domain.AsError(source.err))
	default:
		// The client must not mistake a partial response for a complete one.
		InfoOf(req).Err = source.err
		panic(http.ErrAbortHandler)
	}
}

// failingReader records a read error, because http.ServeContent does not return it.
type failingReader struct {
	io.ReadSeeker
	err error
}

func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// lateWriter sends the status only with the first byte. An earlier error, such as unreadable
// content or an invalid range, can therefore still be sent as an error response.
type lateWriter struct {
	http.ResponseWriter
	fail   func(*domain.Error)
	status int
	begun  bool // whether the status has been sent
}

func (w *lateWriter) WriteHeader(status int) {
	w.status = status
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.refuse(&domain.Error{Code: CodeRangeNotSatisfiable, Field: "Range",
			Message: "The range is outside of the artifact; Content-Range has its size."})
	}
}

func (w *lateWriter) begin() {
	if !w.begun && w.status != 0 {
		w.begun = true
		w.ResponseWriter.WriteHeader(w.status)
	}
}

// refuse sends an error response in place of the content.
func (w *lateWriter) refuse(e *domain.Error) {
	w.begun = true
	h := w.Header()
	for _, name := range []string{"Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Length", "Content-Security-Policy", "ETag", "Repr-Digest"} {
		h.Del(name)
	}
	if e.Code != CodeRangeNotSatisfiable {
		h.Del("Content-Range")
	}
	w.fail(e)
}

func (w *lateWriter) Write(p []byte) (int, error) {
	if w.status == http.StatusRequestedRangeNotSatisfiable {
		return len(p), nil // discards the error text of http.ServeContent
	}
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Attachment returns a Content-Disposition header that makes browsers save the content (RFC 6266).
// The file name is the last part of name. If the file name has characters other than printable
// ASCII, the header contains an ASCII version in addition to the full name.
func Attachment(name string) string {
	name = path.Base(name)
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '%' {
			return '_'
		}
		return r
	}, name)
	header := `attachment; filename="` + plain + `"`
	if plain != name {
		// RFC 5987 requires =, : and @ to be escaped, but url.PathEscape does not escape them.
		escaped := strings.NewReplacer("=", "%3D", ":", "%3A", "@", "%40").Replace(url.PathEscape(name))
		header += `; filename*=UTF-8''` + escaped
	}
	return header
}
