package points

import (
	"cmp"
	"maps"
	"slices"

	"tracker/store/sqlite"
)

// openSeries is the writer's cache of the series with recent writes. With the cache, adding a
// point needs no query. Only the writer may use the cache.
//
// openSeries also holds the points of the current transaction until Flush inserts them. The
// cached series can be dropped at any time, but not the points of the transaction.
type openSeries struct {
	sqlite.Passive
	engine *Engine

	byKey    map[seriesKey]*series
	byID     map[int64]*series // series in byKey, by series id
	dirty    []*series         // series with pending points
	seq      int64             // last assigned seq
	savedSeq int64             // seq stored in the counter table; -1 if not known
	lastID   int64             // last assigned series id
}

type seriesKey struct {
	iteration int64
	key       string
}

const (
	// maxOpen is the number of cached series at which the cache is cleared. The cache is not
	// cleared while series have pending points.
	maxOpen = 20_000
	// bulkPoints is the minimum number of points of a series that a transaction writes directly
	// to the metric table. From about this number on, writing a page of the metric table is not
	// more expensive than writing to the recent table first.
	bulkPoints = 32
)

// drop empties the cache. Callers use it when the cache might be stale.
func (o *openSeries) drop() {
	o.byKey, o.byID = map[seriesKey]*series{}, map[int64]*series{}
	o.dirty = o.dirty[:0]
	o.savedSeq = -1
}

// Load reads the counters from the database.
func (o *openSeries) Load(tx *sqlite.Tx, _ bool) error {
	o.drop()
	var recent int64
	err := tx.Row(`SELECT
			(SELECT value FROM counter WHERE name = 'metric_seq'),
			(SELECT coalesce(max(seq), 0) FROM recent),
			(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'series')`).
		Scan(&o.savedSeq, &recent, &o.lastID)
	o.seq = max(o.savedSeq, recent)
	return err
}

// Mark returns the last assigned seq.
func (o *openSeries) Mark() int64 { return o.seq }

// Changed drops the cache, because a job might have changed any row.
func (o *openSeries) Changed() { o.drop() }

// RolledBack drops the cache and removes the points with a seq after mark from the head.
func (o *openSeries) RolledBack(mark int64) {
	o.drop()
	o.engine.head.truncate(mark)
}

// openSeries returns the series with the given key for writing. Flush inserts a new series
// together with its first points.
func (tx *Tx) openSeries(iteration int64, key string) (*series, error) {
	if s, ok := tx.engine.open.byKey[seriesKey{iteration, key}]; ok {
		return s, nil
	}
	s, err := tx.findSeries(iteration, key)
	if err != nil {
		return nil, err
	}
	return tx.engine.open.put(iteration, key, s), nil
}

// OpenAhead reads the series of many keys with one query, so that AppendAll does not need a
// query for each key. The number of keys should be at most a few hundred.
func (tx *Tx) OpenAhead(iteration int64, keys []string) error {
	o := tx.engine.open
	unknown := make(map[string]bool, len(keys))
	for _, key := range keys {
		if _, ok := o.byKey[seriesKey{iteration, key}]; !ok {
			unknown[key] = true
		}
	}
	if len(unknown) < 2 {
		return nil
	}
	found, err := tx.seriesWhere(`series.iteration_num = ? AND series.key IN (SELECT value FROM json_each(?))`, iteration, sqlite.JSON(slices.Collect(maps.Keys(unknown))))
	if err != nil {
		return err
	}
	for _, s := range found {
		delete(unknown, s.key)
		o.put(iteration, s.key, s)
	}
	for _, key := range keys { // assign ids to new series in the order of keys
		if unknown[key] {
			delete(unknown, key)
			o.put(iteration, key, nil)
		}
	}
	return nil
}

// put adds s to the cache and returns s. If s is nil, put adds and returns a new series.
func (o *openSeries) put(iteration int64, key string, s *series) *series {
	if s == nil {
		o.lastID++
		s = &series{id: o.lastID, iteration: iteration, key: key}
	}
	if len(o.byKey) >= maxOpen && len(o.dirty) == 0 {
		clear(o.byKey)
		clear(o.byID)
	}
	o.byKey[seriesKey{iteration, key}], o.byID[s.id] = s, s
	return s
}

