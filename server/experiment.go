package server

import "tracker/store"

func (s *Server) experiments(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := store.ExperimentQuery{Page: p, Name: c.query.Get("name"), Status: (*store.ExperimentStatus)(c.text("status"))}
	l, err := s.db.Experiments(c.ctx, c.actor, c.vars["project_id"], q)
	return reply(c, l, err)
}

func (s *Server) createExperiment(c *call) error {
	var b store.NewExperiment
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.CreateExperiment(c.ctx, c.actor, c.vars["project_id"], b)
	return c.created(created, err, "experiment", created.ID)
}

func (s *Server) experiment(c *call) error {
	e, err := s.db.Experiment(c.ctx, c.actor, c.vars["id"])
	return reply(c, e, err)
}

func (s *Server) updateExperiment(c *call) error {
	var b store.ExperimentPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.UpdateExperiment(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteExperiment(c *call) error {
	return c.none(s.db.DeleteExperiment(c.ctx, c.actor, c.vars["id"]))
}

func (s *Server) experimentKeys(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := store.KeyQuery{Page: p, Part: c.query.Get("q"), Kind: (*store.KeyKind)(c.text("kind"))}
	l, err := s.db.Keys(c.ctx, c.actor, c.vars["id"], q)
	return reply(c, l, err)
}
