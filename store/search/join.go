package search

import (
	"slices"
	"strconv"

	"tracker/store/filter"
	"tracker/store/scalar"
)

// joins numbers the parameters and metrics that a search joins to its iterations. The row of
// parameter 0 has the SQL name p0.
//
// Metric 0 has up to three possible rows. If the iteration is in the late table, the search reads
// the statistics of metric 0 from the late table. If the iteration is not in the late table, the
// search reads row v0 of the search_value table. If row v0 is missing, the search reads row s0 of
// the series table.
type joins struct {
	keys       []filter.Key
	late       late
	seen       bool                    // the statement uses the times in the late table
	timed      bool                    // the statement depends on times when iterations were last seen
	once       bool                    // the statement reads the hit table only once
	columns    map[filter.Field]string // SQL expressions of fields; nil if the records are iterations
	lostBefore scalar.Time             // a RUNNING iteration that was last seen before this time is lost
}

// maxCopied is the maximum number of keys in a statement that joins copies of metrics. SQLite
// joins at most 64 tables. Each of the first maxCopied keys takes two tables, and each further
// key takes one. The tables iteration, late and tag are joined as well.
const maxCopied = 30

// joins returns the joins for a search of the given experiments. metrics are the metrics that
// the search uses.
func (s *Snapshot) joins(experimentIDs, metrics []string) (joins, error) {
	l, err := s.late(experimentIDs, metrics)
	return joins{late: l, lostBefore: s.LostBefore}, err
}

// within writes the condition that an iteration belongs to one of the given experiments.
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

func (j *joins) number(k filter.Key) int {
	i := slices.Index(j.keys, k)
	if i < 0 {
		i = len(j.keys)
		j.keys = append(j.keys, k)
	}
	return i
}

// hits writes the start of a statement up to the WHERE condition. The start defines the hit table
// with the given columns of the matching iterations.
//
// A key that no iteration of the experiments has is bound as NULL. SQLite reads nothing for a
// key that is NULL.
func (j *joins) hits(q *SQL, columns string, known map[filter.Key]known) {
	q.Add(`WITH `)
	late := j.late.table(q, j.seen)
	kept := `MATERIALIZED`
	if j.once {
		kept = `NOT MATERIALIZED`
	}
	// Without this hint, SQLite would use the index by name. With the index by name, SQLite
	// would read the rows of all joined tables in random order.
	q.Add(`hit AS ` + kept + ` (SELECT ` + columns + ` FROM iteration INDEXED BY iteration_by_experiment`)
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
		if of, ok := texts[k.Field]; ok {
			if name != nil {
				name = of.prefix + k.Name
			}
			q.Add(` LEFT JOIN `+of.table+` AS p`+i+
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
