package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Problem is a problem that Check or CheckArtifacts found.
type Problem struct {
	Text       string // description as a sentence
	Repairable bool   // Check can repair the problem
	Lost       bool   // the original data is lost; the repair accepts the present data
	Repaired   bool

	repair func(*domain.Tx) error
}

// checkedPoints is the number of points that Check reads in one transaction.
const checkedPoints = 500_000

// Check verifies the structure of the SQLite file, the references between records, and all stored
// values that can be computed from other values. If repair is set, Check recomputes wrong values.
// Other processes can write at the same time. Check uses several transactions, because SQLite
// can't reset the write-ahead log during a transaction. The longest transaction is SQLite's
// integrity check, which takes a third of a second for a million points.
func (db *DB) Check(ctx context.Context, repair bool) ([]Problem, error) {
	problems, err := db.problems(ctx)
	if sqlite.IsDamaged(err) {
		return append(problems, Problem{Text: "The file is damaged: " + err.Error()}), nil
	}
	if err != nil || !repair {
		return problems, err
	}
	for i, p := range problems {
		if !p.Repairable {
			continue
		}
		if err := domain.Change(ctx, db.base, domain.System, p.repair); err != nil {
			return problems, err
		}
		problems[i].Repaired = true
	}
	return problems, nil
}

// problems finds all problems and does not repair them.
func (db *DB) problems(ctx context.Context) (all []Problem, err error) {
	add := func(find func(*domain.Tx) ([]Problem, error)) error {
		found, err := domain.Read(ctx, db.base, find)
		all = append(all, found...)
		if err != nil {
			return err
		}
		if err := db.base.Kernel.Checkpoint(ctx); !sqlite.IsFull(err) {
			return err
		}
		return nil // not an error, because Check must also work when the disk is full
	}
	note := db.base.Kernel.Note() // read before the snapshots, so that the snapshots include the commits counted in note
	if err := add(func(tx *domain.Tx) ([]Problem, error) { return lostWrites(tx, note) }); err != nil {
		return all, err
	}
	damage := add(integrity)
	if damage != nil && !sqlite.IsDamaged(damage) {
		return all, damage
	}
	var check points.Check
	for !check.Done {
		some := func(tx *points.Tx) ([]points.Problem, error) { return check.Series(tx, checkedPoints) }
		if err := add(pointProblems(some)); err != nil {
			return all, err
		}
	}
	for _, find := range []func(*domain.Tx) ([]Problem, error){
		pointProblems(check.Rest), wrongKeys, wrongSearchValues, wrongVersions, wrongLoggedModels, wrongPieces} {
		if err := add(find); err != nil {
			return all, err
		}
	}
	return all, damage
}

// wrongSearchValues compares the statistics that were copied for searches with their originals.
// The repair deletes the wrong copies.
func wrongSearchValues(t *domain.Tx) ([]Problem, error) {
	n, err := search.WrongCopies(t.Tx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       fmt.Sprintf("%d statistics that were copied for searches differ from their originals.", n),
		Repairable: true,
		repair:     func(tx *domain.Tx) error { return search.DeleteWrongCopies(tx.Tx) },
	}}, nil
}

// integrity runs SQLite's checks of the file structure and of the foreign keys.
func integrity(t *domain.Tx) ([]Problem, error) {
	lines, err := t.Tx.Integrity()
	if err != nil {
		return textProblems(lines), err
	}
	indexes, rest, err := t.Tx.Indexes(lines)
	if err != nil {
		return textProblems(lines), err
	}
	found := textProblems(rest)
	for _, x := range indexes {
		text := fmt.Sprintf("Index %s does not match table %s, so one of them is damaged (%s).", x.Index, x.Table, x.Finding)
		if len(x.Rows)+len(x.Entries) > 0 {
			text = fmt.Sprintf("%s The table has %s and the index %s. If the table is wrong, restore a backup or correct it after the repair.",
				text, someOf(x.Rows), someOf(x.Entries))
		}
		found = append(found, Problem{
			Text:       text,
			Repairable: true,
			repair:     func(tx *domain.Tx) error { return tx.Tx.Reindex(x.Index) },
		})
	}
	return found, nil
}

func textProblems(texts []string) []Problem {
	found := make([]Problem, len(texts))
	for i, text := range texts {
		found[i].Text = text
	}
	return found
}

