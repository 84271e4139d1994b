package server

import (
	"context"

	"tracker/server/stream"
	"tracker/store"
)

func (s *Server) experimentEvents(c *call) error {
	id := c.vars["id"]
	return c.stream(func(ctx context.Context, cursor string) (store.Changes, error) {
		return s.db.ExperimentChanges(ctx, c.actor, id, cursor)
	})
}

func (s *Server) iterationEvents(c *call) error {
	id := c.vars["id"]
	return c.stream(func(ctx context.Context, cursor string) (store.Changes, error) {
		return s.db.IterationChanges(ctx, c.actor, id, cursor)
	})
}

// stream answers with server-sent events from Last-Event-ID on.
func (c *call) stream(changes func(context.Context, string) (store.Changes, error)) error {
	return stream.Serve(c.w, c.r, c.s.ending, c.r.Header.Get("Last-Event-ID"), changes)
}
