package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// maxForeignText is the maximum length in bytes of a value in an imported file.
const maxForeignText = 32 << 20

// Unchanged checks the schema of an imported file and the lengths of its values. The file must
// have exactly the tables, indexes, triggers and views that the migrations create. No value may
// be longer than maxForeignText.
//
// A file that passes Unchanged can't run its own SQL, and its values fit into memory. Verify does
// the other checks.
//
// Unchanged runs the migrations and stores the result in known, by the number of migrations. A
// later call with the same map does not run them again.
func (s Schema) Unchanged(ctx context.Context, path string, known map[int]map[string]string) (err error) {
	if err := checkTruncation(path); err != nil {
		return err
	}
	there, version, err := s.objects(ctx, path)
	if err != nil {
		return OpenError(path, err)
	}
	wanted := known[version]
	if wanted == nil {
		if wanted, err = s.expected(ctx, version); err != nil {
			return err
		}
		known[version] = wanted
	}
	for name, sql := range there {
		if wanted[name] != sql {
			return fileError(Foreign, nil, "the schema of %s does not match the schema of %s: its %s differs", path, s.Application, name)
		}
	}
	if len(there) < len(wanted) {
		return fileError(Foreign, nil, "the schema of %s does not match the schema of %s: parts are missing", path, s.Application)
	}
	return s.shortTexts(ctx, path)
}

// objects returns the SQL of each schema object of a file, and the number of migrations that were
// applied to the file.
func (s Schema) objects(ctx context.Context, path string) (all map[string]string, version int, err error) {
	pool, err := sqlx.Open("sqlite", DSN(path, "query_only(1)", "trusted_schema(0)"))
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	c, err := openConn(ctx, pool)
	if err != nil {
		return nil, 0, err
	}
	defer c.close()
	tx := &Tx{conn: c, ctx: ctx}
	scripts, err := s.Scripts()
	if err != nil {
		return nil, 0, err
	}
	if version, err = s.version(tx, path, len(scripts)); err != nil {
		return nil, 0, err
	}
	all, err = tx.objects()
	return all, version, err
}

// maxObjects is the maximum number of schema objects to read. A valid file has fewer objects.
const maxObjects = 10_000

func (tx *Tx) objects() (map[string]string, error) {
	rows, err := tx.RowsOnce(`SELECT type || ' ' || name || ' of ' || tbl_name, coalesce(sql, '') FROM sqlite_schema LIMIT ?`, maxObjects)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, sql string
		if err := rows.Scan(&name, &sql); err != nil {
			return nil, err
		}
		all[name] = sql
	}
	return all, rows.Err()
}

// expected returns the SQL of each schema object after the given number of migrations.
func (s Schema) expected(ctx context.Context, version int) (all map[string]string, err error) {
	scripts, err := s.Scripts()
	if err != nil {
		return nil, err
	}
	pool, err := sqlx.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	for i, script := range scripts[:version] {
		if _, err := pool.ExecContext(ctx, script); err != nil {
			return nil, fmt.Errorf("migration %d: %w", i+1, err)
		}
	}
	c, err := openConn(ctx, pool)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return (&Tx{conn: c, ctx: ctx}).objects()
}

// shortTexts returns an error if a value of the file is longer than maxForeignText. SQLite
// knows the length of a value without reading the value.
func (s Schema) shortTexts(ctx context.Context, path string) (err error) {
	pool, err := sqlx.Open("sqlite", DSN(path, "query_only(1)", "trusted_schema(0)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var columns []struct {
		Table  string `db:"table"`
		Column string `db:"column"`
	}
	err = pool.SelectContext(ctx, &columns, `SELECT m.name AS "table", c.name AS "column"
		FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND c.type IN ('TEXT', 'BLOB')`)
	if err != nil {
		return OpenError(path, err)
	}
	for _, c := range columns { // table and column names come from the migrations
		var longest int64
		err := pool.GetContext(ctx, &longest, `SELECT coalesce(max(octet_length("`+c.Column+`")), 0) FROM "`+c.Table+`"`)
		if err != nil {
			return OpenError(path, err)
		}
		if longest > maxForeignText {
			return fileError(Foreign, nil, "%s has a value of %d bytes in the table %s, but at most %d are allowed", path, longest, c.Table, maxForeignText)
		}
	}
	return nil
}
