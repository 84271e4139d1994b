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

// tables lists the tables that every MLflow database must have.
var tables = []string{"experiments", "runs", "metrics", "params", "tags"}

// These are SQL expressions that convert a column to text of limited length. The conversion is
// needed because SQLite allows any value in any column.
const (
	shortText = `substr(CAST(%s AS TEXT), 1, 10000)`
	longText  = `substr(CAST(%s AS TEXT), 1, 1048577)`
)

// maxEntries is the maximum number of parameters or tags of a run.
const maxEntries = 100_000

// importDatabase imports the runs, models and experiments of a database.
func importDatabase(ctx context.Context, im *transfer.Import, path string) (err error) {
	db, end, err := database.Open(ctx, path, tables...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	experiments, err := databaseExperiments(ctx, db, im, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var left leftOut
	runs, err := databaseRuns(ctx, db, im, path, experiments, &left)
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
	places := newPlaces(im, filepath.Dir(path), "")
	var deleted trash
	for _, r := range parentsFirst(runs) {
		if r.params, err = entries(ctx, db, im, "params", r); err == nil {
			r.tags, err = entries(ctx, db, im, "tags", r)
		}
		if err == nil && hasDatasets {
			r.datasets, err = datasets(ctx, db, im, r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := importDatabaseRun(ctx, im, db, path, r, known, places); err != nil {
			return err
		}
		deleted.add(r)
		r.params, r.tags, r.datasets = nil, nil, nil // frees memory, because a database can have many runs
		im.Read(info.Size() / int64(len(runs)))
	}
	if err := im.Trash(ctx, deleted.ids, deleted.paths); err != nil {
		return err
	}
	var traces int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM trace_info`).Scan(&traces); err == nil && traces > 0 {
		im.Lose(path, "It has %d traces, which are not imported.", traces)
	}
	if err := databaseModels(ctx, db, im, path, experiments, places, &left); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range experiments {
		if e.deleted && !e.held && !im.Deleted && im.Wanted(e.name) {
			left.experiments++
		}
		if err := e.importExperiment(ctx, im); err != nil {
			return err
		}
	}
	left.lose(im, path)
	places.lose(im, path)
	return nil
}

// databaseExperiments returns the experiments of a database, including their tags.
func databaseExperiments(ctx context.Context, db *sql.DB, im *transfer.Import, path string) (all []*experiment, err error) {
	created, hasTags := `NULL`, false
	if there, err := hasColumn(ctx, db, "experiments", "creation_time"); err != nil {
		return nil, err
	} else if there {
		created = cell("creation_time")
	}
	byID := map[string]*experiment{}
	err = each(ctx, db, im, path, `SELECT `+short("experiment_id")+`, `+short("name")+`, `+created+`, lifecycle_stage IS 'deleted'
		FROM experiments ORDER BY experiment_id`, func(rows *sql.Rows) error {
		e := &experiment{tags: map[string]string{}}
		err := rows.Scan(&e.id, &e.name, &e.created, &e.deleted)
		e.path = path + " experiment " + e.id
		if e.name == "" {
			e.name = "experiment " + e.id
			im.Lose(e.path, "The experiment has no name; it is named %q here.", e.name)
		}
		all, byID[e.id] = append(all, e), e
		return err
	})
	if err == nil {
		hasTags, err = hasTable(ctx, db, "experiment_tags")
	}
	if err != nil || !hasTags {
		return all, err
	}
	return all, each(ctx, db, im, path, `SELECT `+short("experiment_id")+`, `+short("key")+`, `+long("value")+` FROM experiment_tags`, func(rows *sql.Rows) error {
		var id, key, value string
		err := rows.Scan(&id, &key, &value)
		if e := byID[id]; e != nil && err == nil {
			e.tags[key] = value
		}
		return err
	})
}

// databaseRuns returns the runs of a database, oldest first. It does not read parameters, tags
// and datasets.
func databaseRuns(ctx context.Context, db *sql.DB, im *transfer.Import, path string, experiments []*experiment, left *leftOut) (runs []*run, err error) {
	byID := map[string]*experiment{}
	for _, e := range experiments {
		byID[e.id] = e
	}
	user := `''`
	if there, err := hasColumn(ctx, db, "runs", "user_id"); err != nil {
		return nil, err
	} else if there {
		user = short("user_id")
	}
	return runs, each(ctx, db, im, path, `SELECT `+short("run_uuid")+`, `+short("experiment_id")+`, `+short("name")+`, `+short("status")+`,
			`+cell("start_time")+`, `+cell("end_time")+`, lifecycle_stage IS 'deleted',
			`+short("artifact_uri")+`, `+user+`, `+short("source_name")+`, `+short("source_version")+`,
			coalesce((SELECT substr(CAST(value AS TEXT), 1, 100) FROM tags WHERE tags.run_uuid = runs.run_uuid AND tags.key = 'mlflow.parentRunId'), '')
		FROM runs ORDER BY start_time, rowid`, func(rows *sql.Rows) error {
		r := &run{}
		var id string
		if err := rows.Scan(&r.id, &id, &r.name, &r.status, &r.start, &r.end, &r.deleted, &r.artifacts, &r.user, &r.source, &r.commit, &r.parent); err != nil {
			return err
		}
		r.path = path + " run " + r.id
		e := byID[id]
		if e == nil {
			e = &experiment{name: "without an experiment"}
			im.Lose(r.path, "The experiment of the run does not exist; the run is imported into an experiment with this name.")
		}
		r.experiment, r.experimentDeleted, r.deleted = e.name, e.deleted, r.deleted || e.deleted
		e.held = true
		if !im.Wanted(r.name, r.experiment) {
			return nil
		}
		if r.deleted && !im.Deleted {
			left.runs++
			return nil
		}
		if e.run == nil {
			e.run = new(r.uuid())
		}
		runs = append(runs, r)
		return nil
	})
}

// entries returns the parameters or the tags of a run. table is "params" or "tags".
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

// hasColumns reports whether a database has the columns that datasetQuery uses. MLflow added them
// in version 2.4.
func hasColumns(ctx context.Context, db *sql.DB) bool {
	rows, err := db.QueryContext(ctx, datasetQuery, "", 0)
	return err == nil && rows.Close() == nil
}

// datasets returns the datasets that a run used, up to maxDatasets.
func datasets(ctx context.Context, db *sql.DB, im *transfer.Import, r *run) (all []transfer.Dataset, err error) {
	rows, err := db.QueryContext(ctx, datasetQuery, r.id, maxDatasets+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d transfer.Dataset
		if err := rows.Scan(&d.Name, &d.Digest, &d.SourceType, &d.Source, &d.Schema, &d.Profile, &d.Context); err != nil {
			return nil, err
		}
		if len(all) == maxDatasets {
			im.Lose(r.path, "It has more than %d datasets; the rest are left out.", maxDatasets)
			break
		}
		all = append(all, d)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// maxDatasets is the maximum number of datasets of a run.
const maxDatasets = 1000

// importDatabaseRun imports the new data of a run.
func importDatabaseRun(ctx context.Context, im *transfer.Import, db *sql.DB, path string, r *run, known map[uuid.UUID]transfer.File, p *places) error {
	about := transfer.ID("mlflow", "run", r.id)
	former, isKnown := known[about]
	if isKnown && former.RunID == uuid.Nil {
		r.leaveOut(im)
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
	return r.importArtifacts(ctx, im, w, p)
}

// readMetrics adds the points of a run. It reads the rows after position up to last, and ignores
// rows added during the import. Row numbers normally only grow. If position is greater than last,
// the rows were renumbered, and readMetrics reads all rows again.
func (r *run) readMetrics(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, db *sql.DB, position, last int64) error {
	again := position > last
	if again {
		position = 0
		im.Lose(r.path, "The row numbers of its metrics have changed since the last import; all were read again.")
	}
	rows, err := db.QueryContext(ctx, `SELECT rowid, coalesce(`+fmt.Sprintf(shortText, "key")+`, ''), `+cell("value")+`, `+cell("timestamp")+`,
			`+cell("step")+`, `+cell("is_nan")+`
		FROM metrics WHERE run_uuid = ? AND rowid > ? AND rowid <= ? ORDER BY rowid`, r.id, position, last)
	if err != nil {
		return err
	}
	defer rows.Close()
	started := map[string]bool{}
	for rows.Next() {
		var key string
		var p databasePoint
		if err := rows.Scan(&position, &key, &p.value, &p.at, &p.step, &p.isNaN); err != nil {
			return err
		}
		value, step, when, err := p.read()
		if key == "" {
			err = errors.New("it has no name")
		}
		if err != nil {
			im.Lose(r.path, "The row %d of its metrics was skipped: %v.", position, err)
			continue
		}
		if again && !started[key] {
			started[key] = true
			w.Rewind(key, transfer.Step(-1<<63))
		}
		w.Point(key, step, value, when)
		if w.Full() {
			w.Mark(transfer.File{ID: transfer.ID("mlflow", "run", r.id), Path: r.path, Fingerprint: "", Position: position})
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// databasePoint holds the values of a row of the metrics table as they are stored.
type databasePoint struct{ value, at, step, isNaN any }

func (p databasePoint) read() (value transfer.Value, step transfer.Step, at transfer.Time, err error) {
	isNaN, known := wholeOf(p.isNaN)
	x, isNumber := realOf(p.value)
	n, isStep := wholeOf(p.step)
	at, isTime := timeAt(p.at)
	switch {
	case p.isNaN != nil && !known:
		return 0, 0, 0, fmt.Errorf("its is_nan, %s, is not a number", shown(p.isNaN))
	case isNaN == 0 && !isNumber:
		return 0, 0, 0, fmt.Errorf("its value, %s, is not a number", shown(p.value))
	case p.step != nil && !isStep: // old versions of MLflow store no step
		return 0, 0, 0, fmt.Errorf("its step, %s, is not a whole number", shown(p.step))
	case !isTime:
		return 0, 0, 0, fmt.Errorf("its timestamp, %s, is not a time", shown(p.at))
	}
	return valueOf(x, isNaN != 0), transfer.Step(n), at, nil
}
