//go:build unix

package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"tracker/cmd/bench/httpconn"
)

var killSeed = flag.Uint64("kill-seed", 0, "the `seed` of TestKill; 0 for a new one")

// The real process is killed at random moments, 25 times on one database, while eight clients
// write. Each acknowledged write is stored exactly once, with its exact values. An unacknowledged
// write is stored completely or not at all.
func TestKill(t *testing.T) {
	inFullRuns(t)
	const rounds, writers = 25, 8
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, writers))
	dir := t.TempDir()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p := startServer(t, dir, env)
	clients := newClients(t, dial(t, p), seed, writers)
	for round := range rounds {
		killUnderLoad(t, p, clients, time.Duration(20+random.IntN(280))*time.Millisecond)
		p = startServer(t, dir, env)
		w := dial(t, p)
		for _, c := range clients {
			c.resolve(t, w)
			for b := range c.touched {
				c.verify(t, w, b)
			}
		}
		verifyStatistics(t, w, clients, verifyShared(t, w, clients))
		if r := runBinary(t, dir, nil, "", "check"); r.code != 0 || r.stdout != "ok\n" {
			t.Errorf("check: %v", r)
		}
		if t.Failed() {
			t.Fatalf("round %d\n%s", round, p.log)
		}
	}
	w := dial(t, p)
	requests, points := 0, 0
	for _, c := range clients {
		requests += c.count
		for _, b := range c.books {
			points += len(b.points)
			c.verify(t, w, b)
		}
	}
	t.Logf("%d requests, %d points at the end", requests, points)
	p.stop()
}

// newClients returns n clients. Each has its own experiment, and all share one iteration.
func newClients(t *testing.T, w *conn, seed uint64, n int) []*client {
	project := w.create(t, "/project", `{"name": "killed"}`)
	shared := w.create(t, "/iteration/experiment/"+w.create(t, "/experiment/project/"+project, `{"name": "shared"}`), "{}")
	clients := make([]*client, n)
	for i := range clients {
		name := fmt.Sprintf("client-%d", i)
		clients[i] = &client{
			name:       name,
			random:     rand.New(rand.NewPCG(seed, uint64(i))),
			experiment: w.create(t, "/experiment/project/"+project, toJSON(map[string]string{"name": name})),
			shared:     newBook(shared),
		}
	}
	return clients
}

// killUnderLoad lets the clients write, and kills the server some time after the first response.
func killUnderLoad(t *testing.T, p *process, clients []*client, after time.Duration) {
	t.Helper()
	var first sync.Once
	acknowledged, wrong := make(chan struct{}), make(chan error, len(clients))
	for _, c := range clients {
		w := dial(t, p)
		go func() { wrong <- c.work(w, &first, acknowledged) }()
	}
	select {
	case <-acknowledged:
		time.Sleep(after) // the pause until the random moment
	case <-p.ended:
	}
	p.kill()
	for range clients {
		if err := <-wrong; err != nil {
			t.Error(err)
		}
	}
	if state := p.cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGKILL {
		t.Errorf("the server ended by itself: %v", p.cmd.ProcessState)
	}
	if t.Failed() {
		t.Fatal(p.log)
	}
}

