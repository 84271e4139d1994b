package server

import (
	"tracker/store/users"
)

func (s *Server) users(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Users.Users(c.ctx, c.actor, p)
	return reply(c, l, err)
}

func (s *Server) createUser(c *call) error {
	var b users.NewUser
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.Users.CreateUser(c.ctx, c.actor, b)
	return c.created(created, err, "user", created.ID)
}

func (s *Server) user(c *call) error {
	u, err := s.db.Users.User(c.ctx, c.actor, c.vars["id"])
	return reply(c, u, err)
}

func (s *Server) updateUser(c *call) error {
	var b users.UserPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.Users.UpdateUser(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteUser(c *call) error {
	return c.none(s.db.Users.DeleteUser(c.ctx, c.actor, c.vars["id"]))
}
