package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrationFiles holds the folder of migrations; tests put in others.
var migrationFiles fs.FS = embedded

// applicationID marks a SQLite file as one of ours ("TRKR").
const applicationID = 0x54524b52

// migrations returns the SQL of every migration, the first one first. The
// files are numbered without a gap, and the number is the schema's version.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []string
	for i, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s should be number %d", name, i+1)
		}
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, nil
}

// migrate brings the schema up to date, each migration in a transaction of
// its own. Before it changes a file that holds data it makes a copy.
func (db *DB) migrate(ctx context.Context) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	t := &tx{conn: db.writer, ctx: ctx, db: db}
	version, err := schemaVersion(t, db.path, len(all))
	if err != nil || version == len(all) {
		return err
	}
	if db.lock == nil {
		// A server that is running was built for the schema as it is.
		lock, err := lockFile(lockPath(db.path))
		if err != nil {
			return err
		}
		defer lock.release()
		// Another process may have been faster.
		if version, err = schemaVersion(t, db.path, len(all)); err != nil || version == len(all) {
			return err
		}
	}
	if version > 0 {
		copyPath := fmt.Sprintf("%s.before-v%d-%s", db.path, version+1, stamp(db.now()))
		if err := vacuumInto(ctx, db.path, copyPath); err != nil {
			return fmt.Errorf("the copy before the change of the schema failed: %w", err)
		}
		db.log.Info("copied the database before changing its schema", "copy", copyPath)
	}
	for v := version; v < len(all); v++ {
		if err := applyMigration(t, v, all[v]); err != nil {
			return fmt.Errorf("migration %d: %w", v+1, err)
		}
	}
	return nil
}

// schemaVersion reads which migration the file is at, and refuses a file that
// is not ours or that a newer program has made.
func schemaVersion(t *tx, path string, known int) (int, error) {
	var version, id, tables int
	// One statement, so that a migration can't come between its parts.
	err := t.row(`SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &id, &tables)
	if err != nil {
		return 0, err
	}
	switch {
	case id != applicationID && (tables > 0 || version > 0):
		return 0, Errorf(CodeConflict,
			"The file %s is a SQLite database of another program; choose another one with SERVICE_DB_FILE.", path)
	case id == applicationID && version < 1:
		return 0, Errorf(CodeConflict,
			"The database %s is damaged: its schema has the number %d; restore a backup with `tracker restore`.", path, version)
	case version > known:
		return 0, Errorf(CodeConflict,
			"The database %s was made by a newer tracker (schema %d, this one knows %d); use that one, or restore an older backup.",
			path, version, known)
	}
	return version, nil
}

func applyMigration(t *tx, version int, script string) error {
	if _, err := t.raw.ExecContext(t.ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := func() error {
		if _, err := t.raw.ExecContext(t.ctx, script); err != nil {
			return err
		}
		_, err := t.raw.ExecContext(t.ctx, fmt.Sprintf(
			`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, version+1))
		return err
	}()
	end := `COMMIT`
	if err != nil {
		end = `ROLLBACK`
	}
	if _, e := t.raw.ExecContext(t.ctx, end); err == nil {
		err = e
	}
	return err
}
