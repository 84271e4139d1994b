package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Stage says what a version of a model is used for.
type Stage string

// The stages of a version. Any can follow any; a model has at most one version
// in PRODUCTION.
const (
	NoStage    Stage = "NONE"
	Staging    Stage = "STAGING"
	Production Stage = "PRODUCTION"
	Archived   Stage = "ARCHIVED"
)

// ModelVersion is one outcome of training a model: the iteration that it came
// from and, when there is one, the artifact that holds it.
type ModelVersion struct {
	ID          string  `json:"id" db:"id"`
	ModelID     string  `json:"model_id" db:"model_id"`
	Version     int64   `json:"version" db:"version"` // 1, 2, 3 in the order of creation
	IterationID string  `json:"iteration_id" db:"iteration_id"`
	ResourceID  *string `json:"resource_id" db:"resource_id"`
	Stage       Stage   `json:"stage" db:"stage"`
	Description string  `json:"description" db:"description"`
	CreatedDate Time    `json:"created_date" db:"created_date"`
	UpdatedDate Time    `json:"updated_date" db:"updated_date"` // of the last change, also by the promotion of another
}

// NewModelVersion is what CreateModelVersion takes. Iteration and resource
// must be of the model's project.
type NewModelVersion struct {
	IterationID string  `json:"iteration_id"`
	ResourceID  *string `json:"resource_id"`
	Description string  `json:"description"`
}

// ModelVersionPatch is what UpdateModelVersion changes; nil leaves a field as
// it is.
type ModelVersionPatch struct {
	Stage       *Stage  `json:"stage"`
	Description *string `json:"description"`
	ResourceID  *string `json:"resource_id"` // of the model's project
	Before      Before  `json:"-"`
}

// ModelVersionQuery narrows a listing.
type ModelVersionQuery struct {
	Page
	Stage *Stage // nil for all
}

const (
	modelVersionColumns = `
	model_version.id,
	model_version.model_id,
	model_version.version,
	iteration.id AS iteration_id,
	resource.id AS resource_id,
	model_version.stage,
	model_version.description,
	model_version.created_date,
	model_version.updated_date`

	modelVersionFrom = `FROM model_version
	JOIN iteration ON iteration.num = model_version.iteration_num
	LEFT JOIN resource ON resource.num = model_version.resource_num `
)

// ModelVersions lists the versions of a model, the newest first. Needs read.
func (db *DB) ModelVersions(ctx context.Context, actor Actor, modelID string, q ModelVersionQuery) (List[ModelVersion], error) {
	if q.Stage != nil {
		if err := checkStage(*q.Stage); err != nil {
			return List[ModelVersion]{}, err
		}
	}
	return read(ctx, db, func(tx *tx) (List[ModelVersion], error) {
		if _, err := tx.allowModel(actor, modelID, rightRead); err != nil {
			return List[ModelVersion]{}, err
		}
		from := modelVersionFrom + `WHERE model_version.model_id = ?`
		args := []any{modelID}
		if q.Stage != nil {
			from += ` AND model_version.stage = ?`
			args = append(args, *q.Stage)
		}
		return list[ModelVersion](tx, q.Page, modelVersionColumns, from, `model_version.version DESC`, args...)
	})
}

// ModelVersion returns one version. Needs read.
func (db *DB) ModelVersion(ctx context.Context, actor Actor, id string) (ModelVersion, error) {
	return read(ctx, db, func(tx *tx) (ModelVersion, error) {
		v, _, err := tx.allowModelVersion(actor, id, rightRead)
		return v, err
	})
}

// ProductionVersion returns the version of a model that is in PRODUCTION;
// NOT_FOUND when none is. Needs read.
func (db *DB) ProductionVersion(ctx context.Context, actor Actor, modelID string) (ModelVersion, error) {
	return read(ctx, db, func(tx *tx) (v ModelVersion, err error) {
		if _, err := tx.allowModel(actor, modelID, rightRead); err != nil {
			return v, err
		}
		err = tx.get(&v, `SELECT `+modelVersionColumns+` `+modelVersionFrom+
			`WHERE model_version.model_id = ? AND model_version.stage = 'PRODUCTION'`, modelID)
		if errors.Is(err, sql.ErrNoRows) {
			return v, Errorf(CodeNotFound, "No version of this model is in production; set the stage of one to PRODUCTION.")
		}
		return v, err
	})
}

