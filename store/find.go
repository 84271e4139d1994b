package store

import "context"

// Found is a record that was found by its name.
type Found struct {
	Kind string `json:"kind" db:"kind"` // project, experiment, model or iteration
	ID   string `json:"id" db:"id"`
	Name string `json:"name" db:"name"`
	In   string `json:"in" db:"within"` // name of what it is in, "" for a project
}

// Find returns up to limit records that actor may read and that have part in
// their name, in any case: projects, then experiments, models and iterations,
// the newest of each first.
func (db *DB) Find(ctx context.Context, actor Actor, part string, limit int) ([]Found, error) {
	if err := checkShort("q", part); err != nil {
		return nil, err
	}
	return read(ctx, db, func(tx *tx) ([]Found, error) {
		u, err := tx.user(actor)
		if err != nil {
			return nil, err
		}
		found := []Found{}
		err = tx.all(&found, `
			WITH readable AS (
				SELECT id, name, created_date FROM project
				WHERE ? OR id IN (SELECT project_id FROM user_permission WHERE user_id = ? AND read_permission))
			SELECT kind, id, name, within FROM (
				SELECT
					0 AS rank,
					'project' AS kind,
					id,
					name,
					'' AS within,
					created_date
				FROM readable WHERE `+contains(`name`)+`
				UNION ALL
				SELECT
					1,
					'experiment',
					experiment.id,
					experiment.name,
					readable.name,
					experiment.created_date
				FROM experiment JOIN readable ON readable.id = experiment.project_id
				WHERE `+contains(`experiment.name`)+`
				UNION ALL
				SELECT
					2,
					'model',
					model.id,
					model.name,
					readable.name,
					model.created_date
				FROM model JOIN readable ON readable.id = model.project_id
				WHERE `+contains(`model.name`)+`
				UNION ALL
				SELECT
					3,
					'iteration',
					iteration.id,
					iteration.name,
					experiment.name,
					iteration.created_date
				FROM iteration
				JOIN experiment ON experiment.id = iteration.experiment_id
				JOIN readable ON readable.id = experiment.project_id
				WHERE `+contains(`iteration.name`)+`)
			ORDER BY rank, created_date DESC, id DESC LIMIT ?`,
			u.IsAdmin, u.ID, part, part, part, part, max(0, min(limit, MaxLimit)))
		return found, err
	})
}
