package store

import (
	"strconv"
	"strings"

	"tracker/store/filter"
)

// searchable describes how the records of a table are searched for, other than
// iterations, in the terms of package filter.
type searchable struct {
	table    string
	columns  map[filter.Field]string // the SQL of each field that can be named, but properties
	property string                  // the column of table property that names such a record
}

// searchableExperiments are the experiments.
var searchableExperiments = searchable{
	table: "experiment",
	columns: map[filter.Field]string{
		filter.ID:      "experiment.id",
		filter.Name:    "experiment.name",
		filter.Created: "experiment.created_date",
		filter.Updated: "max(experiment.created_date, experiment.updated_date)",
	},
	property: "experiment_id",
}

// searchRecords returns the ids of one page of the records that meet a condition of
// SQL and pass a filter, in an order that must lead to one that is total, and the
// number of all such records.
func (tx *tx) searchRecords(of searchable, e filter.Expr, sort []filter.SortKey, p Page, condition string, args ...any) (ids []string, total int, err error) {
	if _, err := filter.Keys(e, sort); err != nil {
		return nil, 0, refused(err)
	}
	j := joins{columns: of.columns}
	var where, q query
	where.add(` WHERE `+condition, args...)
	if e != nil {
		where.add(` AND `)
		j.where(&where, e)
	}
	var order []string
	for _, k := range sort {
		expressions, directions := j.order(k.Ref, k.Descending)
		for i := range expressions {
			order = append(order, expressions[i]+directions[i])
		}
	}
	q.add(`SELECT ` + of.table + `.id, count(*) OVER () FROM ` + of.table)
	for n, k := range j.keys {
		i := strconv.Itoa(n)
		q.add(` LEFT JOIN property AS p`+i+` ON p`+i+`.`+of.property+` = `+of.table+`.id AND p`+i+`.key = ?`, k.Name)
	}
	q.add(where.String()+` ORDER BY `+strings.Join(order, `, `)+` LIMIT ? OFFSET ?`, append(where.args, p.Limit, p.Offset)...)
	_, err = limited(tx, search{filter: e, sort: sort}, func() (struct{}, error) {
		rows, err := tx.compose(&q)
		if err != nil {
			return struct{}{}, err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id, &total); err != nil {
				return struct{}{}, err
			}
			ids = append(ids, id)
		}
		return struct{}{}, rows.Err()
	})
	return ids, total, err
}
