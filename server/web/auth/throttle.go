package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxFailures is the maximum number of failures in a minute for one name and address.
	maxFailures = 10
	// maxSpray is the maximum number of failures in a minute for one address.
	maxSpray      = 60
	failureWindow = time.Minute
	// maxTracked is the maximum number of tracked visitors, which limits the memory that anonymous
	// clients can use. At the limit, makeRoom drops visitors.
	maxTracked = 10_000
)

// throttle counts the failed sign-ins of the last minute. It counts by name and address, or by
// address alone. An attempt in progress counts as a failure until it ends. If an attempt would
// exceed the limit only because of attempts in progress, it waits.
//
// Concurrent attempts therefore allow no more guesses than consecutive ones, but many jobs of a
// cluster can still sign in at the same time.
type throttle struct {
	now   func() time.Time
	limit int // maximum number of failures in a minute
	mu    sync.Mutex
	ended *sync.Cond // signals the end of an attempt
	of    map[visitor]*attempts
}

// visitor identifies a name and an address, or an address alone. It is a hash, because names
// can be very long.
type visitor [sha256.Size]byte

type attempts struct {
	pending int
	failed  []time.Time // times of failures, oldest first
}

type outcome int

const (
	right outcome = iota
	wrong
	undecided // the password was not checked
)

func visitorOf(username, address string) visitor {
	return sha256.Sum256([]byte(username + "\x00" + address))
}

func newThrottle(now func() time.Time, limit int) *throttle {
	t := &throttle{now: now, limit: limit, of: map[visitor]*attempts{}}
	t.ended = sync.NewCond(&t.mu)
	return t
}

// begin records the start of an attempt and returns 0. The caller must call end afterwards. If
// the visitor has too many failures, begin returns the time until the next attempt is allowed.
func (t *throttle) begin(who visitor) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		now := t.now()
		a := t.of[who]
		if a == nil {
			t.makeRoom(now)
			a = &attempts{}
			t.of[who] = a
		}
		a.failed = since(a.failed, now.Add(-failureWindow))
		if len(a.failed) >= t.limit {
			return a.failed[len(a.failed)-t.limit].Add(failureWindow).Sub(now)
		}
		if len(a.failed)+a.pending < t.limit {
			a.pending++
			return 0
		}
		t.ended.Wait()
	}
}

// end records the outcome of an attempt. A correct password resets the visitor's failures.
func (t *throttle) end(who visitor, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of[who]
	a.pending--
	switch o {
	case right:
		a.failed = nil
	case wrong:
		a.failed = append(a.failed, t.now())
	}
	if a.pending == 0 && len(a.failed) == 0 {
		delete(t.of, who)
	}
	t.ended.Broadcast()
}

// makeRoom drops visitors if the throttle tracks maxTracked visitors. First it drops visitors
// without a failure in the last minute. If that is not enough, it drops arbitrary visitors until a
// quarter of the places is free. Visitors with an attempt in progress are never dropped.
func (t *throttle) makeRoom(now time.Time) {
	if len(t.of) < maxTracked {
		return
	}
	for who, a := range t.of {
		if a.pending == 0 && len(since(a.failed, now.Add(-failureWindow))) == 0 {
			delete(t.of, who)
		}
	}
	if len(t.of) < maxTracked {
		return
	}
	for who, a := range t.of {
		if len(t.of) <= maxTracked*3/4 {
			return
		}
		if a.pending == 0 {
			delete(t.of, who)
		}
	}
}

func since(at []time.Time, start time.Time) []time.Time {
	for len(at) > 0 && !at[0].After(start) {
		at = at[1:]
	}
	return at
}
