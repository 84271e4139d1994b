package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"tracker/server/web"
	"tracker/store/archive"
	"tracker/store/domain"
)

// exportProject sends an archive of a project.
func (s *Server) exportProject(c *call) error {
	if _, err := s.db.Projects.Project(c.ctx, c.actor, c.vars["id"]); err != nil {
		return err // fail before waiting for other exports
	}
	return s.exportArchive(c, archive.Query{ProjectID: c.vars["id"]}, true)
}

// exportRecords sends an archive with the requested records of a project.
func (s *Server) exportRecords(c *call) error {
	var body struct {
		Records []string `json:"records"`
	}
	if _, err := s.db.Projects.Project(c.ctx, c.actor, c.vars["id"]); err != nil {
		return err
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	if len(body.Records) == 0 {
		return domain.Invalid("records", "records must name at least one record, like iteration/ID.")
	}
	return s.exportArchive(c, archive.Query{ProjectID: c.vars["id"], Records: body.Records}, false)
}

// exportArchive writes the archive to a temporary file before it sends it, so that a failed export
// can still be answered with an error.
func (s *Server) exportArchive(c *call, q archive.Query, report bool) error {
	f, err := s.db.Archive.ScratchFile()
	if err != nil {
		return err
	}
	defer discard(f)
	if err := s.db.Archive.Export(c.ctx, c.actor, q, archive.Options{Report: report}, f); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", web.Attachment("tracker-"+q.ProjectID+".zip"))
	h.Set("X-Content-Type-Options", "nosniff")
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	if c.r.Method != http.MethodHead {
		_, err = io.Copy(c.w, f) // after a lost connection, no error can be sent
	}
	web.InfoOf(c.r).Err = err
	return nil
}

// importArchive imports the archive in the request body.
func (s *Server) importArchive(c *call) error {
	if kind := c.r.Header.Get("Content-Type"); kind != "application/zip" {
		return domain.Errorf(web.CodeUnsupportedMediaType, "Send the archive with the Content-Type application/zip.")
	}
	web.AllowUpload(c.r)
	if err := s.db.Files.CheckSize(c.r.ContentLength); err != nil {
		return err
	}
	r, err := s.db.Archive.Receive(c.ctx, c.actor, &formBody{r: c.r.Body}, archive.ImportOptions{})
	return reply(c, r, err)
}

// importArchivePart stores the part of an archive in the request body. After the last part, it
// imports the archive.
func (s *Server) importArchivePart(c *call) error {
	if kind := c.r.Header.Get("Content-Type"); kind != "application/zip" {
		return domain.Errorf(web.CodeUnsupportedMediaType, "Send the part of the archive with the Content-Type application/zip.")
	}
	p := archive.Part{ID: c.query.Get("upload"), Body: &formBody{r: c.r.Body}}
	var last int64
	// If the range is invalid, p.Size stays 0 and ReceivePart returns an error.
	if _, err := fmt.Sscanf(c.r.Header.Get("Content-Range"), "bytes %d-%d/%d", &p.From, &last, &p.All); err == nil {
		p.Size = last - p.From + 1
	}
	web.AllowUpload(c.r)
	r, err := s.db.Archive.ReceivePart(c.ctx, c.actor, p, archive.ImportOptions{})
	if r == nil {
		return c.none(err)
	}
	return reply(c, r, err)
}

func discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}
