package auth

import (
	"context"
	"slices"
	"sync"
)

// gate limits the number of concurrent callers. Waiting addresses take turns, so many callers
// from one address do not delay callers from other addresses.
type gate struct {
	mu      sync.Mutex
	free    int
	turns   []string // addresses with waiting callers; the first is next
	waiting map[string][]chan struct{}
}

func newGate(width int) *gate { return &gate{free: width, waiting: map[string][]chan struct{}{}} }

// enter waits until the caller is admitted. An admitted caller must call leave afterwards.
// enter returns an error if ctx ends first.
func (g *gate) enter(ctx context.Context, address string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(g.waiting[address]) == 0 {
		g.turns = append(g.turns, address)
	}
	g.waiting[address] = append(g.waiting[address], turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	queue := g.waiting[address]
	at := slices.Index(queue, turn)
	if at >= 0 {
		g.set(address, slices.Delete(queue, at, at+1))
	}
	g.mu.Unlock()
	if at < 0 {
		g.leave() // leave has just admitted this caller
	}
	return ctx.Err()
}

// leave ends the admission of a caller and admits the next waiting caller.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.turns) == 0 {
		g.free++
		return
	}
	address := g.turns[0]
	queue := g.waiting[address]
	close(queue[0])
	g.turns = g.turns[1:]
	if len(queue) > 1 {
		g.turns = append(g.turns, address)
		g.waiting[address] = queue[1:]
		return
	}
	delete(g.waiting, address)
}

// set replaces the queue of waiting callers from the given address.
func (g *gate) set(address string, queue []chan struct{}) {
	if len(queue) > 0 {
		g.waiting[address] = queue
		return
	}
	delete(g.waiting, address)
	g.turns = slices.DeleteFunc(g.turns, func(a string) bool { return a == address })
}
