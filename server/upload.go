package server

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tracker/server/web"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
)

// Resumable artifact uploads use version 1.0 of the tus protocol. Clients for this protocol
// exist in every common language.
const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,termination,checksum,expiration"
	tusChecksums  = "sha1,sha256"
)

// resumable wraps a handler of the tus protocol. It returns an error if a request lacks the
// header Tus-Resumable. GET, HEAD and OPTIONS requests do not need the header.
func resumable(h handler) handler {
	return func(c *call) error {
		head := c.w.Header()
		head.Set("Tus-Resumable", tusVersion)
		head.Set("Cache-Control", "no-store")
		asked := c.r.Header.Get("Tus-Resumable")
		looks := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || c.r.Method == http.MethodOptions
		if asked != tusVersion && !(looks && asked == "") {
			head.Set("Tus-Version", tusVersion)
			return &domain.Error{Code: web.CodeUnsupportedVersion, Field: "Tus-Resumable",
				Message: "This route supports version " + tusVersion + " of the tus protocol; send the header Tus-Resumable: " + tusVersion + "."}
		}
		return h(c)
	}
}

func (s *Server) uploadOptions(c *call) error {
	if err := s.db.Files.AllowUpload(c.ctx, c.actor, c.vars["experiment_id"]); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", tusExtensions)
	h.Set("Tus-Checksum-Algorithm", tusChecksums)
	if limit := s.db.Files.MaxUpload(); limit > 0 {
		h.Set("Tus-Max-Size", strconv.FormatInt(limit, 10))
	}
	return c.none(nil)
}

func (s *Server) createUpload(c *call) error {
	n, err := newUpload(c.r.Header)
	if err != nil {
		return err
	}
	u, err := s.db.Files.CreateUpload(c.ctx, c.actor, c.vars["experiment_id"], n)
	if err != nil {
		return err
	}
	c.describe(u)
	return c.created(domain.Created{ID: u.ID}, nil, "upload", u.ID)
}

func (s *Server) upload(c *call) error {
	u, err := s.db.Files.Upload(c.ctx, c.actor, c.vars["id"])
	if err != nil {
		return err
	}
	c.describe(u)
	h := c.w.Header()
	h.Set("Upload-Length", strconv.FormatInt(u.SizeBytes, 10))
	h.Set("Upload-Metadata", u.Metadata)
	return c.ok(u)
}

func (s *Server) writeUpload(c *call) error {
	if ct := c.r.Header.Get("Content-Type"); ct != "application/offset+octet-stream" {
		return domain.Errorf(web.CodeUnsupportedMediaType, "The part must be sent with Content-Type: application/offset+octet-stream.")
	}
	offset, err := length(c.r.Header, "Upload-Offset")
	if err != nil {
		return err
	}
	h, sum, err := uploadChecksum(c.r.Header)
	if err != nil {
		return err
	}
	web.AllowUpload(c.r)
	u, err := s.db.Files.WriteUpload(c.ctx, c.actor, c.vars["id"], artifact.Part{
		Offset: offset, Body: &formBody{r: c.r.Body}, Hash: h, Sum: sum,
		Interrupt: func() {
			// If the connection does not support deadlines, the read ends only when the client
			// stops.
			_ = http.NewResponseController(c.w).SetReadDeadline(time.Now())
		},
	})
	if errors.Is(err, files.ErrChecksum) {
		err = &domain.Error{Code: web.CodeChecksumMismatch, Field: "Upload-Checksum", Message: files.ErrChecksum.Message}
	}
	if err != nil {
		return err
	}
	c.describe(u)
	if u.ArtifactID != nil {
		c.locate("resource", *u.ArtifactID)
	}
	return c.none(nil)
}

func (s *Server) deleteUpload(c *call) error {
	return c.none(s.db.Files.DeleteUpload(c.ctx, c.actor, c.vars["id"]))
}

// describe sets the response headers that describe the upload's progress.
func (c *call) describe(u files.Upload) {
	h := c.w.Header()
	h.Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	h.Set("Upload-Expires", u.Expires().Format(http.TimeFormat))
	if u.ArtifactID != nil {
		h.Set("Resource-Id", *u.ArtifactID)
	}
}

// newUpload reads the headers that describe a new upload.
func newUpload(h http.Header) (n files.NewUpload, err error) {
	if n.Size, err = length(h, "Upload-Length"); err != nil {
		return n, err
	}
	n.Metadata = h.Get("Upload-Metadata")
	fields := map[string]*string{"name": &n.Name, "description": &n.Description, "iteration_id": &n.IterationID,
		"content_type": &n.ContentType, "sha256": &n.Hash,
		"filename": &n.Name, "filetype": &n.ContentType} // names used by some clients
	seen := map[*string]bool{}
	for pair := range strings.SplitSeq(n.Metadata, ",") {
		key, encoded, _ := strings.Cut(strings.TrimSpace(pair), " ")
		if key == "" && strings.TrimSpace(n.Metadata) == "" {
			break
		}
		dst := fields[key]
		if dst == nil {
			key = web.Clip(key)
			return n, domain.Invalid("Upload-Metadata", "%q is not a key of Upload-Metadata; the keys are name, description, iteration_id, content_type and sha256.", key)
		}
		if seen[dst] {
			return n, domain.Invalid("Upload-Metadata", "%s is given twice in Upload-Metadata; give it once.", key)
		}
		seen[dst] = true
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return n, domain.Invalid("Upload-Metadata", "%s in Upload-Metadata must be written in base64.", key)
		}
		*dst = string(value)
	}
	return n, nil
}

// length returns the value of the named header, which is a number of bytes.
func length(h http.Header, name string) (int64, error) {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil || n < 0 || h.Get(name)[0] == '+' || len(h.Values(name)) > 1 {
		return 0, domain.Invalid(name, "%s must be one header with a number of bytes.", name)
	}
	return n, nil
}

// uploadChecksum returns the hash function and the checksum in the Upload-Checksum header of a
// part, or nil if the header is missing.
func uploadChecksum(h http.Header) (hash.Hash, []byte, error) {
	text := h.Get("Upload-Checksum")
	if text == "" {
		return nil, nil, nil
	}
	algorithm, encoded, _ := strings.Cut(text, " ")
	sum, err := base64.StdEncoding.DecodeString(encoded)
	var of hash.Hash
	switch algorithm {
	case "sha1":
		of = sha1.New()
	case "sha256":
		of = sha256.New()
	}
	if of == nil || err != nil || len(sum) != of.Size() {
		return nil, nil, &domain.Error{Code: web.CodeMalformedBody, Field: "Upload-Checksum",
			Message: "Upload-Checksum must be sha1 or sha256, a space, and the checksum of the part in base64."}
	}
	return of, sum, nil
}
