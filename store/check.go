package store

import (
	"context"
	"fmt"
)

// Problem is something that Check found.
type Problem struct {
	Text       string // what is wrong, in a sentence
	Repairable bool   // it can be computed again
	Repaired   bool

	repair func(*tx) error
}

// Check proves the database: SQLite's own structure, the references between
// records, and everything that is kept although it could be computed. With
// repair it computes again what can be. Others may go on writing; a large
// file takes a while.
func (db *DB) Check(ctx context.Context, repair bool) ([]Problem, error) {
	problems, err := read(ctx, db, func(tx *tx) ([]Problem, error) {
		var all []Problem
		for _, find := range []func() ([]Problem, error){
			tx.integrity, tx.wrongStats, tx.wrongRollups, tx.strayPoints, tx.strayMoves, tx.wrongCounter,
			tx.wrongKeys, tx.wrongSearchValues, tx.wrongVersions, tx.wrongPieces} {
			found, err := find()
			all = append(all, found...)
			if err != nil {
				return all, err
			}
		}
		return all, nil
	})
	if isDamaged(err) {
		return append(problems, Problem{Text: "The file is damaged: " + err.Error()}), nil
	}
	if err != nil || !repair {
		return problems, err
	}
	for i, p := range problems {
		if !p.Repairable {
			continue
		}
		if err := change(ctx, db, System, p.repair); err != nil {
			return problems, err
		}
		problems[i].Repaired = true
	}
	return problems, nil
}

// integrity asks SQLite whether the file is sound and every reference holds.
func (t *tx) integrity() ([]Problem, error) {
	var found []Problem
	var lines []string
	if err := t.all(&lines, `PRAGMA integrity_check`); err != nil {
		return nil, err
	}
	for _, line := range lines {
		if line != "ok" {
			found = append(found, Problem{Text: "SQLite: " + line})
		}
	}
	var broken []struct {
		Table  string `db:"table"`
		Rowid  *int64 `db:"rowid"`
		Parent string `db:"parent"`
		FKID   int    `db:"fkid"`
	}
	if err := t.all(&broken, `PRAGMA foreign_key_check`); err != nil {
		return found, err
	}
	for _, b := range broken {
		found = append(found, Problem{Text: fmt.Sprintf("A row of table %s points at a row of %s that is not there.", b.Table, b.Parent)})
	}
	return found, nil
}

// wrongStats compares the statistics of every series with its points.
func (t *tx) wrongStats() ([]Problem, error) {
	var found []Problem
	for after := int64(0); ; {
		all, err := t.seriesAfter(after)
		if err != nil || len(all) == 0 {
			return found, err
		}
		for _, s := range all {
			after = s.ID
			want, scale, err := t.computeStats(s.ID, s.moved)
			if err != nil {
				return found, err
			}
			if want.Count > 0 && s.sameAs(&want, scale) {
				continue
			}
			id := s.ID
			found = append(found, Problem{
				Text: fmt.Sprintf("The statistics of metric %q of iteration %s do not fit its %d points.",
					s.key, s.iteration.id, want.Count),
				Repairable: true,
				repair:     func(tx *tx) error { return tx.repairSeries(id) },
			})
		}
	}
}

// strayPoints looks for points whose series is gone. They belong to nothing
// and can't be shown, so the repair removes them.
func (t *tx) strayPoints() ([]Problem, error) {
	var n int64
	const stray = `metric WHERE series_id NOT IN (SELECT id FROM series)`
	if err := t.row(`SELECT count(*) FROM ` + stray).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       fmt.Sprintf("%d points belong to no series.", n),
		Repairable: true,
		repair: func(tx *tx) error {
			_, err := tx.exec(`DELETE FROM ` + stray)
			return err
		},
	}}, nil
}

// strayMoves looks for remembered moves of points that are not where they
// were moved to.
func (t *tx) strayMoves() ([]Problem, error) {
	var n int64
	const stray = `metric_moved WHERE NOT EXISTS (SELECT 1 FROM metric
		WHERE metric.series_id = metric_moved.series_id
		AND metric.step = metric_moved.step
		AND metric.seq = metric_moved.seq)`
	if err := t.row(`SELECT count(*) FROM ` + stray).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       fmt.Sprintf("%d moved points are not where they were moved to.", n),
		Repairable: true,
		repair: func(tx *tx) error {
			_, err := tx.exec(`DELETE FROM ` + stray)
			return err
		},
	}}, nil
}

// wrongCounter proves that no point can get a seq that another one has.
func (t *tx) wrongCounter() ([]Problem, error) {
	var next, used int64
	err := t.row(`SELECT
			(SELECT max(value, coalesce((SELECT max(seq) FROM recent), value)) FROM counter WHERE name = 'metric_seq'),
			(SELECT coalesce(max(seq), 0) FROM metric)`).Scan(&next, &used)
	if err != nil || next >= used {
		return nil, err
	}
	return []Problem{{
		Text:       fmt.Sprintf("The counter of points stands at %d, behind point %d.", next, used),
		Repairable: true,
		repair: func(tx *tx) error {
			l := &tx.db.ledger
			l.seq = max(l.seq, used)
			return l.saveSeq(tx)
		},
	}}, nil
}

// wrongVersions looks for models that would give a number again.
func (t *tx) wrongVersions() ([]Problem, error) {
	var all []struct {
		ID    string `db:"id"`
		Name  string `db:"name"`
		Last  int64  `db:"last_version"`
		Given int64  `db:"given"`
	}
	err := t.all(&all, `SELECT model.id, model.name, model.last_version, max(model_version.version) AS given
		FROM model
		JOIN model_version ON model_version.model_id = model.id
		GROUP BY model.id
		HAVING given > model.last_version
		ORDER BY model.name, model.id`)
	var found []Problem
	for _, m := range all {
		found = append(found, Problem{
			Text:       fmt.Sprintf("The counter of model %q stands at %d, behind version %d.", m.Name, m.Last, m.Given),
			Repairable: true,
			repair: func(tx *tx) error {
				_, err := tx.exec(`UPDATE model SET last_version = max(last_version, ?) WHERE id = ?`, m.Given, m.ID)
				return err
			},
		})
	}
	return found, err
}
