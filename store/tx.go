package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// conn is one connection with the statements prepared on it. It serves one
// transaction at a time.
type conn struct {
	raw   *sqlx.Conn
	stmts map[string]*sqlx.Stmt
	bulk  map[string]driver.Stmt // see execBulk
}

// maxStmts bounds the statements kept by a connection. The fixed queries are
// fewer; only composed ones can pass it, and those are then not kept.
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

// stmt returns the prepared form of query, or nil when it is not kept.
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

// tx is one transaction, or the savepoint of one piece in the writer's. The
// context ends reads; the writer's is never done.
type tx struct {
	*conn
	ctx    context.Context
	db     *DB
	actor  Actor
	now    Time
	window window         // of table recent, once it was looked at
	seen   []int64        // numbers of the iterations this piece has written to
	noted  []journalEntry // what the transaction has changed so far
}

// exec runs a statement and returns how many rows it changed.
func (tx *tx) exec(query string, args ...any) (int64, error) {
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

// execBulk is exec for statements with very many arguments, which are of the
// driver's own types: database/sql would look at each of them twice.
func (tx *tx) execBulk(query string, args []driver.NamedValue) error {
	return tx.raw.Raw(func(c any) error {
		s := tx.bulk[query]
		if s == nil {
			var err error
			if s, err = c.(driver.ConnPrepareContext).PrepareContext(tx.ctx, query); err != nil {
				return fmt.Errorf("preparing %.80q: %w", query, err)
			}
			tx.bulk[query] = s
		}
		_, err := s.(driver.StmtExecContext).ExecContext(tx.ctx, args)
		return err
	})
}

// scanner is a row that has not been read yet.
type scanner interface{ Scan(dest ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// row runs a query for one row; Scan gives sql.ErrNoRows when there is none.
func (tx *tx) row(query string, args ...any) scanner {
	s, err := tx.stmt(query)
	switch {
	case err != nil:
		return failedRow{err}
	case s != nil:
		return s.QueryRowxContext(tx.ctx, args...)
	}
	return tx.raw.QueryRowxContext(tx.ctx, query, args...)
}

// rows runs a query for many rows. They must be closed.
func (tx *tx) rows(query string, args ...any) (*sqlx.Rows, error) {
	s, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.QueryxContext(tx.ctx, args...)
	}
	return tx.raw.QueryxContext(tx.ctx, query, args...)
}

// get scans one row into the struct dest; sql.ErrNoRows when there is none.
func (tx *tx) get(dest any, query string, args ...any) error {
	s, err := tx.stmt(query)
	if err != nil {
		return err
	}
	if s != nil {
		return s.GetContext(tx.ctx, dest, args...)
	}
	return tx.raw.GetContext(tx.ctx, dest, query, args...)
}

// all scans every row into the slice that dest points to.
func (tx *tx) all(dest any, query string, args ...any) error {
	s, err := tx.stmt(query)
	if err != nil {
		return err
	}
	if s != nil {
		return s.SelectContext(tx.ctx, dest, args...)
	}
	return tx.raw.SelectContext(tx.ctx, dest, query, args...)
}

// read runs fn on one snapshot of the database.
func read[T any](ctx context.Context, db *DB, fn func(*tx) (T, error)) (T, error) {
	var out T
	c, err := db.reader(ctx)
	if err != nil {
		return out, err
	}
	// A BEGIN that is broken off may have begun: the next one on this connection
	// would fail.
	t := &tx{conn: c, ctx: context.Background(), db: db, now: toTime(db.now())}
	if _, err = t.exec(`BEGIN`); err == nil {
		t.ctx = ctx
		err = call(func(t *tx) (err error) {
			out, err = fn(t)
			return err
		}, t)
		// The end must be reached also when the caller has gone, or the
		// connection would keep its snapshot.
		t.ctx = context.Background()
		if _, e := t.exec(`COMMIT`); e != nil {
			err = errors.Join(err, e, c.close())
			c = nil
		}
	}
	db.readers <- c
	return out, err
}

// ask runs a check on a snapshot, for what is too dear to be done in vain.
func (db *DB) ask(ctx context.Context, check func(*tx) error) error {
	_, err := read(ctx, db, func(tx *tx) (struct{}, error) { return struct{}{}, check(tx) })
	return err
}

// reader takes a connection of the read pool, waiting for one until ctx ends.
// Whoever takes it puts it back into db.readers.
func (db *DB) reader(ctx context.Context) (*conn, error) {
	select {
	case <-db.closing:
		return nil, errClosing
	default:
	}
	select {
	case c := <-db.readers:
		if c != nil {
			return c, nil
		}
		c, err := openConn(ctx, db.readDB)
		if err != nil {
			db.readers <- nil
		}
		return c, err
	case <-db.closing: // Close takes all of them
		return nil, errClosing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
