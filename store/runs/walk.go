package runs

import (
	"context"
	"math"
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// walkedAtOnce is the maximum number of iterations that WalkIterations reads in one
// transaction.
const walkedAtOnce = 500

// WalkIterations calls fn with slices of the iterations that match q, in the order of the
// search. It runs the search once, at the start. It omits iterations that are deleted after the
// search. WalkIterations ignores the page of q.
//
// No transaction is open while fn runs, so fn can be slow. WalkIterations stops at the first
// error of fn and returns the error. It returns INVALID_PAYLOAD if q can't be parsed. The actor
// needs the right to read.
func (db *DB) WalkIterations(ctx context.Context, actor domain.Actor, experimentID string, q IterationQuery, fn func([]Iteration) error) error {
	s, err := parseSearch(q)
	if err != nil {
		return err
	}
	nums, err := view(ctx, db, actor, func(v *View) ([]int64, error) { return v.findIterations(experimentID, s) })
	if err != nil {
		return err
	}
	for part := range slices.Chunk(nums, walkedAtOnce) {
		found, err := domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Iteration, error) {
			e, err := tx.AllowExperiment(actor, experimentID, domain.RightRead)
			if err != nil {
				return nil, err
			}
			all, err := iterationsOf(tx, part, s.search.columns)
			return slices.DeleteFunc(all, func(i Iteration) bool { return !q.Trash.Takes(i.Deleted || e.Deleted) }), err
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

// IterationIDs returns the ids of all iterations that match q, in the order of the search. It
// ignores the page of q. It returns INVALID_PAYLOAD if q can't be parsed. The actor needs the
// right to read.
func (v *View) IterationIDs(experimentID string, q IterationQuery) (ids []string, err error) {
	s, err := parseSearch(q)
	if err != nil {
		return nil, err
	}
	nums, err := v.findIterations(experimentID, s)
	if err != nil {
		return nil, err
	}
	err = v.tx.Select(&ids, `SELECT iteration.id
		FROM json_each(?) AS list
		JOIN iteration ON iteration.num = list.value
		ORDER BY list.key`, sqlite.JSON(nums))
	return ids, err
}

// findIterations returns the row numbers of all iterations that match the search s.
func (v *View) findIterations(experimentID string, q parsed[listing]) ([]int64, error) {
	e, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead)
	if err != nil {
		return nil, err
	}
	s, err := q.resolve(v.tx, experimentID)
	if err != nil {
		return nil, err
	}
	s.within(e)
	h, err := find(v.tx, experimentID, s.Query, domain.Page{Limit: math.MaxInt32})
	return h.Nums, err
}

// Column is a parameter or metric that a listing includes in each iteration.
type Column struct {
	Kind search.KeyKind
	Name string // key in Iteration.Params, Iteration.Metrics or Iteration.Texts
	Text string // name of the column in the search language
}

// Columns parses the columns of a query. It returns INVALID_PAYLOAD if text can't be parsed.
func Columns(text string) ([]Column, error) {
	columns, err := new(filter.Parser).Columns(text)
	if err != nil {
		return nil, domain.Refused(err)
	}
	var all []Column
	for _, c := range columns {
		kind := search.KindOf(c.Field)
		column := Column{kind, c.Label, search.Key{Kind: kind, Key: c.Name}.Column()}
		if c.Field == filter.Metric {
			column.Text += "." + c.Stat
		}
		all = append(all, column)
	}
	return all, nil
}
