package store

import (
	"context"
	"slices"

	"tracker/store/points"
)

// Queries of curves; see package points.
type (
	Axis       = points.Axis
	Scale      = points.Scale
	CurveQuery = points.CurveQuery
	PairQuery  = points.PairQuery
	MeanCurve  = points.MeanCurve
)

// The axes and scales of curves, and their limits.
const (
	ByStep     = points.ByStep
	ByTime     = points.ByTime
	SinceStart = points.SinceStart
	Linear     = points.Linear
	Log        = points.Log

	DefaultPoints   = points.DefaultPoints
	MaxPoints       = points.MaxPoints
	MaxCurves       = points.MaxCurves
	MaxAnswerPoints = points.MaxAnswerPoints
)

// partIterations is the number of iterations that a goroutine reads at a time.
const partIterations = 4

// Curve is a metric of one iteration in columns, in the order of the axis.
type Curve struct {
	IterationID string `json:"iteration_id"`
	points.Curve
}

// Pairs are two metrics of one iteration, in the order of their steps.
type Pairs struct {
	IterationID string
	points.Pairs
}

// Curves returns the metrics of iterations for charts, in the order of the
// iterations and then of the keys. A metric that an iteration does not have is
// left out. Needs read on each.
func (db *DB) Curves(ctx context.Context, actor Actor, iterationIDs []string, q CurveQuery) ([]Curve, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	count := curveCount(ctx)
	parts := slices.Collect(slices.Chunk(Unique(iterationIDs), partIterations))
	curves, err := readParallel(ctx, db, parts, func(tx *tx, ids []string) ([]Curve, error) {
		var all []Curve
		for _, id := range ids {
			it, err := tx.allowIteration(actor, id, rightRead)
			if err != nil {
				return nil, err
			}
			found, err := tx.points().Curves(it.num, q, count)
			if err != nil {
				return nil, err
			}
			for _, c := range found {
				all = append(all, Curve{id, c})
			}
		}
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	return append([]Curve{}, slices.Concat(curves...)...), nil
}

// Unique returns ids without repetitions, in the order of their first.
func Unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// PairedCurves returns metrics of iterations as pairs with another of their
// metrics: the values that were logged at the same step or, when there are more
// steps than the limit, the last value of each metric in the same bucket of
// steps. Needs read on each.
func (db *DB) PairedCurves(ctx context.Context, actor Actor, iterationIDs []string, q PairQuery) ([]Pairs, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return read(ctx, db, func(tx *tx) ([]Pairs, error) {
		members, ids := []points.Member{}, map[int64]string{}
		for _, id := range iterationIDs {
			m, err := tx.member(actor, 0, id, q)
			if err != nil {
				return nil, err
			}
			members, ids[m.Iteration] = append(members, m), id
		}
		count := curveCount(ctx)
		tracks, err := tx.points().Tracks(members, q, count)
		if err != nil {
			return nil, err
		}
		found, err := tx.points().Pairs(tracks, q, count)
		all := make([]Pairs, len(found))
		for i, p := range found {
			all[i] = Pairs{ids[p.Iteration], p}
		}
		return all, err
	})
}

// MeanCurves returns the means of metrics over groups of iterations, for each
// group the metrics that at least one of its iterations has. The buckets are
// the same for all groups. Needs read on each.
func (db *DB) MeanCurves(ctx context.Context, actor Actor, groups [][]string, q PairQuery) ([][]MeanCurve, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	type grouped struct {
		group int
		id    string
	}
	var all []grouped
	for g, ids := range groups {
		for _, id := range ids {
			all = append(all, grouped{g, id})
		}
	}
	count := curveCount(ctx)
	parts := slices.Collect(slices.Chunk(all, partIterations))
	tracks, err := readParallel(ctx, db, parts, func(tx *tx, part []grouped) ([]points.Track, error) {
		var members []points.Member
		for _, i := range part {
			m, err := tx.member(actor, i.group, i.id, q)
			if err != nil {
				return nil, err
			}
			members = append(members, m)
		}
		return tx.points().Tracks(members, q, count)
	})
	if err != nil {
		return nil, err
	}
	return db.points.MeanCurves(ctx, slices.Concat(tracks...), len(groups), q, count)
}

// member returns an iteration as a member of a group. Needs read.
func (tx *tx) member(actor Actor, group int, id string, q PairQuery) (m points.Member, err error) {
	it, err := tx.allowIteration(actor, id, rightRead)
	m.Group, m.Iteration = group, it.num
	if err == nil && q.X == SinceStart {
		err = tx.Row(`SELECT created_date FROM iteration WHERE num = ?`, it.num).Scan(&m.Start)
	}
	return m, err
}