// someOf formats rows for a message. It truncates each row to 200 bytes.
func someOf(rows []string) string {
	if len(rows) == 0 {
		return "nothing instead"
	}
	all := make([]string, len(rows))
	for i, r := range rows {
		if len(r) > 200 {
			r = strings.ToValidUTF8(r[:200], "") + "…"
		}
		all[i] = "(" + r + ")"
	}
	return strings.Join(all, ", ")
}

// pointProblems returns a function that calls find and adds the id of the iteration to each
// problem.
func pointProblems(find func(*points.Tx) ([]points.Problem, error)) func(*domain.Tx) ([]Problem, error) {
	return func(t *domain.Tx) ([]Problem, error) {
		found, err := find(t.Points())
		if err != nil {
			return nil, err
		}
		all := make([]Problem, len(found))
		for i, p := range found {
			all[i] = Problem{Text: p.Text, Repairable: p.Repair != nil, Lost: p.Lost,
				repair: func(tx *domain.Tx) error { return p.Repair(tx.Points()) }}
			var id string
			switch err := t.Row(`SELECT id FROM iteration WHERE num = ?`, p.Iteration).Scan(&id); {
			case err == nil:
				all[i].Text = strings.TrimSuffix(p.Text, ".") + " (iteration " + id + ")."
			case !errors.Is(err, sql.ErrNoRows): // sql.ErrNoRows: the problem concerns no iteration or a deleted iteration
				return all[:i], err
			}
		}
		return all, nil
	}
}

// wrongVersions returns a problem for each model whose version counter is lower than its highest
// version number.
func wrongVersions(t *domain.Tx) ([]Problem, error) {
	var all []struct {
		ID    string `db:"id"`
		Name  string `db:"name"`
		Last  int64  `db:"last_version"`
		Given int64  `db:"given"`
	}
	err := t.Select(&all, `SELECT model.id, model.name, model.last_version, max(model_version.version) AS given
		FROM model
		JOIN model_version ON model_version.model_id = model.id
		GROUP BY model.id
		HAVING given > model.last_version
		ORDER BY model.name, model.id`)
	var found []Problem
	for _, m := range all {
		found = append(found, Problem{
			Text:       fmt.Sprintf("The version counter of model %q is %d, but version %d exists.", m.Name, m.Last, m.Given),
			Repairable: true,
			repair: func(tx *domain.Tx) error {
				_, err := tx.Exec(`UPDATE model SET last_version = max(last_version, ?) WHERE id = ?`, m.Given, m.ID)
				return err
			},
		})
	}
	return found, err
}

// wrongLoggedModels returns a problem for each logged model that has invalid parameters or
// belongs to a run of another project.
func wrongLoggedModels(t *domain.Tx) ([]Problem, error) {
	var texts []string
	err := t.Select(&texts, `SELECT CASE
			WHEN NOT json_valid(params) OR json_type(params) <> 'object'
				THEN 'The parameters of logged model ' || id || ' are not a JSON object.'
			ELSE 'Logged model ' || id || ' belongs to a run of another project.'
		END
		FROM logged_model AS m
		WHERE NOT json_valid(params) OR json_type(params) <> 'object' OR EXISTS (
			SELECT 1
			FROM (
				SELECT m.iteration_num AS num
				UNION SELECT iteration_num FROM logged_model_use WHERE logged_model_num = m.num
				UNION SELECT iteration_num FROM logged_model_metric WHERE logged_model_num = m.num) AS used
			JOIN iteration ON iteration.num = used.num
			JOIN experiment AS theirs ON theirs.id = iteration.experiment_id
			JOIN experiment AS own ON own.id = m.experiment_id
			WHERE theirs.project_id <> own.project_id)
		ORDER BY id`)
	return textProblems(texts), err
}

// wrongKeys returns a problem if the stored iteration count of a parameter or metric name is
// wrong.
func wrongKeys(t *domain.Tx) ([]Problem, error) {
	n, err := search.WrongKeys(t.Tx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       "The counts of parameter and metric names do not match the runs that have them.",
		Repairable: true,
		repair:     func(tx *domain.Tx) error { return search.CountKeys(tx.Tx) },
	}}, nil
}
