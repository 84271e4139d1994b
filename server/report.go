package server

import "tracker/store"

// reports lists the reports of a project.
func (s *Server) reports(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Reports(c.ctx, c.actor, c.vars["project_id"], p)
	return reply(c, l, err)
}

func (s *Server) createReport(c *call) error {
	var b store.NewReport
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.CreateReport(c.ctx, c.actor, c.vars["project_id"], b)
	return c.created(created, err, "report", created.ID)
}

func (s *Server) report(c *call) error {
	r, err := s.db.Report(c.ctx, c.actor, c.vars["id"])
	return reply(c, r, err)
}

func (s *Server) updateReport(c *call) error {
	var b store.ReportPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.UpdateReport(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteReport(c *call) error {
	return c.none(s.db.DeleteReport(c.ctx, c.actor, c.vars["id"]))
}
