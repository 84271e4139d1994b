package server

import (
	"tracker/store/domain"
	"tracker/store/projects"
)

func (s *Server) projects(c *call, p domain.Page) (domain.List[projects.Project], error) {
	return s.db.Projects.Projects(c.ctx, c.actor, projects.ProjectQuery{Page: p, Name: c.query.Get("name")})
}

func (s *Server) createProject(c *call, b domain.NewProject) error {
	created, err := s.db.Projects.CreateProject(c.ctx, c.actor, b)
	return c.created(created, err, "project", created.ID)
}
