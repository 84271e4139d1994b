package server

import (
	"tracker/store/domain"
	"tracker/store/registry"
)

func (s *Server) modelVersions(c *call, p domain.Page) (domain.List[registry.ModelVersion], error) {
	return s.db.Models.ModelVersions(c.ctx, c.actor, c.id(),
		registry.ModelVersionQuery{Page: p, Stage: (*registry.Stage)(c.text("stage"))})
}
