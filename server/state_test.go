package server_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
)

// watcher reads the database directly, through a single connection.
type watcher struct {
	*sql.DB
	version string // data_version of the database when text was read
	text    string
}

func newWatcher(file string) (*watcher, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: "mode=ro"}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &watcher{DB: db}, nil
}

// openForWriting opens the database file so that a test can change or corrupt it.
func openForWriting(file string) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: "_pragma=busy_timeout(10000)"}).String())
}

// state returns the content of the database, one line for each row. It reads the database again
// only if another connection has committed a change.
func (a api) state() string {
	a.t.Helper()
	w := a.watcher
	version := a.column(`PRAGMA data_version`)[0]
	if version == w.version {
		return w.text
	}
	var b strings.Builder
	for _, table := range a.column(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`) {
		columns, from := a.column(`SELECT name FROM pragma_table_info('`+table+`')`), table
		switch table {
		case "recent", "rollup", "counter":
			continue // background work moves points between these tables
		case "audit":
			// Reads also have entries.
			from = `(SELECT * FROM audit WHERE action NOT IN ('sign_in', 'sign_in_failed', 'sign_out', 'export', 'import'))`
		case "api_key":
			columns = []string{"id", "name", "only_use", "project_id", "expires"} // without the time of the last use
		case "series":
			columns = []string{"id", "iteration_num", "key"}
		case "metric":
			from = `(SELECT * FROM metric UNION ALL
				SELECT series_id, step, seq, value, recorded_at FROM recent JOIN series ON series.id = series_id AND seq > moved_seq)`
		}
		quoted := make([]string, len(columns))
		for i, c := range columns {
			quoted[i] = `quote("` + c + `")`
		}
		rows := a.column(`SELECT ` + strings.Join(quoted, ` || ',' || `) + ` FROM ` + from + ` ORDER BY 1`)
		fmt.Fprintf(&b, "%s (%s)\n%s\n", table, strings.Join(columns, ","), strings.Join(rows, "\n"))
	}
	w.version, w.text = version, b.String()
	return w.text
}

// column returns the values of a query with a single column.
func (a api) column(query string) []string {
	a.t.Helper()
	rows, err := a.watcher.QueryContext(a.t.Context(), query)
	a.must(err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		a.must(rows.Scan(&s))
		all = append(all, s)
	}
	a.must(rows.Err())
	return all
}

// unchanged runs a function that must not change the database.
func (a api) unchanged(what func()) {
	a.t.Helper()
	before := a.state()
	what()
	if after := a.state(); after != before {
		a.t.Errorf("the database has changed\n%s%s", without("gone: ", before, after), without("new:  ", after, before))
	}
}

// without returns the lines of text that are not in other, each with prefix in front.
func without(prefix, text, other string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.Contains("\n"+other+"\n", "\n"+line+"\n") {
			fmt.Fprintf(&b, "%s%.500s\n", prefix, line)
		}
	}
	return b.String()
}
