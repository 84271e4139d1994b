package server

import (
	"tracker/store/registry"
)

// models lists the models of a project. The query parameter "name" selects models by a part of
// their names. The query parameter "exact_name" selects a model by its name.
func (s *Server) models(c *call) error {
	return s.listModels(c, c.vars["project_id"], registry.ModelQuery{Part: c.query.Get("name"), Name: c.text("exact_name")})
}

// projectModels serves a deprecated route. Its query parameter "name" selects a model by its
// name.
func (s *Server) projectModels(c *call) error {
	return s.listModels(c, c.vars["id"], registry.ModelQuery{Name: c.text("name")})
}

func (s *Server) listModels(c *call, projectID string, q registry.ModelQuery) (err error) {
	if q.Page, err = c.page(); err != nil {
		return err
	}
	l, err := s.db.Models.Models(c.ctx, c.actor, projectID, q)
	return reply(c, l, err)
}

func (s *Server) createModel(c *call) error {
	var b registry.NewModel
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.Models.CreateModel(c.ctx, c.actor, c.vars["project_id"], b)
	return c.created(created, err, "model", created.ID)
}

func (s *Server) model(c *call) error {
	m, err := s.db.Models.Model(c.ctx, c.actor, c.vars["id"])
	return reply(c, m, err)
}

func (s *Server) updateModel(c *call) error {
	var b registry.ModelPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Models.UpdateModel(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteModel(c *call) error {
	return c.none(s.db.Models.DeleteModel(c.ctx, c.actor, c.vars["id"]))
}

func (s *Server) productionVersion(c *call) error {
	v, err := s.db.Models.ProductionVersion(c.ctx, c.actor, c.vars["id"])
	return reply(c, v, err)
}
