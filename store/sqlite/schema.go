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

// Schema describes the database files of an application: their application ID and the migrations
// that create their tables.
type Schema struct {
	// Application is the name of the program in messages.
	Application string
	// ID is the application ID of the files, PRAGMA application_id.
	ID int32
	// Migrations holds SQL files with names NNNN_name.sql, numbered from 1 without gaps. PRAGMA
	// user_version of a file is the number of migrations that were applied to the file.
	Migrations fs.FS
}

// Scripts returns the SQL of all migrations in order.
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

// version returns the number of migrations that were applied to the file. It returns a
// *FileError if the file belongs to another application or was changed by a newer program.
func (s Schema) version(tx *Tx, path string, known int) (int, error) {
	var version, id, tables int
	// Use a single statement, so that no migration can run between two reads.
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

// migrate applies the missing migrations, each in its own transaction. If the file has data,
// migrate first makes a copy.
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
		// Take the lock, because a process that serves the file was built for the old schema.
		lock, err := lockFile(db.path)
		if err != nil {
			return err
		}
		defer lock.release()
		if err := lockDatabase(db.files.db); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlockRange(db.files.db)) }()
		// Another process might have migrated the file before this process got the lock.
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
			return fmt.Errorf("the database could not be copied before the change of its schema: %w", err)
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

// apply runs one migration. version is the number of migrations that were applied before.
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

// unusedName returns name, or name with a number if a file with this name exists. Names contain
// the time in seconds, but a program can be killed after a copy and started again in the same
// second.
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

// stampLayout is the layout of the times in the file names of copies.
const stampLayout = "20060102T150405Z"

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }
