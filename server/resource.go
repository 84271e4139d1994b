package server

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

func (s *Server) resources(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := store.ResourceQuery{Page: p, Name: c.query.Get("name"), IterationID: c.text("iteration_id")}
	l, err := s.db.Resources(c.ctx, c.actor, c.vars["experiment_id"], q)
	return reply(c, l, err)
}

func (s *Server) createResource(c *call) error {
	experiment := c.vars["experiment_id"]
	allow := func() error { return s.db.AllowUpload(c.ctx, c.actor, experiment) }
	if err := allow(); err != nil {
		return err
	}
	f, err := c.readForm(allow)
	if err != nil {
		return err
	}
	defer f.discard()
	n, err := f.create()
	if err != nil {
		return err
	}
	created, err := s.db.CreateResource(c.ctx, c.actor, experiment, n, f.data)
	return c.created(created, err, "resource", created.ID)
}

func (s *Server) resource(c *call) error {
	r, err := s.db.Resource(c.ctx, c.actor, c.vars["id"])
	return reply(c, r, err)
}

func (s *Server) updateResource(c *call) error {
	id := c.vars["id"]
	if err := s.db.AllowUpdate(c.ctx, c.actor, id); err != nil {
		return err
	}
	f, err := c.readForm(func() error { return s.db.AllowReplace(c.ctx, c.actor, id) })
	if err != nil {
		return err
	}
	defer f.discard()
	return c.none(s.db.UpdateResource(c.ctx, c.actor, id, f.patch, f.data))
}

func (s *Server) deleteResource(c *call) error {
	return c.none(s.db.DeleteResource(c.ctx, c.actor, c.vars["id"]))
}

// resourceData answers with the bytes of an artifact. Somebody else has chosen
// them, so a browser must neither guess what they are nor run them.
func (s *Server) resourceData(c *call) error {
	r, content, err := s.db.OpenResource(c.ctx, c.actor, c.vars["id"])
	if err != nil {
		return err
	}
	defer content.Close()
	h := c.w.Header()
	h.Set("Content-Type", r.ContentType)
	h.Set("Content-Disposition", disposition(r.Name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // a PATCH gives the same id other bytes
	h.Set("ETag", `"`+r.ContentHash+`"`)
	watched := &watched{ReadSeeker: content}
	w := &rangeWriter{ResponseWriter: c.w, r: c.r}
	http.ServeContent(w, c.r, "", time.Time{}, watched)
	if watched.err != nil {
		// The answer has begun. It must not end as if it were whole.
		middleware.InfoOf(c.r).Err = watched.err
		panic(http.ErrAbortHandler)
	}
	return nil
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
	r       *http.Request
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
	fail(w.ResponseWriter, w.r, &store.Error{Code: store.CodeRangeNotSatisfiable, Field: "Range",
		Message: "The range lies outside of the artifact; Content-Range says how many bytes it has."})
}

func (w *rangeWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// disposition makes a browser save the bytes under the last part of a name
// (RFC 6266), which it gets in ASCII and, where that is not all, in full.
func disposition(name string) string {
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
