package ui

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

const (
	// streamAge is the age at which the server ends an event stream. The browser then opens a new
	// stream with its current cookie. A user who has signed out has no cookie and gets no new
	// stream. The server can't end such a stream earlier, because it does not record sign-outs.
	streamAge = time.Minute
	// silencePause is the pause between two checks for lost runs.
	silencePause = 5 * time.Second
	// maxSubjects is the maximum number of subjects of an event stream. The windows of a browser
	// share a stream, and each visible window has one subject. Proxies limit the length of URLs.
	maxSubjects = 50
)

// changesEvents responds with the changes of all subjects that the query lists, on one connection,
// because browsers allow only six connections to a host. Each parameter ?on= is
// "experiment/ID/CURSOR" or "iteration/ID/CURSOR".
func (s *site) changesEvents(w http.ResponseWriter, r *http.Request) error {
	user, err := s.Auth.CookieUser(r)
	if err != nil {
		web.WriteError(w, r, err)
		return nil
	}
	web.InfoOf(r).User = user.Username
	begin := s.Now()
	listed := r.URL.Query()["on"]
	if len(listed) == 0 || len(listed) > maxSubjects {
		web.WriteError(w, r, domain.Invalid("on", "List between 1 and %d subjects with ?on=.", maxSubjects))
		return nil
	}
	all := make([]web.EventStream, len(listed))
	for i, text := range listed {
		kind, rest, _ := strings.Cut(text, "/")
		id, cursor, _ := strings.Cut(rest, "/")
		switch kind {
		case "experiment":
			all[i] = s.follow(r, kind, id, s.DB.Runs.ExperimentChanges, func(ctx context.Context, id string) ([]string, error) {
				return s.DB.Runs.SilentIterations(ctx, domain.System, id, s.lostBefore())
			})
		case "iteration":
			all[i] = s.follow(r, kind, id, s.DB.Runs.IterationChanges, s.ifLost)
		default:
			web.WriteError(w, r, domain.Invalid("on", "The parameter on must be experiment/ID/CURSOR or iteration/ID/CURSOR."))
			return nil
		}
		all[i].Cursor = cursor
		all[i].Ended = func() bool { return s.Now().Sub(begin) >= streamAge }
	}
	if err := s.events.ServeAll(w, r, all); err != nil {
		web.WriteError(w, r, err)
	}
	return nil
}

// ifLost returns the ID of a run if the run is lost, and otherwise no ID.
func (s *site) ifLost(ctx context.Context, id string) ([]string, error) {
	i, err := s.DB.Runs.Iteration(ctx, domain.System, id)
	if err != nil || s.status(i) != lost {
		return nil, err
	}
	return []string{id}, nil
}

// follow returns an event stream of changes for the user who sends the request. A run also counts
// as changed if it became lost or was seen again since the last check, although nothing was
// written.
func (s *site) follow(r *http.Request, kind, id string,
	changes func(context.Context, domain.Actor, string, string) (runs.Changes, error),
	silent func(context.Context, string) ([]string, error)) web.EventStream {
	return web.EventStream{
		Subject: kind + " " + id,
		Viewer:  r.Header.Get("Cookie"),
		Allow: func(ctx context.Context) error {
			user, err := s.Auth.CookieUser(r.WithContext(ctx)) // the user might have signed out
			if err == nil {
				_, err = changes(ctx, user.Actor(), id, "")
			}
			return err
		},
		Changes: func(ctx context.Context, cursor string) (runs.Changes, error) {
			return changes(ctx, domain.System, id, cursor)
		},
		Watch: func(ctx context.Context) (func(context.Context, *runs.Changes) error, error) {
			told, err := silent(ctx, id) // told: IDs of the lost runs that the client knows about
			looked := s.Now()
			return func(ctx context.Context, c *runs.Changes) error {
				if s.Now().Sub(looked) < silencePause {
					return nil
				}
				now, err := silent(ctx, id)
				if err == nil && !c.Reset {
					err = s.addChanged(ctx, c, told, now)
				}
				told, looked = now, s.Now()
				return err
			}, err
		},
	}
}

// addChanged adds the runs whose ID is in only one of the lists before and now to the changes.
func (s *site) addChanged(ctx context.Context, c *runs.Changes, before, now []string) error {
	changed := slices.DeleteFunc(slices.Concat(before, now), func(id string) bool {
		return slices.Contains(before, id) && slices.Contains(now, id)
	})
	if len(changed) == 0 {
		return nil
	}
	return s.DB.View(ctx, domain.System, func(db *store.View) error {
		for ids := range slices.Chunk(changed, domain.MaxLimit) {
			runs, err := db.Runs.IterationsByID(ids)
			if err != nil {
				return err
			}
			c.Iterations = append(c.Iterations, runs...)
		}
		return nil
	})
}
