package server

import (
	"net/http"

	"tracker/server/web"
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

// createAPIKey sends the new key. It ignores an idempotency key, because the key itself must not be
// stored.
func (s *Server) createAPIKey(c *call, b users.NewAPIKey) error {
	made, err := s.db.Users.CreateAPIKey(c.ctx, c.actor, c.vars["id"], b)
	if err != nil {
		return err
	}
	c.locate("user", c.vars["id"], "keys", made.ID)
	c.w.Header().Set("Cache-Control", "no-store")
	web.WriteJSON(c.w, c.r, http.StatusCreated, made)
	return nil
}

func (s *Server) deleteAPIKey(c *call) error {
	return c.none(s.db.Users.DeleteAPIKey(c.ctx, c.actor, c.vars["id"], c.vars["key_id"]))
}
