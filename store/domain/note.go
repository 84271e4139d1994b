package domain

import (
	"database/sql"
	"errors"

	"tracker/store/journal"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Noted returns the iteration as a value of package journal.
func (i IterationRef) Noted() journal.Iteration {
	return journal.Iteration{Num: i.Num, ID: i.ID, ExperimentID: i.ExperimentID}
}

// NoteIteration records a change of an iteration.
func (tx *Tx) NoteIteration(i IterationRef) {
	tx.DB.Journal.Note(journal.Entry{Key: journal.Key{Iteration: i.Noted()}})
}

// NoteNumbered records a change of the iteration with the number *num. It does nothing if
// num is nil.
func (tx *Tx) NoteNumbered(num *int64) error {
	if num == nil {
		return nil
	}
	i := IterationRef{Num: *num}
	err := tx.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, *num).Scan(&i.ID, &i.ExperimentID)
	if err == nil {
		tx.NoteIteration(i)
	}
	return err
}

// NoteParent records a change of the parent of an iteration, if it has one.
func (tx *Tx) NoteParent(num int64) error {
	var parent *int64
	if err := tx.Row(`SELECT parent_num FROM iteration WHERE num = ?`, num).Scan(&parent); err != nil {
		return err
	}
	return tx.NoteNumbered(parent)
}

// noteSeries records a change of a series. last is the largest step of the series, or nil
// if the series has no points any more.
func (db *DB) noteSeries(t *sqlite.Tx, iteration int64, key string, last *scalar.Step) error {
	ref, ok := db.openIterations.byNum[iteration]
	if !ok {
		ref.Num = iteration
		err := t.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, iteration).Scan(&ref.ID, &ref.ExperimentID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // a repair of a damaged file is changing the series
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
	db.Orders.Touch(ref.ExperimentID, ref.Num)
	return nil
}
