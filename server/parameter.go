package server

import (
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

func (s *Server) parameters(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Runs.Parameters(c.ctx, c.actor, c.vars["iteration_id"], p)
	return reply(c, l, err)
}

func (s *Server) createParameter(c *call) error {
	var b struct {
		Key   *string      `json:"key"`
		Value *scalar.Text `json:"value"`
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
	created, err := s.db.Runs.CreateParameter(c.ctx, c.actor, c.vars["iteration_id"], *b.Key, *b.Value)
	return c.created(created, err, "parameter", created.ID)
}

var (
	errKeyMissing   = domain.Invalid("key", "key must be given.")
	errValueMissing = domain.Invalid("value", "value must be given.")
)

func (s *Server) parameter(c *call) error {
	p, err := s.db.Runs.Parameter(c.ctx, c.actor, c.vars["id"])
	return reply(c, p, err)
}

func (s *Server) updateParameter(c *call) error {
	var b runs.ParameterPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Runs.UpdateParameter(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteParameter(c *call) error {
	return c.none(s.db.Runs.DeleteParameter(c.ctx, c.actor, c.vars["id"]))
}
