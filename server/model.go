package server

import (
	"tracker/store/domain"
	"tracker/store/registry"
)

// models lists the models of a project. The query parameter "name" selects models by a part of
// their names. The query parameter "exact_name" selects a model by its name.
func (s *Server) models(c *call, p domain.Page) (domain.List[registry.Model], error) {
	return s.db.Models.Models(c.ctx, c.actor, c.id(), registry.ModelQuery{Page: p, Part: c.query.Get("name"), Name: c.text("exact_name")})
}

// projectModels serves a deprecated route, whose query parameter "name" selects a model by its full
// name.
func (s *Server) projectModels(c *call, p domain.Page) (domain.List[registry.Model], error) {
	return s.db.Models.Models(c.ctx, c.actor, c.id(), registry.ModelQuery{Page: p, Name: c.text("name")})
}
