package bench

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"
)

// bareDriver writes points into a table like the server's, using only the SQLite driver with the
// pragmas of the server's writer. Its rates are the baseline for the server's rates.
type bareDriver struct {
	db     *sql.DB
	single *sql.Stmt // inserts one row
	many   *sql.Stmt // inserts bareRows rows
	seq    int
	steps  int // number of calls of points
}

// bareRows is the number of rows in one INSERT statement. A larger number is hardly faster.
const bareRows = 100

func openBareDriver(path string) (d *bareDriver, err error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows path such as C:/db needs a leading slash
	}
	pragmas := url.Values{"_pragma": {"journal_mode(wal)", "synchronous(full)", "cache_size(-16000)"}}
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: pragmas.Encode()}
	d = &bareDriver{}
	if d.db, err = sql.Open("sqlite", dsn.String()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	d.db.SetMaxOpenConns(1)
	if _, err = d.db.Exec(`CREATE TABLE metric (
			series_id   INTEGER NOT NULL,
			step        INTEGER NOT NULL,
			seq         INTEGER NOT NULL,
			value       REAL,
			recorded_at INTEGER NOT NULL,
			PRIMARY KEY (series_id, step, seq)
		) STRICT, WITHOUT ROWID`); err != nil {
		return nil, err
	}
	const insert = `INSERT INTO metric (series_id, step, seq, value, recorded_at) VALUES `
	if d.single, err = d.db.Prepare(insert + `(?, ?, ?, ?, ?)`); err != nil {
		return nil, err
	}
	d.many, err = d.db.Prepare(insert + strings.Repeat(`(?, ?, ?, ?, ?), `, bareRows-1) + `(?, ?, ?, ?, ?)`)
	return d, err
}

func (d *bareDriver) close() error { return d.db.Close() }

// bulk prepares the points of n bulk requests and writes the points of each request in one commit.
// It returns the time that the commits took.
func (d *bareDriver) bulk(n int) (took time.Duration, err error) {
	commits := make([][][]any, n)
	for i := range commits {
		commits[i] = d.points()
	}
	start := time.Now()
	for _, statements := range commits {
		if err := d.commit(statements); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func (d *bareDriver) commit(statements [][]any) error {
	tx, err := d.db.Begin()
	if err != nil {
		return err
	}
	insert := tx.Stmt(d.many)
	for _, args := range statements {
		if _, err := insert.Exec(args...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// points returns the points of one bulk request, in the order of the table's primary key.
// Successive calls return points of one client after another.
func (d *bareDriver) points() (statements [][]any) {
	client, first := d.steps%ingestClients, d.steps/ingestClients*bulkSteps
	now := time.Now().UnixMilli()
	var args []any
	for key := range bulkKeys {
		for step := range bulkSteps {
			d.seq++
			args = append(args, int64(client*bulkKeys+key), int64(first+step), int64(d.seq), metricValue(key, first+step), now)
			if len(args) == 5*bareRows {
				statements, args = append(statements, args), nil
			}
		}
	}
	d.steps++
	return statements
}

// singles writes n rows, each in its own commit, to singleClients series. It returns the time
// that the commits took.
func (d *bareDriver) singles(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		d.seq++
		if _, err := d.single.Exec(d.seq%singleClients, d.seq/singleClients, d.seq, 0.6931471805599453, start.UnixMilli()); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}
