// Package database opens the SQLite databases of other tools, read-only.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

const sqliteHeader = "SQLite format 3\x00"

// driver is the name of SQLite's driver, which package store/sqlite registers.
const driver = "sqlite"

// Is reports whether a file is an SQLite database with the given tables.
func Is(path string, tables ...string) bool {
	header, err := beginning(path, len(sqliteHeader))
	if err != nil || header != sqliteHeader {
		return false
	}
	db, err := sql.Open(driver, dsn(path))
	if err != nil {
		return false
	}
	defer db.Close()
	return hasTables(context.Background(), db, tables) == nil
}

// dsn returns the data source name of a database, read-only. Nothing in the file is trusted: its
// views and triggers can't call functions.
func dsn(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?mode=ro&_pragma=busy_timeout(10000)&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
}

// hasTables returns an error if one of the tables does not exist or is a view.
func hasTables(ctx context.Context, db *sql.DB, tables []string) error {
	for _, name := range tables {
		var n int
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, name).Scan(&n)
		if err == nil && n == 0 {
			err = fmt.Errorf("it has no table %s", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Open opens a database with the given tables, which another program may be writing to. A database
// in WAL mode is copied together with its log first, since reading it in place would create files
// beside it. end closes the database and removes the copy.
func Open(ctx context.Context, path string, tables ...string) (db *sql.DB, end func() error, err error) {
	wal, err := hasWAL(path)
	if err != nil {
		return nil, nil, err
	}
	end = func() error { return nil }
	at := path
	if wal {
		dir, err := os.MkdirTemp("", "tracker-import-")
		if err != nil {
			return nil, nil, err
		}
		end = func() error { return os.RemoveAll(dir) }
		at = filepath.Join(dir, "copy.db")
		if err := copyDatabase(ctx, path, at); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	name := dsn(at)
	if wal {
		name = "file:" + (&url.URL{Path: at}).EscapedPath() + "?_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
	}
	db, err = sql.Open(driver, name)
	if err == nil {
		db.SetMaxOpenConns(maxConns)
		db.SetMaxIdleConns(maxConns)
		if err = limit(ctx, db); err == nil {
			err = hasTables(ctx, db, tables)
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	remove := end
	return db, func() error { return errors.Join(db.Close(), remove()) }, nil
}

const (
	// maxConns is the number of connections to a database.
	maxConns = 2
	// maxCell bounds a value of a row in bytes. SQLite reads a value as a whole even if only its
	// beginning is selected.
	maxCell = 32 << 20
	// limitLength is SQLite's number of the limit on the length of a value (SQLITE_LIMIT_LENGTH).
	limitLength = 0
)

// limit bounds the length of the values that connections read. It opens all connections, which the
// pool then keeps.
func limit(ctx context.Context, db *sql.DB) (err error) {
	for range maxConns {
		c, e := db.Conn(ctx)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		if _, err := sqlite.Limit(c, limitLength, maxCell); err != nil {
			return err
		}
	}
	return nil
}

// hasWAL reports whether a database is in WAL mode: bytes 18 and 19 of its header.
func hasWAL(path string) (bool, error) {
	header, err := beginning(path, 20)
	return len(header) == 20 && header[18] == 2, err
}

// errChanging is returned for a database that is written to while it is copied.
var errChanging = errors.New("the database changed during each of five attempts to copy it; stop the program that writes to it and import again")

// copyDatabase copies a consistent snapshot of a database and its log.
func copyDatabase(ctx context.Context, from, to string) error {
	for range 5 {
		before, err := stateOf(from)
		if err != nil {
			return err
		}
		err = errors.Join(copyFile(ctx, from, to), copyFile(ctx, from+"-wal", to+"-wal"))
		if err != nil {
			return err
		}
		after, err := stateOf(from)
		if err != nil {
			return err
		}
		if before == after {
			return nil
		}
	}
	return errChanging
}

// stateOf returns a text that changes when a database or its log is written to.
func stateOf(path string) (string, error) {
	var state string
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		state += fmt.Sprintln(p, info.Size(), info.ModTime().UnixNano())
	}
	return state, nil
}

// copyFile copies a file. It returns nil if the file does not exist.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for {
		if _, err := io.CopyN(out, in, 64<<20); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// beginning returns the first n bytes of a file, or fewer if it is shorter.
func beginning(path string, n int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return string(text), err
}
