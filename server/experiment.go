package server

import (
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/search"
)

func (s *Server) experiments(c *call, p domain.Page) (domain.List[projects.Experiment], error) {
	return s.db.Projects.Experiments(c.ctx, c.actor, c.id(),
		projects.ExperimentQuery{Page: p, Name: c.query.Get("name"), Status: (*domain.ExperimentStatus)(c.text("status"))})
}

func (s *Server) experimentKeys(c *call, p domain.Page) (domain.List[search.Key], error) {
	return s.db.Runs.Keys(c.ctx, c.actor, c.id(),
		runs.KeyQuery{Page: p, Part: c.query.Get("q"), Kind: (*search.KeyKind)(c.text("kind"))})
}
