package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/journal"
	"tracker/store/scalar"
)

// Changes holds the changes of an experiment or of one iteration since a cursor.
type Changes struct {
	Cursor     string      `json:"-"`          // cursor for the next call
	Reset      bool        `json:"-"`          // the changes since the cursor are unknown; the client must read all data again
	Iterations []Iteration `json:"iterations"` // new iterations, and iterations with changes other than new points
	Deleted    []string    `json:"deleted"`    // ids of deleted iterations
	Series     []Growth    `json:"series"`
	// Console lists the consoles with new lines. Only IterationChanges sets Console.
	Console []ConsoleGrowth `json:"console,omitzero"`
}

// Growth reports the new last step of a metric.
type Growth struct {
	IterationID string       `json:"iteration_id"`
	Key         string       `json:"key"`
	LastStep    *scalar.Step `json:"last_step"` // nil if the last point of the metric was deleted
}

// Empty reports whether c has no changes.
func (c Changes) Empty() bool {
	return !c.Reset && len(c.Iterations)+len(c.Deleted)+len(c.Series)+len(c.Console) == 0
}

// ExperimentChanges returns the changes of an experiment since cursor. cursor is the Cursor of
// an earlier result, or "" for changes from now on. The actor needs the right to read.
func (db *DB) ExperimentChanges(ctx context.Context, actor domain.Actor, experimentID, cursor string) (Changes, error) {
	allow := func(tx *domain.Tx) error {
		_, err := tx.AllowExperiment(actor, experimentID, domain.RightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journal.Entry) bool {
		return e.Iteration.ExperimentID == experimentID && !e.Console
	})
}

// IterationChanges returns the changes of one iteration since cursor, as ExperimentChanges
// does. It also reports new console lines.
func (db *DB) IterationChanges(ctx context.Context, actor domain.Actor, iterationID, cursor string) (Changes, error) {
	allow := func(tx *domain.Tx) error {
		_, err := tx.AllowIteration(actor, iterationID, domain.RightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journal.Entry) bool { return e.Iteration.ID == iterationID })
}

// changes reads the journal first and then the database. A change that happens between the two
// reads is returned twice: by this call and by the next call.
func (db *DB) changes(ctx context.Context, cursor string, allow func(*domain.Tx) error, want func(journal.Entry) bool) (Changes, error) {
	found, next, ok := db.base.Journal.Since(cursor, want)
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (Changes, error) {
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
				var found []Iteration // empty if the iteration was deleted
				err := tx.Select(&found, `SELECT `+iterationColumns+` FROM iteration WHERE num = ? AND deleted_date IS NULL`, e.Iteration.Num)
				if err != nil {
					return c, err
				}
				freshen(tx, found)
				c.Iterations = append(c.Iterations, found...)
			}
		}
		return c, nil
	})
}
