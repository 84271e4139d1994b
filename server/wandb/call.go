package wandb

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/mux"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
)

// call holds one request and the state of its handling.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	s     *Server
	ctx   context.Context
	db    *store.DB
	user  domain.User
	actor domain.Actor
	vars  map[string]string // decoded variables of the path
	share *web.Share        // this request's share of the memory for all requests
	timer *time.Timer       // cancels the operation after maxTime
}

// serve returns an http.Handler for a route. The handler authenticates the account, decodes the
// variables of the path and calls the route's handler.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{w: w, r: r, s: s, ctx: r.Context(), db: s.db, share: s.memory.Share(r.Context())}
		defer c.share.Release()
		err := c.prepare(rt)
		if err == nil {
			err = rt.handle(c)
		}
		if err != nil {
			writeError(w, r, err)
		}
	})
}

func (c *call) prepare(rt route) (err error) {
	c.vars = mux.Vars(c.r)
	for name, raw := range c.vars {
		if c.vars[name], err = url.PathUnescape(raw); err != nil {
			return domain.Invalid("path", "The path can't be read; escape its special characters.")
		}
	}
	if rt.open {
		return nil
	}
	if link := c.r.URL.Query().Get(linkParameter); rt.link && link != "" {
		c.user, err = c.s.auth.Linked(c.ctx, link, c.subject())
	} else {
		c.user, err = c.s.auth.Account(c.r)
	}
	if err != nil {
		return err
	}
	c.actor = c.user.Actor()
	web.InfoOf(c.r).User = c.user.Username
	return nil
}

// telemetry rejects a client's telemetry with NOT_FOUND, because clients do not retry after this
// error.
func (c *call) telemetry() error {
	return domain.Errorf(domain.CodeNotFound, "This server does not accept telemetry.")
}

// base returns the address at which the client reaches this server.
func (c *call) base() string { return c.s.site.API(c.r) }
