package server

import (
	"context"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/runs"
)

func (s *Server) experimentEvents(c *call) error {
	id := c.vars["id"]
	return c.stream("experiment "+id, func(ctx context.Context, actor domain.Actor, cursor string) (runs.Changes, error) {
		return s.db.Runs.ExperimentChanges(ctx, actor, id, cursor)
	})
}

func (s *Server) iterationEvents(c *call) error {
	id := c.vars["id"]
	return c.stream("iteration "+id, func(ctx context.Context, actor domain.Actor, cursor string) (runs.Changes, error) {
		return s.db.Runs.IterationChanges(ctx, actor, id, cursor)
	})
}

// stream sends server-sent events, starting after the event in Last-Event-ID. The stream ends
// when the token expires or is revoked.
func (c *call) stream(subject string, changes func(context.Context, domain.Actor, string) (runs.Changes, error)) error {
	s, r := c.s, c.r
	return s.events.Serve(c.w, r, web.EventStream{
		Subject: subject,
		Viewer:  r.Header.Get("Authorization"),
		Cursor:  r.Header.Get("Last-Event-ID"),
		Allow: func(ctx context.Context) error {
			u, err := s.auth.User(r.WithContext(ctx))
			if err == nil {
				_, err = changes(ctx, u.Actor(), "")
			}
			return err
		},
		Changes: func(ctx context.Context, cursor string) (runs.Changes, error) {
			return changes(ctx, domain.System, cursor)
		},
	})
}
