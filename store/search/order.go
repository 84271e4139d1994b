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
	// maxOrdered is the largest number of remembered hits in all, of 8 bytes each.
	maxOrdered = 500_000
)

// order holds hits of a search, in their order.
type order struct {
	rows     []ordered
	total    int  // as the search counts it
	complete bool // there are no further rows
}

// ordered is one hit.
type ordered struct {
	num   uint32 // of the iteration; table search_value relies on 32 bits, too
	below uint32 // number of hits that are listed under it
}

// Orders caches the orders that searches have found, so that further pages and
// repeated searches need not filter and sort all iterations. An order holds for one
// version of the database and for one text of the query with its arguments, on which
// the answer depends. The right to read is checked before.
type Orders struct {
	mu    sync.Mutex
	known map[orderKey]order
}

type orderKey struct {
	version sqlite.Version
	query   [sha256.Size]byte
}

// find returns a remembered order.
func (o *Orders) find(k orderKey) (order, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.known[k]
	return found, ok
}

// Len returns the number of orders that are remembered.
func (o *Orders) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known)
}

// rows returns the number of hits that are remembered in all.
func (o *Orders) rows() (n int) {
	for _, known := range o.known {
		n += len(known.rows)
	}
	return n
}

// remember keeps an order, which must not be changed afterwards, and drops those of
// former versions.
func (o *Orders) remember(k orderKey, found order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.known, func(other orderKey, _ order) bool { return other == k || k.version.Replaces(other.version) })
	if o.known == nil || o.rows()+len(found.rows) > maxOrdered {
		o.known = map[orderKey]order{}
	}
	o.known[k] = found
}

// order returns up to limit rows of q from offset on. The columns of q are the number of
// an iteration, the total, and how many hits are listed under it.
func (s *Snapshot) order(q *SQL, offset, limit int) (order, error) {
	version, err := s.Version()
	if err != nil {
		return order{}, err
	}
	k := orderKey{version: version}
	if k.query, err = q.sum(); err != nil {
		return order{}, err
	}
	if known, ok := s.Orders.find(k); ok && (known.complete || offset+limit <= len(known.rows)) {
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
	if !s.Writer() {
		s.Orders.remember(k, found)
	}
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
