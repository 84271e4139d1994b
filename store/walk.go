package store

import (
	"context"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
)

// walkedAtOnce is how many iterations WalkIterations reads in one transaction.
const walkedAtOnce = 500

// WalkIterations calls fn with all iterations that a search finds, in its order
// and in parts. Which they are, and their order, is read at the start; what is
// deleted meanwhile is left out. No transaction is open while fn runs, so it may
// take its time. The page of q does not count. INVALID_PAYLOAD when a part of q
// can't be read; an error of fn ends the walk. Needs read.
func (db *DB) WalkIterations(ctx context.Context, actor Actor, experimentID string, q IterationQuery, fn func([]Iteration) error) error {
	s, nums, err := db.findIterations(ctx, actor, experimentID, q)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(nums, walkedAtOnce) {
		found, err := read(ctx, db, func(tx *tx) ([]Iteration, error) {
			if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
				return nil, err
			}
			return tx.iterationsOf(part, s.columns)
		})
		if err != nil {
			return err
		}
		if err := fn(found); err != nil {
			return err
		}
	}
	return nil
}

// IterationIDs returns the ids of all iterations that a search finds, in its
// order. The page of q does not count. INVALID_PAYLOAD when a part of q can't be
// read. Needs read.
func (db *DB) IterationIDs(ctx context.Context, actor Actor, experimentID string, q IterationQuery) ([]string, error) {
	_, nums, err := db.findIterations(ctx, actor, experimentID, q)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	return read(ctx, db, func(tx *tx) (ids []string, err error) {
		err = tx.all(&ids, `SELECT iteration.id
			FROM json_each(?) AS list
			JOIN iteration ON iteration.num = list.value
			ORDER BY list.key`, string(list))
		return ids, err
	})
}

// findIterations returns the numbers of what a search finds.
func (db *DB) findIterations(ctx context.Context, actor Actor, experimentID string, q IterationQuery) (s search, nums []int64, err error) {
	if s, err = parseSearch(q); err != nil {
		return s, nil, err
	}
	if err := db.settleOrWarn(ctx, experimentID, s); err != nil {
		return s, nil, err
	}
	nums, err = read(ctx, db, func(tx *tx) ([]int64, error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return nil, err
		}
		nums, _, _, err := tx.find(experimentID, s, Page{Limit: math.MaxInt32})
		return nums, err
	})
	return s, nums, err
}

// Column is a parameter or metric that a listing embeds in each iteration.
type Column struct {
	Kind KeyKind
	Name string // under which Params or Metrics has it
}

// Columns reads the columns of a query. INVALID_PAYLOAD when they can't be read.
func Columns(text string) ([]Column, error) {
	columns, m := parseColumns(text)
	if m != nil {
		return nil, m.of("columns")
	}
	var all []Column
	for _, c := range columns {
		kind := MetricKey
		if c.field == paramField {
			kind = ParamKey
		}
		all = append(all, Column{kind, c.name})
	}
	return all, nil
}
