package server

import (
	"tracker/store/domain"
	"tracker/store/projects"
)

func (s *Server) projects(c *call, p domain.Page) (domain.List[projects.Project], error) {
	given, err := c.given()
	if err != nil {
		return domain.List[projects.Project]{}, err
	}
	return s.db.Projects.Projects(c.ctx, c.actor, projects.ProjectQuery{Page: p, Name: c.query.Get("name"), Given: given})
}

func (s *Server) createProject(c *call, b domain.NewProject) error {
	created, err := s.db.Projects.CreateProject(c.ctx, c.actor, b)
	return c.created(created, err, "project", created.ID)
}

// given returns the query parameter given, which must be true or false.
func (c *call) given() (bool, error) {
	switch text := c.query.Get("given"); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, domain.Invalid("given", "given must be true or false.")
	}
}
