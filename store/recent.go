package store

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// recents is the table recent in memory, by series, so that a read does not
// have to look through all of it. Only the process that has the lock writes to
// that table and has this; others read the table.
//
// The writer adds points before it commits them and drops them after it has
// committed their removal, so there is always at least what a reader's snapshot
// shows; tx.recent leaves out what it does not.
type recents struct {
	mu      sync.RWMutex
	tails   map[int64]*tail            // by series
	byKey   map[string]map[int64]*tail // the same, by the name of the metric and series
	size    int                        // points in all tails
	trimmed int64                      // the seq up to which they were dropped
	since   time.Time                  // when the oldest one came, or earlier
	latest  time.Time                  // when the newest one came
}

// tail is the points of one series in the order of seq. The slice is only
// appended to; what was appended never changes.
type tail struct {
	iteration iterationRef
	key       string
	points    []point
	counted   int64 // the counted_seq that the row of the series has, or less
}

// loadRecents reads the table after the start.
func loadRecents(t *tx) (*recents, error) {
	r := &recents{tails: map[int64]*tail{}, byKey: map[string]map[int64]*tail{}}
	rows, err := t.rows(`SELECT seq, series_id, step, value, recorded_at FROM recent ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row pointRow
		if err := row.scan(rows); err != nil {
			return nil, err
		}
		r.append(row, nil)
	}
	r.since = time.Now()
	return r, errors.Join(rows.Err(), rows.Close(), r.loadSeries(t))
}

// loadSeries finds out which series the points are of. What is left without has
// none any more.
func (r *recents) loadSeries(t *tx) error {
	rows, err := t.rows(`SELECT series.id, series.key, series.counted_seq, iteration.num, iteration.id, iteration.experiment_id
		FROM series JOIN iteration ON iteration.num = series.iteration_num
		WHERE series.id IN (SELECT series_id FROM recent)`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var tail tail
		i := &tail.iteration
		if err := rows.Scan(&id, &tail.key, &tail.counted, &i.num, &i.id, &i.experimentID); err != nil {
			return err
		}
		tail.points = r.tails[id].points
		r.put(id, &tail)
	}
	delete(r.byKey, "") // where they were as long as nobody knew their names
	return rows.Err()
}

// full tells that points come faster than they are moved.
func (r *recents) full() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.size >= 2*maxRecent
}

// scan reads a row of table recent.
func (r *pointRow) scan(row scanner) error {
	return row.Scan(&r.seq, &r.place.series, &r.step, &r.value, &r.at)
}

func (r *recents) append(row pointRow, s *series) {
	id := row.place.series
	t := r.tails[id]
	if t == nil {
		t = &tail{}
		if s != nil {
			t.iteration, t.key, t.counted = s.iteration, s.key, s.counted
		}
		r.put(id, t)
	}
	t.points = append(t.points, point{Step(row.step), row.seq, row.value, row.at})
	r.size++
}

// put has t stand for a series.
func (r *recents) put(id int64, t *tail) {
	r.tails[id] = t
	if r.byKey[t.key] == nil {
		r.byKey[t.key] = map[int64]*tail{}
	}
	r.byKey[t.key][id] = t
}

// add takes up what the writer is about to commit.
func (r *recents) add(rows []pointRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest = time.Now()
	if r.size == 0 {
		r.since = r.latest
	}
	for _, row := range rows {
		r.append(row, row.series)
	}
}

// retract drops what was added with a seq above last and was not committed.
func (r *recents) retract(last int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tails {
		if n := len(t.points); n > 0 && t.points[n-1].seq > last {
			kept := t.points[:after(t.points, last)]
			r.size -= n - len(kept)
			// A reader may still hold what follows: nothing is written over it.
			t.points = slices.Clip(kept)
		}
		t.counted = 0 // what the transaction has settled is not
	}
}

// settled takes note that the stored statistics of s have all its points.
func (r *recents) settled(s *series) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tails[s.ID]; t != nil {
		t.counted = s.counted
	}
}

// trim drops what has a seq up to last: it is not in the table any more. What
// is left has come after since.
func (r *recents) trim(last int64, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = since
	r.trimmed = max(r.trimmed, last)
	for id, t := range r.tails {
		i := after(t.points, last)
		r.size -= i
		if t.points = t.points[i:]; len(t.points) == 0 {
			delete(r.tails, id)
			if delete(r.byKey[t.key], id); len(r.byKey[t.key]) == 0 {
				delete(r.byKey, t.key)
			}
		}
	}
}

// after is the index of the first point with a seq above last.
func after(points []point, last int64) int {
	return sort.Search(len(points), func(i int) bool { return points[i].seq > last })
}

// window is what table recent has in a snapshot: the rows from first to last.
type window struct {
	known       bool
	first, last int64 // 0 when it is empty
}

// recent returns the points of a series that have a seq above moved and lie in
// table recent, in the order of seq. They must not be changed.
func (tx *tx) recent(seriesID, moved int64) ([]point, error) {
	r := tx.db.recents
	w, err := tx.recentWindow()
	if err != nil || w.last <= moved {
		return nil, err
	}
	if r != nil {
		r.mu.RLock()
		complete := r.trimmed < w.first
		var points []point
		if t := r.tails[seriesID]; t != nil {
			points = t.points
		}
		r.mu.RUnlock()
		if complete {
			return points[after(points, moved):after(points, w.last)], nil
		}
	}
	var points []point
	rows, err := tx.rows(`SELECT step, seq, value, recorded_at FROM recent
		WHERE series_id = ? AND seq > ? ORDER BY seq`, seriesID, moved)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p point
		if err := rows.Scan(&p.step, &p.seq, &p.value, &p.at); err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	return points, rows.Err()
}

func (tx *tx) recentWindow() (window, error) {
	if tx.conn == tx.db.writer && tx.db.recents != nil {
		return window{first: math.MaxInt64, last: math.MaxInt64}, nil // it sees what it has written
	}
	if tx.window.known {
		return tx.window, nil
	}
	w := window{known: true}
	err := tx.row(`SELECT
			coalesce((SELECT min(seq) FROM recent), 0),
			coalesce((SELECT max(seq) FROM recent), 0)`).Scan(&w.first, &w.last)
	if tx.conn != tx.db.writer {
		tx.window = w
	}
	return w, err
}

// inOrder returns points in the order of step and then seq; they themselves
// stay as they are.
func inOrder(points []point) []point {
	if slices.IsSortedFunc(points, byStep) {
		return points
	}
	return slices.SortedFunc(slices.Values(points), byStep)
}

func byStep(a, b point) int {
	return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.seq, b.seq))
}

var insertRecents = insertQueriesFor(`recent (seq, series_id, step, value, recorded_at)`)

// appendRecent adds rows, which are in the order of seq.
func (tx *tx) appendRecent(rows []pointRow) error {
	return tx.insertRows(insertRecents, rows, func(args []driver.NamedValue, r *pointRow) {
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value =
			r.seq, r.place.series, r.step, r.value.bound(), int64(r.at)
	})
}

// insertSizes are how many rows one statement inserts: a few sizes, so that
// each is prepared once.
var insertSizes = []int{256, 64, 16, 4, 1}

// insertQueriesFor returns the statements that insert into a table with five
// columns, by number of rows.
func insertQueriesFor(table string) map[int]string {
	queries := map[int]string{}
	for _, n := range insertSizes {
		queries[n] = `INSERT INTO ` + table + ` VALUES ` + strings.Repeat(`(?, ?, ?, ?, ?), `, n-1) + `(?, ?, ?, ?, ?)`
	}
	return queries
}

// insertRows inserts rows by one of insertQueriesFor. values sets what a row
// has for the five columns.
func (tx *tx) insertRows(queries map[int]string, rows []pointRow, values func([]driver.NamedValue, *pointRow)) error {
	args := make([]driver.NamedValue, 5*min(len(rows), insertSizes[0]))
	for i := range args {
		args[i].Ordinal = i + 1
	}
	for _, n := range insertSizes {
		for ; len(rows) >= n; rows = rows[n:] {
			for i := range rows[:n] {
				values(args[5*i:5*i+5], &rows[i])
			}
			if err := tx.execBulk(queries[n], args[:5*n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// behind returns the series of an experiment whose stored statistics lack a
// point, of those that have one of the keys.
func (r *recents) behind(experimentID string, keys map[string]bool) []int64 {
	if r == nil || len(keys) == 0 {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	var ids []int64
	for key := range keys {
		for id, t := range r.byKey[key] {
			if t.iteration.experimentID == experimentID && len(t.points) > 0 && t.points[len(t.points)-1].seq > t.counted {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
