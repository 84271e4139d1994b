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
	// maxOrder is the maximum number of hits that are cached for one search.
	maxOrder = 10_000
	// maxOrdered is the maximum size of all cached orders. The unit is one hit of 8 bytes.
	maxOrdered = 500_000
	// maxMended is the maximum number of hits in an order that is repaired. It also limits the
	// number of changed iterations.
	maxMended = 1000
)

// order holds the first hits of a search in sorted order.
type order struct {
	rows     []ordered
	total    int  // number of all hits as counted by the statement
	complete bool // rows includes all hits

	// The fields below are set only in cached orders.
	experiments []string // searched experiments
	mendable    bool     // whether mend can repair the order after iterations have changed
	commits     uint64   // lower bound for the number of commits that the order includes
	foreign     int64    // number of foreign commits that the order includes
	memory      int      // result of size
}

// size returns the approximate size of an order in memory, in hits.
func (o order) size() int { return len(o.rows) + 8*len(o.experiments) + 32 }

// ordered is one hit of a search.
type ordered struct {
	num   uint32 // iteration number; table search_value also limits numbers to 32 bits
	below uint32 // number of hits listed under this hit
}

// Orders caches the orders that searches have found. With an order in the cache, repeated
// searches and further pages do not filter and sort all iterations. Callers must check the read
// permission before a search.
//
// An order belongs to one query. An order is valid until data of the searched experiments
// changes. If the changed iterations are known, Snapshot.mend repairs the order by a search of
// the changed iterations and the cached hits.
//
// Orders is a participant of the process that holds the lock of the file. The methods of Orders
// in change.go record the process's changes.
type Orders struct {
	sqlite.Passive
	pending changes // changes of the current transaction; used by the writer only

	mu      sync.Mutex
	known   map[[sha256.Size]byte]*order
	memory  int                           // total size of the orders in known, in hits
	commits uint64                        // number of commits
	changed map[string]*experimentChanges // changes by experiment id
	size    int                           // number of iterations in changed
	all     uint64                        // last commit that might have changed any experiment
	mended  int                           // number of repaired orders, for tests
}

// find returns the cached order of a query. It also returns the iterations that might differ
// between the order and a snapshot with the given numbers of commits. ok is false if there is
// no order, if the changes are unknown, or if the order can't be repaired.
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

// Len returns the number of cached orders that are valid without a repair.
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

// Mended returns the number of repaired orders. It is for tests.
func (o *Orders) Mended() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mended
}

// remember caches an order. The caller must not change the order afterwards. If the cache is
// too large, remember drops all orders that are outdated and can't be repaired. If the cache is
// still too large, remember drops all other orders.
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

// order returns up to limit hits of query q, beginning at offset. It uses s.Orders if possible.
func (s *Snapshot) order(experimentIDs []string, q Query, offset, limit int) (order, error) {
	if s.Orders == nil || s.Writer() {
		return s.sorted(experimentIDs, q, nil, offset, limit)
	}
	query, seen, err := s.identity(experimentIDs, q)
	if err != nil {
		return order{}, err
	}
	if seen || offset+limit > maxOrder { // a result that depends on the time can change without a commit
		return s.sorted(experimentIDs, q, nil, offset, limit)
	}
	foreign, err := s.foreignCommits()
	if err != nil {
		return order{}, err
	}
	remember := func(o order) order {
		// An order can be repaired only if the position of each hit depends on the hit's own
		// iteration alone. If the query needs the total, the order must include all hits.
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
		n = min(2*limit, maxOrder) // if later repairs remove hits of the page, the hits after the page replace them
	}
	// Most clients read only one page. A client that reads two pages will probably read more.
	if offset > 0 {
		n = maxOrder
	}
	found, err := s.sorted(experimentIDs, q, nil, 0, n)
	if err != nil {
		return order{}, err
	}
	return remember(found), nil
}

// mend returns a cached order updated to the snapshot, after some iterations have changed. It
// searches only the changed iterations and the cached hits.
//
// Unchanged iterations keep their relative order, so an unchanged iteration that is not cached
// comes after all unchanged cached hits. The result is complete up to the last unchanged cached
// hit, and mend drops all later hits.
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

// has reports whether o includes all hits of the given page.
func (o order) has(offset, limit int) bool { return o.complete || offset+limit <= len(o.rows) }

// page returns o with only the hits of the given page.
func (o order) page(offset, limit int) order {
	o.rows = o.rows[min(offset, len(o.rows)):min(offset+limit, len(o.rows))]
	return o
}

// sorted runs the statement of q. If only is not nil, the statement searches only the
// iterations with these numbers.
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

// identity returns a checksum that identifies the query. seen reports whether the result
// depends on the time.
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

// sum returns a checksum of the SQL text and the arguments of q.
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
