// Package content answers with the bytes of an artifact. The API and the
// dashboard share it.
package content

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"tracker/server/middleware"
	"tracker/store"
)

// Serve answers with the bytes of r, or the range of them that is asked for.
// Somebody else has chosen them, so a browser must neither guess what they are
// nor run them. The caller has set Content-Type and Content-Disposition; fail
// answers for a range that can't be had.
func Serve(w http.ResponseWriter, req *http.Request, r store.Resource, content io.ReadSeeker, fail func(*store.Error)) {
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // a PATCH gives the same id other bytes
	h.Set("ETag", `"`+r.ContentHash+`"`)
	watched := &watched{ReadSeeker: content}
	http.ServeContent(&rangeWriter{ResponseWriter: w, fail: fail}, req, "", time.Time{}, watched)
	if watched.err != nil {
		// The answer has begun. It must not end as if it were whole.
		middleware.InfoOf(req).Err = watched.err
		panic(http.ErrAbortHandler)
	}
}

// watched keeps the error of a reader, which http.ServeContent does not tell.
type watched struct {
	io.ReadSeeker
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// rangeWriter gives the refusal of a range the form that all errors have.
type rangeWriter struct {
	http.ResponseWriter
	fail    func(*store.Error)
	refused bool
}

func (w *rangeWriter) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.refused = true
	h := w.Header()
	for _, name := range []string{"Content-Disposition", "Content-Security-Policy", "Cache-Control", "ETag"} {
		h.Del(name)
	}
	w.fail(&store.Error{Code: store.CodeRangeNotSatisfiable, Field: "Range",
		Message: "The range lies outside of the artifact; Content-Range says how many bytes it has."})
}

func (w *rangeWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Attachment is the Content-Disposition that makes a browser save the bytes
// under the last part of a name (RFC 6266), which it gets in ASCII and, where
// that is not all, in full.
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
		// RFC 5987 wants everything escaped that PathEscape leaves, but for these.
		escaped := strings.NewReplacer("=", "%3D", ":", "%3A", "@", "%40").Replace(url.PathEscape(name))
		header += `; filename*=UTF-8''` + escaped
	}
	return header
}
