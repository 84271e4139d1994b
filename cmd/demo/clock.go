package demo

import (
	"sync"
	"time"
)

// Clock is the clock of the database while Seed writes the demo. Before Seed creates a record, it
// sets the clock to the record's creation time.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// NewClock returns a clock that shows t.
func NewClock(t time.Time) *Clock { return &Clock{t: t} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *Clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}
