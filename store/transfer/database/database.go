// Package database opens SQLite databases of other tools for reading.
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

// driver is the name of the SQLite driver. Package store/sqlite registers the driver.
const driver = "sqlite"

// Is reports whether the file at path is an SQLite database with the given tables.
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

// dsn returns a data source name that opens a database read-only. It sets trusted_schema to 0, so
// that views and triggers of an unknown file can't call unsafe functions.
func dsn(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?mode=ro&_pragma=busy_timeout(10000)&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
}

// hasTables returns an error if any of the given tables does not exist or is a view.
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

// Open opens the database at path for reading. Another program can write to the database at the
// same time. Open returns an error if one of the given tables does not exist. A database in WAL
// mode is first copied together with its log, because SQLite would create files next to the
// original. end closes the database and removes the copy.
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
	// maxConns is the maximum number of connections to a database.
	maxConns = 2
	// maxCell is the maximum size of one value in bytes. SQLite loads a whole value even if a
	// query selects only its beginning.
	maxCell = 32 << 20
	// limitLength is SQLITE_LIMIT_LENGTH, SQLite's identifier for the limit on the length of a
	// value.
	limitLength = 0
)

// limit bounds the length of values that queries can return. It opens maxConns connections, which
// stay open in the pool, and sets the bound on each of them.
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

// hasWAL reports whether a database is in WAL mode. The mode is stored in bytes 18 and 19 of
// the file header.
func hasWAL(path string) (bool, error) {
	header, err := beginning(path, 20)
	return len(header) == 20 && header[18] == 2, err
}

// errChanging reports that another program kept writing to a database while it was being
// copied.
var errChanging = errors.New("the database changed during each of five attempts to copy it; stop the program that writes to it and import again")

// copyDatabase copies a consistent snapshot of a database, including its write-ahead log. It
// returns errChanging after five unsuccessful attempts.
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

// stateOf returns a string with the size and modification time of a database and its log. The
// string changes when a program writes to one of the files.
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

// copyFile copies a file. If the source file does not exist, copyFile removes the target file
// and returns nil.
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

// beginning returns the first n bytes of a file, or all bytes of a shorter file.
func beginning(path string, n int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return string(text), err
}
