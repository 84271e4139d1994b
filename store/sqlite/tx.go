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
)

// Tx is one transaction: a snapshot, or the transaction of the writer. It is valid until
// the function that got it returns, and for one goroutine.
type Tx struct {
	*conn
	ctx    context.Context
	writer bool
}

// Context returns the context that ends the statements of the transaction. The
// writer's context is never done.
func (tx *Tx) Context() context.Context { return tx.ctx }

// Writer reports whether the transaction is the writer's.
func (tx *Tx) Writer() bool { return tx.writer }

// WithContext returns the same transaction, but its statements also end with ctx. It is
// for reads only.
func (tx *Tx) WithContext(ctx context.Context) *Tx {
	limited := *tx
	limited.ctx = ctx
	return &limited
}

// Exec runs a statement and returns the number of rows that it changed.
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

// ExecBulk is Exec for statements with very many arguments. They must have types of the
// driver: database/sql would inspect each of them twice.
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

// EachRow calls fn with each row of a query. Like ExecBulk, it bypasses database/sql, for
// very many rows. fn gets int64, float64, string, []byte and nil, in a slice that is
// reused for the next row.
func (tx *Tx) EachRow(query string, fn func(row []driver.Value) error, args ...driver.Value) error {
	return tx.raw.Raw(func(c any) error {
		s, err := tx.bulkStmt(c, query)
		if err != nil {
			return err
		}
		named := make([]driver.NamedValue, len(args))
		for i, arg := range args {
			named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
		}
		rows, err := s.(driver.StmtQueryContext).QueryContext(tx.ctx, named)
		if err != nil {
			return err
		}
		return tx.each(rows, fn)
	})
}

// EachRowOnce is EachRow for a query that is used only once: it is not kept prepared. Its
// arguments can have all types that database/sql accepts.
func (tx *Tx) EachRowOnce(query string, fn func(row []driver.Value) error, args ...any) error {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return err
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return tx.raw.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(tx.ctx, query, named)
		if err != nil {
			return err
		}
		return tx.each(rows, fn)
	})
}

// each calls fn with each of rows and closes them.
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

// bulkStmt returns the prepared form of query on the connection c of the driver.
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

// Scanner scans the result of a query for one row.
type Scanner interface{ Scan(dest ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// Row runs a query for one row. Scan returns sql.ErrNoRows if there is none.
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

// Rows runs a query for many rows. The caller must close them.
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

// RowsOnce is Rows for a query that is used only once: it is not kept prepared.
func (tx *Tx) RowsOnce(query string, args ...any) (*sqlx.Rows, error) {
	return tx.raw.QueryxContext(tx.ctx, query, args...)
}

// Get scans one row into the struct dest. It returns sql.ErrNoRows if there is none.
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

// Select scans all rows into the slice that dest points to.
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

// PageReads returns the number of pages of the file that the statements of this connection
// have read since it was opened, from memory or not: a measure of work that does not
// depend on the machine. It is for tests.
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

// conn is one connection with the statements prepared on it. It is used by one
// transaction at a time.
type conn struct {
	raw   *sqlx.Conn
	stmts map[string]*sqlx.Stmt
	bulk  map[string]driver.Stmt // for ExecBulk and EachRow
}

// maxStmts is the maximum number of prepared statements that a connection keeps. The fixed
// queries of the program are fewer.
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

// stmt returns the prepared form of query, or nil if it is not kept.
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
