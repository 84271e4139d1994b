package server

import (
	"maps"
	"slices"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

func (s *Server) properties(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Runs.Properties(c.ctx, c.actor, runs.PropertyKind(c.vars["kind"]), c.vars["id"], p)
	return reply(c, l, err)
}

func (s *Server) setProperties(c *call) error {
	var b struct {
		Properties map[string]scalar.Text `json:"properties"`
	}
	if err := c.decode(&b); err != nil {
		return err
	}
	var all []domain.Property
	for _, key := range slices.Sorted(maps.Keys(b.Properties)) {
		all = append(all, domain.Property{Key: key, Value: string(b.Properties[key])})
	}
	return c.none(s.db.Runs.SetProperties(c.ctx, c.actor, runs.PropertyKind(c.vars["kind"]), c.vars["id"], all))
}

func (s *Server) deleteProperty(c *call) error {
	return c.none(s.db.Runs.DeleteProperty(c.ctx, c.actor, runs.PropertyKind(c.vars["kind"]), c.vars["id"], c.vars["key"]))
}
