package mlflow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"tracker/store/transfer"
)

// maxModels is the maximum number of experiments, runs or logged models in a database. The same
// maximum applies to the rows of each table of the model registry.
const maxModels = 1_000_000

// databaseModels imports the logged models and the model registry of a database. Logged models
// exist since MLflow 3, and the registry exists since MLflow 1.4.
func databaseModels(ctx context.Context, db *sql.DB, im *transfer.Import, path string, experiments []*experiment, p *places, left *leftOut) error {
	models, err := loggedModels(ctx, db, im, path, experiments)
	if err != nil {
		return err
	}
	for _, m := range models {
		if err := m.importModel(ctx, im, p, left); err != nil {
			return err
		}
	}
	all, err := registeredModels(ctx, db, im, path)
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

func hasColumn(ctx context.Context, db *sql.DB, table, name string) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, table, name).Scan(&n)
	return n > 0, err
}

// short and long return SQL expressions that convert a column to text. short cuts the text to
// 10,000 characters. long cuts it to slightly more than transfer.MaxText.
func short(column string) string { return `coalesce(` + fmt.Sprintf(shortText, column) + `, '')` }
func long(column string) string  { return `coalesce(` + fmt.Sprintf(longText, column) + `, '')` }

// each calls scan for each row of a query. It reads at most maxModels rows and records further rows
// as a loss.
func each(ctx context.Context, db *sql.DB, im *transfer.Import, path, query string, scan func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query+` LIMIT ?`, maxModels+1)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n == maxModels {
			im.Lose(path, "It has more than %d rows for %s; the rest are left out.", maxModels, query[max(strings.Index(query, "FROM "), 0):])
			break
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// loggedModels returns the logged models of a database, with their uses and metrics.
func loggedModels(ctx context.Context, db *sql.DB, im *transfer.Import, path string, experiments []*experiment) (all []*loggedModel, err error) {
	if there, err := hasTable(ctx, db, "logged_models"); err != nil || !there {
		return nil, err
	}
	byExperiment := map[string]*experiment{}
	for _, e := range experiments {
		byExperiment[e.id] = e
	}
	byID := map[string]*loggedModel{}
	err = each(ctx, db, im, path, `SELECT `+short("model_id")+`, `+short("experiment_id")+`, `+short("name")+`, `+short("model_type")+`,
			`+short("source_run_id")+`, `+short("artifact_location")+`, `+cell("status")+`, `+cell("creation_timestamp_ms")+`, lifecycle_stage IS 'deleted'
		FROM logged_models ORDER BY creation_timestamp_ms, model_id`, func(rows *sql.Rows) error {
		m := &loggedModel{params: map[string]string{}, tags: map[string]string{}}
		var experiment string
		err := rows.Scan(&m.id, &experiment, &m.name, &m.kind, &m.run, &m.artifacts, &m.status, &m.created, &m.deleted)
		m.path = path + " logged model " + m.id
		e := byExperiment[experiment]
		if err != nil || e == nil {
			im.Lose(m.path, "The experiment of the logged model does not exist; the model is left out.")
			return err
		}
		e.held = true
		m.experiment, m.experimentDeleted = e.name, e.deleted
		all, byID[m.id] = append(all, m), m
		return nil
	})
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
		err = each(ctx, db, im, path, `SELECT `+short("model_id")+`, `+short(t.key)+`, `+long(t.value)+` FROM `+t.table, func(rows *sql.Rows) error {
			var id, key, value string
			err := rows.Scan(&id, &key, &value)
			if m := byID[id]; m != nil {
				t.of(m)[key] = value
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return all, errors.Join(databaseUses(ctx, db, im, path, byID), databaseModelMetrics(ctx, db, im, path, byID))
}

// databaseUses adds to each logged model the runs that created or used it.
func databaseUses(ctx context.Context, db *sql.DB, im *transfer.Import, path string, byID map[string]*loggedModel) error {
	step := `0`
	if there, err := hasTable(ctx, db, "inputs"); err != nil || !there {
		return err
	}
	if there, err := hasColumn(ctx, db, "inputs", "step"); err != nil {
		return err
	} else if there {
		step = cell("step")
	}
	return each(ctx, db, im, path, `SELECT `+short("source_id")+`, destination_type IS 'MODEL_OUTPUT', `+short("destination_id")+`, `+step+`
		FROM inputs WHERE destination_type IN ('MODEL_INPUT', 'MODEL_OUTPUT')`, func(rows *sql.Rows) error {
		var run, model string
		var made bool
		var step any
		err := rows.Scan(&run, &made, &model, &step)
		if m := byID[model]; m != nil && err == nil {
			n, _ := wholeOf(step) // old versions of MLflow store no step
			m.uses = append(m.uses, transfer.ModelUse{RunID: runUUID(run), Made: made, Step: transfer.Step(n)})
		}
		return err
	})
}

// databaseModelMetrics adds to each logged model its metric points.
func databaseModelMetrics(ctx context.Context, db *sql.DB, im *transfer.Import, path string, byID map[string]*loggedModel) error {
	if there, err := hasTable(ctx, db, "logged_model_metrics"); err != nil || !there {
		return err
	}
	return each(ctx, db, im, path, `SELECT `+short("model_id")+`, `+short("metric_name")+`, `+cell("metric_timestamp_ms")+`, `+cell("metric_step")+`,
			`+cell("metric_value")+`, `+short("run_id")+`, `+short("dataset_name")+`, `+short("dataset_digest")+`
		FROM logged_model_metrics`, func(rows *sql.Rows) error {
		var model, run string
		var p databasePoint
		var q transfer.ModelMetric
		err := rows.Scan(&model, &q.Key, &p.at, &p.step, &p.value, &run, &q.DatasetName, &q.DatasetDigest)
		m := byID[model]
		if err != nil || m == nil {
			return err
		}
		if p.value == nil {
			p.isNaN = int64(1) // in this table, MLflow stores NaN as NULL
		}
		if q.Value, q.Step, q.At, err = p.read(); err != nil || q.Key == "" {
			im.Lose(m.path, "A value of its metric %q was skipped: %v.", q.Key, errors.Join(err))
			return nil
		}
		q.RunID = runUUID(run)
		m.metrics = append(m.metrics, q)
		return nil
	})
}

// registryKey identifies a registered model. Model names are unique within a workspace. Workspaces
// exist since MLflow 3.
type registryKey struct{ workspace, name string }

// registeredModels returns the registered models of a database, with their versions.
func registeredModels(ctx context.Context, db *sql.DB, im *transfer.Import, path string) (all []*registered, err error) {
	for _, table := range []string{"registered_models", "model_versions"} {
		if there, err := hasTable(ctx, db, table); err != nil || !there {
			return nil, err
		}
	}
	rows := func(table, columns, order string, scan func(key *registryKey, rows *sql.Rows) error) error {
		if there, err := hasTable(ctx, db, table); err != nil || !there {
			return err
		}
		workspace := `''`
		if there, err := hasColumn(ctx, db, table, "workspace"); err != nil {
			return err
		} else if there {
			workspace = short("workspace")
		}
		return each(ctx, db, im, path, `SELECT `+workspace+`, `+short("name")+`, `+columns+` FROM `+table+order, func(rows *sql.Rows) error {
			return scan(new(registryKey), rows)
		})
	}
	byName := map[registryKey]*registered{}
	err = rows("registered_models", long("description")+`, `+cell("creation_time"), ` ORDER BY name`, func(key *registryKey, rows *sql.Rows) error {
		m := &registered{tags: map[string]string{}, aliases: map[string]int64{}}
		err := rows.Scan(&key.workspace, &key.name, &m.description, &m.created)
		m.name, m.path = key.name, path+" registered model "+key.name
		if key.workspace != "" && key.workspace != "default" {
			m.path += " of the workspace " + key.workspace
		}
		all, byName[*key] = append(all, m), m
		return err
	})
	if err != nil {
		return nil, err
	}
	lost := func(key *registryKey, what string) error {
		im.Lose(path+" registered model "+key.name, "The registered model of %s does not exist; it is left out.", what)
		return nil
	}
	err = rows("model_versions", cell("version")+`, `+cell("creation_time")+`, `+long("description")+`, `+short("current_stage")+`, `+short("source")+`, `+
		short("run_id"), ` ORDER BY name, version`, func(key *registryKey, rows *sql.Rows) error {
		v := version{tags: map[string]string{}}
		var number any
		if err := rows.Scan(&key.workspace, &key.name, &number, &v.created, &v.description, &v.stage, &v.source, &v.run); err != nil {
			return err
		}
		m := byName[*key]
		if m == nil {
			return lost(key, "the version "+shown(number))
		}
		n, ok := wholeOf(number)
		if !ok {
			im.Lose(m.path, "The version %s does not have a number; it is left out.", shown(number))
			return nil
		}
		v.number = n
		m.versions = append(m.versions, v)
		return nil
	})
	for _, t := range []struct {
		table, columns string
		add            func(m *registered, number int64, key, value string)
	}{
		{"registered_model_tags", `0, ` + short("key") + `, ` + long("value"), func(m *registered, _ int64, key, value string) { m.tags[key] = value }},
		{"registered_model_aliases", cell("version") + `, ` + short("alias") + `, ''`, func(m *registered, n int64, key, _ string) { m.aliases[key] = n }},
		{"model_version_tags", cell("version") + `, ` + short("key") + `, ` + long("value"), func(m *registered, n int64, key, value string) {
			for i := range m.versions {
				if m.versions[i].number == n {
					m.versions[i].tags[key] = value
				}
			}
		}},
	} {
		if err != nil {
			return nil, err
		}
		err = rows(t.table, t.columns, ``, func(at *registryKey, rows *sql.Rows) error {
			var key, value string
			var number any
			if err := rows.Scan(&at.workspace, &at.name, &number, &key, &value); err != nil {
				return err
			}
			m := byName[*at]
			if m == nil {
				return lost(at, fmt.Sprintf("the tag or alias %q", key))
			}
			n, ok := wholeOf(number)
			if !ok {
				im.Lose(m.path, "The tag or alias %q belongs to the version %s, which is not a number; it is left out.", key, shown(number))
				return nil
			}
			t.add(m, n, key, value)
			return nil
		})
	}
	return all, err
}
