package server

import (
	"tracker/server/content"
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

// resourceData answers with the bytes of an artifact.
func (s *Server) resourceData(c *call) error {
	r, data, err := s.db.OpenResource(c.ctx, c.actor, c.vars["id"])
	if err != nil {
		return err
	}
	defer data.Close()
	c.w.Header().Set("Content-Type", r.ContentType)
	c.w.Header().Set("Content-Disposition", content.Attachment(r.Name))
	content.Serve(c.w, c.r, r, data, func(e *store.Error) { fail(c.w, c.r, e) })
	return nil
}
