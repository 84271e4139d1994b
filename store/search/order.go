package search

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"maps"
	"sync"

	"tracker/store/sqlite"
)

const (
	// maxOrder is the largest number of hits of one search that are remembered.
	maxOrder = 10_000
	// maxOrdered is the largest size of all remembered orders, in hits of 8 bytes.
	maxOrdered = 500_000
)

// order holds hits of a search, in their order.
type order struct {
	rows     []ordered
	total    int  // as the search counts it
	complete bool // there are no further rows

	// Of one that is remembered:
	experiments []string // that were searched
	commits     uint64   // what it shows at least, as Snapshot.Commits
	foreign     int64    // foreign commits that it shows
}

// size returns the memory of an order in hits, about.
func (o order) size() int { return len(o.rows) + 8*len(o.experiments) + 32 }

// ordered is one hit.
type ordered struct {
	num   uint32 // of the iteration; table search_value relies on 32 bits, too
	below uint32 // number of hits that are listed under it
}

// Orders caches the orders that searches have found, so that further pages and
// repeated searches need not filter and sort all iterations. An order belongs to one
// text of the query with its arguments, and holds until something changes in the
// experiments that were searched. The right to read is checked before.
//
// It is a participant of the commits of the process that has the lock of the file, and
// so knows what they change (change.go).
type Orders struct {
	sqlite.Passive
	pending changes // of the transaction under way; the writer's own

	mu      sync.Mutex
	known   map[[sha256.Size]byte]order
	commits uint64            // how many there were
	changed map[string]uint64 // the last commit that changed each experiment
	all     uint64            // the last commit that may have changed any experiment
}

// find returns the remembered order of a query for a snapshot with these commits.
func (o *Orders) find(query [sha256.Size]byte, commits uint64, foreign int64) (order, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.known[query]
	return found, ok && found.foreign == foreign && o.last(found.experiments) <= min(found.commits, commits)
}

// Len returns the number of orders that are remembered and hold.
func (o *Orders) Len() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, known := range o.known {
		if o.last(known.experiments) <= known.commits {
			n++
		}
	}
	return n
}

// remember keeps an order, which must not be changed afterwards, and drops those that do
// not hold any more.
func (o *Orders) remember(query [sha256.Size]byte, found order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	outdated := func(known order) bool {
		return o.last(known.experiments) > known.commits || known.foreign != found.foreign
	}
	if outdated(found) {
		return
	}
	size := found.size()
	maps.DeleteFunc(o.known, func(_ [sha256.Size]byte, known order) bool { return outdated(known) })
	for _, known := range o.known {
		size += known.size()
	}
	if o.known == nil || size > maxOrdered {
		o.known = map[[sha256.Size]byte]order{}
	}
	o.known[query] = found
}

// order returns up to limit rows of q, which searches these experiments, from offset on.
// The columns of q are the number of an iteration, the total, and how many hits are
// listed under it.
func (s *Snapshot) order(q *SQL, experimentIDs []string, offset, limit int) (order, error) {
	if s.Orders == nil || s.Writer() {
		return s.orderOf(q, offset, limit)
	}
	query, err := q.sum()
	if err != nil {
		return order{}, err
	}
	foreign, err := s.foreignCommits()
	if err != nil {
		return order{}, err
	}
	if known, ok := s.Orders.find(query, s.Commits, foreign); ok && (known.complete || offset+limit <= len(known.rows)) {
		return known.page(offset, limit), nil
	}
	if offset+limit > maxOrder {
		return s.orderOf(q, offset, limit)
	}
	// Most clients read one page; a second one is a sign that others will follow.
	n := limit
	if offset > 0 {
		n = maxOrder
	}
	found, err := s.orderOf(q, 0, n)
	if err != nil {
		return order{}, err
	}
	found.experiments, found.commits, found.foreign = experimentIDs, s.Commits, foreign
	s.Orders.remember(query, found)
	return found.page(offset, limit), nil
}

// page returns up to limit rows from offset on.
func (o order) page(offset, limit int) order {
	o.rows = o.rows[min(offset, len(o.rows)):min(offset+limit, len(o.rows))]
	return o
}

// orderOf runs q.
func (s *Snapshot) orderOf(q *SQL, offset, limit int) (found order, err error) {
	err = s.EachRowOnce(q.String()+` LIMIT ? OFFSET ?`, func(row []driver.Value) error {
		r := ordered{num: uint32(row[0].(int64)), below: uint32(row[2].(int64))}
		found.rows, found.total = append(found.rows, r), int(row[1].(int64))
		return nil
	}, append(q.Args[:len(q.Args):len(q.Args)], limit, offset)...)
	found.complete = offset == 0 && len(found.rows) < limit
	return found, err
}

// sum returns the checksum of the text and the arguments of q.
func (q *SQL) sum() (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	write := func(text string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	write(q.String())
	for _, a := range q.Args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return sum, err
		}
		write(fmt.Sprintf("%T %v", v, v))
	}
	h.Sum(sum[:0])
	return sum, nil
}
