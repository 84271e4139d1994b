package server

import (
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/search"
)

func (s *Server) experiments(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := projects.ExperimentQuery{Page: p, Name: c.query.Get("name"), Status: (*domain.ExperimentStatus)(c.text("status"))}
	l, err := s.db.Projects.Experiments(c.ctx, c.actor, c.vars["project_id"], q)
	return reply(c, l, err)
}

func (s *Server) createExperiment(c *call) error {
	var b projects.NewExperiment
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.Projects.CreateExperiment(c.ctx, c.actor, c.vars["project_id"], b)
	return c.created(created, err, "experiment", created.ID)
}

func (s *Server) experiment(c *call) error {
	e, err := s.db.Projects.Experiment(c.ctx, c.actor, c.vars["id"])
	return reply(c, e, err)
}

func (s *Server) updateExperiment(c *call) error {
	var b projects.ExperimentPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Projects.UpdateExperiment(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteExperiment(c *call) error {
	return c.none(s.db.Projects.DeleteExperiment(c.ctx, c.actor, c.vars["id"]))
}

func (s *Server) experimentKeys(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	q := runs.KeyQuery{Page: p, Part: c.query.Get("q"), Kind: (*search.KeyKind)(c.text("kind"))}
	l, err := s.db.Runs.Keys(c.ctx, c.actor, c.vars["id"], q)
	return reply(c, l, err)
}
