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

// maxBody is the maximum size of a JSON body in bytes. The description of a dataset alone can
// have 16 MiB.
const maxBody = 32 << 20

// maxValues is the maximum number of values in a JSON body. The largest lists are the experiment
// ids of a search and the entries of a batch.
const maxValues = 100_000

// call holds one request and the state of its handling.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	s       *Server
	ctx     context.Context
	db      *store.DB
	actor   domain.Actor
	vars    map[string]string // decoded variables of the path
	share   *web.Share        // this request's share of the memory for all requests
	project string            // name or id of the requested project; "" for the default project
}

// handler handles the requests of one route. If it returns an error, the server sends the error
// as the response.
type handler func(*call) error

// empty is a response without fields.
type empty struct{}

// with returns a handler that calls fn. The handler decodes the request's parameters into an In
// value and sends the result of fn.
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

// do returns a handler that decodes the parameters and calls fn. The handler sends an empty
// response.
func do[In any](fn func(*call, In) error) handler {
	return with(func(c *call, in In) (empty, error) { return empty{}, fn(c, in) })
}

// serve returns an http.Handler that calls h. Before the call, it authenticates the account and
// decodes the variables of the path.
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
	c.actor = u.Actor()
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

// held calls fn with a snapshot of the database. The memory of the records that fn reads counts
// against the limit until the response is sent. If too little memory is free, held waits and calls
// fn again.
func (c *call) held(ctx context.Context, fn func(*store.View) error) error {
	return c.share.Hold(ctx, func(ctx context.Context) error { return c.db.View(ctx, c.actor, fn) })
}

// need returns an error if the value of a required parameter is empty.
func need(name, value string) error {
	if value == "" {
		return domain.Invalid(name, "Missing value for required parameter %q.", name)
	}
	return nil
}
