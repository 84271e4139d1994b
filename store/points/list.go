package points

import (
	"math"
	"slices"

	"cmp"

	"tracker/store/sqlite"
)

// List returns one page of the points of an iteration and the total number of points. The
// points are ordered by step and then by seq. The page begins at offset and has at most limit
// points. If key is not nil, List returns only points of the series with this key.
func (tx *Tx) List(iteration int64, key *string, limit, offset int) (page []Point, total int, err error) {
	var keys []string
	if key != nil {
		keys = []string{*key}
	}
	all, err := tx.seriesOf(iteration, keys)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range all {
		total += int(s.Count)
	}
	if offset >= total || limit == 0 {
		return nil, total, nil
	}
	page, err = tx.list(all, limit, offset)
	return page, total, err
}

// list returns one page of the points of the given series. It merges the points of the metric and
// recent tables.
func (tx *Tx) list(all []*series, limit, offset int) (page []Point, err error) {
	recent, err := tx.recentPoints(all)
	if err != nil {
		return nil, err
	}
	// Of the offset points before the page, at most len(recent) come from the recent table, so at
	// least skip come from the metric table.
	skip := max(0, offset-len(recent))
	stored, err := tx.storedPoints(all, skip, offset+limit-skip)
	if err != nil {
		return nil, err
	}
	at := skip
	if skip > 0 && len(stored) > 0 {
		before, _ := slices.BinarySearchFunc(recent, stored[0], Point.compare)
		at, recent = at+before, recent[before:]
	}
	for ; len(page) < limit && len(stored)+len(recent) > 0; at++ {
		from := &stored
		if len(stored) == 0 || len(recent) > 0 && recent[0].compare(stored[0]) < 0 {
			from = &recent
		}
		if at >= offset {
			page = append(page, (*from)[0])
		}
		*from = (*from)[1:]
	}
	return page, nil
}

// compare compares two points of an iteration by step and then by seq, like List.
func (p Point) compare(o Point) int {
	return cmp.Or(cmp.Compare(p.Step, o.Step), cmp.Compare(p.place.seq, o.place.seq))
}

// recentPoints returns the points of the given series in the recent table, in the order of List.
func (tx *Tx) recentPoints(all []*series) ([]Point, error) {
	var found []Point
	for _, s := range all {
		points, err := tx.recent(s.id, s.compactedSeq)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			at := place{s.id, int64(p.step), p.seq}
			found = append(found, Point{s.iteration, s.key, p.value, p.step, p.at, at, at})
		}
	}
	slices.SortFunc(found, Point.compare)
	return found, nil
}

// storedPoints returns up to limit points of the given series in the metric table, in the order
// of List. skip is the number of points to skip.
func (tx *Tx) storedPoints(all []*series, skip, limit int) (found []Point, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	where, args := `WHERE series.id = ?`, []any{all[0].id}
	if len(all) > 1 {
		// Without a bound, SQLite would sort all points to find the first points. The condition
		// on the step limits the number of sorted points.
		last, err := tx.stepOfRow(all[0].iteration, skip+limit)
		if err != nil {
			return nil, err
		}
		where, args = `WHERE series.iteration_num = ? AND metric.step <= ?`, []any{all[0].iteration, last}
	}
	rows, err := tx.Rows(selectPoints(`SELECT metric.* FROM series JOIN metric ON metric.series_id = series.id `+where+`
		ORDER BY metric.step, metric.seq LIMIT ? OFFSET ?`), append(args, limit, skip)...)
	err = sqlite.Each(rows, err, func() error {
		var p Point
		if err := p.scan(rows); err != nil {
			return err
		}
		found = append(found, p)
		return nil
	})
	return found, err
}

// stepOfRow returns an upper bound for the steps of the first n points of an iteration in the
// metric table. Only a few more than n points have a step up to the returned bound. If the
// iteration has fewer than n points, stepOfRow returns the largest step.
func (tx *Tx) stepOfRow(iteration int64, n int) (int64, error) {
	var first, last *int64
	err := tx.Row(`SELECT
			min((SELECT min(step) FROM metric WHERE series_id = series.id)),
			max((SELECT max(step) FROM metric WHERE series_id = series.id))
		FROM series WHERE iteration_num = ?`, iteration).Scan(&first, &last)
	if err != nil || first == nil {
		return math.MaxInt64, err
	}
	for width := uint64(0); ; width = 2*width + 1 {
		if width >= uint64(*last)-uint64(*first) {
			return *last, nil
		}
		step := *first + int64(width)
		var count int
		err := tx.Row(`SELECT count(*) FROM (
				SELECT 1 FROM series JOIN metric ON metric.series_id = series.id
				WHERE series.iteration_num = ? AND metric.step <= ? LIMIT ?)`, iteration, step, n).Scan(&count)
		if err != nil || count >= n {
			return step, err
		}
	}
}
