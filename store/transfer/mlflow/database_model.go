package mlflow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"tracker/store/transfer"
)

// maxModels bounds the logged models of a database, and the rows of its registry.
const maxModels = 1_000_000

// databaseModels imports the logged models and the registry of a database. Versions of
// MLflow before 3 and before 1.4 have no tables for them.
func databaseModels(ctx context.Context, db *sql.DB, im *transfer.Import, path string) error {
	models, err := loggedModels(ctx, db, path)
	if err != nil {
		return err
	}
	for _, m := range models {
		if err := m.importModel(ctx, im, filepath.Dir(path)); err != nil {
			return err
		}
	}
	all, err := registeredModels(ctx, db, path)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := m.importModel(ctx, im); err != nil {
			return err
		}
	}
	return nil
}

func hasTable(ctx context.Context, db *sql.DB, name string) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, name).Scan(&n)
	return n > 0, err
}

// short and long return expressions for the text in a column.
func short(column string) string { return `coalesce(` + fmt.Sprintf(shortText, column) + `, '')` }
func long(column string) string  { return `coalesce(` + fmt.Sprintf(longText, column) + `, '')` }

// each calls scan for the rows of a query.
func each(ctx context.Context, db *sql.DB, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// loggedModels returns the logged models of a database.
func loggedModels(ctx context.Context, db *sql.DB, path string) (all []*loggedModel, err error) {
	if there, err := hasTable(ctx, db, "logged_models"); err != nil || !there {
		return nil, err
	}
	byID := map[string]*loggedModel{}
	err = each(ctx, db, `SELECT `+short("model_id")+`, `+short("experiments.name")+`, `+short("logged_models.name")+`, `+short("model_type")+`,
			`+short("source_run_id")+`, `+short("logged_models.artifact_location")+`, coalesce(CAST(status AS INTEGER), 0),
			coalesce(CAST(creation_timestamp_ms AS INTEGER), 0),
			logged_models.lifecycle_stage IS 'deleted' OR experiments.lifecycle_stage IS 'deleted'
		FROM logged_models JOIN experiments ON experiments.experiment_id = logged_models.experiment_id
		ORDER BY creation_timestamp_ms, model_id LIMIT ?`, func(rows *sql.Rows) error {
		m := &loggedModel{params: map[string]string{}, tags: map[string]string{}}
		err := rows.Scan(&m.id, &m.experiment, &m.name, &m.kind, &m.run, &m.artifacts, &m.status, &m.created, &m.deleted)
		m.path = path + " logged model " + m.id
		all, byID[m.id] = append(all, m), m
		return err
	}, maxModels)
	for _, t := range []struct {
		table, key, value string
		of                func(*loggedModel) map[string]string
	}{
		{"logged_model_params", "param_key", "param_value", func(m *loggedModel) map[string]string { return m.params }},
		{"logged_model_tags", "tag_key", "tag_value", func(m *loggedModel) map[string]string { return m.tags }},
	} {
		there, e := hasTable(ctx, db, t.table)
		if err = errors.Join(err, e); err != nil || !there {
			return all, err
		}
		err = each(ctx, db, `SELECT `+short("model_id")+`, `+short(t.key)+`, `+long(t.value)+` FROM `+t.table+` LIMIT ?`, func(rows *sql.Rows) error {
			var id, key, value string
			err := rows.Scan(&id, &key, &value)
			if m := byID[id]; m != nil {
				t.of(m)[key] = value
			}
			return err
		}, maxModels)
	}
	return all, err
}

// registeredModels returns the registry of a database.
func registeredModels(ctx context.Context, db *sql.DB, path string) (all []*registered, err error) {
	for _, table := range []string{"registered_models", "model_versions"} {
		if there, err := hasTable(ctx, db, table); err != nil || !there {
			return nil, err
		}
	}
	byName := map[string]*registered{}
	err = each(ctx, db, `SELECT `+short("name")+`, `+long("description")+`, coalesce(CAST(creation_time AS INTEGER), 0) FROM registered_models ORDER BY name LIMIT ?`,
		func(rows *sql.Rows) error {
			m := &registered{tags: map[string]string{}, aliases: map[string]int64{}}
			err := rows.Scan(&m.name, &m.description, &m.created)
			m.path = path + " registered model " + m.name
			all, byName[m.name] = append(all, m), m
			return err
		}, maxModels)
	if err != nil {
		return nil, err
	}
	err = each(ctx, db, `SELECT `+short("name")+`, CAST(version AS INTEGER), coalesce(CAST(creation_time AS INTEGER), 0), `+long("description")+`,
			`+short("current_stage")+`, `+short("source")+`, `+short("run_id")+` FROM model_versions ORDER BY name, version LIMIT ?`,
		func(rows *sql.Rows) error {
			var name string
			v := version{tags: map[string]string{}}
			err := rows.Scan(&name, &v.number, &v.created, &v.description, &v.stage, &v.source, &v.run)
			if m := byName[name]; m != nil {
				m.versions = append(m.versions, v)
			}
			return err
		}, maxModels)
	for _, t := range []struct {
		table, columns string
		add            func(m *registered, number int64, key, value string)
	}{
		{"registered_model_tags", `0, ` + short("key") + `, ` + long("value"), func(m *registered, _ int64, key, value string) { m.tags[key] = value }},
		{"registered_model_aliases", `CAST(version AS INTEGER), ` + short("alias") + `, ''`, func(m *registered, n int64, key, _ string) { m.aliases[key] = n }},
		{"model_version_tags", `CAST(version AS INTEGER), ` + short("key") + `, ` + long("value"), func(m *registered, n int64, key, value string) {
			for i := range m.versions {
				if m.versions[i].number == n {
					m.versions[i].tags[key] = value
				}
			}
		}},
	} {
		there, e := hasTable(ctx, db, t.table)
		if err = errors.Join(err, e); err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		err = each(ctx, db, `SELECT `+short("name")+`, `+t.columns+` FROM `+t.table+` LIMIT ?`, func(rows *sql.Rows) error {
			var name, key, value string
			var number int64
			err := rows.Scan(&name, &number, &key, &value)
			if m := byName[name]; m != nil {
				t.add(m, number, key, value)
			}
			return err
		}, maxModels)
	}
	return all, err
}