// openByID returns a series for writing, or nil if the series does not exist.
func (tx *Tx) openByID(id int64) (*series, error) {
	if s := tx.engine.open.byID[id]; s != nil {
		return s, nil
	}
	return tx.seriesByID(id)
}

// add adds p to the pending points of s and returns the place of p. Flush inserts pending
// points.
func (o *openSeries) add(s *series, p point) place {
	o.seq++
	p.seq = o.seq
	s.Stats.add(p)
	s.lastSeq = p.seq
	if len(s.pending) == 0 {
		o.dirty = append(o.dirty, s)
	}
	at := place{s.id, int64(p.step), p.seq}
	s.pending = append(s.pending, row{at, p.value, p.at, s})
	return at
}

// Flush inserts the pending points. The points of a series go into the metric table if the series
// has at least bulkPoints pending points, and otherwise into the recent table. Without a head, or
// with a full head, all points go into the metric table.
func (o *openSeries) Flush(t *sqlite.Tx, _ sqlite.Stage) error {
	if len(o.dirty) == 0 {
		return nil
	}
	tx := o.engine.In(t)
	all := o.engine.head == nil || o.engine.head.full()
	slices.SortFunc(o.dirty, func(a, b *series) int { return cmp.Compare(a.id, b.id) })
	isBulk := func(s *series) bool { return all || len(s.pending) >= bulkPoints }
	size := 0
	for _, s := range o.dirty {
		if isBulk(s) {
			size += len(s.pending)
		}
	}
	var few []row
	bulk := make([]row, 0, size)
	for _, s := range o.dirty {
		if isBulk(s) {
			if !slices.IsSortedFunc(s.pending, row.compare) {
				slices.SortFunc(s.pending, row.compare)
			}
			bulk = append(bulk, s.pending...)
		} else {
			few = append(few, s.pending...)
		}
	}
	slices.SortFunc(few, func(a, b row) int { return cmp.Compare(a.seq, b.seq) })
	if err := tx.insertIntoMetric(bulk); err != nil {
		return err
	}
	if err := tx.insertIntoRecent(few); err != nil {
		return err
	}
	if err := tx.flushSeries(o.dirty, all); err != nil {
		return err
	}
	for _, s := range o.dirty {
		s.pending = s.pending[:0]
	}
	if len(few) > 0 {
		o.engine.head.add(few)
	}
	o.dirty = o.dirty[:0]
	if len(bulk) > 0 {
		return o.saveSeq(tx.Tx)
	}
	return nil
}

// flushSeries updates the given series after their pending points were inserted. It inserts the
// rows of new series. It updates the rollups and the row of each series whose points are in the
// metric table. The points are in the metric table if all is set or the series has at least
// bulkPoints pending points.
func (tx *Tx) flushSeries(flushed []*series, all bool) error {
	var save []*series
	for _, s := range flushed {
		bulk := all || len(s.pending) >= bulkPoints
		if bulk {
			if err := tx.rollUp(s, s.pending); err != nil {
				return err
			}
		}
		if bulk || !s.stored {
			save = append(save, s)
		}
	}
	if err := tx.saveSeries(save...); err != nil {
		return err
	}
	for _, s := range flushed {
		if err := tx.changed(s); err != nil {
			return err
		}
	}
	return nil
}

// saveSeq writes the point counter to the counter table. Transactions that only add to the recent
// table do not need saveSeq, because Load then finds the largest seq in the recent table.
func (o *openSeries) saveSeq(tx *sqlite.Tx) error {
	if o.seq == o.savedSeq {
		return nil
	}
	_, err := tx.Exec(`UPDATE counter SET value = ? WHERE name = 'metric_seq'`, o.seq)
	if err == nil {
		o.savedSeq = o.seq
	}
	return err
}
