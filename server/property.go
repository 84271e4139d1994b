package server

import (
	"maps"
	"slices"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

func (s *Server) properties(c *call, p domain.Page) (domain.List[domain.Property], error) {
	return s.db.Runs.Properties(c.ctx, c.actor, runs.PropertyKind(c.vars["kind"]), c.vars["id"], p)
}

func (s *Server) setProperties(c *call, b struct {
	Properties map[string]scalar.Text `json:"properties"`
}) error {
	var all []domain.Property
	for _, key := range slices.Sorted(maps.Keys(b.Properties)) {
		all = append(all, domain.Property{Key: key, Value: string(b.Properties[key])})
	}
	return c.none(s.db.Runs.SetProperties(c.ctx, c.actor, runs.PropertyKind(c.vars["kind"]), c.vars["id"], all))
}

func (s *Server) deleteProperty(c *call) error {
	return c.none(s.db.Runs.DeleteProperty(c.ctx, c.actor, runs.PropertyKind(c.vars["kind"]), c.vars["id"], c.vars["key"]))
}
