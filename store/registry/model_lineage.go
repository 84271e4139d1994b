package registry

import "tracker/store/domain"

// MadeVersion is a version of a model that was made from an iteration or artifact.
type MadeVersion struct {
	ModelID   string `db:"model_id"`
	ModelName string `db:"model_name"`
	ID        string `db:"id"`
	Version   int64  `db:"version"`
	Stage     Stage  `db:"stage"`
}

// MadeVersionSelect is the first part of a query for MadeVersions.
const MadeVersionSelect = `SELECT
		model.id AS model_id,
		model.name AS model_name,
		model_version.id,
		model_version.version,
		model_version.stage
	FROM model_version
	JOIN model ON model.id = model_version.model_id AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL `

// MadeVersionOrder is the last part of a query for MadeVersions, with the limit as its argument.
const MadeVersionOrder = ` ORDER BY model.name, model.id, model_version.version LIMIT ?`

// ArtifactVersions returns up to MaxLimit model versions that refer to an artifact,
// ordered by model and number. Needs read.
func (v *View) ArtifactVersions(artifactID string) (made []MadeVersion, err error) {
	r, err := v.tx.AllowArtifact(v.tx.Actor, artifactID, domain.RightRead)
	if err != nil {
		return nil, err
	}
	err = v.tx.Select(&made, MadeVersionSelect+`
		WHERE model_version.resource_num = ? AND model.project_id = ?`+MadeVersionOrder,
		r.Num, r.Experiment.ProjectID, domain.MaxLimit)
	return made, err
}

// IterationVersions returns up to MaxLimit model versions that were made from an
// iteration, ordered by model and number. Needs read.
func (v *View) IterationVersions(iterationID string) (made []MadeVersion, err error) {
	i, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return nil, err
	}
	err = v.tx.Select(&made, MadeVersionSelect+`
		WHERE model_version.iteration_num = ? AND model.project_id = ?`+MadeVersionOrder,
		i.Num, i.ProjectID, domain.MaxLimit)
	return made, err
}

// ModelState holds the number of versions of a model and its production version. If several
// versions are in production, it is the one that was moved there last.
type ModelState struct {
	Versions   int    `db:"versions"`   // number of versions
	Production *int64 `db:"production"` // the number of the version in production
}

// ModelStates returns the state of each model of a project that has versions,
// by the id of the model. Needs read.
func (v *View) ModelStates(projectID string) (map[string]ModelState, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	var rows []struct {
		ModelID string `db:"model_id"`
		ModelState
	}
	err := v.tx.Select(&rows, `SELECT
			model_id,
			count(*) AS versions,
			coalesce(
				max(CASE WHEN stage = 'PRODUCTION' AND beside = 0 THEN version END),
				max(CASE WHEN stage = 'PRODUCTION' THEN version END)) AS production
		FROM model_version
		WHERE model_id IN (SELECT id FROM model WHERE project_id = ? AND deleted_date IS NULL) AND deleted_date IS NULL
		GROUP BY model_id`, projectID)
	states := map[string]ModelState{}
	for _, r := range rows {
		states[r.ModelID] = r.ModelState
	}
	return states, err
}
