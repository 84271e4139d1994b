package runs

import (
	"context"
	"slices"

	"tracker/store/domain"
	"tracker/store/points"
)

// partIterations is the number of iterations that one goroutine reads at a time.
const partIterations = 4

// Curve holds the points of one metric of an iteration in columns, sorted by the X axis.
type Curve struct {
	IterationID string `json:"iteration_id"`
	points.Curve
}

// Pairs holds the paired values of two metrics of an iteration, sorted by step.
type Pairs struct {
	IterationID string
	points.Pairs
}

// Curves returns the metrics of iterations for charts. The result is sorted by the order of
// iterationIDs, then by key. It omits metrics that an iteration does not have. The actor needs
// the right to read each iteration.
func (db *DB) Curves(ctx context.Context, actor domain.Actor, iterationIDs []string, q points.CurveQuery) ([]Curve, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	count := curveCount(ctx)
	parts := slices.Collect(slices.Chunk(Unique(iterationIDs), partIterations))
	curves, err := domain.ReadParallel(ctx, db.base, parts, func(tx *domain.Tx, ids []string) ([]Curve, error) {
		var all []Curve
		for _, id := range ids {
			it, err := tx.AllowIteration(actor, id, domain.RightRead)
			if err != nil {
				return nil, err
			}
			found, err := tx.Points().Curves(it.Num, q, count)
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

// Unique returns ids without duplicates, in the order of the first occurrences.
func Unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// PairedCurves returns pairs of two metrics for each iteration. It pairs values with the same
// step. If an iteration has more steps than q.Points, it groups the steps into buckets and pairs
// the last values in each bucket. The actor needs the right to read each iteration.
func (db *DB) PairedCurves(ctx context.Context, actor domain.Actor, iterationIDs []string, q points.PairQuery) ([]Pairs, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Pairs, error) {
		members, ids := []points.Member{}, map[int64]string{}
		for _, id := range iterationIDs {
			m, err := member(tx, actor, 0, id, q)
			if err != nil {
				return nil, err
			}
			members, ids[m.Iteration] = append(members, m), id
		}
		count := curveCount(ctx)
		tracks, err := tx.Points().Tracks(members, q, count)
		if err != nil {
			return nil, err
		}
		found, err := tx.Points().Pairs(tracks, q, count)
		all := make([]Pairs, len(found))
		for i, p := range found {
			all[i] = Pairs{ids[p.Iteration], p}
		}
		return all, err
	})
}

// MeanCurves returns the means of metrics over groups of iterations. The result of a group has
// each metric that at least one of its iterations has. All groups have the same buckets. The
// actor needs the right to read each iteration.
func (db *DB) MeanCurves(ctx context.Context, actor domain.Actor, groups [][]string, q points.PairQuery) ([][]points.MeanCurve, error) {
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
	tracks, err := domain.ReadParallel(ctx, db.base, parts, func(tx *domain.Tx, part []grouped) ([]points.Track, error) {
		var members []points.Member
		for _, i := range part {
			m, err := member(tx, actor, i.group, i.id, q)
			if err != nil {
				return nil, err
			}
			members = append(members, m)
		}
		return tx.Points().Tracks(members, q, count)
	})
	if err != nil {
		return nil, err
	}
	return db.base.Points.MeanCurves(ctx, slices.Concat(tracks...), len(groups), q, count)
}

// member returns an iteration as a member of the given group. The actor needs the right to
// read.
func member(tx *domain.Tx, actor domain.Actor, group int, id string, q points.PairQuery) (m points.Member, err error) {
	it, err := tx.AllowIteration(actor, id, domain.RightRead)
	m.Group, m.Iteration = group, it.Num
	if err == nil && q.X == points.SinceStart {
		err = tx.Row(`SELECT created_date FROM iteration WHERE num = ?`, it.Num).Scan(&m.Start)
	}
	return m, err
}
