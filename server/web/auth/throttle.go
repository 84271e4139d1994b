package auth

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxFailures is the maximum number of failures within a minute for one name
	// and address.
	maxFailures = 10
	// maxSpray is the maximum for one address and all names together.
	maxSpray      = 60
	failureWindow = time.Minute
	// maxTracked bounds the memory that strangers can use. Above it, visitors
	// without a failure in the last minute are dropped, and then any.
	maxTracked = 10_000
)

// throttle counts the failed sign-ins of the last minute, by name and address or
// by address alone. Attempts in progress count as failures until they end, and
// an attempt that would exceed the limit with them waits. So concurrent attempts
// get no more tries than consecutive ones, and the jobs of a cluster that start
// together are all admitted.
type throttle struct {
	now   func() time.Time
	limit int // maximum number of failures
	mu    sync.Mutex
	ended *sync.Cond // signals that an attempt has ended
	of    map[visitor]*attempts
}

// visitor identifies a name and an address, or an address alone. It is a hash,
// since a name can be as long as a body.
type visitor [sha256.Size]byte

type attempts struct {
	pending int
	failed  []time.Time // oldest first
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

// network returns the part of an address that counts as one address. For IPv6 it
// is the /64, since one client can have a whole /64.
func network(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Unmap().Is4() {
		return address
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}

func newThrottle(now func() time.Time, limit int) *throttle {
	t := &throttle{now: now, limit: limit, of: map[visitor]*attempts{}}
	t.ended = sync.NewCond(&t.mu)
	return t
}

// begin records an attempt, which must be followed by end, or returns the time
// to wait before the next one.
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

// end records the outcome of an attempt. A correct password resets the
// failures.
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

// makeRoom drops visitors without a failure in the last minute, and if that is
// not enough, a quarter of the others. Visitors with an attempt in progress are
// kept.
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
