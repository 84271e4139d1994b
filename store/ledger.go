package store

import (
	"cmp"
	"slices"
)

// ledger is what the writer remembers of the series that are being written
// to, so that a point costs no query: who may write to which iteration, the
// statistics of the series, and the points of the transaction under way that
// have not been inserted yet. It belongs to the writer alone. Everything in it
// but those points can be forgotten at any time.
type ledger struct {
	writers    map[writerKey]iterationRef // the iterations that users may write to
	series     map[seriesKey]*series
	byID       map[int64]*series // the same ones
	dirty      []*series         // those that have such points
	seq        int64             // last metric seq given out
	saved      int64             // what the counter in the file says of it
	lastSeries int64             // last id of a series given out
}

type writerKey struct {
	actor       Actor
	iterationID string
}

type seriesKey struct {
	iterationNum int64
	key          string
}

type pointRow struct {
	place
	value  Value
	at     Time
	series *series // nil when it does not matter
}

const (
	// maxRemembered bounds each map of the ledger.
	maxRemembered = 20_000
	// directPoints is how many points of one series a transaction must have to
	// put them into table metric at once. From about here on a page of that
	// table costs no more than the way over table recent.
	directPoints = 32
)

// forget drops what may not be true any more.
func (l *ledger) forget() {
	l.writers = map[writerKey]iterationRef{}
	l.series, l.byID = map[seriesKey]*series{}, map[int64]*series{}
	l.dirty = l.dirty[:0]
	l.saved = -1
}

// load reads the counters after another process has changed the file.
func (l *ledger) load(t *tx) error {
	l.forget()
	var recent int64
	err := t.row(`SELECT
			(SELECT value FROM counter WHERE name = 'metric_seq'),
			(SELECT coalesce(max(seq), 0) FROM recent),
			(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'series')`).
		Scan(&l.saved, &recent, &l.lastSeries)
	l.seq = max(l.saved, recent)
	return err
}

// allowPoints is allowOpenIteration for the create permission, remembered.
func (tx *tx) allowPoints(iterationID string) (iterationRef, error) {
	l := &tx.db.ledger
	k := writerKey{tx.actor, iterationID}
	if ref, ok := l.writers[k]; ok {
		tx.seen = append(tx.seen, ref.num)
		return ref, nil
	}
	it, err := tx.allowOpenIteration(tx.actor, iterationID, rightCreate)
	if err != nil {
		return iterationRef{}, err
	}
	if len(l.writers) >= maxRemembered {
		clear(l.writers)
	}
	l.writers[k] = it.iterationRef
	return it.iterationRef, nil
}

// seriesOf returns the series of a metric name as the writer knows it; one
// that is not in the table yet is made when its first points are.
func (tx *tx) seriesOf(iteration iterationRef, key string) (*series, error) {
	l := &tx.db.ledger
	k := seriesKey{iteration.num, key}
	if s, ok := l.series[k]; ok {
		return s, nil
	}
	s, err := tx.findSeries(iteration.num, key)
	if err != nil {
		return nil, err
	}
	if s == nil {
		l.lastSeries++
		s = &series{ID: l.lastSeries, iteration: iteration, key: key}
	}
	if len(l.series) >= maxRemembered && len(l.dirty) == 0 {
		clear(l.series)
		clear(l.byID)
	}
	l.series[k], l.byID[s.ID] = s, s
	return s, nil
}

// add queues a point for the end of the transaction.
func (l *ledger) add(s *series, p point) place {
	l.seq++
	p.seq = l.seq
	s.stats.add(p)
	s.seq = p.seq
	if len(s.queued) == 0 {
		l.dirty = append(l.dirty, s)
	}
	at := place{s.ID, int64(p.step), p.seq}
	s.queued = append(s.queued, pointRow{at, p.value, p.at, s})
	return at
}

// flush writes what the ledger holds back: the points of a series that has
// many of them to table metric, the others to recent.
func (l *ledger) flush(t *tx) error {
	if len(l.dirty) == 0 {
		return nil
	}
	recents := t.db.recents
	all := recents == nil || recents.full()
	slices.SortFunc(l.dirty, func(a, b *series) int { return cmp.Compare(a.ID, b.ID) })
	var direct, few []pointRow
	for _, s := range l.dirty {
		if all || s.many() {
			if !slices.IsSortedFunc(s.queued, pointRow.compare) {
				slices.SortFunc(s.queued, pointRow.compare)
			}
			direct = append(direct, s.queued...)
		} else {
			few = append(few, s.queued...)
		}
	}
	slices.SortFunc(few, func(a, b pointRow) int { return cmp.Compare(a.seq, b.seq) })
	if err := t.insertPoints(direct); err != nil {
		return err
	}
	if err := t.appendRecent(few); err != nil {
		return err
	}
	for _, s := range l.dirty {
		if all || s.many() {
			if err := t.rollUp(s, s.queued); err != nil {
				return err
			}
		}
		if all || s.many() || !s.stored {
			if err := t.saveSeries(s); err != nil {
				return err
			}
		}
		t.noteSeries(s.iteration, s.key, &s.stats)
		s.queued = s.queued[:0]
	}
	if len(few) > 0 {
		recents.add(few)
	}
	l.dirty = l.dirty[:0]
	if len(direct) > 0 {
		return l.saveSeq(t)
	}
	return nil
}

// many tells that so many points wait that they are put into table metric.
func (s *series) many() bool { return len(s.queued) >= directPoints }

// compare orders the points of a series.
func (r pointRow) compare(o pointRow) int {
	return cmp.Or(cmp.Compare(r.step, o.step), cmp.Compare(r.seq, o.seq))
}

// saveSeq writes the counter of points. The largest seq in table recent says
// the same, so it is written only when that table may not have it.
func (l *ledger) saveSeq(t *tx) error {
	if l.seq == l.saved {
		return nil
	}
	_, err := t.exec(`UPDATE counter SET value = ? WHERE name = 'metric_seq'`, l.seq)
	if err == nil {
		l.saved = l.seq
	}
	return err
}
