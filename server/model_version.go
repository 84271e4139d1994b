package server

import (
	"tracker/store/registry"
)

func (s *Server) modelVersions(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := registry.ModelVersionQuery{Page: p, Stage: (*registry.Stage)(c.text("stage"))}
	l, err := s.db.Models.ModelVersions(c.ctx, c.actor, c.vars["model_id"], q)
	return reply(c, l, err)
}

func (s *Server) createModelVersion(c *call) error {
	var b registry.NewModelVersion
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.Models.CreateModelVersion(c.ctx, c.actor, c.vars["model_id"], b)
	return c.created(created, err, "modelversion", created.ID)
}

func (s *Server) modelVersion(c *call) error {
	v, err := s.db.Models.ModelVersion(c.ctx, c.actor, c.vars["id"])
	return reply(c, v, err)
}

func (s *Server) updateModelVersion(c *call) error {
	var b registry.ModelVersionPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Models.UpdateModelVersion(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteModelVersion(c *call) error {
	return c.none(s.db.Models.DeleteModelVersion(c.ctx, c.actor, c.vars["id"]))
}
