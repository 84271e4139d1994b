package search

import (
	"strconv"
	"strings"

	"tracker/store/filter"
	"tracker/store/sqlite"
)

// Table describes how to search a table whose records are not iterations.
type Table struct {
	Name     string
	Columns  map[filter.Field]string // SQL expression of each field except properties
	Property string                  // column of the property table that holds the record id
}

// Find returns the ids of one page of records, and the total number of matches. A record matches
// if it satisfies the SQL condition and the filter e. The page begins at offset and has at most
// limit records. sort must define a total order.
func (t Table) Find(tx *sqlite.Tx, e filter.Expr, sort []filter.SortKey, limit, offset int, condition string, args ...any) (ids []string, total int, err error) {
	j := joins{columns: t.Columns}
	var where, q SQL
	where.Add(` WHERE `+condition, args...)
	if e != nil {
		where.Add(` AND `)
		j.where(&where, e)
	}
	var order []string
	for _, k := range sort {
		for _, t := range j.order(k.Ref, k.Descending) {
			order = append(order, t.expression+t.direction())
		}
	}
	q.Add(`SELECT ` + t.Name + `.id, count(*) OVER () FROM ` + t.Name)
	for n, k := range j.keys {
		i := strconv.Itoa(n)
		q.Add(` LEFT JOIN property AS p`+i+` ON p`+i+`.`+t.Property+` = `+t.Name+`.id AND p`+i+`.key = ?`, k.Name)
	}
	q.Add(where.String()+` ORDER BY `+strings.Join(order, `, `)+` LIMIT ? OFFSET ?`, append(where.Args, limit, offset)...)
	rows, err := q.rows(tx)
	err = sqlite.Each(rows, err, func() error {
		var id string
		if err := rows.Scan(&id, &total); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	return ids, total, err
}
