package store

import "context"

// MadeVersion is a version of a model, as seen from what it was made of.
type MadeVersion struct {
	ModelID   string `db:"model_id"`
	ModelName string `db:"model_name"`
	ID        string `db:"id"`
	Version   int64  `db:"version"`
	Stage     Stage  `db:"stage"`
}

const madeVersionSelect = `SELECT
		model.id AS model_id,
		model.name AS model_name,
		model_version.id,
		model_version.version,
		model_version.stage
	FROM model_version
	JOIN model ON model.id = model_version.model_id `

const madeVersionOrder = ` ORDER BY model.name, model.id, model_version.version LIMIT ?`

// ResourceVersions returns up to MaxLimit versions of models that have an
// artifact, by model and number. Needs read.
func (db *DB) ResourceVersions(ctx context.Context, actor Actor, resourceID string) ([]MadeVersion, error) {
	return read(ctx, db, func(tx *tx) (made []MadeVersion, err error) {
		r, err := tx.allowResource(actor, resourceID, rightRead)
		if err != nil {
			return nil, err
		}
		err = tx.all(&made, madeVersionSelect+`
			WHERE model_version.resource_num = ? AND model.project_id = ?`+madeVersionOrder,
			r.num, r.experiment.projectID, MaxLimit)
		return made, err
	})
}

// IterationVersions returns up to MaxLimit versions of models that came from an
// iteration, by model and number. Needs read.
func (db *DB) IterationVersions(ctx context.Context, actor Actor, iterationID string) ([]MadeVersion, error) {
	return read(ctx, db, func(tx *tx) (made []MadeVersion, err error) {
		i, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return nil, err
		}
		err = tx.all(&made, madeVersionSelect+`
			WHERE model_version.iteration_num = ? AND model.project_id = ?`+madeVersionOrder,
			i.num, i.projectID, MaxLimit)
		return made, err
	})
}

// ModelState is how far a model has come.
type ModelState struct {
	Versions   int    `db:"versions"`   // that there are
	Production *int64 `db:"production"` // the number of the version in production
}

// ModelStates returns the state of each model of a project that has versions,
// by the id of the model. Needs read.
func (db *DB) ModelStates(ctx context.Context, actor Actor, projectID string) (map[string]ModelState, error) {
	return read(ctx, db, func(tx *tx) (map[string]ModelState, error) {
		if err := tx.allowProject(actor, projectID, rightRead); err != nil {
			return nil, err
		}
		var rows []struct {
			ModelID string `db:"model_id"`
			ModelState
		}
		err := tx.all(&rows, `SELECT
				model_id,
				count(*) AS versions,
				max(CASE WHEN stage = 'PRODUCTION' THEN version END) AS production
			FROM model_version
			WHERE model_id IN (SELECT id FROM model WHERE project_id = ?)
			GROUP BY model_id`, projectID)
		states := map[string]ModelState{}
		for _, r := range rows {
			states[r.ModelID] = r.ModelState
		}
		return states, err
	})
}
