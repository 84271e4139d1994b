package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"

	"tracker/store/json"
)

// Tx is one transaction: a snapshot or a transaction of the writer. A Tx is valid until the
// function that received it returns. Only one goroutine may use a Tx.
type Tx struct {
	*conn
	ctx    context.Context
	writer bool
}

// Context returns the context of the transaction's statements. The context of the writer never
// ends.
func (tx *Tx) Context() context.Context { return tx.ctx }

// Writer reports whether tx is a transaction of the writer.
func (tx *Tx) Writer() bool { return tx.writer }

// WithContext returns tx with another context for its statements. It must not be used with a
// transaction of the writer.
func (tx *Tx) WithContext(ctx context.Context) *Tx {
	limited := *tx
	limited.ctx = ctx
	return &limited
}

// Exec runs a statement and returns the number of changed rows.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	s, err := tx.stmt(query)
	if err != nil {
		return 0, fmt.Errorf("preparing %.80q: %w", query, err)
	}
	var res sql.Result
	if s != nil {
		res, err = s.ExecContext(tx.ctx, args...)
	} else {
		res, err = tx.raw.ExecContext(tx.ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// ExecBulk is like Exec, for statements with very many arguments. It bypasses database/sql, which
// would inspect each argument twice. The arguments must have types that the driver accepts.
func (tx *Tx) ExecBulk(query string, args []driver.NamedValue) error {
	return tx.raw.Raw(func(c any) error {
		s, err := tx.bulkStmt(c, query)
		if err != nil {
			return err
		}
		_, err = s.(driver.StmtExecContext).ExecContext(tx.ctx, args)
		return err
	})
}

// EachRow calls fn with each row of a query. It bypasses database/sql and is meant for queries
// with very many rows. The columns are int64, float64, string, []byte or nil. The slice row is
// reused for the next row.
func (tx *Tx) EachRow(query string, fn func(row []driver.Value) error, args ...any) error {
	named, err := namedValues(args)
	if err != nil {
		return err
	}
	return tx.raw.Raw(func(c any) error {
		s, err := tx.bulkStmt(c, query)
		if err != nil {
			return err
		}
		rows, err := s.(driver.StmtQueryContext).QueryContext(tx.ctx, named)
		if err != nil {
			return err
		}
		return tx.each(rows, fn)
	})
}

func namedValues(args []any) ([]driver.NamedValue, error) {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, err
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named, nil
}

// EachRowOnce is like EachRow, for a query that is used only once. It does not keep the
// prepared statement.
func (tx *Tx) EachRowOnce(query string, fn func(row []driver.Value) error, args ...any) error {
	named, err := namedValues(args)
	if err != nil {
		return err
	}
	return tx.raw.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(tx.ctx, query, named)
		if err != nil {
			return err
		}
		return tx.each(rows, fn)
	})
}

// each calls fn with each row of rows. It closes rows.
func (tx *Tx) each(rows driver.Rows, fn func(row []driver.Value) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = tx.ctx.Err()
		}
		if err == nil {
			err = fn(row)
		}
		if err != nil {
			return err
		}
	}
}

// bulkStmt returns the prepared statement of query on the driver connection c.
func (tx *Tx) bulkStmt(c any, query string) (driver.Stmt, error) {
	if s := tx.bulk[query]; s != nil {
		return s, nil
	}
	s, err := c.(driver.ConnPrepareContext).PrepareContext(tx.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("preparing %.80q: %w", query, err)
	}
	tx.bulk[query] = s
	return s, nil
}

// Scanner scans the only row of a query result.
type Scanner interface{ Scan(dest ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// Row runs a query that returns at most one row. The Scan method of the result returns
// sql.ErrNoRows if there is no row.
func (tx *Tx) Row(query string, args ...any) Scanner {
	s, err := tx.stmt(query)
	switch {
	case err != nil:
		return failedRow{err}
	case s != nil:
		return s.QueryRowxContext(tx.ctx, args...)
	}
	return tx.raw.QueryRowxContext(tx.ctx, query, args...)
}

// Rows runs a query that returns any number of rows. The caller must close the result.
func (tx *Tx) Rows(query string, args ...any) (*sqlx.Rows, error) {
	s, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.QueryxContext(tx.ctx, args...)
	}
	return tx.RowsOnce(query, args...)
}

// RowsOnce is like Rows, for a query that is used only once. It does not keep the prepared
// statement.
func (tx *Tx) RowsOnce(query string, args ...any) (*sqlx.Rows, error) {
	return tx.raw.QueryxContext(tx.ctx, query, args...)
}

// Each calls fn for each row of a query, and closes rows. rows and err are the results of Rows.
func Each(rows *sqlx.Rows, err error, fn func() error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Get scans one row into the struct that dest points to. It returns sql.ErrNoRows if there is
// no row.
func (tx *Tx) Get(dest any, query string, args ...any) error {
	s, err := tx.stmt(query)
	if err != nil {
		return err
	}
	if s != nil {
		return s.GetContext(tx.ctx, dest, args...)
	}
	return tx.raw.GetContext(tx.ctx, dest, query, args...)
}

// Select scans all rows of a query into the slice that dest points to.
func (tx *Tx) Select(dest any, query string, args ...any) error {
	s, err := tx.stmt(query)
	if err != nil {
		return err
	}
	if s != nil {
		return s.SelectContext(tx.ctx, dest, args...)
	}
	return tx.raw.SelectContext(tx.ctx, dest, query, args...)
}

// PageReads returns the number of pages that this connection has read since it was opened. The
// number includes pages read from the cache. Tests use this number as a measure of work that
// does not depend on the machine.
func (tx *Tx) PageReads() (n int64, err error) {
	return n, tx.raw.Raw(func(c any) error {
		for _, counter := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			now, _, err := c.(sqlite.DBStatus).Status(counter, false)
			if err != nil {
				return err
			}
			n += int64(now)
		}
		return nil
	})
}

// conn is a connection and its prepared statements. Only one transaction uses a conn at a time.
type conn struct {
	raw   *sqlx.Conn
	stmts map[string]*sqlx.Stmt
	bulk  map[string]driver.Stmt // prepared statements of ExecBulk and EachRow
}

// maxStmts is the maximum number of prepared statements that a connection keeps. The program
// has fewer fixed queries.
const maxStmts = 512

func openConn(ctx context.Context, pool *sqlx.DB) (*conn, error) {
	raw, err := pool.Connx(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: map[string]*sqlx.Stmt{}, bulk: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	for _, s := range c.bulk {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// stmt returns the prepared statement of query. It returns nil if the connection already keeps
// maxStmts statements.
func (c *conn) stmt(query string) (*sqlx.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	if len(c.stmts) >= maxStmts {
		return nil, nil
	}
	s, err := c.raw.PreparexContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

// JSON returns a query argument with the JSON encoding of v, usually a list for json_each. If v
// can't be encoded, the query returns an error.
func JSON(v any) driver.Valuer { return jsonText{v} }

type jsonText struct{ v any }

func (t jsonText) Value() (driver.Value, error) {
	text, err := json.Marshal(t.v)
	return string(text), err
}
