package search

import (
	"slices"
	"strconv"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/scalar"
)

// joins numbers the parameters and metrics that a search joins to its iterations.
// The row of parameter 0 is p0. The statistics of metric 0 are in table late or, if the
// iteration is not in late, in row v0 (table search_value) or, without a copy, in row s0
// (table series).
type joins struct {
	keys       []filter.Key
	late       late
	seen       bool                    // the times of table late are used
	timed      bool                    // the times when iterations were last seen are used
	once       bool                    // table hit is read once
	columns    map[filter.Field]string // the SQL of the fields of another kind of record; nil for iterations
	lostBefore scalar.Time             // a RUNNING iteration that was last seen earlier is lost
	only       []int64                 // the iterations to search; nil for all
}

// maxCopied is the maximum number of keys if copies of metrics are joined: SQLite joins
// 64 tables. Each metric takes two, and further keys, iteration, late and tag take one
// each.
const maxCopied = 30

// joins returns the joins of a search of these experiments that uses these metrics.
func (s *Snapshot) joins(experimentIDs, metrics []string) (joins, error) {
	l, err := s.late(experimentIDs, metrics)
	return joins{late: l, lostBefore: s.LostBefore}, err
}

// within writes the condition for the iterations of one experiment or several.
func within(q *SQL, experimentIDs []string) {
	if len(experimentIDs) == 1 {
		q.Add(` WHERE iteration.experiment_id = ?`, experimentIDs[0])
		return
	}
	list := make([]any, len(experimentIDs))
	for i, id := range experimentIDs {
		list[i] = id
	}
	q.Add(` WHERE iteration.experiment_id IN (`+marks(`?`, len(list))+`)`, list...)
}

// some writes the condition that restricts the search to j.only.
func (j *joins) some(q *SQL) error {
	if j.only == nil {
		return nil
	}
	list, err := json.Marshal(j.only)
	q.Add(` AND iteration.num IN (SELECT value FROM json_each(?))`, string(list))
	return err
}

func (j *joins) number(k filter.Key) int {
	i := slices.Index(j.keys, k)
	if i < 0 {
		i = len(j.keys)
		j.keys = append(j.keys, k)
	}
	return i
}

// hits writes the start of a query, up to the condition: the table hit with these
// columns of the iterations. A key that no iteration of the experiment has is bound
// as NULL, and SQLite reads nothing for it.
func (j *joins) hits(q *SQL, columns string, known map[filter.Key]known) {
	q.Add(`WITH `)
	late := j.late.table(q, j.seen)
	kept := `MATERIALIZED`
	if j.once {
		kept = `NOT MATERIALIZED`
	}
	// Without the hint SQLite uses the index by name, and then reads the rows of all
	// other tables in random order.
	hint := `INDEXED BY iteration_by_experiment`
	if j.only != nil {
		hint = `NOT INDEXED` // by number
	}
	q.Add(`hit AS ` + kept + ` (SELECT ` + columns + ` FROM iteration ` + hint)
	if late {
		q.Add(` LEFT JOIN late ON late.num = iteration.num`)
	}
	for n, k := range j.keys {
		i := strconv.Itoa(n)
		var name, copies any
		if known, ok := known[k]; ok {
			name = k.Name
			if known.SearchKey != nil {
				copies = *known.SearchKey << searchKeyShift
			}
		}
		if table := textTables[k.Field]; table != "" {
			q.Add(` LEFT JOIN `+table+` AS p`+i+
				` ON p`+i+`.iteration_num = iteration.num AND p`+i+`.key = ?`, name)
			continue
		}
		if n >= maxCopied {
			q.Add(` LEFT JOIN series AS s`+i+` ON s`+i+`.iteration_num = iteration.num AND s`+i+`.key = ?`, name)
			continue
		}
		q.Add(` LEFT JOIN search_value AS v`+i+` ON v`+i+`.id = ? + iteration.num`+
			` LEFT JOIN series AS s`+i+` ON s`+i+`.iteration_num = iif(v`+i+`.id IS NULL, iteration.num, NULL)`+
			` AND s`+i+`.key = ?`, copies, name)
	}
}
