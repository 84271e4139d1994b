package server

import "tracker/store"

func (s *Server) parameters(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Parameters(c.ctx, c.actor, c.vars["iteration_id"], p)
	return reply(c, l, err)
}

func (s *Server) createParameter(c *call) error {
	var b struct {
		Key   *string     `json:"key"`
		Value *store.Text `json:"value"`
	}
	if err := c.decode(&b); err != nil {
		return err
	}
	if b.Key == nil {
		return errKeyMissing
	}
	if b.Value == nil {
		return errValueMissing
	}
	created, err := s.db.CreateParameter(c.ctx, c.actor, c.vars["iteration_id"], *b.Key, *b.Value)
	return c.created(created, err, "parameter", created.ID)
}

var (
	errKeyMissing   = store.Invalid("key", "key must be given.")
	errValueMissing = store.Invalid("value", "value must be given.")
)

func (s *Server) parameter(c *call) error {
	p, err := s.db.Parameter(c.ctx, c.actor, c.vars["id"])
	return reply(c, p, err)
}

func (s *Server) updateParameter(c *call) error {
	var b store.ParameterPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.UpdateParameter(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteParameter(c *call) error {
	return c.none(s.db.DeleteParameter(c.ctx, c.actor, c.vars["id"]))
}
