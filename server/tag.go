package server

import (
	"tracker/store/runs"
)

func (s *Server) tags(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Runs.Tags(c.ctx, c.actor, runs.TagKind(c.vars["kind"]), c.vars["id"], p)
	return reply(c, l, err)
}

func (s *Server) createTag(c *call) error {
	var b struct {
		Value string `json:"value"`
	}
	if err := c.decode(&b); err != nil {
		return err
	}
	kind, id := c.vars["kind"], c.vars["id"]
	created, err := s.db.Runs.CreateTag(c.ctx, c.actor, runs.TagKind(kind), id, b.Value)
	return c.created(created, err, "tag", kind, id, b.Value)
}

func (s *Server) deleteTag(c *call) error {
	return c.none(s.db.Runs.DeleteTag(c.ctx, c.actor, runs.TagKind(c.vars["kind"]), c.vars["id"], c.vars["value"]))
}
