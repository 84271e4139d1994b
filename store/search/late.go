package search

import (
	"maps"
	"slices"
	"strconv"

	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// late holds values that the rows of a snapshot lack: statistics of metrics with recent points,
// and times when iterations were last seen. A search joins these values to the iterations as a
// temporary table, so reads do not write.
type late struct {
	metrics map[string]int           // index in stats, by metric key
	stats   []map[int64]points.Stats // statistics by metric index and iteration number
	seen    map[int64]scalar.Time    // times when iterations were last seen, by iteration number
}

// late returns the values that the rows of the experiments' iterations lack for the given
// metrics. The last-seen times may also cover iterations of other experiments.
func (s *Snapshot) late(experimentIDs, metrics []string) (late, error) {
	l := late{metrics: map[string]int{}, seen: s.Seen}
	recent, err := s.Recent(metrics)
	if err != nil || len(recent) == 0 {
		return l, err
	}
	nums := map[int64]bool{}
	for _, r := range recent {
		nums[r.Iteration] = true
	}
	var own []int64
	err = s.Select(&own, `SELECT num FROM iteration
		WHERE num IN (SELECT value FROM json_each(?)) AND experiment_id IN (SELECT value FROM json_each(?))`,
		sqlite.JSON(slices.Collect(maps.Keys(nums))), sqlite.JSON(experimentIDs))
	if err != nil {
		return l, err
	}
	clear(nums)
	for _, num := range own {
		nums[num] = true
	}
	found, err := s.Late(slices.DeleteFunc(recent, func(s points.Series) bool { return !nums[s.Iteration] }))
	for _, f := range found {
		n, ok := l.metrics[f.Key]
		if !ok {
			n = len(l.stats)
			l.metrics[f.Key] = n
			l.stats = append(l.stats, map[int64]points.Stats{})
		}
		l.stats[n][f.Iteration] = f.Stats
	}
	return l, err
}

// lateStats are the columns of the late table for one metric. The column count is NULL for an
// iteration whose row is up to date.
var lateStats = []string{"count", "last", "min", "max", "mean"}

// column returns the column name of a statistic of the metric with index n.
func (l *late) column(n int, stat string) string { return `late.k` + strconv.Itoa(n) + `_` + stat }

// table writes the definition of the late table for a WITH clause. If seen is set, the table
// includes the times when iterations were last seen. If the table would be empty, table writes
// nothing and returns false.
func (l *late) table(q *SQL, seen bool) bool {
	nums := map[int64]bool{}
	for _, stats := range l.stats {
		for num := range stats {
			nums[num] = true
		}
	}
	if seen {
		for num := range l.seen {
			nums[num] = true
		}
	}
	if len(nums) == 0 {
		return false
	}
	list := []byte{'['}
	for _, num := range slices.Sorted(maps.Keys(nums)) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = l.appendRow(list, num)
	}
	// Without a type for num, SQLite would not create an index for the join.
	q.Add(`late AS MATERIALIZED (SELECT CAST(value ->> 0 AS INTEGER) AS num, CAST(value ->> 1 AS INTEGER) AS seen`)
	for n := range l.stats {
		for i, stat := range lateStats {
			q.Add(`, CAST(value ->> ` + strconv.Itoa(2+n*len(lateStats)+i) + ` AS REAL) AS k` + strconv.Itoa(n) + `_` + stat)
		}
	}
	q.Add(` FROM json_each(?)), `, string(append(list, ']')))
	return true
}

// appendRow appends the row of an iteration as a JSON array. Numbers have enough digits to
// identify a float64 exactly. NaN becomes null, as in the tables.
func (l *late) appendRow(b []byte, num int64) []byte {
	b = strconv.AppendInt(append(b, '['), num, 10)
	if at, ok := l.seen[num]; ok {
		b = strconv.AppendInt(append(b, ','), int64(at), 10)
	} else {
		b = append(b, `,null`...)
	}
	for _, stats := range l.stats {
		s, ok := stats[num]
		if !ok {
			b = append(b, `,null,null,null,null,null`...)
			continue
		}
		b = strconv.AppendInt(append(b, ','), s.Count, 10)
		for _, v := range []*scalar.Value{&s.Last, s.Min, s.Max, s.Mean()} {
			b = appendNumber(append(b, ','), v)
		}
	}
	return append(b, ']')
}

func appendNumber(b []byte, v *scalar.Value) []byte {
	switch {
	case v == nil || *v != *v:
		return append(b, `null`...)
	case v.Finite():
		return strconv.AppendFloat(b, float64(*v), 'g', -1, 64)
	case *v > 0:
		return append(b, `9e999`...)
	}
	return append(b, `-9e999`...)
}
