package points

import (
	"cmp"
	"database/sql/driver"
	"strings"

	"tracker/store/sqlite"
)

// row is a point as stored in the metric or recent tables.
type row struct {
	place
	value  Value
	at     Time
	series *series // nil if only the series id is needed
}

func (r row) point() point { return point{Step(r.step), r.seq, r.value, r.at} }

// compare compares two rows in the order of the metric table.
func (r row) compare(o row) int {
	return cmp.Or(cmp.Compare(r.step, o.step), cmp.Compare(r.seq, o.seq))
}

// scan reads a row of the recent table into r.
func (r *row) scan(from sqlite.Scanner) error {
	return from.Scan(&r.seq, &r.place.series, &r.step, &r.value, &r.at)
}

// insertSizes are the possible numbers of rows in an insert statement. The list is short, so
// each statement is prepared only once.
var insertSizes = []int{256, 64, 16, 4, 1}

var (
	insertMetric = insertStatements(`metric (series_id, step, seq, value, recorded_at)`)
	insertRecent = insertStatements(`recent (seq, series_id, step, value, recorded_at)`)
)

// insertStatements returns the statements that insert rows into a table with five columns. The
// map key is the number of rows.
func insertStatements(table string) map[int]string {
	statements := map[int]string{}
	for _, n := range insertSizes {
		statements[n] = `INSERT INTO ` + table + ` VALUES ` + strings.Repeat(`(?, ?, ?, ?, ?), `, n-1) + `(?, ?, ?, ?, ?)`
	}
	return statements
}

// insertIntoMetric adds rows to the metric table. The rows should be in the order of the table,
// so that SQLite inserts the rows of a page together.
func (tx *Tx) insertIntoMetric(rows []row) error {
	return tx.insert(insertMetric, rows, func(args []driver.NamedValue, r *row) {
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value =
			r.place.series, r.step, r.seq, r.value.Driver(), int64(r.at)
	})
}

// insertIntoRecent adds rows to the recent table. The rows must be in the order of seq.
func (tx *Tx) insertIntoRecent(rows []row) error {
	return tx.insert(insertRecent, rows, func(args []driver.NamedValue, r *row) {
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value =
			r.seq, r.place.series, r.step, r.value.Driver(), int64(r.at)
	})
}

// insert runs the insert statements for rows. bind sets the five arguments of one row.
func (tx *Tx) insert(statements map[int]string, rows []row, bind func([]driver.NamedValue, *row)) error {
	args := make([]driver.NamedValue, 5*min(len(rows), insertSizes[0]))
	for i := range args {
		args[i].Ordinal = i + 1
	}
	for _, n := range insertSizes {
		for ; len(rows) >= n; rows = rows[n:] {
			for i := range rows[:n] {
				bind(args[5*i:5*i+5], &rows[i])
			}
			if err := tx.ExecBulk(statements[n], args[:5*n]); err != nil {
				return err
			}
		}
	}
	return nil
}
