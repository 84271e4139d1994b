package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Schema describes the files of an application: their application ID and the migrations
// that create their tables.
type Schema struct {
	// Application is the name of the program, for messages.
	Application string
	// ID is the application ID of its files: PRAGMA application_id.
	ID int32
	// Migrations holds the SQL files NNNN_name.sql, numbered from 1 without a gap.
	// PRAGMA user_version is the number of migrations that a file has been through.
	Migrations fs.FS
}

// Scripts returns the SQL of all migrations, in order.
func (s Schema) Scripts() ([]string, error) {
	names, err := fs.Glob(s.Migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	var all []string
	for i, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s should be number %d", name, i+1)
		}
		text, err := fs.ReadFile(s.Migrations, name)
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, nil
}

// version returns the number of migrations that a file has been through. It returns an error
// if the file belongs to another application or has more than known migrations.
func (s Schema) version(tx *Tx, path string, known int) (int, error) {
	var version, id, tables int
	// One statement, so that no migration can run between its parts.
	err := tx.Row(`SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &id, &tables)
	if err != nil {
		return 0, err
	}
	switch {
	case id != int(s.ID) && (tables > 0 || version > 0):
		return 0, fileError(Foreign, nil, "the file %s is a SQLite database of another program; choose another one", path)
	case id == int(s.ID) && version < 1:
		return 0, fileError(BadVersion, nil, "the database %s is damaged: its schema number is %d; restore a backup", path, version)
	case version > known:
		return 0, fileError(Newer, nil,
			"the database %s was created by a newer %s (schema %d, this one supports %d); use the newer one, or restore an older backup",
			path, s.Application, version, known)
	}
	return version, nil
}

// migrate brings the schema up to date, with one transaction for each migration.
// Before it changes a file that has data, it makes a copy.
func (db *DB) migrate(ctx context.Context) (err error) {
	scripts, err := db.opts.Schema.Scripts()
	if err != nil {
		return err
	}
	tx := &Tx{conn: db.writer, ctx: ctx}
	version, err := db.opts.Schema.version(tx, db.path, len(scripts))
	if err != nil || version == len(scripts) {
		return err
	}
	if db.lock == nil {
		// A process that has the file open was built for the present schema.
		lock, err := lockFile(db.path)
		if err != nil {
			return err
		}
		defer lock.release()
		if err := lockDatabase(db.files.db); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlockRange(db.files.db)) }()
		// Another process may have been faster.
		if version, err = db.opts.Schema.version(tx, db.path, len(scripts)); err != nil || version == len(scripts) {
			return err
		}
	}
	if version > 0 {
		copyPath, err := unusedName(fmt.Sprintf("%s.before-v%d-%s", db.path, version+1, stamp(db.opts.Now())))
		if err != nil {
			return err
		}
		if err := db.opts.Schema.copy(ctx, db.path, copyPath); err != nil {
			return fmt.Errorf("the copy before the change of the schema failed: %w", err)
		}
		db.opts.Logger.Info("copied the database before changing its schema", "copy", copyPath)
	}
	for v := version; v < len(scripts); v++ {
		if err := db.opts.Schema.apply(tx, v, scripts[v]); err != nil {
			return fmt.Errorf("migration %d: %w", v+1, err)
		}
	}
	return nil
}

// apply runs the migration after version.
func (s Schema) apply(tx *Tx, version int, script string) error {
	if _, err := tx.raw.ExecContext(tx.ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := func() error {
		if _, err := tx.raw.ExecContext(tx.ctx, script); err != nil {
			return err
		}
		_, err := tx.raw.ExecContext(tx.ctx, fmt.Sprintf(
			`PRAGMA application_id = %d; PRAGMA user_version = %d`, s.ID, version+1))
		return err
	}()
	end := `COMMIT`
	if err != nil {
		end = `ROLLBACK`
	}
	if _, e := tx.raw.ExecContext(tx.ctx, end); err == nil {
		err = e
	}
	return err
}

// unusedName returns name, or if such a file exists, name with a number: a program that
// was killed after it had made a copy may be started again within the same second.
func unusedName(name string) (string, error) {
	const most = 100
	for n := 1; n <= most; n++ {
		candidate := name
		if n > 1 {
			candidate = fmt.Sprintf("%s-%d", name, n)
		}
		_, err := os.Lstat(candidate)
		if errors.Is(err, fs.ErrNotExist) {
			return candidate, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", fileError(Exists, nil, "%s and %d numbered copies already exist; remove some of them", name, most-1)
}

// stamp returns t in the format of file names.
func stamp(t time.Time) string { return t.UTC().Format("20060102T150405Z") }
