//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"tracker/cmd/bench/httpconn"
)

// operation is a request that changes records, and its effect.
type operation struct {
	method, path, body string
	key                string // Idempotency-Key, or ""
	status             int    // expected status
	creates            int    // number of ids in the response
	book               *book
	// apply records the effect of the request in the book. ids is nil if the response is unknown.
	apply func(b *book, ids []string)
}

// exchange is a request with its response.
type exchange struct {
	operation
	reply httpconn.Reply
}

// client logs to its own iterations and to an iteration that all clients share. It records the
// expected content of its own iterations.
type client struct {
	name       string
	random     *rand.Rand
	experiment string
	books      []*book // the client's own iterations; it logs to the last one
	shared     *book   // the iteration that all clients share; holds only this client's points
	count      int     // number of requests, for unique names

	// State of the current round:
	touched map[*book]bool
	doubt   *operation // the request without a response
	refused *operation // the last request that was rejected for lack of space
	keyed   []exchange // requests with an Idempotency-Key
}

// work sends one request after another until the server ends, and signals the first response. An
// unexpected response is an error.
func (c *client) work(w *conn, first *sync.Once, acknowledged chan<- struct{}) error {
	c.touched, c.keyed = map[*book]bool{}, nil
	for {
		op := c.next()
		c.doubt = &op
		c.touched[op.book] = true
		r, err := w.Send(w.Request(op.method, op.path, op.key, op.body))
		if err != nil {
			return nil // the server has ended; after the restart, the client finds out whether the request was carried out
		}
		if err := c.settle(op, r); err != nil {
			return err
		}
		first.Do(func() { close(acknowledged) })
	}
}

// settle processes the response to an operation.
func (c *client) settle(op operation, r httpconn.Reply) error {
	ids, err := r.IDs()
	if err != nil || r.Status != op.status || len(ids) != op.creates {
		return fmt.Errorf("%s %s %.500s answers %d %s (%v), want %v with %d ids",
			op.method, op.path, op.body, r.Status, r.Body, err, op.status, op.creates)
	}
	if ids == nil {
		ids = []string{}
	}
	op.apply(op.book, ids)
	c.doubt = nil
	if op.key != "" {
		c.keyed = append(c.keyed, exchange{op, r})
	}
	return nil
}

// next returns a random operation.
func (c *client) next() operation {
	c.count++
	if op, ok := c.restore(); ok && c.random.IntN(20) == 0 {
		return op
	}
	if len(c.books) == 0 || !c.books[len(c.books)-1].open() {
		return c.start()
	}
	b := c.books[len(c.books)-1]
	switch n := c.random.IntN(100); {
	case n < 20:
		return c.add(b, nil, c.point("loss"))
	case n < 30:
		return c.add(b, c.step(), c.point("lr"))
	case n < 42:
		// Each value is finite and unique, so that a point can be recognized without its id.
		return c.add(c.shared, nil, point{Key: "shared", Value: float(c.random.Float64())})
	case n < 52:
		return c.add(b, nil, c.points(20, "layer/%d/norm")...)
	case n < 60:
		return c.add(b, c.step(), c.points(20, "layer/%d/norm")...)
	case n < 62:
		return c.add(b, nil, c.points(200, "dense")...)
	case n < 64:
		return c.addBulk(b, c.points(500, "dense")...)
	case n < 74:
		return c.parameter(b)
	case n < 80:
		return c.tag(b)
	case n < 92 && slices.ContainsFunc(b.points, known):
		return c.revise(b)
	case n < 97:
		return c.rename(b)
	case n == 97:
		return c.remove(b)
	}
	return c.end(b)
}

// post returns an operation that creates the given number of records.
func (c *client) post(b *book, path string, body any, creates int, apply func(b *book, ids []string)) operation {
	op := operation{"POST", path, toJSON(body), "", 201, creates, b, apply}
	if c.random.IntN(2) == 0 {
		op.key = fmt.Sprintf("%s-%d", c.name, c.count)
	}
	return op
}

