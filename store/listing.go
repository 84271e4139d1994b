package store

import (
	"cmp"
	"math"
	"slices"
)

// listMetrics fills l, whose Total is known, with its page of the points of
// some series of one iteration, by step and then seq: what SQL finds in table
// metric, merged with what is in recent.
func (tx *tx) listMetrics(l *List[Metric], all []*series) error {
	if l.Offset >= l.Total || l.Limit == 0 {
		return nil
	}
	recent, err := tx.recentRows(all)
	if err != nil {
		return err
	}
	// Of the rows before the page at most so many are recent ones, so the page
	// begins at this row of metric or behind it.
	skip := max(0, l.Offset-len(recent))
	rows, err := tx.storedRows(all, skip, l.Offset+l.Limit-skip)
	if err != nil {
		return err
	}
	at := skip
	if skip > 0 && len(rows) > 0 {
		before, _ := slices.BinarySearchFunc(recent, rows[0], metricRow.compare)
		at, recent = at+before, recent[before:]
	}
	for ; len(l.Data) < l.Limit && len(rows)+len(recent) > 0; at++ {
		from := &rows
		if len(rows) == 0 || len(recent) > 0 && recent[0].compare(rows[0]) < 0 {
			from = &recent
		}
		if at >= l.Offset {
			l.Data = append(l.Data, (*from)[0].metric())
		}
		*from = (*from)[1:]
	}
	return nil
}

// compare orders rows of an iteration as they are listed.
func (r metricRow) compare(o metricRow) int {
	return cmp.Or(cmp.Compare(r.step, o.step), cmp.Compare(r.seq, o.seq))
}

// recentRows returns the points of series that are in table recent, in order.
func (tx *tx) recentRows(all []*series) ([]metricRow, error) {
	var rows []metricRow
	for _, s := range all {
		points, err := tx.recent(s.ID, s.moved)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			at := place{s.ID, int64(p.step), p.seq}
			rows = append(rows, metricRow{place: at, iterationID: s.iteration.id, key: s.key, value: p.value, at: p.at, origin: at})
		}
	}
	slices.SortFunc(rows, metricRow.compare)
	return rows, nil
}

// storedRows returns rows of table metric in order: as many as limit, without
// the first so many of skip.
func (tx *tx) storedRows(all []*series, skip, limit int) (found []metricRow, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	where, args := `WHERE series.id = ?`, []any{all[0].ID}
	if len(all) > 1 {
		// All points would have to be sorted to find the first ones. The steps
		// say where to stop.
		last, err := tx.stepOfRow(all[0].iteration.num, skip+limit)
		if err != nil {
			return nil, err
		}
		where, args = `WHERE series.iteration_num = ? AND metric.step <= ?`, []any{all[0].iteration.num, last}
	}
	rows, err := tx.rows(selectMetrics(`SELECT metric.* FROM series JOIN metric ON metric.series_id = series.id `+where+`
		ORDER BY metric.step, metric.seq LIMIT ? OFFSET ?`), append(args, limit, skip)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r metricRow
		if err := r.scan(rows); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// stepOfRow returns a step up to which an iteration has n points or more in
// table metric, and not very many more; the largest step there is when it has
// fewer.
func (tx *tx) stepOfRow(iterationNum int64, n int) (int64, error) {
	var first, last *int64
	err := tx.row(`SELECT
			min((SELECT min(step) FROM metric WHERE series_id = series.id)),
			max((SELECT max(step) FROM metric WHERE series_id = series.id))
		FROM series WHERE iteration_num = ?`, iterationNum).Scan(&first, &last)
	if err != nil || first == nil {
		return math.MaxInt64, err
	}
	for width := uint64(0); ; width = 2*width + 1 {
		if width >= uint64(*last)-uint64(*first) {
			return *last, nil
		}
		step := *first + int64(width)
		var count int
		err := tx.row(`SELECT count(*) FROM (
				SELECT 1 FROM series JOIN metric ON metric.series_id = series.id
				WHERE series.iteration_num = ? AND metric.step <= ? LIMIT ?)`, iterationNum, step, n).Scan(&count)
		if err != nil || count >= n {
			return step, err
		}
	}
}
