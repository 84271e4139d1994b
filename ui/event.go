package ui

import (
	"context"
	"net/http"
	"slices"
	"time"

	"tracker/server/middleware"
	"tracker/server/stream"
	"tracker/store"
)

const (
	// streamAge is when a stream ends, so that the browser asks for another one,
	// with the cookie that it has then: the server does not know who has
	// signed out.
	streamAge = time.Minute
	// silencePause is the time between two looks for runs that are lost.
	silencePause = 5 * time.Second
)

var errStreamAge = store.Errorf(store.CodeUnavailable, "The stream has ended; ask for another one.")

func (s *site) experimentEvents(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, s.DB.ExperimentChanges, func(ctx context.Context, actor store.Actor, id string) ([]string, error) {
		return s.DB.SilentIterations(ctx, actor, id, s.lostBefore())
	})
}

func (s *site) iterationEvents(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, s.DB.IterationChanges, func(ctx context.Context, actor store.Actor, id string) ([]string, error) {
		i, err := s.DB.Iteration(ctx, actor, id)
		if err != nil || s.status(i) != lost {
			return nil, err
		}
		return []string{id}, nil
	})
}

// follow answers with what changes, from Last-Event-ID on or, since a script
// can't set a header, from ?cursor=. Runs that are lost, or are not any more, have
// changed too, though nothing was written.
func (s *site) follow(w http.ResponseWriter, r *http.Request,
	changes func(context.Context, store.Actor, string, string) (store.Changes, error),
	silent func(context.Context, store.Actor, string) ([]string, error)) error {
	cursor := r.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = r.URL.Query().Get("cursor")
	}
	id, begin := idOf(r), s.Now()
	var told []string // the runs that are known to be lost
	var looked time.Time
	err := stream.Serve(w, r, s.ending, cursor, func(ctx context.Context, cursor string) (c store.Changes, err error) {
		if s.Now().Sub(begin) >= streamAge {
			return c, errStreamAge
		}
		user, err := s.Auth.CookieUser(r) // who asked may not be signed in any more
		if err != nil {
			return c, err
		}
		middleware.InfoOf(r).User = user.Username
		actor := store.Actor{UserID: user.ID}
		if c, err = changes(ctx, actor, id, cursor); err != nil || s.Now().Sub(looked) < silencePause {
			return c, err
		}
		now, err := silent(ctx, actor, id)
		if err == nil && !looked.IsZero() && !c.Reset {
			err = s.addChanged(ctx, actor, &c, told, now)
		}
		told, looked = now, s.Now()
		return c, err
	})
	if err != nil {
		writeError(w, r, err)
	}
	return nil
}

// addChanged adds the runs that are in one of two lists to what has changed.
func (s *site) addChanged(ctx context.Context, actor store.Actor, c *store.Changes, before, now []string) error {
	for _, id := range slices.Concat(before, now) {
		if slices.Contains(before, id) && slices.Contains(now, id) {
			continue
		}
		i, err := s.DB.Iteration(ctx, actor, id)
		if store.AsError(err) != nil && store.AsError(err).Code == store.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		c.Iterations = append(c.Iterations, i)
	}
	return nil
}
