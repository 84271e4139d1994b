package storetest

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"tracker/store"
)

// CopyFiles copies a database file and its write-ahead log, as a killed process would leave them
// behind.
func CopyFiles(t testing.TB, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(from + suffix)
		if suffix != "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		WantOK(t, err)
		WantOK(t, os.WriteFile(to+suffix, data, 0o600))
	}
}

// HasProblem reports whether all contains a problem with the given states. The problem's Text
// must contain text.
func HasProblem(all []store.Problem, text string, repairable, repaired bool) bool {
	for _, p := range all {
		if strings.Contains(p.Text, text) && p.Repairable == repairable && p.Repaired == repaired {
			return true
		}
	}
	return false
}

// Tables returns the table names of a database file.
func Tables(t testing.TB, db *sql.DB) (all []string) {
	t.Helper()
	rows := Must(db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`))(t)
	defer rows.Close()
	for rows.Next() {
		var name string
		WantOK(t, rows.Scan(&name))
		all = append(all, name)
	}
	return all
}

// CountRows returns the number of rows in each table.
func CountRows(t testing.TB, file *sql.DB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range Tables(t, file) {
		counts[table] = Ask[int](t, file, `SELECT count(*) FROM `+table)
	}
	// Rows of a deleted run stay in the source table, to prevent another import.
	counts["source"] = Ask[int](t, file, `SELECT count(iteration_num) FROM source`)
	counts["audit"] = min(counts["audit"], 1) // entries stay when records are deleted
	return counts
}
