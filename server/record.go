package server

import (
	"context"

	"tracker/store/domain"
)

// The functions in this file return handlers that only call a method of the store. The path of
// the route has one variable, the id of a record.

// id returns the only variable of the path.
func (c *call) id() string {
	for _, id := range c.vars {
		return id
	}
	return ""
}

// one returns a handler that sends the result of read.
func one[T any](read func(ctx context.Context, actor domain.Actor, id string) (T, error)) handler {
	return func(c *call) error {
		v, err := read(c.ctx, c.actor, c.id())
		return reply(c, v, err)
	}
}

// below returns a handler that sends the page that read returns for the query parameters.
func below[T any](read func(ctx context.Context, actor domain.Actor, id string, p domain.Page) (T, error)) handler {
	return list(func(c *call, p domain.Page) (T, error) { return read(c.ctx, c.actor, c.id(), p) })
}

// create returns a handler that decodes the body, calls write and sends the id of the new
// record. The location of the record is /entity/id.
func create[B any](entity string, write func(ctx context.Context, actor domain.Actor, id string, body B) (domain.Created, error)) handler {
	return body(func(c *call, b B) error {
		created, err := write(c.ctx, c.actor, c.id(), b)
		return c.created(created, err, entity, created.ID)
	})
}

// update returns a handler that decodes the body and calls write. It sends status 204.
func update[B any](write func(ctx context.Context, actor domain.Actor, id string, body B) error) handler {
	return body(func(c *call, b B) error { return c.none(write(c.ctx, c.actor, c.id(), b)) })
}

// act returns a handler that calls write, for example to delete a record. It sends status 204.
func act(write func(ctx context.Context, actor domain.Actor, id string) error) handler {
	return func(c *call) error { return c.none(write(c.ctx, c.actor, c.id())) }
}