// resolve finds out whether the request without a response was carried out, and repeats it if it is
// repeatable.
func (c *client) resolve(t *testing.T, w *conn) {
	t.Helper()
	send := func(op operation) httpconn.Reply {
		r, err := w.Send(w.Request(op.method, op.path, op.key, op.body))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if op := c.doubt; op != nil {
		before := op.book.clone()
		if op.book != c.shared {
			c.adopt(t, readBook(t, w, op.book.id))
		}
		if op.key != "" {
			*op.book = *before
			if err := c.settle(*op, send(*op)); err != nil {
				t.Errorf("repeated after the restart: %v", err)
			}
		}
	}
	for _, e := range c.keyed {
		if again := send(e.operation); again.Status != e.reply.Status || again.Location != e.reply.Location || !bytes.Equal(again.Body, e.reply.Body) {
			t.Errorf("%s %s with the key %s is answered %s, and the first time %s", e.method, e.path, e.key, again, e.reply)
		}
	}
}

// adopt updates the book from got, the stored iteration of the request without a response. The
// request must have been carried out completely or not at all.
func (c *client) adopt(t *testing.T, got *book) {
	t.Helper()
	b := c.doubt.book
	after := b.clone()
	c.doubt.apply(after, nil)
	without, with := b.differs(got), after.differs(got)
	switch {
	case without == "":
	case with == "":
		after.learn(got)
		*b = *after
	default:
		t.Errorf("%s %s %.500s was not answered.\nWithout it: %s.\nWith it: %s.",
			c.doubt.method, c.doubt.path, c.doubt.body, without, with)
	}
}

// verify compares one of the client's own iterations with the stored one.
func (c *client) verify(t *testing.T, w *conn, b *book) {
	t.Helper()
	if b == c.shared {
		return
	}
	if wrong := b.differs(readBook(t, w, b.id)); wrong != "" {
		t.Errorf("iteration %s of %s: %s", b.id, c.name, wrong)
	}
}

// verifyShared checks that the steps of the shared series have no gap, and that the series holds
// exactly the points that the clients added. It returns the stored iteration.
func verifyShared(t *testing.T, w *conn, clients []*client) *book {
	t.Helper()
	got := readBook(t, w, clients[0].shared.id)
	byID := map[string]point{}
	for i, p := range got.points {
		if p.Step != int64(i) {
			t.Errorf("point %d of the shared series has step %d", i, p.Step)
		}
		byID[p.ID] = p
	}
	if len(byID) != len(got.points) {
		t.Errorf("%d points of the shared series have %d ids", len(got.points), len(byID))
	}
	for _, c := range clients {
		last := int64(-1)
		for _, want := range c.shared.points {
			p, found := byID[want.ID]
			if !found || p.Key != want.Key || !p.Value.same(want.Value) || p.Step <= last {
				t.Errorf("%v of %s is stored as %v (%v) behind step %d", want, c.name, p, found, last)
			}
			delete(byID, want.ID)
			last = p.Step
		}
	}
	for _, c := range clients {
		if c.doubt == nil || c.doubt.book != c.shared {
			continue
		}
		after := c.shared.clone()
		c.doubt.apply(after, nil)
		added := after.points[len(after.points)-1]
		for id, p := range byID {
			if p.Key == added.Key && p.Value.same(added.Value) {
				c.shared.points = append(c.shared.points, p)
				delete(byID, id)
				break
			}
		}
	}
	if len(byID) > 0 {
		t.Errorf("nobody added %v to the shared series", byID)
	}
	return got
}

// statistics holds the statistics of a series, computed from its points.
type statistics struct {
	count                       int
	last, low, high             float
	lastStep, lowStep, highStep int64
	sum, scale                  float64 // sums of the finite values and of their magnitudes
	finite                      int
}

func (s *statistics) add(p point) {
	if s.count == 0 || p.Step >= s.lastStep {
		s.last, s.lastStep = p.Value, p.Step
	}
	s.count++
	v := float64(p.Value)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if s.finite == 0 || p.Value < s.low || p.Value == s.low && p.Step < s.lowStep {
		s.low, s.lowStep = p.Value, p.Step
	}
	if s.finite == 0 || p.Value > s.high || p.Value == s.high && p.Step < s.highStep {
		s.high, s.highStep = p.Value, p.Step
	}
	s.finite++
	s.sum += v
	s.scale += math.Abs(v)
}

func (s statistics) same(o summary) bool {
	if s.count != o.Count || !s.last.same(o.Last) || s.lastStep != o.LastStep {
		return false
	}
	if s.finite == 0 {
		return o.Min == nil && o.MinStep == nil && o.Max == nil && o.MaxStep == nil && o.Mean == nil
	}
	n := float64(s.finite)
	return s.low.same(*o.Min) && s.lowStep == *o.MinStep && s.high.same(*o.Max) && s.highStep == *o.MaxStep &&
		math.Abs(s.sum/n-float64(*o.Mean)) <= 1e-9*s.scale
}

// verifyStatistics compares the summary of every iteration with the points that it should have.
func verifyStatistics(t *testing.T, w *conn, clients []*client, shared *book) {
	t.Helper()
	books := []*book{shared}
	for _, c := range clients {
		books = append(books, c.books...)
	}
	for _, b := range slices.DeleteFunc(books, func(b *book) bool { return !b.there }) {
		want := map[string]*statistics{}
		for _, p := range b.points {
			if want[p.Key] == nil {
				want[p.Key] = &statistics{}
			}
			want[p.Key].add(p)
		}
		var summary struct{ Metrics map[string]summary }
		if !w.read(t, "/iteration/"+b.id+"/summary", &summary) {
			t.Errorf("iteration %s has no summary", b.id)
		}
		for key, got := range summary.Metrics {
			if want[key] == nil || !want[key].same(got) {
				t.Errorf("the summary of %s in %s is %s, want %+v", key, b.id, toJSON(got), want[key])
			}
			delete(want, key)
		}
		if len(want) > 0 {
			t.Errorf("%d metrics of %s are not in its summary", len(want), b.id)
		}
	}
}

// summary is the API's summary of a metric.
type summary struct {
	Count    int    `json:"count"`
	Last     float  `json:"last"`
	LastStep int64  `json:"last_step"`
	Min      *float `json:"min"`
	MinStep  *int64 `json:"min_step"`
	Max      *float `json:"max"`
	MaxStep  *int64 `json:"max_step"`
	Mean     *float `json:"mean"`
}

// If the server removed the iteration but its response was lost, the book also records the removal.
func TestAdoptRemoval(t *testing.T) {
	b := newBook("1")
	b.there = true
	b.points = []point{{Key: "loss"}}
	c := &client{books: []*book{b}}
	op := c.remove(b)
	c.doubt = &op
	c.adopt(t, newBook("1"))
	if b.there {
		t.Error("the book still has the iteration that was removed")
	}
}
