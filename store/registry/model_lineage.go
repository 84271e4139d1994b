package registry

import "tracker/store/domain"

// MadeVersion is a model version that was made from an iteration or artifact.
type MadeVersion struct {
	ModelID   string `db:"model_id"`
	ModelName string `db:"model_name"`
	ID        string `db:"id"`
	Version   int64  `db:"version"`
	Stage     Stage  `db:"stage"`
}

// MadeVersionSelect is the beginning of an SQL query that returns rows of type MadeVersion.
const MadeVersionSelect = `SELECT
		model.id AS model_id,
		model.name AS model_name,
		model_version.id,
		model_version.version,
		model_version.stage
	FROM model_version
	JOIN model ON model.id = model_version.model_id AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL `

// MadeVersionOrder is the end of an SQL query that begins with MadeVersionSelect. The query
// parameter is the maximum number of rows.
const MadeVersionOrder = ` ORDER BY model.name, model.id, model_version.version LIMIT ?`

// ArtifactVersions returns at most MaxLimit model versions that refer to an artifact. The
// result is sorted by model and version number. The actor needs the right to read.
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

// IterationVersions returns at most MaxLimit model versions that were made from an iteration.
// The result is sorted by model and version number. The actor needs the right to read.
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
// versions are in production, Production is the last version that was moved to the stage.
type ModelState struct {
	Versions   int    `db:"versions"`   // number of versions of the model
	Production *int64 `db:"production"` // number of the production version; nil if none
}

// ModelStates returns the states of a project's models, by model id. It omits models without
// versions. The actor needs the right to read.
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
