package server

import (
	"tracker/store/domain"
	"tracker/store/scalar"
)

func (s *Server) createParameter(c *call, b struct {
	Key   *string      `json:"key"`
	Value *scalar.Text `json:"value"`
}) error {
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
