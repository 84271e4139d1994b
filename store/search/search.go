// Package search finds iterations: it translates a checked filter, an order and a group
// into one SQL statement, runs it on a snapshot, and returns the numbers of one page of
// iterations and the total.
//
// Names and values are bound, never part of the text. A condition is true or false,
// never NULL. Statistics and times that are not written yet are included (late.go), so a
// search writes nothing. The statistics that searches use are copied to one table in the
// background (copy.go). The copies change the duration of a search, but not its
// results.
//
// The caller checks the right to read first. It passes the condition that iterations must
// meet in addition to the filter, for example that they are not in the trash.
package search

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Snapshot is the database as a search reads it.
type Snapshot struct {
	*points.Tx
	// Seen holds the times when iterations were last seen, by number, if their rows
	// may be older.
	Seen map[int64]scalar.Time
	// LostBefore is the time such that a RUNNING iteration that was last seen earlier is lost.
	LostBefore scalar.Time
	// Copies gets requests for copies of the metrics of a search.
	Copies *Copies
	Orders *Orders // nil to remember none
	// Commits is Orders.Commits before the snapshot was taken.
	Commits uint64
}

// Query selects and sorts iterations. Its parts were parsed by package filter, which
// bounds their size.
type Query struct {
	Filter  filter.Expr // nil for all
	Sort    []filter.SortKey
	Metrics []string // names of the metrics in Filter, Sort and By

	By     []filter.Ref // with Values: only the iterations of one group; nil for all
	Values []*string    // values of the group, one for each of By
	Where  string       // a further SQL condition on columns of table iteration
	Bound  []any        // with Uncounted: the values bound to Where
	Fold   bool         // list children that are hits under their parents
	Parent *string      // with Fold: list only the children of this iteration; nil for the top level
	// Uncounted stops the search at the first hit after the page. It excludes Fold.
	Uncounted bool
}

// Hits is one page of the iterations that a search has found.
type Hits struct {
	Nums     []int64       // their numbers, in order
	Total    int           // number of all hits; with Uncounted, at most the first hit after the page counts
	Children map[int64]int // with Fold: number of hits that are listed under each
}

// SQL is an SQL text with the values bound to it, in their order. A value is never
// part of the text.
type SQL struct {
	strings.Builder
	Args []any
}

// Add appends a piece of text and its values.
func (q *SQL) Add(text string, args ...any) {
	q.WriteString(text)
	q.Args = append(q.Args, args...)
}

// rows runs a statement that was made for one search, without keeping its prepared
// form. The rows must be closed.
func (q *SQL) rows(tx *sqlite.Tx) (*sqlx.Rows, error) { return tx.RowsOnce(q.String(), q.Args...) }

// Find returns up to limit iterations of the experiments from offset on. It returns
// sql.ErrNoRows if the iteration q.Parent does not exist.
func (s *Snapshot) Find(experimentIDs []string, q Query, limit, offset int) (h Hits, err error) {
	n := max(limit, 1)
	if q.Uncounted {
		n = limit + 1
	}
	o, err := s.order(experimentIDs, q, offset, n)
	if err != nil {
		return h, err
	}
	h.Total = o.total
	if q.Uncounted {
		h.Total = offset + len(o.rows)
	} else if len(o.rows) == 0 && offset > 0 && !o.complete {
		// A page after the end has no row with the count.
		return s.Find(experimentIDs, q, 0, 0)
	}
	h.Children = map[int64]int{}
	for _, r := range o.rows[:min(len(o.rows), limit)] {
		h.Nums = append(h.Nums, int64(r.num))
		h.Children[int64(r.num)] = int(r.below)
	}
	return h, nil
}

// All is Find for all iterations of an experiment that meet an SQL condition,
// oldest first.
func (s *Snapshot) All(experimentID, where string, limit, offset int) (h Hits, err error) {
	err = s.Row(`SELECT count(*) FROM iteration WHERE experiment_id = ? AND `+where, experimentID).Scan(&h.Total)
	if err == nil {
		err = s.Select(&h.Nums, `SELECT num FROM iteration WHERE experiment_id = ? AND `+where+` ORDER BY num LIMIT ? OFFSET ?`,
			experimentID, limit, offset)
	}
	return h, err
}

