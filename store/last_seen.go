package store

import "context"

// freshen sets LastSeen of iterations that were just read.
func (tx *tx) freshen(all []Iteration) {
	for i := range all {
		all[i].LastSeen = tx.db.lastSeen.Latest(all[i].Num, all[i].LastSeen)
	}
}

// SilentIterations returns the ids of the iterations of an experiment that have
// not ended and were last seen before a time, in the order of their creation.
// Needs read.
func (db *DB) SilentIterations(ctx context.Context, actor Actor, experimentID string, before Time) ([]string, error) {
	return read(ctx, db, func(tx *tx) ([]string, error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return nil, err
		}
		var found []struct {
			Num      int64  `db:"num"`
			ID       string `db:"id"`
			LastSeen Time   `db:"last_seen"`
		}
		err := tx.Select(&found, `SELECT num, id, last_seen FROM iteration
			WHERE experiment_id = ? AND deleted_date IS NULL AND status = 'RUNNING' AND last_seen < ?
			ORDER BY num`, experimentID, before)
		var ids []string
		for _, i := range found {
			if db.lastSeen.Latest(i.Num, i.LastSeen) < before {
				ids = append(ids, i.ID)
			}
		}
		return ids, err
	})
}
