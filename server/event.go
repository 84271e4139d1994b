package server

import (
	"context"

	"tracker/server/stream"
	"tracker/store"
)

func (s *Server) experimentEvents(c *call) error {
	id := c.vars["id"]
	return c.stream(func(ctx context.Context, actor store.Actor, cursor string) (store.Changes, error) {
		return s.db.ExperimentChanges(ctx, actor, id, cursor)
	})
}

func (s *Server) iterationEvents(c *call) error {
	id := c.vars["id"]
	return c.stream(func(ctx context.Context, actor store.Actor, cursor string) (store.Changes, error) {
		return s.db.IterationChanges(ctx, actor, id, cursor)
	})
}

// stream answers with server-sent events from Last-Event-ID on, as long as the
// token is good.
func (c *call) stream(changes func(context.Context, store.Actor, string) (store.Changes, error)) error {
	return stream.Serve(c.w, c.r, c.s.ending, c.r.Header.Get("Last-Event-ID"), func(ctx context.Context, cursor string) (store.Changes, error) {
		u, err := c.s.auth.User(c.r)
		if err != nil {
			return store.Changes{}, err
		}
		return changes(ctx, store.Actor{UserID: u.ID}, cursor)
	})
}
