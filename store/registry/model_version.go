package registry

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// ModelVersion is one version of a model. A version can refer to the iteration from which it
// was made, and to the artifact that contains the model.
type ModelVersion struct {
	ID          string  `json:"id" db:"id"`
	ModelID     string  `json:"model_id" db:"model_id"`
	Version     int64   `json:"version" db:"version"`           // 1, 2, 3 and so on, in the order of creation
	IterationID *string `json:"iteration_id" db:"iteration_id"` // nil if the version was made from a source instead of an iteration
	ArtifactID  *string `json:"resource_id" db:"resource_id"`
	Source      string  `json:"source" db:"source"` // URI of the files; "" if the files are an artifact
	Stage       Stage   `json:"stage" db:"stage"`
	Aliases     Aliases `json:"aliases" db:"aliases"`
	Description string  `json:"description" db:"description"`
	domain.Creator
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"` // time of the last change, including changes caused by moving another version
	Origin
	Beside bool `json:"-" db:"beside"` // set if the version stayed in PRODUCTION when another version was moved to PRODUCTION
}

// Origin describes the source of a version. It holds values that a client of another tracker sent.
type Origin struct {
	Location string `json:"-" db:"location"` // location of the files if Source is not the location; otherwise ""
	RunID    string `json:"-" db:"run_id"`   // run id from the client, if no iteration of the project has the id
	RunLink  string `json:"-" db:"run_link"`
}

func (v ModelVersion) TextBytes() int { return len(v.Description) + len(v.Source) }

// NewModelVersion holds the arguments of CreateModelVersion. The iteration and the artifact
// must belong to the model's project. IterationID or Source must be set.
type NewModelVersion struct {
	IterationID string            `json:"iteration_id"`
	ArtifactID  *string           `json:"resource_id"`
	Description string            `json:"description"`
	Source      string            `json:"-"`
	Origin      Origin            `json:"-"`
	Properties  []domain.Property `json:"-"`
}

// ModelVersionPatch holds the new values for UpdateModelVersion. UpdateModelVersion does not
// change a field whose value is nil.
type ModelVersionPatch struct {
	Stage       *Stage        `json:"stage"`
	Description *string       `json:"description"`
	ArtifactID  *string       `json:"resource_id"` // id of an artifact in the model's project
	Aliases     *[]string     `json:"aliases"`     // all aliases of the version; UpdateModelVersion removes them from other versions
	Others      StageOthers   `json:"-"`
	Before      domain.Before `json:"-"`
}

// ModelVersionQuery holds the search conditions of ModelVersions.
type ModelVersionQuery struct {
	domain.Page
	Stage *Stage // nil matches all stages
}

const (
	modelVersionColumns = `
	model_version.id,
	model_version.model_id,
	model_version.version,
	iteration.id AS iteration_id,
	resource.id AS resource_id,
	model_version.source,
	model_version.location,
	model_version.run_id,
	model_version.run_link,
	model_version.stage,
	model_version.beside,
	(SELECT json_group_array(alias ORDER BY alias) FROM model_alias WHERE version_id = model_version.id) AS aliases,
	model_version.description,
	model_version.created_date,
	model_version.created_by,
	model_version.created_key,
	model_version.updated_date`

	modelVersionFrom = `FROM model_version
	LEFT JOIN iteration ON iteration.num = model_version.iteration_num
	LEFT JOIN resource ON resource.num = model_version.resource_num `
)

// ModelVersions returns a page of a model's versions, newest first. The actor needs the right
// to read.
func (v *View) ModelVersions(modelID string, q ModelVersionQuery) (domain.List[ModelVersion], error) {
	if q.Stage != nil {
		if err := CheckStage(*q.Stage); err != nil {
			return domain.List[ModelVersion]{}, err
		}
	}
	if _, err := AllowModel(v.tx, v.tx.Actor, modelID, domain.RightRead); err != nil {
		return domain.List[ModelVersion]{}, err
	}
	from := modelVersionFrom + `WHERE model_version.model_id = ? AND model_version.deleted_date IS NULL`
	args := []any{modelID}
	if q.Stage != nil {
		from += ` AND model_version.stage = ?`
		args = append(args, *q.Stage)
	}
	return domain.PageOf[ModelVersion](v.tx, q.Page, modelVersionColumns, from, `model_version.version DESC`, args...)
}

