package server

import "tracker/store"

func (s *Server) users(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	l, err := s.db.Users(c.ctx, c.actor, p)
	return reply(c, l, err)
}

func (s *Server) createUser(c *call) error {
	var b store.NewUser
	if err := c.decode(&b); err != nil {
		return err
	}
	created, err := s.db.CreateUser(c.ctx, c.actor, b)
	return c.created(created, err, "user", created.ID)
}

func (s *Server) user(c *call) error {
	u, err := s.db.User(c.ctx, c.actor, c.vars["id"])
	return reply(c, u, err)
}

func (s *Server) updateUser(c *call) error {
	var b store.UserPatch
	if err := c.decode(&b); err != nil {
		return err
	}
	return c.none(s.db.UpdateUser(c.ctx, c.actor, c.vars["id"], b))
}

func (s *Server) deleteUser(c *call) error {
	return c.none(s.db.DeleteUser(c.ctx, c.actor, c.vars["id"]))
}
