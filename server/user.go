package server

import (
	"tracker/store/domain"
	"tracker/store/users"
)

func (s *Server) users(c *call, p domain.Page) (domain.List[domain.User], error) {
	return s.db.Users.Users(c.ctx, c.actor, p)
}

func (s *Server) createUser(c *call, b users.NewUser) error {
	created, err := s.db.Users.CreateUser(c.ctx, c.actor, b)
	return c.created(created, err, "user", created.ID)
}
