// Package transfertest helps to test the readers of other tools' files. It imports files into real
// databases and returns the imported records.
package transfertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/transfer"
)

// Open creates a database and returns it with its path.
func Open(t testing.TB) (*store.DB, string) {
	t.Helper()
	return OpenWith(t, store.Options{})
}

// OpenWith is like Open, but uses the given options. It ignores o.Path.
func OpenWith(t testing.TB, o store.Options) (*store.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracker.db")
	o.Path = path
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, path
}

// Import imports the source at path into db and returns the result. It fails the test if the
// import returns an error.
func Import(t testing.TB, db *store.DB, kind transfer.Kind, path string, o transfer.Options) *transfer.Result {
	t.Helper()
	r, err := Run(t, db.Imports.Sink(domain.System), kind, path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Run imports the source at path into sink and returns the result.
func Run(t testing.TB, sink transfer.Sink, kind transfer.Kind, path string, o transfer.Options) (*transfer.Result, error) {
	t.Helper()
	_, src, err := transfer.Detect([]transfer.Kind{kind}, "", path)
	if err != nil {
		t.Fatal(err)
	}
	im := transfer.New(sink, o)
	err = im.Run(t.Context(), src)
	return im.Result, err
}

// queries select all data that an import writes, except internal times and row numbers.
var queries = []string{
	`SELECT 'run', project.name, experiment.name, iteration.name, iteration.id, iteration.status, iteration.error_message,
		iteration.notes, iteration.created_date, coalesce(iteration.end_date, '-'),
		coalesce((SELECT name FROM iteration AS parent WHERE parent.num = iteration.parent_num), '-')
		FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id JOIN project ON project.id = experiment.project_id
		ORDER BY iteration.id`,
	`SELECT 'param', iteration.name, key, value FROM parameter JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id, key`,
	`SELECT 'tag', iteration.name, value FROM tag JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id, value`,
	`SELECT 'property', iteration.name, key, value FROM property JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id, key`,
	`SELECT 'dataset', iteration.name, dataset.name, digest, source_type, source, coalesce(context, '-') FROM iteration_dataset
		JOIN dataset ON dataset.id = dataset_id JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id, dataset.name, digest`,
	`SELECT 'code', iteration.name, git_sha, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies
		FROM snapshot JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id`,
	`SELECT 'point', iteration.name, key, step, coalesce(value, 'NaN'), recorded_at FROM metric_points
		JOIN iteration ON iteration.id = iteration_id ORDER BY iteration.id, key, step, recorded_at, value`,
	`SELECT 'series', iteration.name, key, count, coalesce(last, 'NaN'), last_step, coalesce(min, '-'), coalesce(max, '-')
		FROM series JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id, key`,
	`SELECT 'artifact', iteration.name, resource.id, resource.name, content_type, hash, size_bytes, resource.created_date FROM resource
		JOIN blob ON blob.id = blob_id JOIN iteration ON iteration.num = iteration_num ORDER BY iteration.id, resource.name`,
	`SELECT 'logged', logged_model.name, experiment.name, coalesce(iteration.name, '-'), type, logged_model.status, params,
		(SELECT group_concat(key || '=' || value) FROM property WHERE logged_model_num = logged_model.num),
		(SELECT group_concat(substr(resource.name, 43) || ' ' || hash) FROM resource JOIN blob ON blob.id = blob_id WHERE resource.name LIKE 'models/' || logged_model.id || '/%'),
		(SELECT group_concat(key || ' ' || value || ' ' || step) FROM logged_model_metric WHERE logged_model_num = logged_model.num),
		(SELECT group_concat(role || ' ' || step) FROM logged_model_use WHERE logged_model_num = logged_model.num)
		FROM logged_model JOIN experiment ON experiment.id = logged_model.experiment_id LEFT JOIN iteration ON iteration.num = iteration_num ORDER BY logged_model.id`,
	`SELECT 'registered', name, description, last_version, (SELECT group_concat(key || '=' || value) FROM property WHERE model_id = model.id) FROM model ORDER BY name`,
	`SELECT 'version', version, coalesce(iteration.name, '-'), iif(source LIKE 'models:/m-%', 'models:/m-…', source), stage, description,
		coalesce((SELECT group_concat(alias) FROM model_alias WHERE version_id = model_version.id), '-'),
		(SELECT group_concat(key || '=' || value) FROM property WHERE model_version_id = model_version.id)
		FROM model_version LEFT JOIN iteration ON iteration.num = iteration_num ORDER BY model_id, version`,
	`SELECT 'experiment', name, description, iif(created_date < 1700000000000, created_date, 'new'), coalesce((SELECT group_concat(key || '=' || value) FROM
			(SELECT * FROM property WHERE experiment_id = experiment.id ORDER BY key)), '-'), iif(deleted_date IS NULL, '', 'deleted')
		FROM experiment ORDER BY name, id`,
	`SELECT 'source', coalesce(iteration.name, '-'), path, size, fingerprint, position, state
		FROM source LEFT JOIN iteration ON iteration.num = iteration_num ORDER BY source.id`,
}

// Dump returns the imported records of a database, one per line. A line begins with the kind of the
// record. The fields are separated by vertical bars. If kinds are given, Dump returns only records
// of these kinds.
func Dump(t testing.TB, path string, kinds ...string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, q := range queries {
		if err := dump(t.Context(), &out, db, q, kinds); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func dump(ctx context.Context, out *strings.Builder, db *sql.DB, query string, kinds []string) error {
	wanted := len(kinds) == 0
	for _, k := range kinds {
		wanted = wanted || strings.HasPrefix(query, "SELECT '"+k+"'")
	}
	if !wanted {
		return nil
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	fields, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range into {
		into[i] = &fields[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, f := range fields {
			if i > 0 {
				out.WriteByte('|')
			}
			fmt.Fprint(out, f)
		}
		out.WriteByte('\n')
	}
	return errors.Join(rows.Err(), rows.Close())
}

// ErrStopped is returned by the sinks that Stop creates.
var ErrStopped = errors.New("stopped")

// Stop returns a sink that simulates a killed process by returning ErrStopped from its nth
// write. If after is false, the nth write stores nothing. If after is true, the nth write
// stores its data before it returns the error.
func Stop(sink transfer.Sink, nth int, after bool) transfer.Sink {
	return &stopping{Sink: sink, left: nth, after: after}
}

type stopping struct {
	transfer.Sink
	left  int
	after bool
}

func (s *stopping) Write(ctx context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	return stop(s, func() ([]transfer.Outcome, error) { return s.Sink.Write(ctx, batches) })
}

func (s *stopping) Put(ctx context.Context, a transfer.Artifact) (bool, error) {
	return stop(s, func() (bool, error) { return s.Sink.Put(ctx, a) })
}

func stop[T any](s *stopping, fn func() (T, error)) (out T, err error) {
	s.left--
	if s.left < 0 || s.left == 0 && !s.after {
		return out, ErrStopped
	}
	if out, err = fn(); err == nil && s.left == 0 {
		err = ErrStopped
	}
	return out, err
}
