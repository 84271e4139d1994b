package server

import (
	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/files"
)

func (s *Server) resources(c *call, p domain.Page) (domain.List[files.Artifact], error) {
	return s.db.Files.Artifacts(c.ctx, c.actor, c.id(),
		files.ArtifactQuery{Page: p, Name: c.query.Get("name"), IterationID: c.text("iteration_id")})
}

func (s *Server) createArtifact(c *call) error {
	experiment := c.vars["experiment_id"]
	allow := func() error { return s.db.Files.AllowUpload(c.ctx, c.actor, experiment) }
	if err := allow(); err != nil {
		return err
	}
	web.AllowUpload(c.r)
	f, err := c.readForm(allow)
	if err != nil {
		return err
	}
	defer f.discard()
	n, err := f.create()
	if err != nil {
		return err
	}
	created, err := s.db.Files.CreateArtifact(c.ctx, c.actor, experiment, n, f.data)
	return c.created(created, err, "resource", created.ID)
}

func (s *Server) updateArtifact(c *call) error {
	id := c.vars["id"]
	if err := s.db.Files.AllowUpdate(c.ctx, c.actor, id); err != nil {
		return err
	}
	web.AllowUpload(c.r)
	f, err := c.readForm(func() error { return s.db.Files.AllowReplace(c.ctx, c.actor, id) })
	if err != nil {
		return err
	}
	defer f.discard()
	return c.none(s.db.Files.UpdateArtifact(c.ctx, c.actor, id, f.patch, f.data))
}

// resourceData sends the bytes of an artifact.
func (s *Server) resourceData(c *call) error {
	r, data, err := s.db.Files.OpenArtifact(c.ctx, c.actor, c.vars["id"])
	if err != nil {
		return err
	}
	defer data.Close()
	c.w.Header().Set("Content-Type", r.ContentType)
	c.w.Header().Set("Content-Disposition", web.Attachment(r.Name))
	web.ServeContent(c.w, c.r, r, data, func(e *domain.Error) { web.WriteError(c.w, c.r, e) })
	return nil
}