// patch returns an operation that changes a record.
func patch(b *book, path string, body any, apply func(b *book)) operation {
	return operation{"PATCH", path, toJSON(body), "", 204, 0, b, func(b *book, _ []string) { apply(b) }}
}

// remove returns an operation that removes a record.
func remove(b *book, path string, apply func(b *book)) operation {
	return operation{"DELETE", path, "", "", 204, 0, b, func(b *book, _ []string) { apply(b) }}
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug in this test
	}
	return string(text)
}

func (c *client) point(key string) point {
	v := c.random.NormFloat64()
	switch c.random.IntN(20) {
	case 0:
		v = math.NaN()
	case 1:
		v = math.Inf(1 - 2*c.random.IntN(2))
	}
	return point{Key: key, Value: float(v)}
}

// points returns n points. The number of the point replaces a %d in the format of the keys.
func (c *client) points(n int, format string) []point {
	all := make([]point, n)
	for i := range all {
		all[i] = c.point(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return all
}

func (c *client) step() *int64 { return new(c.random.Int64N(200) - 50) }

// start creates an iteration with a client-chosen id, as a child of the previous iteration. If the
// response was lost, it sends the same request again.
func (c *client) start() operation {
	n := len(c.books)
	if n == 0 || c.books[n-1].made {
		c.books = append(c.books, newBook(uuid.Must(uuid.NewV7()).String()))
		n++
	}
	b := c.books[n-1]
	body := map[string]string{"id": b.id, "name": "run " + b.id}
	var parent *book
	if n > 1 && c.books[n-2].there {
		parent = c.books[n-2]
		body["parent_iteration_id"] = parent.id
	}
	return c.post(b, "/iteration/experiment/"+c.experiment, body, 1, func(b *book, _ []string) {
		b.made, b.there, b.status = true, true, "RUNNING"
		b.name, b.parent = body["name"], parent
	})
}

// add sends a single point with the route for points, and several points as a batch. The batch is
// an object, or a list if keys repeat. Without a step, each point gets the next step.
func (c *client) add(b *book, step *int64, points ...point) operation {
	path, body := "/metric/iteration/"+b.id, map[string]any{}
	switch {
	case len(points) == 1:
		body["key"], body["value"] = points[0].Key, points[0].Value
	case points[0].Key == points[1].Key:
		path += "/batch"
		list := make([]map[string]any, len(points))
		for i, p := range points {
			list[i] = map[string]any{"key": p.Key, "value": p.Value}
		}
		body["metrics"] = list
	default:
		path += "/batch"
		// The order of the entries matters, and a map has no order.
		members := make([]string, len(points))
		for i, p := range points {
			members[i] = toJSON(p.Key) + ":" + toJSON(p.Value)
		}
		body["metrics"] = json.RawMessage("{" + strings.Join(members, ",") + "}")
	}
	if step != nil {
		body["step"] = *step
	}
	return c.post(b, path, body, len(points), func(b *book, ids []string) {
		for i, p := range points {
			if step != nil {
				p.Step = *step
			} else {
				p.Step = b.nextStep(p.Key)
			}
			if ids != nil {
				p.ID = ids[i]
			}
			b.points = append(b.points, p)
		}
	})
}

// addBulk sends points to the bulk route, which does not return ids.
func (c *client) addBulk(b *book, points ...point) operation {
	op := c.add(b, nil, points...)
	op.path, op.creates = strings.Replace(op.path, "/batch", "/bulk", 1), 0
	apply := op.apply
	op.apply = func(b *book, _ []string) { apply(b, nil) }
	return op
}

func known(p point) bool { return p.ID != "" }

// revise changes or removes an existing point.
func (c *client) revise(b *book) operation {
	p := b.points[c.random.IntN(len(b.points))]
	for !known(p) {
		p = b.points[c.random.IntN(len(b.points))]
	}
	if c.random.IntN(3) == 0 {
		return remove(b, "/metric/"+p.ID, func(b *book) {
			i := b.index(p.ID)
			b.points = slices.Delete(b.points, i, i+1)
		})
	}
	body := map[string]any{}
	if c.random.IntN(2) == 0 {
		p.Value = c.point(p.Key).Value
		body["value"] = p.Value
	}
	if c.random.IntN(2) == 0 {
		p.Step = *c.step()
		body["step"] = p.Step
	}
	if c.random.IntN(4) == 0 {
		p.Key = "moved"
		body["key"] = p.Key
	}
	return patch(b, "/metric/"+p.ID, body, func(b *book) { b.points[b.index(p.ID)] = p })
}

// parameter adds a parameter, or changes or removes an existing one.
func (c *client) parameter(b *book) operation {
	value := fmt.Sprint(c.random.Float64())
	n := c.random.IntN(3)
	if n == 0 || len(b.parameters) == 0 {
		return c.set(b, "parameter", value)
	}
	keys := slices.Sorted(maps.Keys(b.parameters))
	key := keys[c.random.IntN(len(keys))]
	p := b.parameters[key]
	if n == 1 {
		return remove(b, "/parameter/"+p.id, func(b *book) { delete(b.parameters, key) })
	}
	return patch(b, "/parameter/"+p.id, map[string]string{"value": value},
		func(b *book) { b.parameters[key] = parameter{p.id, value} })
}

// set adds a parameter under a name that is made unique.
func (c *client) set(b *book, name, value string) operation {
	key := fmt.Sprintf("%s %d", name, c.count)
	return c.post(b, "/parameter/iteration/"+b.id, map[string]string{"key": key, "value": value}, 1,
		func(b *book, ids []string) { b.parameters[key] = parameter{strings.Join(ids, ""), value} })
}

// tag adds a tag, or removes an existing one.
func (c *client) tag(b *book) operation {
	if c.random.IntN(3) > 0 || len(b.tags) == 0 {
		tag := fmt.Sprintf("tag%d", c.count)
		return c.post(b, "/tag/iteration/"+b.id, map[string]string{"value": tag}, 1,
			func(b *book, _ []string) { b.tags[tag] = true })
	}
	tags := slices.Sorted(maps.Keys(b.tags))
	tag := tags[c.random.IntN(len(tags))]
	return remove(b, "/tag/iteration/"+b.id+"/"+tag, func(b *book) { delete(b.tags, tag) })
}

func (c *client) rename(b *book) operation {
	name := fmt.Sprintf("name %d", c.count)
	return patch(b, "/iteration/"+b.id, map[string]string{"name": name}, func(b *book) { b.name = name })
}

func (c *client) end(b *book) operation {
	status := []string{"SUCCEEDED", "FAILED", "KILLED"}[c.random.IntN(3)]
	return patch(b, "/iteration/"+b.id, map[string]string{"status": status}, func(b *book) { b.status = status })
}

// remove removes an iteration with all its data. It prefers an iteration that is older than b.
func (c *client) remove(b *book) operation {
	if i := slices.IndexFunc(c.books, func(b *book) bool { return b.there }); i >= 0 {
		b = c.books[i]
	}
	return remove(b, "/iteration/"+b.id, func(b *book) { b.there, b.trashed = false, true })
}

// restore restores an iteration from the trash, or purges it. ok is false if no iteration is in the
// trash.
func (c *client) restore() (op operation, ok bool) {
	i := slices.IndexFunc(c.books, func(b *book) bool { return b.trashed })
	if i < 0 {
		return op, false
	}
	b := c.books[i]
	if c.random.IntN(3) == 0 {
		b.trashed = false // whether or not the request succeeds
		return remove(b, "/trash/"+b.id, func(*book) {}), true
	}
	return operation{"POST", "/trash/" + b.id + "/restore", "", "", 204, 0, b, func(b *book, _ []string) { b.there, b.trashed = true, false }}, true
}