// ModelVersions calls View.ModelVersions in a new read transaction.
func (db *DB) ModelVersions(ctx context.Context, actor domain.Actor, modelID string, q ModelVersionQuery) (domain.List[ModelVersion], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[ModelVersion], error) { return v.ModelVersions(modelID, q) })
}

// ModelVersion returns the version with the given id. The actor needs the right to read.
func (v *View) ModelVersion(id string) (ModelVersion, error) {
	version, _, err := AllowModelVersion(v.tx, v.tx.Actor, id, domain.RightRead)
	return version, err
}

// ModelVersion calls View.ModelVersion in a new read transaction.
func (db *DB) ModelVersion(ctx context.Context, actor domain.Actor, id string) (ModelVersion, error) {
	return view(ctx, db, actor, func(v *View) (ModelVersion, error) { return v.ModelVersion(id) })
}

// CreateModelVersion adds a version with the next number to a model, in the stage NONE. The
// actor needs the right to create.
func (db *DB) CreateModelVersion(ctx context.Context, actor domain.Actor, modelID string, n NewModelVersion) (domain.Created, error) {
	if n.IterationID == "" && n.Source == "" {
		return domain.Created{}, domain.Invalid("iteration_id", "iteration_id must name the source of the version.")
	}
	err := domain.FirstError(domain.CheckText("description", n.Description), domain.CheckText("source", n.Source), domain.CheckProperties(n.Properties))
	if err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		m, err := AllowModel(tx, actor, modelID, domain.RightCreate)
		if err != nil {
			return domain.Created{}, err
		}
		id, err := InsertModelVersion(tx, actor, m, n)
		return domain.Created{ID: id}, err
	})
}

// InsertModelVersion adds a version with the next number to model m and returns its id. The caller
// must have checked n and the right to create.
func InsertModelVersion(tx *domain.Tx, actor domain.Actor, m Model, n NewModelVersion) (id string, err error) {
	iteration, err := IterationOfProject(tx, m.ProjectID, n.IterationID)
	if err != nil {
		return "", err
	}
	artifact, err := artifactOfProject(tx, m.ProjectID, n.ArtifactID)
	if err != nil {
		return "", err
	}
	id = domain.NewID()
	var version int64
	err = tx.Row(`UPDATE model SET last_version = last_version + 1 WHERE id = ? RETURNING last_version`,
		m.ID).Scan(&version)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO model_version
		(id, model_id, version, iteration_num, resource_num, source, location, run_id, run_link, stage,
			description, created_date, updated_date, created_by, created_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`)`,
		id, m.ID, version, iteration, artifact, n.Source, n.Origin.Location, n.Origin.RunID, n.Origin.RunLink, NoStage,
		n.Description, tx.Now, tx.Now, actor.CreatorID(), actor.Key)
	if err != nil {
		return "", err
	}
	owner := domain.PropertyOwner{ProjectID: m.ProjectID, Column: "model_version_id", Key: id}
	return id, tx.SetProperties(actor, owner, n.Properties)
}

// UpdateModelVersion changes a version. A move to PRODUCTION archives the former production
// version. The actor needs the right to update.
func (db *DB) UpdateModelVersion(ctx context.Context, actor domain.Actor, id string, p ModelVersionPatch) error {
	if p.Stage != nil {
		if err := CheckStage(*p.Stage); err != nil {
			return err
		}
	}
	if err := domain.CheckOptional("description", p.Description); err != nil {
		return err
	}
	if p.Aliases != nil {
		if err := CheckAliases(*p.Aliases); err != nil {
			return err
		}
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		_, err := updateModelVersion(tx, actor, id, p)
		return err
	})
}

