package mlflow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

const sqliteHeader = "SQLite format 3\x00"

// driver is the name of SQLite's driver, which package store/sqlite registers.
const driver = "sqlite"

// isDatabase reports whether a file is a database of MLflow.
func isDatabase(path string) bool {
	header, err := readText(path, int64(len(sqliteHeader)))
	if err != nil || header != sqliteHeader {
		return false
	}
	db, err := sql.Open(driver, dsn(path))
	if err != nil {
		return false
	}
	defer db.Close()
	return hasTables(context.Background(), db) == nil
}

// dsn returns the name of a database for reading alone. Nothing in the file is
// trusted: no view or trigger of it calls a function.
func dsn(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?mode=ro&_pragma=busy_timeout(10000)&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
}

// hasTables fails unless the tables that are read are tables, and there.
func hasTables(ctx context.Context, db *sql.DB) error {
	for _, name := range []string{"experiments", "runs", "metrics", "params", "tags"} {
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

// openDatabase opens a database of MLflow, which a server may be writing to. One
// with a write-ahead log is copied with it first, since reading it in place would
// make files beside it.
func openDatabase(ctx context.Context, path string) (db *sql.DB, end func() error, err error) {
	wal, err := hasWAL(path)
	if err != nil {
		return nil, nil, err
	}
	end = func() error { return nil }
	at := path
	if wal {
		dir, err := os.MkdirTemp("", "tracker-mlflow-")
		if err != nil {
			return nil, nil, err
		}
		end = func() error { return os.RemoveAll(dir) }
		at = filepath.Join(dir, "mlflow.db")
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
		db.SetMaxOpenConns(2)
		err = hasTables(ctx, db)
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

// hasWAL reports whether a database is in WAL mode: bytes 18 and 19 of its header.
func hasWAL(path string) (bool, error) {
	header, err := readText(path, 20)
	return len(header) == 20 && header[18] == 2, err
}

// errChanging is a database that is written to while it is copied.
var errChanging = errors.New("the database was changed while it was copied, five times; stop what writes to it and import again")

// copyDatabase copies a database and its log, as they are at one moment.
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

// stateOf returns what changes when a database or its log is written to.
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

// copyFile copies a file. One that does not exist is not an error, and neither is
// its copy then.
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

// Texts are cut, and numbers cast, in SQL: a file may have anything in a column.
const (
	shortText = `substr(CAST(%s AS TEXT), 1, 10000)`
	longText  = `substr(CAST(%s AS TEXT), 1, 1048577)`
)

// maxEntries bounds the parameters and tags of a run.
const maxEntries = 100_000

// importDatabase brings the runs of a database.
func importDatabase(ctx context.Context, im *transfer.Import, path string) (err error) {
	db, end, err := openDatabase(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	runs, err := databaseRuns(ctx, db, im, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	ids := make([]uuid.UUID, len(runs))
	for i, r := range runs {
		ids[i] = transfer.ID("mlflow", "run", r.id)
	}
	known, err := im.Files(ctx, ids)
	if err != nil {
		return err
	}
	hasDatasets := hasColumns(ctx, db)
	for _, r := range runs { // the tags have the parents
		if r.params, err = entries(ctx, db, "params", r.id); err == nil {
			r.tags, err = entries(ctx, db, "tags", r.id)
		}
		if err == nil && hasDatasets {
			r.datasets, err = datasets(ctx, db, r.id)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, r := range parentsFirst(runs) {
		if err := importDatabaseRun(ctx, im, db, path, r, known); err != nil {
			return err
		}
		im.Read(info.Size() / int64(len(runs)))
	}
	for table, what := range map[string]string{"registered_models": "registered models", "logged_models": "logged models", "trace_info": "traces"} {
		var n int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n); err == nil && n > 0 {
			im.Lose(path, "It has %d %s, which are not brought.", n, what)
		}
	}
	return nil
}

// databaseRuns returns the runs of a database, the oldest first, without their
// parameters and tags.
func databaseRuns(ctx context.Context, db *sql.DB, im *transfer.Import, path string) ([]*run, error) {
	text := func(column string) string { return `coalesce(` + fmt.Sprintf(shortText, column) + `, '')` }
	rows, err := db.QueryContext(ctx, `SELECT `+text("runs.run_uuid")+`, `+text("experiments.name")+`, `+text("runs.name")+`, `+text("runs.status")+`,
			CAST(runs.start_time AS INTEGER), CAST(runs.end_time AS INTEGER),
			runs.lifecycle_stage IS 'deleted' OR experiments.lifecycle_stage IS 'deleted',
			`+text("runs.artifact_uri")+`, `+text("runs.source_name")+`, `+text("runs.source_version")+`
		FROM runs LEFT JOIN experiments ON experiments.experiment_id = runs.experiment_id
		ORDER BY runs.start_time, runs.rowid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var runs []*run
	for rows.Next() {
		r := &run{}
		if err := rows.Scan(&r.id, &r.experiment, &r.name, &r.status, &r.start, &r.end, &r.deleted, &r.artifacts, &r.source, &r.commit); err != nil {
			return nil, err
		}
		r.path = path + " run " + r.id
		if r.experiment == "" {
			r.experiment = "without an experiment"
			im.Lose(r.path, "The experiment of the run does not exist; it is in one of that name.")
		}
		if (!r.deleted || im.Deleted) && im.Wanted(r.name, r.experiment) {
			runs = append(runs, r)
		}
	}
	return runs, errors.Join(rows.Err(), rows.Close())
}

// entries returns the parameters or the tags of a run.
func entries(ctx context.Context, db *sql.DB, table, id string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT coalesce(`+fmt.Sprintf(shortText, "key")+`, ''), coalesce(`+fmt.Sprintf(longText, "value")+`, '')
		FROM `+table+` WHERE run_uuid = ? LIMIT ?`, id, maxEntries)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		all[key] = value
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

const datasetQuery = `SELECT
		coalesce(substr(CAST(datasets.name AS TEXT), 1, 10000), ''),
		coalesce(substr(CAST(digest AS TEXT), 1, 10000), ''),
		coalesce(substr(CAST(dataset_source_type AS TEXT), 1, 10000), ''),
		coalesce(substr(CAST(dataset_source AS TEXT), 1, 1048577), ''),
		coalesce(substr(CAST(dataset_schema AS TEXT), 1, 1048577), ''),
		coalesce(substr(CAST(dataset_profile AS TEXT), 1, 1048577), ''),
		(SELECT substr(CAST(value AS TEXT), 1, 10000) FROM input_tags
			WHERE input_tags.input_uuid = inputs.input_uuid AND input_tags.name = 'mlflow.data.context')
	FROM inputs JOIN datasets ON datasets.dataset_uuid = inputs.source_id
	WHERE inputs.source_type = 'DATASET' AND inputs.destination_type = 'RUN' AND inputs.destination_id = ?
	ORDER BY datasets.name, digest LIMIT ?`

// hasColumns reports whether a database has the tables of datasets, which MLflow made
// in version 2.4.
func hasColumns(ctx context.Context, db *sql.DB) bool {
	rows, err := db.QueryContext(ctx, datasetQuery, "", 0)
	return err == nil && rows.Close() == nil
}

// datasets returns the datasets that a run has read.
func datasets(ctx context.Context, db *sql.DB, id string) (all []transfer.Dataset, err error) {
	rows, err := db.QueryContext(ctx, datasetQuery, id, maxDatasets)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d transfer.Dataset
		if err := rows.Scan(&d.Name, &d.Digest, &d.SourceType, &d.Source, &d.Schema, &d.Profile, &d.Context); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// maxDatasets bounds the datasets of a run.
const maxDatasets = 1000

// importDatabaseRun brings what is new of a run.
func importDatabaseRun(ctx context.Context, im *transfer.Import, db *sql.DB, path string, r *run, known map[uuid.UUID]transfer.File) error {
	about := transfer.ID("mlflow", "run", r.id)
	former, isKnown := known[about]
	if isKnown && former.RunID == uuid.Nil {
		im.LeaveOut(r.uuid(), r.path, "The run was imported before and then deleted here; it is not brought again.")
		return nil
	}
	fingerprint, err := r.fingerprint()
	if err != nil {
		return err
	}
	var last int64
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(rowid), 0) FROM metrics WHERE run_uuid = ?`, r.id).Scan(&last); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w := r.begin(im, isKnown)
	if !isKnown || former.Fingerprint != fingerprint || former.Position != last {
		r.describe(w)
		if err := r.readMetrics(ctx, im, w, db, former.Position, last); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		w.Mark(transfer.File{ID: about, Path: path, Fingerprint: fingerprint, Position: last})
		if err := w.End(ctx); err != nil {
			return err
		}
	}
	return r.importArtifacts(ctx, im, w, filepath.Dir(path))
}

// readMetrics adds the points of a run whose rows come after position. The numbers
// of rows grow; when they have become smaller, all points are read again.
func (r *run) readMetrics(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, db *sql.DB, position, last int64) error {
	again := position > last
	if again {
		position = 0
		im.Lose(r.path, "Its metrics have other row numbers than at the last import, and were read again.")
	}
	rows, err := db.QueryContext(ctx, `SELECT rowid, coalesce(`+fmt.Sprintf(shortText, "key")+`, ''), CAST(value AS REAL), CAST(timestamp AS INTEGER),
			CAST(step AS INTEGER), coalesce(is_nan, 0) <> 0
		FROM metrics WHERE run_uuid = ? AND rowid > ? ORDER BY rowid`, r.id, position)
	if err != nil {
		return err
	}
	defer rows.Close()
	started := map[string]bool{}
	for rows.Next() {
		var key string
		var value sql.NullFloat64
		var at, step sql.NullInt64
		var isNaN bool
		if err := rows.Scan(&position, &key, &value, &at, &step, &isNaN); err != nil {
			return err
		}
		when, ok := timeOf(at.Int64)
		if !ok || key == "" {
			im.Lose(r.path, "The row %d of its metrics has no name, or no time; it was skipped.", position)
			continue
		}
		if again && !started[key] {
			started[key] = true
			w.Rewind(key, transfer.Step(-1<<63))
		}
		w.Point(key, transfer.Step(step.Int64), valueOf(value.Float64, isNaN), when)
		if w.Full() {
			w.Mark(transfer.File{ID: transfer.ID("mlflow", "run", r.id), Path: r.path, Fingerprint: "", Position: position})
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
