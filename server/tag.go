package server

import "tracker/store"

func (s *Server) tags(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Tags(c.ctx, c.actor, store.TagKind(c.vars["kind"]), c.vars["id"], p)
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
	created, err := s.db.CreateTag(c.ctx, c.actor, store.TagKind(kind), id, b.Value)
	return c.created(created, err, "tag", kind, id, b.Value)
}

func (s *Server) deleteTag(c *call) error {
	return c.none(s.db.DeleteTag(c.ctx, c.actor, store.TagKind(c.vars["kind"]), c.vars["id"], c.vars["value"]))
}
