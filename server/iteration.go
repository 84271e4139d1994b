package server

import (
	"context"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
)

func (s *Server) iterations(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := runs.IterationQuery{
		Page:    p,
		Filter:  c.query.Get("filter"),
		Sort:    c.query.Get("sort"),
		Columns: c.query.Get("columns"),
		Cut:     true,
	}
	return held(c, func(ctx context.Context) (domain.List[runs.Iteration], error) {
		return s.db.Runs.Iterations(ctx, c.actor, c.vars["experiment_id"], q)
	})
}

func (s *Server) createIteration(c *call) error {
	var b runs.NewIteration
	if err := c.decodeOptional(&b); err != nil {
		return err
	}
	if parent := c.text("parent_iteration_id"); parent != nil {
		if b.ParentIterationID != nil && *b.ParentIterationID != *parent {
			return domain.Invalid("parent_iteration_id", "parent_iteration_id differs between the query and the body; give it once.")
		}
		b.ParentIterationID = parent
	}
	created, err := s.db.Runs.CreateIteration(c.ctx, c.actor, c.vars["experiment_id"], b)
	return c.created(created, err, "iteration", created.ID)
}

func (s *Server) summary(c *call) error {
	return held(c, func(ctx context.Context) (runs.Summary, error) {
		return s.db.Runs.Summary(ctx, c.actor, c.vars["id"])
	})
}

func (s *Server) diagnosis(c *call) error {
	return held(c, func(ctx context.Context) (runs.Diagnosis, error) {
		return s.db.Runs.Diagnosis(ctx, c.actor, c.vars["id"])
	})
}

func (s *Server) createSnapshot(c *call, b runs.NewSnapshot) error {
	id := c.vars["id"]
	created, err := s.db.Runs.CreateSnapshot(c.ctx, c.actor, id, b)
	return c.created(created, err, "iteration", id, "snapshot")
}

// table sends a page of the rows of a logged table.
func (s *Server) table(c *call) error {
	var step *int64
	if text := c.text("step"); text != nil {
		n, err := parsePosition("step", *text, points.ByStep)
		if err != nil {
			return err
		}
		step = &n
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	if s.tables == nil {
		return domain.Errorf(domain.CodeUnavailable, "This server reads no tables.")
	}
	return held(c, func(ctx context.Context) (any, error) {
		return s.tables(ctx, c.actor, c.id(), c.query.Get("key"), step, p)
	})
}
