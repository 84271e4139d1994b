package domain

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"tracker/store/journal"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// announcer announces changed iterations to event streams and remembered searches. Triggers on
// the writer's connection insert each changed iteration into a temporary table,
// changed_iteration. Before the commit, announcer announces the iterations in this table. A
// rollback undoes the inserts. Methods that change rows need not announce their changes.
type announcer struct {
	sqlite.Passive
	db    *DB
	stale bool // a job has run since the last read of changed_iteration
}

// announced holds the tables whose changes are announced.
var announced = []struct {
	table   string
	columns string // OF clause with the columns whose updates are announced; "" for all columns
	nums    string // SELECT with a WHERE clause that returns the numbers of the row's iterations
}{
	{table: "iteration", nums: `SELECT num FROM (SELECT row.num AS num UNION ALL SELECT row.parent_num) WHERE num IS NOT NULL`},
	{table: "parameter", nums: ofIteration},
	{table: "property", nums: ofIteration},
	{table: "tag", nums: ofIteration},
	{table: "snapshot", nums: ofIteration},
	{table: "resource", nums: ofIteration},
	{table: "dataset", nums: `SELECT iteration_num FROM iteration_dataset WHERE dataset_id = row.id AND iteration_num IS NOT NULL`},
	{table: "iteration_dataset", nums: ofIteration},
	{table: "model", columns: ` OF name, deleted_date`, nums: `SELECT iteration_num FROM model_version WHERE model_id = row.id AND iteration_num IS NOT NULL`},
	{table: "model_version", nums: ofIteration},
	{table: "model_alias", nums: `SELECT iteration_num FROM model_version WHERE id = row.version_id AND iteration_num IS NOT NULL`},
	{table: "logged_model", nums: ofIteration},
	{table: "logged_model_use", nums: ofIteration},
	{table: "logged_model_metric", nums: ofIteration},
	{table: "wandb_run", nums: ofIteration},
	{table: "artifact_version", nums: ofIteration},
	{table: "artifact_use", nums: ofIteration},
	{table: "artifact_alias", nums: ofVersion},
	{table: "artifact_tag", nums: ofVersion},
}

// ofIteration selects the iteration of a row in a table with the column iteration_num.
const ofIteration = `SELECT row.iteration_num WHERE row.iteration_num IS NOT NULL`

// ofVersion selects the iteration that logged the artifact version of a row.
const ofVersion = `SELECT iteration_num FROM artifact_version WHERE num = row.artifact_num`

// Load creates the changed_iteration table and its triggers.
func (a *announcer) Load(tx *sqlite.Tx, _ bool) error {
	// Updates of last_seen are excluded, because lastseen.Times writes them late.
	var columns string
	err := tx.Row(`SELECT ' OF ' || group_concat(name) FROM pragma_table_info('iteration') WHERE name <> 'last_seen'`).Scan(&columns)
	if err != nil {
		return err
	}
	script := []string{
		`CREATE TEMP TABLE IF NOT EXISTS changed_iteration (num INTEGER PRIMARY KEY, id TEXT, experiment_id TEXT)`,
		`CREATE TEMP TRIGGER IF NOT EXISTS iteration_gone AFTER DELETE ON main.iteration BEGIN
			INSERT INTO changed_iteration VALUES (OLD.num, OLD.id, OLD.experiment_id)
			ON CONFLICT DO UPDATE SET id = excluded.id, experiment_id = excluded.experiment_id;
		END`,
	}
	for _, t := range announced {
		if t.table == "iteration" {
			t.columns = columns
		}
		for event, rows := range map[string][]string{"INSERT": {"NEW"}, "UPDATE" + t.columns: {"NEW", "OLD"}, "DELETE": {"OLD"}} {
			name, _, _ := strings.Cut(event, " ")
			var body string
			for _, row := range rows {
				// A REPLACE in the statement that fires the trigger can't override DO NOTHING.
				body += strings.ReplaceAll(`INSERT INTO changed_iteration (num) `+t.nums+` ON CONFLICT DO NOTHING; `, "row.", row+".")
			}
			script = append(script, fmt.Sprintf(`CREATE TEMP TRIGGER IF NOT EXISTS announce_%s_%s AFTER %s ON main.%s BEGIN %sEND`,
				t.table, name, event, t.table, body))
		}
	}
	for _, statement := range script {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// Flush announces the changed iterations before the commit.
func (a *announcer) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
	if stage == sqlite.AroundJob {
		a.stale = true
		return nil
	}
	if !a.stale {
		return nil
	}
	a.stale = false
	found := false
	rows, err := tx.Rows(`SELECT
			changed.num,
			coalesce(iteration.id, changed.id),
			coalesce(iteration.experiment_id, changed.experiment_id),
			iteration.num IS NULL OR iteration.deleted_date IS NOT NULL,
			project.id IS NOT NULL
		FROM changed_iteration AS changed
		LEFT JOIN iteration ON iteration.num = changed.num
		LEFT JOIN experiment ON experiment.id = coalesce(iteration.experiment_id, changed.experiment_id) AND experiment.deleted_date IS NULL
		LEFT JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE coalesce(iteration.id, changed.id) IS NOT NULL`)
	err = sqlite.Each(rows, err, func() error {
		var it IterationRef
		var deleted, open bool
		if err := rows.Scan(&it.Num, &it.ID, &it.ExperimentID, &deleted, &open); err != nil {
			return err
		}
		found = true
		a.db.Orders.Touch(it.ExperimentID)
		if open { // no event stream follows an experiment in the trash
			a.db.Journal.Note(journal.Entry{Key: journal.Key{Iteration: it.Noted()}, Deleted: deleted})
		}
		return nil
	})
	if err != nil || !found {
		return err
	}
	_, err = tx.Exec(`DELETE FROM changed_iteration`)
	return err
}

// Noted returns i as a journal.Iteration.
func (i IterationRef) Noted() journal.Iteration {
	return journal.Iteration{Num: i.Num, ID: i.ID, ExperimentID: i.ExperimentID}
}

// announceSeries announces a change to a series. last is the largest step in the series; nil if
// the series no longer has any points.
func (db *DB) announceSeries(t *sqlite.Tx, iteration int64, key string, last *scalar.Step) error {
	ref, ok := db.openIterations.byNum[iteration]
	if !ok {
		ref.Num = iteration
		err := t.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, iteration).Scan(&ref.ID, &ref.ExperimentID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the iteration does not exist, because a repair of a damaged file is changing the series
		}
		if err != nil {
			return err
		}
	}
	e := journal.Entry{Key: journal.Key{Iteration: ref.Noted(), Metric: key}}
	if last != nil {
		e.Step = *last
	} else {
		e.Deleted = true
	}
	db.Journal.Note(e)
	db.Orders.Touch(ref.ExperimentID)
	return nil
}
