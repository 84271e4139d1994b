package search

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tracker/store/filter"
	"tracker/store/sqlite"
)

const (
	// maxOrder is the maximum number of hits of one search that are remembered.
	maxOrder = 10_000
	// maxOrdered is the maximum size of all remembered orders, in hits of 8 bytes.
	maxOrdered = 500_000
	// maxMended is the maximum number of hits of an order that is mended, and of
	// changed iterations.
	maxMended = 1000
)

// order holds hits of a search, in their order.
type order struct {
	rows     []ordered
	total    int  // number of all hits, as the search counts them
	complete bool // the search has no further rows

	// Set for a remembered order:
	experiments []string // the searched experiments
	mendable    bool     // it can be mended when iterations have changed
	commits     uint64   // a lower bound for the commits that it shows, as Snapshot.Commits
	foreign     int64    // foreign commits that it shows
	memory      int      // size in hits
}

// size returns the approximate memory of an order, in hits.
func (o order) size() int { return len(o.rows) + 8*len(o.experiments) + 32 }

// ordered is one hit.
type ordered struct {
	num   uint32 // number of the iteration; table search_value relies on 32 bits, too
	below uint32 // number of hits that are listed under it
}

// Orders caches the orders that searches have found, so that further pages and
// repeated searches need not filter and sort all iterations. An order belongs to one
// query and is valid until data of the searched experiments changes. If the changed
// iterations are known, only these and the remembered hits are searched again. Callers must
// check the right to read before.
//
// Orders is a participant in the commits of the process that has the lock of the file, so
// it is informed of their changes (change.go).
type Orders struct {
	sqlite.Passive
	pending changes // changes of the current transaction; used by the writer only

	mu      sync.Mutex
	known   map[[sha256.Size]byte]*order
	memory  int                           // size of all orders in known, in hits
	commits uint64                        // number of commits
	changed map[string]*experimentChanges // by experiment
	size    int                           // number of iterations in changed
	all     uint64                        // the last commit that may have changed any experiment
	mended  int                           // number of orders that were mended, for tests
}

// find returns the remembered order of a query, and the iterations that may have changed
// between it and a snapshot with these commits. ok is false if there is none or
// the changes are not known.
func (o *Orders) find(query [sha256.Size]byte, commits uint64, foreign int64) (found order, changed []int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.known[query]
	if known == nil {
		return order{}, nil, false
	}
	found = *known
	from := min(found.commits, commits)
	if found.foreign != foreign || o.whole(found.experiments) > from {
		return order{}, nil, false
	}
	changed = o.since(found.experiments, from)
	return found, changed, found.mendable || len(changed) == 0
}

// Len returns the number of valid remembered orders.
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

// Mended returns the number of orders that were mended, for tests.
func (o *Orders) Mended() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mended
}

// remember keeps an order, which must not be changed afterwards. If all orders together are
// too large, it drops the orders that are invalid and can't be mended, or else all.
func (o *Orders) remember(query [sha256.Size]byte, found order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	outdated := func(known *order) bool {
		return o.whole(known.experiments) > known.commits || known.foreign != found.foreign ||
			!known.mendable && o.last(known.experiments) > known.commits
	}
	if outdated(&found) {
		return
	}
	found.memory = found.size()
	if known := o.known[query]; known != nil {
		o.memory -= known.memory
		delete(o.known, query)
	}
	if o.memory += found.memory; o.memory > maxOrdered {
		maps.DeleteFunc(o.known, func(_ [sha256.Size]byte, known *order) bool {
			ended := outdated(known)
			if ended {
				o.memory -= known.memory
			}
			return ended
		})
	}
	if o.known == nil || o.memory > maxOrdered {
		o.known, o.memory = map[[sha256.Size]byte]*order{}, found.memory
	}
	o.known[query] = &found
}

