package points

import (
	"cmp"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tracker/store/sqlite"
)

// Point is one value of a series as returned by List.
type Point struct {
	Iteration  int64
	Key        string
	Value      Value
	Step       Step
	RecordedAt Time

	place  place
	origin place // place where the point was written; differs from place if a patch has changed series or step
}

// ID returns the id of the point. The id is assigned when the point is written, and never
// changes.
func (p Point) ID() string { return p.origin.id() }

// point is one value of a series. It does not name the series.
type point struct {
	step  Step
	seq   int64
	value Value
	at    Time
}

// byStep compares two points of a series by step and then by seq.
func byStep(a, b point) int {
	return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.seq, b.seq))
}

// byTime compares two points by time, then by step, then by seq.
func byTime(a, b point) int { return cmp.Or(cmp.Compare(a.at, b.at), byStep(a, b)) }

// sorted returns points sorted by byStep. It does not change points.
func sorted(points []point) []point {
	if slices.IsSortedFunc(points, byStep) {
		return points
	}
	return slices.SortedFunc(slices.Values(points), byStep)
}

// place is the primary key of a point in the metric table.
type place struct {
	series int64
	step   int64
	seq    int64
}

// id returns the public id of a point that was written at p. The id consists of the three
// numbers of p in base 36.
func (p place) id() string {
	return strconv.FormatInt(p.series, 36) + "." + strconv.FormatInt(p.step, 36) + "." + strconv.FormatInt(p.seq, 36)
}

// parsePlace is the inverse of place.id. ok is false if place.id would spell id differently.
func parsePlace(id string) (p place, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return p, false
	}
	for i, n := range []*int64{&p.series, &p.step, &p.seq} {
		var err error
		if *n, err = strconv.ParseInt(parts[i], 36, 64); err != nil {
			return p, false
		}
	}
	return p, p.id() == id
}

// selectPoints returns a query that adds series, iteration and original place to rows of the
// metric table. The query joins only the rows that the query rows selects.
func selectPoints(rows string) string {
	return `SELECT
			metric.series_id,
			metric.step,
			metric.seq,
			metric.value,
			metric.recorded_at,
			series.key,
			series.iteration_num,
			coalesce(metric_moved.old_series_id, metric.series_id),
			coalesce(metric_moved.old_step, metric.step)
		FROM (` + rows + `) AS metric
		JOIN series ON series.id = metric.series_id
		LEFT JOIN metric_moved ON metric_moved.seq = metric.seq
		ORDER BY metric.step, metric.seq`
}

func (p *Point) scan(row sqlite.Scanner) error {
	err := row.Scan(&p.place.series, &p.place.step, &p.place.seq, &p.Value, &p.RecordedAt, &p.Key, &p.Iteration,
		&p.origin.series, &p.origin.step)
	p.origin.seq = p.place.seq
	p.Step = Step(p.place.step)
	return err
}

// Point returns the point with the given id, even if a patch has moved the point. It returns
// ErrNotFound if no point has the id.
func (tx *Tx) Point(id string) (p Point, err error) {
	origin, ok := parsePlace(id)
	if !ok {
		return p, ErrNotFound
	}
	now := origin
	err = tx.Row(`SELECT series_id, step FROM metric_moved WHERE seq = ?`, origin.seq).Scan(&now.series, &now.step)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return p, err
	}
	err = p.scan(tx.Row(selectPoints(`
			SELECT * FROM metric WHERE series_id = ? AND step = ? AND seq = ?
			UNION ALL
			SELECT series_id, step, seq, value, recorded_at FROM recent WHERE series_id = ? AND step = ? AND seq = ?
			AND seq > (SELECT moved_seq FROM series WHERE id = series_id)`),
		now.series, now.step, now.seq, now.series, now.step, now.seq))
	if errors.Is(err, sql.ErrNoRows) || err == nil && p.origin != origin { // a point is at this place, but was written at another place and has another id
		return p, ErrNotFound
	}
	return p, err
}
