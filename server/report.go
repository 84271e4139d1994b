package server

import (
	"tracker/store/projects"
)

// reports lists the reports of a project.
func (s *Server) reports(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Projects.Reports(c.ctx, c.actor, c.vars["project_id"], p)
	return reply(c, l, err)
}

func (s *Server) createReport(c *call) error {
	var b projects.NewReport
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.Projects.CreateReport(c.ctx, c.actor, c.vars["project_id"], b)
	return c.created(created, err, "report", created.ID)
}

func (s *Server) report(c *call) error {
	r, err := s.db.Projects.Report(c.ctx, c.actor, c.vars["id"])
	return reply(c, r, err)
}

func (s *Server) updateReport(c *call) error {
	var b projects.ReportPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Projects.UpdateReport(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteReport(c *call) error {
	return c.none(s.db.Projects.DeleteReport(c.ctx, c.actor, c.vars["id"]))
}