// CreateModelVersion adds the next version of a model, in the stage NONE.
// Needs create.
func (db *DB) CreateModelVersion(ctx context.Context, actor Actor, modelID string, n NewModelVersion) (Created, error) {
	if n.IterationID == "" {
		return Created{}, Invalid("iteration_id", "iteration_id must name the iteration that the version came from.")
	}
	if err := checkText("description", n.Description); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		m, err := tx.allowModel(actor, modelID, rightCreate)
		if err != nil {
			return Created{}, err
		}
		iteration, err := tx.iterationOfProject(m.ProjectID, n.IterationID)
		if err != nil {
			return Created{}, err
		}
		resource, err := tx.resourceOfProject(m.ProjectID, n.ResourceID)
		if err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		var version int64
		err = tx.row(`UPDATE model SET last_version = last_version + 1 WHERE id = ? RETURNING last_version`,
			modelID).Scan(&version)
		if err != nil {
			return Created{}, err
		}
		_, err = tx.exec(`INSERT INTO model_version
			(id, model_id, version, iteration_num, resource_num, stage, description, created_date, updated_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, modelID, version, iteration, resource, NoStage, n.Description, tx.now, tx.now)
		return Created{ID: id}, firstError(err, tx.noteNumbered(&iteration))
	})
}

// UpdateModelVersion changes a version. Needs update. PRODUCTION moves the
// version that was there before to ARCHIVED.
func (db *DB) UpdateModelVersion(ctx context.Context, actor Actor, id string, p ModelVersionPatch) error {
	if p.Stage != nil {
		if err := checkStage(*p.Stage); err != nil {
			return err
		}
	}
	if p.Description != nil {
		if err := checkText("description", *p.Description); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		_, err := tx.updateModelVersion(actor, id, p)
		return err
	})
}

// Promotion is what a change of stage has done.
type Promotion struct {
	ModelID string
	Version int64
	Former  *int64 // the version that was in PRODUCTION before and is archived now, nil for none
}

// SetStage moves a version to another stage. Needs update. PRODUCTION moves the
// version that was there before to ARCHIVED.
func (db *DB) SetStage(ctx context.Context, actor Actor, id string, stage Stage) (Promotion, error) {
	if err := checkStage(stage); err != nil {
		return Promotion{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Promotion, error) {
		return tx.updateModelVersion(actor, id, ModelVersionPatch{Stage: &stage})
	})
}

func (tx *tx) updateModelVersion(actor Actor, id string, p ModelVersionPatch) (done Promotion, err error) {
	v, projectID, err := tx.allowModelVersion(actor, id, rightUpdate)
	if err != nil {
		return done, err
	}
	done = Promotion{ModelID: v.ModelID, Version: v.Version}
	resource, err := tx.resourceOfProject(projectID, p.ResourceID)
	if err != nil {
		return done, err
	}
	if err := tx.refuseIfOverwritten(p.Before, "model_version", id, map[string]*string{"description": p.Description}); err != nil {
		return done, err
	}
	if p.Stage != nil && *p.Stage == Production {
		var former, iteration int64
		err := tx.row(`UPDATE model_version SET
				stage        = 'ARCHIVED',
				updated_date = ?
			WHERE model_id = ? AND stage = 'PRODUCTION' AND id <> ?
			RETURNING version, iteration_num`, tx.now, v.ModelID, id).Scan(&former, &iteration)
		if err == nil {
			done.Former = &former
			err = tx.noteNumbered(&iteration)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return done, err
		}
	}
	if !p.changes(v) {
		return done, nil
	}
	var iteration int64
	err = tx.row(`UPDATE model_version SET
			stage        = coalesce(?, stage),
			description  = coalesce(?, description),
			resource_num = coalesce(?, resource_num),
			updated_date = ?
		WHERE id = ?
		RETURNING iteration_num`, p.Stage, p.Description, resource, tx.now, id).Scan(&iteration)
	if err != nil {
		return done, err
	}
	return done, tx.noteNumbered(&iteration)
}

// changes tells that v would be another one with p.
func (p ModelVersionPatch) changes(v ModelVersion) bool {
	return p.Stage != nil && *p.Stage != v.Stage ||
		p.Description != nil && *p.Description != v.Description ||
		p.ResourceID != nil && (v.ResourceID == nil || *p.ResourceID != *v.ResourceID)
}

// DeleteModelVersion removes a version; its number is not given again. The
// iteration and artifact that it points at stay. Needs delete.
func (db *DB) DeleteModelVersion(ctx context.Context, actor Actor, id string) error {
	return change(ctx, db, actor, func(tx *tx) error {
		if _, _, err := tx.allowModelVersion(actor, id, rightDelete); err != nil {
			return err
		}
		var iteration int64
		err := tx.row(`DELETE FROM model_version WHERE id = ? RETURNING iteration_num`, id).Scan(&iteration)
		if err != nil {
			return err
		}
		return tx.noteNumbered(&iteration)
	})
}

func checkStage(s Stage) error {
	return oneOf("stage", s, NoStage, Staging, Production, Archived)
}

// allowModelVersion returns the version and the project that it is in. It
// fails unless there is one and actor has the right in that project.
func (tx *tx) allowModelVersion(actor Actor, id string, want right) (v ModelVersion, projectID string, err error) {
	err = tx.get(&v, `SELECT `+modelVersionColumns+` `+modelVersionFrom+`WHERE model_version.id = ?`, id)
	if err != nil {
		return v, "", orNotFound(err, "model version")
	}
	m, err := tx.allowModel(actor, v.ModelID, want)
	return v, m.ProjectID, err
}

// iterationOfProject returns the number of the iteration that a version of a
// model in the project can come from.
func (tx *tx) iterationOfProject(projectID, id string) (num int64, err error) {
	err = tx.row(`SELECT iteration.num
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id = ? AND experiment.project_id = ?`, id, projectID).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, Invalid("iteration_id", "iteration_id must name an iteration of the model's project.")
	}
	return num, err
}

// resourceOfProject returns the number of the artifact that a version of a
// model in the project can have, nil for nil. One whose bytes are being
// removed is as good as gone.
func (tx *tx) resourceOfProject(projectID string, id *string) (num *int64, err error) {
	if id == nil {
		return nil, nil
	}
	err = tx.row(`SELECT resource.num
		FROM resource
		JOIN experiment ON experiment.id = resource.experiment_id
		JOIN blob ON blob.id = resource.blob_id
		WHERE resource.id = ? AND experiment.project_id = ? AND NOT blob.deleting`, *id, projectID).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, Invalid("resource_id", "resource_id must name an artifact of the model's project.")
	}
	return num, err
}

// maxVersionsNamed is how many of the versions that forbid a delete are named.
const maxVersionsNamed = 5

// refuseIfResourceVersioned fails with CONFLICT when a model version points at
// the artifact with this number.
func (tx *tx) refuseIfResourceVersioned(num int64) error {
	return tx.refuseIfVersioned(`model_version.resource_num = ?`,
		"The artifact is used by %s; delete those versions or give them another resource_id first.", num)
}

// refuseIfIterationVersioned fails with CONFLICT when a model version points at
// the iteration with this number or at an artifact of it.
func (tx *tx) refuseIfIterationVersioned(num int64) error {
	return tx.refuseIfVersioned(`model_version.iteration_num = ?
		OR model_version.resource_num IN (SELECT num FROM resource WHERE iteration_num = ?)`,
		"The iteration or an artifact of it is used by %s; delete those versions first.", num, num)
}

// refuseIfExperimentVersioned fails with CONFLICT when a model version points
// at an iteration or an artifact of the experiment.
func (tx *tx) refuseIfExperimentVersioned(id string) error {
	return tx.refuseIfVersioned(`model_version.iteration_num IN (SELECT num FROM iteration WHERE experiment_id = ?)
		OR model_version.resource_num IN (SELECT num FROM resource WHERE experiment_id = ?)`,
		"An iteration or an artifact of the experiment is used by %s; delete those versions first.", id, id)
}

// refuseIfProjectVersioned fails with CONFLICT when a version of a model of
// another project points into the project. Its own models go with it. No
// version is made like that, but the reference would break all the same.
func (tx *tx) refuseIfProjectVersioned(id string) error {
	return tx.refuseIfVersioned(`model.project_id <> ? AND (
			model_version.iteration_num IN (
				SELECT num FROM iteration JOIN experiment ON experiment.id = experiment_id WHERE project_id = ?)
			OR model_version.resource_num IN (
				SELECT num FROM resource JOIN experiment ON experiment.id = experiment_id WHERE project_id = ?))`,
		"An iteration or an artifact of the project is used by %s in another project; delete those versions first.", id, id, id)
}

// refuseIfVersioned fails with CONFLICT when there are versions for which
// condition holds. They are named in the place of %s in message.
func (tx *tx) refuseIfVersioned(condition, message string, args ...any) error {
	var used []struct {
		Name    string `db:"name"`
		Version int64  `db:"version"`
		Total   int    `db:"total"`
	}
	err := tx.all(&used, `SELECT model.name, model_version.version, count(*) OVER () AS total
		FROM model_version
		JOIN model ON model.id = model_version.model_id
		WHERE `+condition+`
		ORDER BY model.name, model.id, model_version.version
		LIMIT ?`, append(args, maxVersionsNamed)...)
	if err != nil || len(used) == 0 {
		return err
	}
	more := used[0].Total - len(used)
	var models []string
	for rest := used; len(rest) > 0; {
		var numbers []string
		for len(numbers) < len(rest) && rest[len(numbers)].Name == rest[0].Name {
			numbers = append(numbers, strconv.FormatInt(rest[len(numbers)].Version, 10))
		}
		text := fmt.Sprintf("model %s, ", rest[0].Name)
		rest = rest[len(numbers):]
		if len(rest) == 0 && more > 0 {
			numbers = append(numbers, fmt.Sprintf("%d more", more))
		}
		models = append(models, text+versions(numbers))
	}
	return Errorf(CodeConflict, message, strings.Join(models, "; "))
}

// versions writes numbers as people say them: version 3, versions 3 and 4.
func versions(numbers []string) string {
	last := len(numbers) - 1
	if last == 0 {
		return "version " + numbers[0]
	}
	return "versions " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}
