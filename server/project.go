package server

import (
	"tracker/store/domain"
	"tracker/store/projects"
)

func (s *Server) projects(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Projects.Projects(c.ctx, c.actor, projects.ProjectQuery{Page: p, Name: c.query.Get("name")})
	return reply(c, l, err)
}

func (s *Server) createProject(c *call) error {
	var b domain.NewProject
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.Projects.CreateProject(c.ctx, c.actor, b)
	return c.created(created, err, "project", created.ID)
}

func (s *Server) project(c *call) error {
	p, err := s.db.Projects.Project(c.ctx, c.actor, c.vars["id"])
	return reply(c, p, err)
}

func (s *Server) updateProject(c *call) error {
	var b projects.ProjectPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Projects.UpdateProject(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteProject(c *call) error {
	return c.none(s.db.Projects.DeleteProject(c.ctx, c.actor, c.vars["id"]))
}
