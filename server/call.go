package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gorilla/mux"

	"tracker/server/web"
	"tracker/store/domain"
)

// maxBody is the maximum size of a JSON body in bytes. It is enough for a parameter value of 1
// MiB in which every character is escaped.
const maxBody = 8 << 20

// call holds one request and the state of its handling.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	s     *Server
	ctx   context.Context // carries the idempotency key after the body was read
	actor domain.Actor
	vars  map[string]string // decoded variables of the path
	query url.Values        // contains only names that the route accepts
	share *web.Share        // this request's share of the memory for all requests
}

// handler handles the requests of one route. If it returns an error, the server sends the error
// as the response.
type handler func(*call) error

// serve returns the http.HandlerFunc of a route. The function checks the caller and the names
// of the query parameters. It sends the error that the route's handler returns.
func (s *Server) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{w: w, r: r, s: s, ctx: r.Context(), share: s.memory.Share(r.Context())}
		defer c.share.Release()
		if err := c.prepare(rt); err != nil {
			web.WriteError(w, r, err)
			return
		}
		if err := rt.handle(c); err != nil {
			web.WriteError(w, r, named(err))
		}
	}
}

// nouns maps an entity to its name in the API if the names differ.
var nouns = map[domain.Entity]domain.Entity{domain.Run: "iteration", domain.Artifact: "resource"}

// named returns err. If the API has another name for the entity in err, named returns the error
// with that name.
func named(err error) error {
	if e := domain.AsError(err); nouns[e.Entity] != "" {
		return domain.NotFound(nouns[e.Entity])
	}
	return err
}

func (c *call) prepare(rt route) error {
	if !rt.open {
		u, err := c.s.auth.User(c.r)
		if err != nil {
			return err
		}
		c.actor = u.Actor()
		web.InfoOf(c.r).User = u.Username
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
		return domain.Invalid("query", "The query string can't be read; escape its special characters.")
	}
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		many := slices.Contains(rt.query, name+"*")
		if !many && !slices.Contains(rt.query, name) {
			name = web.Clip(name)
			return domain.Invalid(name, "%q is not a query parameter of this route; see /openapi.yaml for its parameters.", name)
		}
		if len(c.query[name]) > 1 && !many {
			return domain.Invalid(name, "%s is given twice; give it once.", name)
		}
	}
	return nil
}

// decode reads the JSON body into dst.
func (c *call) decode(dst any) error {
	return c.decodeFrom(dst, web.Limits{Size: maxBody})
}

// decodeOptional is like decode, but accepts an empty body and leaves dst unchanged.
func (c *call) decodeOptional(dst any) error {
	return c.decodeBody(dst, web.Limits{Size: maxBody}, true)
}

// decodeFrom is like decode, but with the given limits.
func (c *call) decodeFrom(dst any, limits web.Limits) error {
	return c.decodeBody(dst, limits, false)
}

func (c *call) decodeBody(dst any, limits web.Limits, optional bool) error {
	limits.Share = c.share
	body, err := web.ReadBody(c.w, c.r, limits)
	if err != nil {
		return err
	}
	if body == nil && !optional {
		return domain.Errorf(web.CodeMalformedBody, "The body is empty; send a JSON object.")
	}
	if body != nil {
		if err := web.Decode(body, dst); err != nil {
			return err
		}
	}
	if c.r.Method != http.MethodPost {
		return nil
	}
	key, err := idempotencyKey(c.r, body)
	c.ctx = domain.WithIdempotencyKey(c.ctx, key)
	return err
}

// text returns the value of a query parameter, or nil if the parameter is missing.
func (c *call) text(name string) *string {
	if !c.query.Has(name) {
		return nil
	}
	v := c.query.Get(name)
	return &v
}

// page returns the page that the query parameters limit and offset select.
func (c *call) page() (domain.Page, error) {
	p := domain.FirstPage
	for _, q := range []struct {
		name string
		to   *int
	}{{"limit", &p.Limit}, {"offset", &p.Offset}} {
		text := c.text(q.name)
		if text == nil {
			continue
		}
		n, err := strconv.Atoi(*text)
		if errors.Is(err, strconv.ErrRange) {
			err = nil // n is the int nearest to the number; the store limits it
		}
		if err != nil || n < 0 {
			return p, domain.Invalid(q.name, "%s must be a non-negative integer.", q.name)
		}
		*q.to = n
	}
	return p, nil
}

// list returns a handler that sends the result of read. p is the page that the query parameters
// select.
func list[T any](read func(c *call, p domain.Page) (T, error)) handler {
	return func(c *call) error {
		p, err := c.page()
		if err != nil {
			return err
		}
		v, err := read(c, p)
		return reply(c, v, err)
	}
}

// body returns a handler that decodes the JSON body and calls fn.
func body[B any](fn func(*call, B) error) handler {
	return func(c *call) error {
		var b B
		if err := c.decode(&b); err != nil {
			return err
		}
		return fn(c, b)
	}
}

// ok sends v as JSON with status 200.
func (c *call) ok(v any) error {
	web.WriteJSON(c.w, c.r, http.StatusOK, v)
	return nil
}

// held sends the result of read with status 200. The memory of the result counts against the
// limit until the response is sent.
func held[T any](c *call, read func(context.Context) (T, error)) error {
	var v T
	err := c.share.Hold(c.ctx, func(ctx context.Context) (err error) {
		v, err = read(ctx)
		return err
	})
	return reply(c, v, err)
}

// reply sends v with status 200, or returns err if it is not nil.
func reply[T any](c *call, v T, err error) error {
	if err != nil {
		return err
	}
	return c.ok(v)
}

// none sends status 204, or returns err if it is not nil.
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

// created sends the id of a new record with status 201, and its location in a header. If the record
// existed before, the status is 200. If err is not nil, created returns err.
func (c *call) created(created domain.Created, err error, location ...string) error {
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if created.Existing {
		status = http.StatusOK
	} else {
		c.locate(location...)
	}
	web.WriteJSON(c.w, c.r, status, idBody{created.ID})
	return nil
}

// locate sets the Location header to the path with the given segments.
func (c *call) locate(segments ...string) {
	path := c.s.site.Prefix(c.r)
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	c.w.Header().Set("Location", path)
}
