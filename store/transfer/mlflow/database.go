package mlflow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"tracker/store/transfer"
	"tracker/store/transfer/database"
)

// tables are the tables of MLflow that are read.
var tables = []string{"experiments", "runs", "metrics", "params", "tags"}

// Texts are cut, and numbers cast, in SQL: a file may have anything in a column.
const (
	shortText = `substr(CAST(%s AS TEXT), 1, 10000)`
	longText  = `substr(CAST(%s AS TEXT), 1, 1048577)`
)

// maxEntries bounds the parameters and tags of a run.
const maxEntries = 100_000

// importDatabase imports the runs of a database.
func importDatabase(ctx context.Context, im *transfer.Import, path string) (err error) {
	db, end, err := database.Open(ctx, path, tables...)
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
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, r := range parentsFirst(runs) {
		if r.params, err = entries(ctx, db, im, "params", r); err == nil {
			r.tags, err = entries(ctx, db, im, "tags", r)
		}
		if err == nil && hasDatasets {
			r.datasets, err = datasets(ctx, db, r.id)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := importDatabaseRun(ctx, im, db, path, r, known); err != nil {
			return err
		}
		r.params, r.tags, r.datasets = nil, nil, nil // there may be many runs
		im.Read(info.Size() / int64(len(runs)))
	}
	for table, what := range map[string]string{"trace_info": "traces"} {
		var n int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n); err == nil && n > 0 {
			im.Lose(path, "It has %d %s, which are not imported.", n, what)
		}
	}
	if err := databaseModels(ctx, db, im, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// databaseRuns returns the runs of a database, the oldest first, without their
// parameters, tags and datasets.
func databaseRuns(ctx context.Context, db *sql.DB, im *transfer.Import, path string) ([]*run, error) {
	text := func(column string) string { return `coalesce(` + fmt.Sprintf(shortText, column) + `, '')` }
	rows, err := db.QueryContext(ctx, `SELECT `+text("runs.run_uuid")+`, `+text("experiments.name")+`, `+text("runs.name")+`, `+text("runs.status")+`,
			CAST(runs.start_time AS INTEGER), CAST(runs.end_time AS INTEGER),
			runs.lifecycle_stage IS 'deleted' OR experiments.lifecycle_stage IS 'deleted',
			`+text("runs.artifact_uri")+`, `+text("runs.source_name")+`, `+text("runs.source_version")+`,
			coalesce((SELECT substr(CAST(value AS TEXT), 1, 100) FROM tags WHERE tags.run_uuid = runs.run_uuid AND tags.key = 'mlflow.parentRunId'), '')
		FROM runs LEFT JOIN experiments ON experiments.experiment_id = runs.experiment_id
		ORDER BY runs.start_time, runs.rowid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var runs []*run
	for rows.Next() {
		r := &run{}
		if err := rows.Scan(&r.id, &r.experiment, &r.name, &r.status, &r.start, &r.end, &r.deleted, &r.artifacts, &r.source, &r.commit, &r.parent); err != nil {
			return nil, err
		}
		r.path = path + " run " + r.id
		if r.experiment == "" {
			r.experiment = "without an experiment"
			im.Lose(r.path, "The experiment of the run does not exist; the run is imported into an experiment with this name.")
		}
		if (!r.deleted || im.Deleted) && im.Wanted(r.name, r.experiment) {
			runs = append(runs, r)
		}
	}
	return runs, errors.Join(rows.Err(), rows.Close())
}

// entries returns the parameters or the tags of a run.
func entries(ctx context.Context, db *sql.DB, im *transfer.Import, table string, r *run) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT coalesce(`+fmt.Sprintf(shortText, "key")+`, ''), coalesce(`+fmt.Sprintf(longText, "value")+`, '')
		FROM `+table+` WHERE run_uuid = ? LIMIT ?`, r.id, maxEntries)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	held := 0
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		if held += len(key) + len(value); held > maxTexts || len(all) == maxEntries-1 {
			im.Lose(r.path, "In the table %s, %v.", table, errTexts)
			return all, rows.Close()
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

// importDatabaseRun imports what is new in a run.
func importDatabaseRun(ctx context.Context, im *transfer.Import, db *sql.DB, path string, r *run, known map[uuid.UUID]transfer.File) error {
	about := transfer.ID("mlflow", "run", r.id)
	former, isKnown := known[about]
	if isKnown && former.RunID == uuid.Nil {
		im.LeaveOut(r.uuid(), r.path, "The run was imported before and then deleted here; it is not imported again.")
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

// readMetrics adds the points of a run whose rows come after position, up to last: others
// may come meanwhile. The numbers of rows grow; when they have become smaller, all points are read again.
func (r *run) readMetrics(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, db *sql.DB, position, last int64) error {
	again := position > last
	if again {
		position = 0
		im.Lose(r.path, "Its metrics have other row numbers than at the last import, and were read again.")
	}
	rows, err := db.QueryContext(ctx, `SELECT rowid, coalesce(`+fmt.Sprintf(shortText, "key")+`, ''), CAST(value AS REAL), CAST(timestamp AS INTEGER),
			CAST(step AS INTEGER), coalesce(is_nan, 0) <> 0
		FROM metrics WHERE run_uuid = ? AND rowid > ? AND rowid <= ? ORDER BY rowid`, r.id, position, last)
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
