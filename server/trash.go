package server

import "tracker/store"

// trash lists what the caller may restore.
func (s *Server) trash(c *call) error {
	q := store.TrashQuery{ProjectID: c.text("project_id"), Kind: (*store.TrashKind)(c.text("kind"))}
	var err error
	if q.Page, err = c.page(); err != nil {
		return err
	}
	l, err := s.db.Trash(c.ctx, c.actor, q)
	return reply(c, l, err)
}

func (s *Server) restore(c *call) error {
	return c.none(s.db.Restore(c.ctx, c.actor, c.vars["id"]))
}

func (s *Server) purge(c *call) error {
	return c.none(s.db.Purge(c.ctx, c.actor, c.vars["id"]))
}
