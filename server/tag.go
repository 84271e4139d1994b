package server

import (
	"tracker/store/domain"
	"tracker/store/runs"
)

func (s *Server) tags(c *call, p domain.Page) (domain.List[runs.Tag], error) {
	return s.db.Runs.Tags(c.ctx, c.actor, runs.TagKind(c.vars["kind"]), c.vars["id"], p)
}

func (s *Server) createTag(c *call, b struct {
	Value string `json:"value"`
}) error {
	kind, id := c.vars["kind"], c.vars["id"]
	created, err := s.db.Runs.CreateTag(c.ctx, c.actor, runs.TagKind(kind), id, b.Value)
	return c.created(created, err, "tag", kind, id, b.Value)
}

func (s *Server) deleteTag(c *call) error {
	return c.none(s.db.Runs.DeleteTag(c.ctx, c.actor, runs.TagKind(c.vars["kind"]), c.vars["id"], c.vars["value"]))
}