// order returns up to limit rows of the statement of q from offset on.
func (s *Snapshot) order(experimentIDs []string, q Query, offset, limit int) (order, error) {
	if s.Orders == nil || s.Writer() {
		return s.sorted(experimentIDs, q, nil, offset, limit)
	}
	query, seen, err := s.identity(experimentIDs, q)
	if err != nil {
		return order{}, err
	}
	if seen || offset+limit > maxOrder { // results that depend on the time change without a commit
		return s.sorted(experimentIDs, q, nil, offset, limit)
	}
	foreign, err := s.foreignCommits()
	if err != nil {
		return order{}, err
	}
	remember := func(o order) order {
		// The place of a hit must depend only on its own iteration, and all hits must be
		// remembered if their number is needed.
		o.mendable = !q.Fold && (q.Uncounted || o.complete) && len(o.rows) <= maxMended
		o.experiments, o.commits, o.foreign = experimentIDs, s.Commits, foreign
		s.Orders.remember(query, o)
		return o.page(offset, limit)
	}
	if known, changed, ok := s.Orders.find(query, s.Commits, foreign); ok {
		if len(changed) == 0 && known.has(offset, limit) {
			return known.page(offset, limit), nil
		}
		if len(changed) > 0 && len(changed) <= maxMended {
			mended, err := s.mend(experimentIDs, q, known, changed)
			if err != nil || mended.has(offset, limit) {
				return remember(mended), err
			}
		}
	}
	n := limit
	if q.Uncounted {
		n = min(2*limit, maxOrder) // the hits after the page replace hits that leave the page
	}
	// Most clients read one page. A client that reads a second page will probably read more.
	if offset > 0 {
		n = maxOrder
	}
	found, err := s.sorted(experimentIDs, q, nil, 0, n)
	if err != nil {
		return order{}, err
	}
	return remember(found), nil
}

// mend returns a remembered order as the snapshot has it, after changes of some iterations.
// It searches only these iterations and the remembered ones.
//
// Iterations that have not changed keep their relative order. So iterations that are neither
// remembered nor changed come after the last remembered one that has not changed, and up to
// that one the order is complete.
func (s *Snapshot) mend(experimentIDs []string, q Query, known order, changed []int64) (order, error) {
	unchanged := make(map[int64]bool, len(known.rows))
	for _, r := range known.rows {
		unchanged[int64(r.num)] = true
	}
	for _, num := range changed {
		delete(unchanged, num)
	}
	only := slices.AppendSeq(changed, maps.Keys(unchanged))
	mended, err := s.sorted(experimentIDs, q, only, 0, len(only))
	if mended.complete = known.complete; !mended.complete {
		end := len(mended.rows)
		for end > 0 && !unchanged[int64(mended.rows[end-1].num)] {
			end--
		}
		mended.rows = mended.rows[:end]
	}
	s.Orders.mu.Lock()
	s.Orders.mended++
	s.Orders.mu.Unlock()
	return mended, err
}

// has reports whether o has the rows of a page.
func (o order) has(offset, limit int) bool { return o.complete || offset+limit <= len(o.rows) }

// page returns up to limit rows from offset on.
func (o order) page(offset, limit int) order {
	o.rows = o.rows[min(offset, len(o.rows)):min(offset+limit, len(o.rows))]
	return o
}

// sorted runs the statement of q. If only is not nil, it searches only the iterations with
// these numbers.
func (s *Snapshot) sorted(experimentIDs []string, q Query, only []int64, offset, limit int) (found order, err error) {
	statement, err := s.statement(experimentIDs, q, only)
	if err != nil {
		return found, err
	}
	err = s.EachRowOnce(statement.String()+` LIMIT ? OFFSET ?`, func(row []driver.Value) error {
		found.rows = append(found.rows, ordered{num: uint32(row[0].(int64)), below: uint32(row[2].(int64))})
		found.total = int(row[1].(int64))
		return nil
	}, append(statement.Args, limit, offset)...)
	found.complete = offset == 0 && len(found.rows) < limit
	return found, err
}

// identity returns a checksum that identifies the query, and whether its result depends on
// the time.
func (s *Snapshot) identity(experimentIDs []string, q Query) (sum [sha256.Size]byte, seen bool, err error) {
	j := joins{lostBefore: s.LostBefore}
	all := func(keys []filter.Key) (map[filter.Key]known, error) {
		names := map[filter.Key]known{}
		for _, k := range keys {
			names[k] = known{Key: k.Name}
		}
		return names, nil
	}
	statement, err := s.write(experimentIDs, q, &j, all)
	if err != nil {
		return sum, false, err
	}
	sum, err = statement.sum()
	return sum, j.timed, err
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
