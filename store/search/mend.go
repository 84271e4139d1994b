package search

import (
	"cmp"
	"database/sql/driver"
	"math/big"
	"slices"
	"sort"
	"strings"
)

// mendable reports whether an order of q can be mended. The place of a hit must depend only
// on its own iteration, all hits must be remembered if their number is needed, and the values
// that they are sorted by must not be too large to keep.
func mendable(q Query, o order) bool {
	return !q.Fold && (q.Uncounted || o.complete) && len(o.rows) <= maxMended && o.valuesSize() <= maxValues
}

// mend returns a remembered order of q as the snapshot has it, after changes of some
// iterations. It reads only these iterations and inserts the hits among them.
//
// Iterations that have not changed keep their relative order. So iterations that are neither
// remembered nor changed come after the last remembered one that has not changed, and up
// to that one the order is complete.
func (s *Snapshot) mend(experimentIDs []string, q Query, known order, changed []int64) (order, error) {
	again, err := s.sorted(experimentIDs, q, changed, 0, len(changed))
	if err != nil {
		return order{}, err
	}
	different := make(map[uint32]bool, len(changed))
	for _, num := range changed {
		different[uint32(num)] = true
	}
	mended := order{terms: known.terms, complete: known.complete}
	for i, r := range known.rows {
		if !different[r.num] {
			mended.rows, mended.values = append(mended.rows, r), append(mended.values, known.values[i])
		}
	}
	for i, r := range again.rows {
		at := sort.Search(len(mended.rows), func(n int) bool { return mended.compare(n, r.num, again.values[i]) > 0 })
		if at < len(mended.rows) || mended.complete {
			mended.rows = slices.Insert(mended.rows, at, r)
			mended.values = slices.Insert(mended.values, at, again.values[i])
		}
	}
	mended.total = len(mended.rows)
	s.Orders.mu.Lock()
	s.Orders.mended++
	s.Orders.mu.Unlock()
	return mended, nil
}

// compare compares row i with an iteration and its values as ORDER BY does.
func (o order) compare(i int, num uint32, values []driver.Value) int {
	for n, t := range o.terms {
		if c := t.compare(o.values[i][n], values[n]); c != 0 {
			return c
		}
	}
	return cmp.Compare(o.rows[i].num, num)
}

// compare compares two values of the term as ORDER BY does.
func (t term) compare(a, b driver.Value) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	case t.descending:
		a, b = b, a
	}
	return compareValues(a, b)
}

// compareValues compares two values as SQLite does: numbers exactly, texts by their bytes,
// and a number is less than a text.
func compareValues(a, b driver.Value) int {
	text, isText := a.(string)
	other, isOther := b.(string)
	switch {
	case isText && isOther:
		return strings.Compare(text, other)
	case isText:
		return 1
	case isOther:
		return -1
	}
	x, isFloat := a.(float64)
	if y, ok := b.(float64); ok && isFloat {
		return cmp.Compare(x, y)
	}
	return number(a).Cmp(number(b))
}

// number returns the exact value of a number, which must not be NaN.
func number(v driver.Value) *big.Float {
	if n, ok := v.(int64); ok {
		return new(big.Float).SetInt64(n)
	}
	f, _ := v.(float64)
	return big.NewFloat(f)
}