// Statement returns the statement that Find runs, without LIMIT and OFFSET. Its columns
// are the number of an iteration, the total, and the number of hits that are listed under
// the iteration.
func (s *Snapshot) Statement(experimentIDs []string, q Query) (*SQL, error) {
	return s.statement(experimentIDs, q, nil)
}

// statement returns the result of Statement. If only is not nil, the statement searches
// only the iterations with these numbers.
func (s *Snapshot) statement(experimentIDs []string, q Query, only []int64) (*SQL, error) {
	j, err := s.joins(experimentIDs, q.Metrics)
	if err != nil {
		return nil, err
	}
	j.only = only
	return s.write(experimentIDs, q, &j, func(keys []filter.Key) (map[filter.Key]known, error) { return s.known(experimentIDs, keys) })
}

// write writes the statement of q with its joins. names returns the known keys among its
// arguments.
func (s *Snapshot) write(experimentIDs []string, q Query, j *joins, names func([]filter.Key) (map[filter.Key]known, error)) (*SQL, error) {
	where := j.conditions(q)
	// The filter's names are joined first, so that the names of the order are
	// looked up only for iterations that pass the filter.
	selected, order := []string{`iteration.num AS num`}, []string{}
	for _, k := range q.Sort {
		for _, t := range j.order(k.Ref, k.Descending) {
			name := `k` + strconv.Itoa(len(order))
			selected = append(selected, t.expression+` AS `+name)
			order = append(order, name+t.direction())
		}
	}
	order = append(order, `num`)
	if q.Fold {
		selected = append(selected, `iteration.parent_num AS parent`)
	}
	part, under, err := s.folded(experimentIDs, q)
	if err != nil {
		return nil, err
	}
	known, err := names(j.keys)
	if err != nil {
		return nil, err
	}
	// All hits are needed to count and to sort them, but only once. Hits that are not counted
	// need not be kept.
	total := `(SELECT count(*) FROM hit` + part.String() + `)`
	if q.Uncounted {
		total = `0`
	}
	j.once = q.Uncounted
	statement := new(SQL)
	j.hits(statement, strings.Join(selected, `, `), known)
	within(statement, experimentIDs)
	if err := j.some(statement); err != nil {
		return nil, err
	}
	statement.Add(` AND `+q.Where, q.Bound...)
	statement.Add(where.String()+`) SELECT num, `+total+`, `+under, slices.Concat(where.Args, part.Args)...)
	statement.Add(part.String()+` ORDER BY `+strings.Join(order, `, `), part.Args...)
	return statement, nil
}

// conditions returns the filter and the group of a query, each after an AND.
func (j *joins) conditions(q Query) *SQL {
	where := new(SQL)
	if q.Filter != nil {
		where.Add(` AND `)
		j.where(where, q.Filter)
	}
	j.within(where, q.By, q.Values)
	return where
}

// folded returns the condition for the hits that are listed, and the expression
// and join that count the hits under each. A hit is listed under its parent if
// the parent is a hit too, and otherwise at the top level.
func (s *Snapshot) folded(experimentIDs []string, q Query) (part *SQL, under string, err error) {
	part = new(SQL)
	switch {
	case !q.Fold:
		return part, `0 FROM hit`, nil
	case q.Parent == nil:
		part.Add(` WHERE (parent IS NULL OR parent NOT IN (SELECT num FROM hit))`)
	default:
		var num int64
		err := s.Row(`SELECT num FROM iteration WHERE id = ? AND experiment_id = ? AND `+q.Where, *q.Parent, experimentIDs[0]).Scan(&num)
		if err != nil {
			return part, "", err
		}
		part.Add(` WHERE parent = ?`, num)
	}
	return part, `coalesce(below.n, 0) FROM hit LEFT JOIN (SELECT parent AS of, count(*) AS n
		FROM hit WHERE parent IS NOT NULL GROUP BY parent) AS below ON below.of = hit.num`, nil
}
