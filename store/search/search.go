// Package search finds iterations. It translates a checked filter, an order and a group into one
// SQL statement and runs the statement on a snapshot. The result is one page of iteration numbers
// and the total number of hits.
//
// Names and values are always bound and never part of the SQL text. A condition is true or
// false and never NULL. Results include statistics and times that are not yet in their rows
// (late.go), so a search never writes. A background task copies the statistics that searches
// use to one table (copy.go). The copies affect the duration of a search, but not its results.
//
// The caller must check the read permission before a search. The caller passes a condition that
// iterations must satisfy in addition to the filter, for example to exclude the trash.
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

// Snapshot is a read transaction with the data that searches need besides the tables.
type Snapshot struct {
	*points.Tx
	// Seen holds last-seen times by iteration number. Seen includes all iterations whose rows
	// might have an older time.
	Seen map[int64]scalar.Time
	// LostBefore is the limit for lost iterations: a RUNNING iteration that was last seen
	// before this time is lost.
	LostBefore scalar.Time
	// Copies receives requests to copy the metrics that a search uses.
	Copies *Copies
	Orders *Orders // cache of search results; nil disables the cache
	// Commits is the result of Orders.Commits before the snapshot began.
	Commits uint64
}

// Query selects and sorts iterations. Package filter has parsed the fields and limited their
// size.
type Query struct {
	Filter  filter.Expr // nil for all iterations
	Sort    []filter.SortKey
	Metrics []string // names of all metrics in Filter, Sort and By

	By     []filter.Ref // keys of the group to search; nil for all iterations
	Values []*string    // values of the group to search, one for each element of By
	Where  string       // additional SQL condition on columns of the iteration table
	Bound  []any        // values bound to Where; allowed only with Uncounted
	Fold   bool         // list a child under its parent if both are hits
	Parent *string      // with Fold: list only children of the iteration with this id; nil for the top level
	// Uncounted ends the search at the first hit after the page, without a count of all hits.
	// Uncounted and Fold can't be combined.
	Uncounted bool
}

// Hits is one page of iterations that a search has found.
type Hits struct {
	Nums     []int64       // iteration numbers, in sorted order
	Total    int           // number of all hits; with Uncounted, number of hits up to the first hit after the page
	Children map[int64]int // with Fold: number of hits listed under each iteration, by iteration number
}

// SQL holds SQL text and its arguments, in the order of the placeholders. A value from a user is
// always an argument and never part of the text.
type SQL struct {
	strings.Builder
	Args []any
}

// Add appends SQL text and the arguments of its placeholders.
func (q *SQL) Add(text string, args ...any) {
	q.WriteString(text)
	q.Args = append(q.Args, args...)
}

// rows runs q as a statement. It does not keep the prepared statement, because each search has
// its own SQL text. The caller must close the rows.
func (q *SQL) rows(tx *sqlite.Tx) (*sqlx.Rows, error) { return tx.RowsOnce(q.String(), q.Args...) }

// Find returns one page of the iterations of the given experiments that match q. The page
// begins at offset and has at most limit iterations. Find returns sql.ErrNoRows if the
// iteration q.Parent does not exist.
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
		// A page after the last hit has no row, and therefore no count. Query the count alone.
		return s.Find(experimentIDs, q, 0, 0)
	}
	h.Children = map[int64]int{}
	for _, r := range o.rows[:min(len(o.rows), limit)] {
		h.Nums = append(h.Nums, int64(r.num))
		h.Children[int64(r.num)] = int(r.below)
	}
	return h, nil
}

// All returns one page of an experiment's iterations, oldest first. where is an SQL condition that
// selects them. The page begins at offset and has at most limit iterations.
func (s *Snapshot) All(experimentID, where string, limit, offset int) (h Hits, err error) {
	err = s.Row(`SELECT count(*) FROM iteration WHERE experiment_id = ? AND `+where, experimentID).Scan(&h.Total)
	if err == nil {
		err = s.Select(&h.Nums, `SELECT num FROM iteration WHERE experiment_id = ? AND `+where+` ORDER BY num LIMIT ? OFFSET ?`,
			experimentID, limit, offset)
	}
	return h, err
}

// Statement returns the statement that Find runs, without LIMIT and OFFSET. The three columns
// are the iteration number, the total, and the number of hits listed under the iteration.
func (s *Snapshot) Statement(experimentIDs []string, q Query) (*SQL, error) {
	j, err := s.joins(experimentIDs, q.Metrics)
	if err != nil {
		return nil, err
	}
	return s.write(experimentIDs, q, &j, func(keys []filter.Key) (map[filter.Key]known, error) { return s.known(experimentIDs, keys) })
}

// write returns the statement of q. It adds the parameters and metrics of q to j. names returns
// the known keys among the given keys.
func (s *Snapshot) write(experimentIDs []string, q Query, j *joins, names func([]filter.Key) (map[filter.Key]known, error)) (*SQL, error) {
	where := j.conditions(q)
	// Names in the filter are joined before names in the sort order. SQLite looks up names in
	// the sort order only for iterations that pass the filter.
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
	// SQLite materializes the hits if it must both count and sort them. Without a count, SQLite
	// reads the hits only once.
	total := `(SELECT count(*) FROM hit` + part.String() + `)`
	if q.Uncounted {
		total = `0`
	}
	j.once = q.Uncounted
	statement := new(SQL)
	j.hits(statement, strings.Join(selected, `, `), known)
	within(statement, experimentIDs)
	statement.Add(` AND `+q.Where, q.Bound...)
	statement.Add(where.String()+`) SELECT num, `+total+`, `+under, slices.Concat(where.Args, part.Args)...)
	statement.Add(part.String()+` ORDER BY `+strings.Join(order, `, `), part.Args...)
	return statement, nil
}

// conditions returns the conditions of q's filter and group, each with a leading AND.
func (j *joins) conditions(q Query) *SQL {
	where := new(SQL)
	if q.Filter != nil {
		where.Add(` AND `)
		j.where(where, q.Filter)
	}
	j.within(where, q.By, q.Values)
	return where
}

// folded returns the parts of a statement that list hits under their parents. part is the
// condition for the listed hits. under is the expression and join that count the hits under
// each hit.
//
// A hit is listed under its parent if the parent is also a hit. Any other hit is listed at the
// top level.
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
