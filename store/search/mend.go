package search

import "slices"

// mendable reports whether an order of q can be mended: the place of a hit must depend on
// its own iteration alone, and the number of all hits must not be asked for unless all are
// remembered.
func mendable(q Query, o order) bool { return !q.Fold && (q.Uncounted || o.complete) }

// mend returns a remembered order of q as the snapshot has it, after changes of some
// iterations. It sorts these again with those of the order.
//
// Iterations that have not changed keep their places to each other. So all that are neither
// remembered nor changed come after the last remembered one that has not changed, and up
// to that one the order is the whole one.
func (s *Snapshot) mend(experimentIDs []string, q Query, known order, changed []int64) (order, error) {
	only, last := slices.Clone(changed), uint32(0)
	different := make(map[uint32]bool, len(changed))
	for _, num := range changed {
		different[uint32(num)] = true
	}
	for _, r := range known.rows {
		only = append(only, int64(r.num))
		if !different[r.num] {
			last = r.num
		}
	}
	mended, err := s.sorted(experimentIDs, q, only, 0, len(only))
	if err != nil {
		return order{}, err
	}
	if mended.complete = known.complete; !mended.complete {
		end := slices.IndexFunc(mended.rows, func(r ordered) bool { return r.num == last })
		mended.rows = mended.rows[:end+1]
	}
	s.Orders.mu.Lock()
	s.Orders.mended++
	s.Orders.mu.Unlock()
	return mended, nil
}
