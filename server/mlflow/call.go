package mlflow

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
)

// maxBody is the size limit of a JSON body in bytes: the description of a dataset may
// have 16 MiB.
const maxBody = 32 << 20

// maxValues is the maximum number of values in a JSON body. The largest lists are the
// experiments to search and the entries of a batch.
const maxValues = 100_000

// call is one request on its way through a handler.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	s       *Server
	ctx     context.Context
	db      *store.DB
	actor   domain.Actor
	vars    map[string]string // variables of the path, decoded
	share   *web.Share        // share of the memory of all requests
	project string            // name or id of the requested project, "" for the default one
}

// handler answers one route. An error that it returns is sent as the answer.
type handler func(*call) error

// empty is an answer without fields.
type empty struct{}

// with returns the handler of a route. It decodes the parameters into an In and
// answers with the result of fn.
func with[In, Out any](fn func(*call, In) (Out, error)) handler {
	return func(c *call) error {
		var in In
		if err := c.decode(&in); err != nil {
			return err
		}
		out, err := fn(c, in)
		if err != nil {
			return err
		}
		web.WriteJSON(c.w, c.r, http.StatusOK, out)
		return nil
	}
}

// do is with for an fn without a result.
func do[In any](fn func(*call, In) error) handler {
	return with(func(c *call, in In) (empty, error) { return empty{}, fn(c, in) })
}

// serve returns an http.Handler that finds the account and the variables of the path
// and calls h.
func (s *Server) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{w: w, r: r, s: s, ctx: r.Context(), db: s.db, share: s.memory.Share(r.Context())}
		defer c.share.Release()
		err := c.prepare()
		if err == nil {
			err = h(c)
		}
		if err != nil {
			writeError(w, r, err)
		}
	})
}

func (c *call) prepare() error {
	u, err := c.s.auth.Account(c.r)
	if err != nil {
		return err
	}
	c.actor = domain.Actor{UserID: u.ID}
	web.InfoOf(c.r).User = u.Username
	c.project, _ = c.ctx.Value(projectKey{}).(string)
	if c.project == "" {
		c.project = workspace(c.r)
	}
	c.vars = mux.Vars(c.r)
	for name, raw := range c.vars {
		if c.vars[name], err = url.PathUnescape(raw); err != nil {
			return domain.Invalid("path", "The path can't be read; escape its special characters.")
		}
	}
	return nil
}

// held runs fn on one snapshot. The memory of the records that fn reads counts until
// the answer is sent. If there is too little, fn runs again later.
func (c *call) held(ctx context.Context, fn func(*store.View) error) error {
	return c.share.Hold(ctx, func(ctx context.Context) error { return c.db.View(ctx, c.actor, fn) })
}

// need returns an error if a required field is empty.
func need(name, value string) error {
	if value == "" {
		return domain.Invalid(name, "Missing value for required parameter %q.", name)
	}
	return nil
}
