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

// ServeContent answers with the bytes of r, or the requested range of them. The
// bytes are untrusted, so its headers prevent a browser from guessing their type
// and from running them. The caller must set Content-Type and Content-Disposition.
// ServeContent calls fail for a range outside of the bytes, and for bytes that
// can't be read.
func ServeContent(w http.ResponseWriter, req *http.Request, r files.Artifact, content io.ReadSeeker, fail func(*domain.Error)) {
	ServeContentUnder(w, req, r, content, "sandbox; default-src 'none'", fail)
}

// ServeContentUnder is ServeContent with the content security policy policy.
func ServeContentUnder(w http.ResponseWriter, req *http.Request, r files.Artifact, content io.ReadSeeker, policy string, fail func(*domain.Error)) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // a PATCH gives the same id other bytes
	h.Set("ETag", `"`+r.ContentHash+`"`)
	if sum, err := hex.DecodeString(r.ContentHash); err == nil {
		// The digest is for the whole, also in the answer to a range (RFC 9530).
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
		// The answer must not end as if it were whole.
		InfoOf(req).Err = source.err
		panic(http.ErrAbortHandler)
	}
}

// failingReader keeps the error of a reader, which http.ServeContent drops.
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

// lateWriter sends the status with the first byte. So an error before that, such as
// unreadable bytes or a range outside of them, is answered like any other error.
type lateWriter struct {
	http.ResponseWriter
	fail   func(*domain.Error)
	status int
	begun  bool // the status has been sent
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

// refuse answers with an error instead of the bytes.
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
		return len(p), nil // drops the text of http.ServeContent
	}
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Attachment returns the Content-Disposition that makes a browser save the bytes
// under the last part of a name (RFC 6266). It contains the name in ASCII and, if
// that differs, also in full.
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
		// RFC 5987 also escapes these characters, which PathEscape leaves.
		escaped := strings.NewReplacer("=", "%3D", ":", "%3A", "@", "%40").Replace(url.PathEscape(name))
		header += `; filename*=UTF-8''` + escaped
	}
	return header
}