func updateModelVersion(tx *domain.Tx, actor domain.Actor, id string, p ModelVersionPatch) (done Promotion, err error) {
	v, projectID, err := AllowModelVersion(tx, actor, id, domain.RightUpdate)
	if err != nil {
		return done, err
	}
	done = Promotion{ModelID: v.ModelID, Version: v.Version}
	artifact, err := artifactOfProject(tx, projectID, p.ArtifactID)
	if err != nil {
		return done, err
	}
	if err := tx.RefuseIfOverwritten(p.Before, "model_version", id, map[string]*string{"description": p.Description}); err != nil {
		return done, err
	}
	if p.Stage != nil {
		if done.Former, err = LeaveStage(tx, v, *p.Stage, p.Others); err != nil {
			return done, err
		}
	}
	if p.Aliases != nil {
		if err := setAliases(tx, v, *p.Aliases); err != nil {
			return done, err
		}
	}
	if !p.changes(v) {
		return done, nil
	}
	_, err = tx.Exec(`UPDATE model_version SET
			stage        = coalesce(?, stage),
			beside       = CASE WHEN ? IS NULL THEN beside ELSE 0 END,
			description  = coalesce(?, description),
			resource_num = coalesce(?, resource_num),
			updated_date = ?
		WHERE id = ?`, p.Stage, p.Stage, p.Description, artifact, tx.Now, id)
	return done, err
}

// changes reports whether applying p would change v.
func (p ModelVersionPatch) changes(v ModelVersion) bool {
	return p.Stage != nil && (*p.Stage != v.Stage || v.Beside) ||
		p.Description != nil && *p.Description != v.Description ||
		p.ArtifactID != nil && (v.ArtifactID == nil || *p.ArtifactID != *v.ArtifactID) ||
		p.Aliases != nil && !slices.Equal(sortedAliases(*p.Aliases), v.Aliases)
}

// DeleteModelVersion moves a version to the trash. The number of the version is not reused. The
// iteration and the artifact of the version are not deleted. The actor needs the right to
// delete.
func (db *DB) DeleteModelVersion(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if _, _, err := AllowModelVersion(tx, actor, id, domain.RightDelete); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedVersion, id)
	})
}

// AllowModelVersion returns the version with the given id and the id of its project. It returns
// an error if the version does not exist or actor lacks the right want in the project.
func AllowModelVersion(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (v ModelVersion, projectID string, err error) {
	err = tx.Get(&v, `SELECT `+modelVersionColumns+` `+modelVersionFrom+`WHERE model_version.id = ? AND `+tx.Found("model_version"), id)
	if err != nil {
		return v, "", domain.OrNotFound(err, "model version")
	}
	m, err := AllowModel(tx, actor, v.ModelID, want)
	return v, m.ProjectID, err
}

// IterationOfProject returns the row number of an iteration. It returns an error if the
// iteration does not belong to the project. It returns nil if id is "".
func IterationOfProject(tx *domain.Tx, projectID, id string) (num *int64, err error) {
	if id == "" {
		return nil, nil
	}
	err = tx.Row(`SELECT iteration.num
		FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id = ? AND experiment.project_id = ?
		AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL`, id, projectID).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, domain.Invalid("iteration_id", "iteration_id must belong to the model's project.")
	}
	return num, err
}

// artifactOfProject returns the row number of an artifact. It returns an error if the artifact
// does not belong to the project or its bytes are being deleted. It returns nil if id is nil.
func artifactOfProject(tx *domain.Tx, projectID string, id *string) (num *int64, err error) {
	if id == nil {
		return nil, nil
	}
	err = tx.Row(`SELECT resource.num
		FROM resource
		JOIN experiment ON experiment.id = resource.experiment_id
		JOIN blob ON blob.id = resource.blob_id
		LEFT JOIN iteration ON iteration.num = resource.iteration_num
		WHERE resource.id = ? AND experiment.project_id = ? AND NOT blob.deleting
		AND resource.deleted_date IS NULL AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL`, *id, projectID).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, domain.Invalid("resource_id", "resource_id must belong to the model's project.")
	}
	return num, err
}
