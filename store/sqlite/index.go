package sqlite

import (
	"fmt"
	"regexp"
	"strings"
)

// IndexProblem describes an index whose entries do not match the rows of its table.
type IndexProblem struct {
	Index, Table string
	Finding      string // message from SQLite
	// Rows holds rows without an index entry. Entries holds index entries without a row. Each of
	// them has at most maxDifferences elements.
	Rows, Entries []string
}

// maxDifferences is the maximum length of IndexProblem.Rows and IndexProblem.Entries.
const maxDifferences = 3

var indexFinding = regexp.MustCompile(`^SQLite: .* (?:from|in) index (\S+)$`)

// Indexes separates the index problems from the other problems in the result of Integrity. It
// returns one IndexProblem for each affected index, and the other problems unchanged.
func (tx *Tx) Indexes(problems []string) (indexes []IndexProblem, rest []string, err error) {
	found := map[string]bool{}
	for _, p := range problems {
		match := indexFinding.FindStringSubmatch(p)
		if match == nil {
			rest = append(rest, p)
			continue
		}
		if found[match[1]] {
			continue
		}
		found[match[1]] = true
		x := IndexProblem{Index: match[1], Finding: p}
		if err := tx.differences(&x); err != nil {
			return nil, nil, err
		}
		indexes = append(indexes, x)
	}
	return indexes, rest, nil
}

// differences sets x.Rows and x.Entries from a comparison of the index with its table. It skips
// the comparison for an index on expressions only.
func (tx *Tx) differences(x *IndexProblem) error {
	var sql string
	if err := tx.Row(`SELECT tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE type = 'index' AND name = ?`, x.Index).Scan(&x.Table, &sql); err != nil {
		return err
	}
	var columns []string
	if err := tx.Select(&columns, `SELECT name FROM pragma_index_info(?) WHERE name IS NOT NULL ORDER BY seqno`, x.Index); err != nil {
		return err
	}
	if len(columns) == 0 {
		return nil
	}
	for i, c := range columns { // column names come from the migrations
		columns[i] = `quote("` + c + `")`
	}
	where := ""
	if _, condition, partial := strings.Cut(sql, " WHERE "); partial {
		where = " WHERE " + condition
	}
	values := strings.Join(columns, ` || ', ' || `)
	rows := fmt.Sprintf(`SELECT %s FROM "%s" NOT INDEXED%s`, values, x.Table, where)
	entries := fmt.Sprintf(`SELECT %s FROM "%s" INDEXED BY "%s"%s`, values, x.Table, x.Index, where)
	for _, c := range []struct {
		into          *[]string
		these, others string
	}{{&x.Rows, rows, entries}, {&x.Entries, entries, rows}} {
		found, err := tx.texts(fmt.Sprintf(`%s EXCEPT %s LIMIT %d`, c.these, c.others, maxDifferences))
		if err != nil {
			return err
		}
		*c.into = found
	}
	return nil
}

func (tx *Tx) texts(query string) (all []string, err error) {
	rows, err := tx.RowsOnce(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// Reindex rebuilds an index from its table.
func (tx *Tx) Reindex(index string) error {
	_, err := tx.Exec(`REINDEX "` + index + `"`)
	return err
}
