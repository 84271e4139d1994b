package points

import (
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"tracker/store/sqlite"
)

// head holds the points of the recent table in memory, by series. With a head, a read does not
// have to scan the table. Only the process that holds the lock of the file has a head. No other
// process writes to the recent table.
//
// The writer adds points to the head before it commits them, and drops points from the head after
// it has committed their removal from the table. The head therefore has all points of the recent
// table in every snapshot that is not older than the last compaction. Tx.recent skips points
// outside of its snapshot.
type head struct {
	mu      sync.RWMutex
	series  map[int64]*headSeries            // by series id
	late    map[string]map[int64]*headSeries // series whose rows might lack points, by key and series id
	size    int                              // number of points in all series
	dropped int64                            // largest seq of the dropped points
	since   time.Time                        // lower bound for the arrival time of the oldest point
	latest  time.Time                        // arrival time of the newest point
}

// headSeries holds the points of one series, in the order of seq. The writer only appends to
// the slice, so a reader can keep a subslice.
type headSeries struct {
	iteration int64
	key       string
	points    []point
	// statsSeq is a lower bound for the last seq included in the stored statistics. The bound
	// is valid for every snapshot that shows the point with seq statsSeq.
	statsSeq int64
}

// isLate reports whether the stored row of s might lack points.
func (s *headSeries) isLate() bool {
	n := len(s.points)
	return n > 0 && s.points[n-1].seq > s.statsSeq
}

const (
	// maxHead is the number of points at which the head is due for compaction. A point takes 32
	// bytes of memory.
	maxHead = 150_000
	// fullHead is the number of points at which the head accepts no more points.
	fullHead = 2 * maxHead
)

// loadHead returns a head with the points of the recent table.
func loadHead(tx *sqlite.Tx) (*head, error) {
	h := &head{series: map[int64]*headSeries{}, late: map[string]map[int64]*headSeries{}, since: time.Now()}
	all, err := readRecent(tx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Rows(`SELECT id, iteration_num, key, counted_seq FROM series WHERE id IN (SELECT series_id FROM recent)`)
	err = sqlite.Each(rows, err, func() error {
		var id int64
		var s headSeries
		if err := rows.Scan(&id, &s.iteration, &s.key, &s.statsSeq); err != nil {
			return err
		}
		s.points = all[id]
		h.size += len(s.points)
		h.put(id, &s)
		delete(all, id)
		return nil
	})
	for id, points := range all { // points of deleted series
		h.size += len(points)
		h.put(id, &headSeries{points: points})
	}
	return h, err
}

// readRecent returns the points of the recent table by series id. fullHead bounds the size of the
// table.
func readRecent(tx *sqlite.Tx) (map[int64][]point, error) {
	all := map[int64][]point{}
	rows, err := tx.Rows(`SELECT seq, series_id, step, value, recorded_at FROM recent ORDER BY seq`)
	err = sqlite.Each(rows, err, func() error {
		var r row
		if err := r.scan(rows); err != nil {
			return err
		}
		all[r.place.series] = append(all[r.place.series], r.point())
		return nil
	})
	return all, err
}

// put adds a series to the head, or updates a series that was changed. It removes a series
// without points.
func (h *head) put(id int64, s *headSeries) {
	if len(s.points) > 0 {
		h.series[id] = s
	} else {
		delete(h.series, id)
	}
	if s.isLate() {
		if h.late[s.key] == nil {
			h.late[s.key] = map[int64]*headSeries{}
		}
		h.late[s.key][id] = s
		return
	}
	if delete(h.late[s.key], id); len(h.late[s.key]) == 0 {
		delete(h.late, s.key)
	}
}

// full reports whether the head is full.
func (h *head) full() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.size >= fullHead
}

// add adds rows that the writer is about to commit. The rows must be in the order of seq.
func (h *head) add(rows []row) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = time.Now()
	if h.size == 0 {
		h.since = h.latest
	}
	for _, r := range rows {
		s := h.series[r.place.series]
		if s == nil {
			s = &headSeries{iteration: r.series.iteration, key: r.series.key}
		}
		s.points = append(s.points, r.point())
		if r.series.statsSeq >= r.seq { // the stored statistics include the points
			s.statsSeq = r.series.statsSeq
		}
		h.size++
		h.put(r.place.series, s)
	}
}

// truncate drops the points with a seq larger than last, because their transaction was rolled
// back.
func (h *head) truncate(last int64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.series {
		if n := len(s.points); n > 0 && s.points[n-1].seq > last {
			kept := s.points[:after(s.points, last)]
			h.size -= n - len(kept)
			// Clip the slice, so that append does not overwrite points that a reader still
			// holds.
			s.points = slices.Clip(kept)
			if s.statsSeq > last {
				s.statsSeq = 0
			}
			h.put(id, s)
		}
	}
}

// drop removes the points with a seq up to last. The writer has removed the points up to last
// from the recent table. since is a lower bound for the arrival time of the remaining points.
func (h *head) drop(last int64, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = since
	h.dropped = max(h.dropped, last)
	for id, s := range h.series {
		i := after(s.points, last)
		h.size -= i
		s.points = s.points[i:]
		h.put(id, s)
	}
}

// ids returns the ids of all series in ascending order.
func (h *head) ids() []int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	ids := make([]int64, 0, len(h.series))
	for id := range h.series {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// after returns the index of the first point with a seq larger than last.
func after(points []point, last int64) int {
	return sort.Search(len(points), func(i int) bool { return points[i].seq > last })
}

// pointsOf returns the points of a series. ok is false if the head has dropped points with a
// seq of at least first.
func (h *head) pointsOf(seriesID, first int64) (points []point, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.series[seriesID]; s != nil {
		points = s.points
	}
	return points, h.dropped < first
}

// window is the part of the recent table that a transaction can see.
type window struct {
	known       bool
	first, last int64             // seq of the first and the last row; 0 if the table is empty
	points      map[int64][]point // whole table by series id; nil if not read
}

// recent returns the points of a series in the recent table with a seq larger than compacted, in
// the order of seq. The caller must not change the points.
//
// recent takes the points from the head. If the snapshot is older than the last compaction, the
// head lacks points and recent reads the whole table once. The table has no index by series.
func (tx *Tx) recent(seriesID, compacted int64) ([]point, error) {
	w, err := tx.recentWindow()
	if err != nil || w.last <= compacted {
		return nil, err
	}
	if h := tx.engine.head; h != nil {
		if points, ok := h.pointsOf(seriesID, w.first); ok {
			return points[after(points, compacted):after(points, w.last)], nil
		}
	}
	if w.points == nil {
		if tx.window.points, err = readRecent(tx.Tx); err != nil {
			return nil, err
		}
		w = tx.window
	}
	points := w.points[seriesID]
	return points[after(points, compacted):], nil
}

func (tx *Tx) recentWindow() (window, error) {
	if tx.Writer() && tx.engine.head != nil {
		return window{first: math.MaxInt64, last: math.MaxInt64}, nil // the writer must see its own writes
	}
	if !tx.window.known {
		tx.window.known = true
		err := tx.Row(`SELECT
				coalesce((SELECT min(seq) FROM recent), 0),
				coalesce((SELECT max(seq) FROM recent), 0)`).Scan(&tx.window.first, &tx.window.last)
		if err != nil {
			return tx.window, err
		}
	}
	return tx.window, nil
}
