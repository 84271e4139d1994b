package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gorilla/mux"

	"tracker/server/middleware"
	"tracker/store"
)

// call is one request on its way through a handler.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	s     *Server
	ctx   context.Context // carries the idempotency key once the body is read
	actor store.Actor
	vars  map[string]string // of the path, decoded
	query url.Values        // every name is one that the route takes
}

// handler answers one route. An error that it returns is sent as the answer.
type handler func(*call) error

// serve wraps a handler into what every route has: who asks, and which query
// parameters it may use.
func (s *Server) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{w: w, r: r, s: s, ctx: r.Context()}
		if err := c.prepare(rt); err != nil {
			fail(w, r, err)
			return
		}
		if err := rt.handle(c); err != nil {
			fail(w, r, err)
		}
	}
}

func (c *call) prepare(rt route) error {
	if !rt.open {
		u, err := c.s.auth.User(c.r)
		if err != nil {
			return err
		}
		c.actor = store.Actor{UserID: u.ID}
		middleware.InfoOf(c.r).User = u.Username
	}
	var err error
	c.vars = mux.Vars(c.r)
	for name, raw := range c.vars {
		if c.vars[name], err = url.PathUnescape(raw); err != nil {
			return errNoRoute
		}
	}
	if c.r.URL.RawQuery == "" {
		return nil
	}
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return store.Invalid("query", "The query string can't be read; escape its special characters.")
	}
	for name, values := range c.query {
		many := slices.Contains(rt.query, name+"*")
		if !many && !slices.Contains(rt.query, name) {
			name = clip(name)
			return store.Invalid(name, "%q is not a query parameter of this route; see /openapi.yaml for those it takes.", name)
		}
		if len(values) > 1 && !many {
			return store.Invalid(name, "%s is given twice; give it once.", name)
		}
	}
	return nil
}

// decode reads the JSON body into dst.
func (c *call) decode(dst any) error {
	return c.decodeFrom(dst, bodyLimits{size: maxBody})
}

// decodeOptional is decode for a body that may be left out.
func (c *call) decodeOptional(dst any) error {
	return c.decodeBody(dst, bodyLimits{size: maxBody}, true)
}

// decodeFrom is decode for a body of other limits than usual.
func (c *call) decodeFrom(dst any, limits bodyLimits) error {
	return c.decodeBody(dst, limits, false)
}

func (c *call) decodeBody(dst any, limits bodyLimits, optional bool) error {
	body, err := readBody(c.w, c.r, limits)
	if err != nil {
		return err
	}
	if body == nil && !optional {
		return store.Errorf(store.CodeMalformedBody, "The body is empty; send a JSON object.")
	}
	if body != nil {
		if err := decode(body, dst); err != nil {
			return err
		}
	}
	if c.r.Method != http.MethodPost {
		return nil
	}
	key, err := idempotencyKey(c.r, body)
	c.ctx = store.WithIdempotencyKey(c.ctx, key)
	return err
}

// text returns a query parameter, nil when it is not given.
func (c *call) text(name string) *string {
	if !c.query.Has(name) {
		return nil
	}
	v := c.query.Get(name)
	return &v
}

// page reads limit and offset.
func (c *call) page() (store.Page, error) {
	p := store.FirstPage
	for name, dst := range map[string]*int{"limit": &p.Limit, "offset": &p.Offset} {
		text := c.text(name)
		if text == nil {
			continue
		}
		n, err := strconv.Atoi(*text)
		if errors.Is(err, strconv.ErrRange) {
			err = nil // n is the number nearest to it, and will be cut again
		}
		if err != nil || n < 0 {
			return p, store.Invalid(name, "%s must be a whole number that is not negative.", name)
		}
		*dst = n
	}
	return p, nil
}

// ok answers 200 with a record.
func (c *call) ok(v any) error {
	writeJSON(c.w, c.r, http.StatusOK, v)
	return nil
}

// reply answers 200 with a record, unless it could not be read.
func reply[T any](c *call, v T, err error) error {
	if err != nil {
		return err
	}
	return c.ok(v)
}

// none answers 204, unless the change failed.
func (c *call) none(err error) error {
	if err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

type idBody struct {
	ID string `json:"id"`
}

// created answers 201 with the id and the place of a new record, or 200 when
// it was there before.
func (c *call) created(created store.Created, err error, location ...string) error {
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if created.Existing {
		status = http.StatusOK
	} else {
		c.locate(location...)
	}
	writeJSON(c.w, c.r, status, idBody{created.ID})
	return nil
}

// locate sets Location to the path with these segments.
func (c *call) locate(segments ...string) {
	path := c.s.basePath
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	c.w.Header().Set("Location", path)
}
