package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// freshen updates LastSeen of iterations that were just read. The newest times are only in
// memory, not yet in the iteration table.
func freshen(tx *domain.Tx, all []Iteration) {
	for i := range all {
		all[i].LastSeen = tx.DB.LastSeen.Latest(all[i].Num, all[i].LastSeen)
	}
}

// SilentIterations returns the ids of an experiment's running iterations that were last seen
// before the given time. The result is sorted by creation. The actor needs the right to read.
func (db *DB) SilentIterations(ctx context.Context, actor domain.Actor, experimentID string, before scalar.Time) ([]string, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]string, error) {
		if _, err := tx.AllowExperiment(actor, experimentID, domain.RightRead); err != nil {
			return nil, err
		}
		var found []struct {
			Num      int64       `db:"num"`
			ID       string      `db:"id"`
			LastSeen scalar.Time `db:"last_seen"`
		}
		err := tx.Select(&found, `SELECT num, id, last_seen FROM iteration
			WHERE experiment_id = ? AND deleted_date IS NULL AND status = 'RUNNING' AND last_seen < ?
			ORDER BY num`, experimentID, before)
		var ids []string
		for _, i := range found {
			if db.base.LastSeen.Latest(i.Num, i.LastSeen) < before {
				ids = append(ids, i.ID)
			}
		}
		return ids, err
	})
}
