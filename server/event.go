package server

import (
	"context"

	"tracker/server/web"
	"tracker/store"
)

func (s *Server) experimentEvents(c *call) error {
	id := c.vars["id"]
	return c.stream("experiment "+id, func(ctx context.Context, actor store.Actor, cursor string) (store.Changes, error) {
		return s.db.ExperimentChanges(ctx, actor, id, cursor)
	})
}

func (s *Server) iterationEvents(c *call) error {
	id := c.vars["id"]
	return c.stream("iteration "+id, func(ctx context.Context, actor store.Actor, cursor string) (store.Changes, error) {
		return s.db.IterationChanges(ctx, actor, id, cursor)
	})
}

// stream answers with server-sent events from Last-Event-ID on, as long as the
// token is good.
func (c *call) stream(subject string, changes func(context.Context, store.Actor, string) (store.Changes, error)) error {
	s, r := c.s, c.r
	return s.events.Serve(c.w, r, web.EventStream{
		Subject: subject,
		Viewer:  r.Header.Get("Authorization"),
		Cursor:  r.Header.Get("Last-Event-ID"),
		Allow: func(ctx context.Context) error {
			u, err := s.auth.User(r.WithContext(ctx))
			if err == nil {
				_, err = changes(ctx, store.Actor{UserID: u.ID}, "")
			}
			return err
		},
		Changes: func(ctx context.Context, cursor string) (store.Changes, error) {
			return changes(ctx, store.System, cursor)
		},
	})
}
