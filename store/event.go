package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/journal"
	"tracker/store/sqlite"
)

// Changes holds the changes of an experiment, or of one of its iterations, since a
// cursor.
type Changes struct {
	Cursor     string      `json:"-"`          // for the next call
	Reset      bool        `json:"-"`          // too much happened since: read everything again
	Iterations []Iteration `json:"iterations"` // those that are new, or in which more than points changed
	Deleted    []string    `json:"deleted"`    // ids of iterations
	Series     []Growth    `json:"series"`
	// Console has the consoles that grew, among the changes of one iteration only.
	Console []ConsoleGrowth `json:"console,omitzero"`
}

// Growth is the new last step of a metric.
type Growth struct {
	IterationID string `json:"iteration_id"`
	Key         string `json:"key"`
	LastStep    *Step  `json:"last_step"` // nil when its last point was deleted
}

// Empty reports whether nothing happened.
func (c Changes) Empty() bool {
	return !c.Reset && len(c.Iterations)+len(c.Deleted)+len(c.Series)+len(c.Console) == 0
}

// ExperimentChanges returns the changes of an experiment since cursor, which is
// "" for now or the Cursor of an earlier answer. Needs read.
func (db *DB) ExperimentChanges(ctx context.Context, actor Actor, experimentID, cursor string) (Changes, error) {
	allow := func(tx *tx) error {
		_, err := tx.allowExperiment(actor, experimentID, rightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journal.Entry) bool {
		return e.Iteration.ExperimentID == experimentID && !e.Console
	})
}

// IterationChanges is ExperimentChanges for one iteration.
func (db *DB) IterationChanges(ctx context.Context, actor Actor, iterationID, cursor string) (Changes, error) {
	allow := func(tx *tx) error {
		_, err := tx.allowIteration(actor, iterationID, rightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journal.Entry) bool { return e.Iteration.ID == iterationID })
}

// changes reads the journal first and the database second: a change between the
// two is returned again by the next call.
func (db *DB) changes(ctx context.Context, cursor string, allow func(*tx) error, want func(journal.Entry) bool) (Changes, error) {
	found, next, ok := db.journal.Since(cursor, want)
	return read(ctx, db, func(tx *tx) (Changes, error) {
		c := Changes{Cursor: next, Reset: !ok, Iterations: []Iteration{}, Deleted: []string{}, Series: []Growth{}}
		if err := allow(tx); err != nil {
			return c, err
		}
		for _, e := range found {
			switch {
			case e.Console:
				c.Console = append(c.Console, ConsoleGrowth{e.Iteration.ID, int64(e.Step)})
			case e.Metric != "":
				g := Growth{IterationID: e.Iteration.ID, Key: e.Metric}
				if !e.Deleted {
					g.LastStep = &e.Step
				}
				c.Series = append(c.Series, g)
			case e.Deleted:
				c.Deleted = append(c.Deleted, e.Iteration.ID)
			default:
				var found []Iteration // none when it was deleted since
				err := tx.Select(&found, `SELECT `+iterationColumns+` FROM iteration WHERE num = ? AND deleted_date IS NULL`, e.Iteration.Num)
				if err != nil {
					return c, err
				}
				tx.freshen(found)
				c.Iterations = append(c.Iterations, found...)
			}
		}
		return c, nil
	})
}

// noted returns the iteration as the journal names it.
func (i iterationRef) noted() journal.Iteration {
	return journal.Iteration{Num: i.num, ID: i.id, ExperimentID: i.experimentID}
}

// noteIteration records a change of an iteration.
func (tx *tx) noteIteration(i iterationRef) {
	tx.db.journal.Note(journal.Entry{Key: journal.Key{Iteration: i.noted()}})
}

// noteNumbered is noteIteration for the iteration with a number, nil for none.
func (tx *tx) noteNumbered(num *int64) error {
	if num == nil {
		return nil
	}
	i := iterationRef{num: *num}
	err := tx.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, *num).Scan(&i.id, &i.experimentID)
	if err == nil {
		tx.noteIteration(i)
	}
	return err
}

// noteParent records a change of the children of an iteration's parent.
func (tx *tx) noteParent(num int64) error {
	var parent *int64
	if err := tx.Row(`SELECT parent_num FROM iteration WHERE num = ?`, num).Scan(&parent); err != nil {
		return err
	}
	return tx.noteNumbered(parent)
}

// noteSeries records a change of a series. last is the
// largest step of the series, nil when it has no point any more.
func (db *DB) noteSeries(t *sqlite.Tx, iteration int64, key string, last *Step) error {
	ref, ok := db.openIterations.byNum[iteration]
	if !ok {
		ref.num = iteration
		err := t.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, iteration).Scan(&ref.id, &ref.experimentID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the file is damaged, and this repairs it
		}
		if err != nil {
			return err
		}
	}
	e := journal.Entry{Key: journal.Key{Iteration: ref.noted(), Metric: key}}
	if last != nil {
		e.Step = *last
	} else {
		e.Deleted = true
	}
	db.journal.Note(e)
	db.orders.Touch(ref.experimentID)
	return nil
}
