package registry

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// ModelVersion is a version of a model, with the iteration that it came from and the
// artifact that holds it, if any.
type ModelVersion struct {
	ID          string      `json:"id" db:"id"`
	ModelID     string      `json:"model_id" db:"model_id"`
	Version     int64       `json:"version" db:"version"`           // 1, 2, 3 in the order of creation
	IterationID *string     `json:"iteration_id" db:"iteration_id"` // nil if the version has a source without an iteration
	ArtifactID  *string     `json:"resource_id" db:"resource_id"`
	Source      string      `json:"source" db:"source"` // URI of the files, "" if an artifact holds them
	Stage       Stage       `json:"stage" db:"stage"`
	Aliases     Aliases     `json:"aliases" db:"aliases"`
	Description string      `json:"description" db:"description"`
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"` // time of the last change, also by promoting another
	Origin
	Beside bool `json:"-" db:"beside"` // it is in PRODUCTION together with a version that was moved there later
}

// Origin is the origin of a version with a source, as a client of another tracker sent
// it.
type Origin struct {
	Location string `json:"-" db:"location"` // location of the files if the source refers to something else, or ""
	RunID    string `json:"-" db:"run_id"`   // the run that the client named, if the project has no such iteration
	RunLink  string `json:"-" db:"run_link"`
}

func (v ModelVersion) TextBytes() int { return len(v.Description) + len(v.Source) }

// NewModelVersion holds the arguments of CreateModelVersion. The iteration and the
// artifact must belong to the model's project. An iteration or a source is required.
type NewModelVersion struct {
	IterationID string            `json:"iteration_id"`
	ArtifactID  *string           `json:"resource_id"`
	Description string            `json:"description"`
	Source      string            `json:"-"`
	Origin      Origin            `json:"-"`
	Properties  []domain.Property `json:"-"`
}

// ModelVersionPatch holds the fields that UpdateModelVersion sets; nil leaves a
// field as it is.
type ModelVersionPatch struct {
	Stage       *Stage        `json:"stage"`
	Description *string       `json:"description"`
	ArtifactID  *string       `json:"resource_id"` // in the model's project
	Aliases     *[]string     `json:"aliases"`     // all aliases of the version; other versions lose these aliases
	Others      StageOthers   `json:"-"`
	Before      domain.Before `json:"-"`
}

// ModelVersionQuery selects versions.
type ModelVersionQuery struct {
	domain.Page
	Stage *Stage // nil for all
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
	model_version.updated_date`

	modelVersionFrom = `FROM model_version
	LEFT JOIN iteration ON iteration.num = model_version.iteration_num
	LEFT JOIN resource ON resource.num = model_version.resource_num `
)

// ModelVersions lists the versions of a model, newest first. Needs read.
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

// ModelVersions is View.ModelVersions.
func (db *DB) ModelVersions(ctx context.Context, actor domain.Actor, modelID string, q ModelVersionQuery) (domain.List[ModelVersion], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[ModelVersion], error) { return v.ModelVersions(modelID, q) })
}

// ModelVersion returns one version. Needs read.
func (v *View) ModelVersion(id string) (ModelVersion, error) {
	version, _, err := AllowModelVersion(v.tx, v.tx.Actor, id, domain.RightRead)
	return version, err
}

// ModelVersion is View.ModelVersion.
func (db *DB) ModelVersion(ctx context.Context, actor domain.Actor, id string) (ModelVersion, error) {
	return view(ctx, db, actor, func(v *View) (ModelVersion, error) { return v.ModelVersion(id) })
}

// CreateModelVersion adds the next version of a model, in the stage NONE.
// Needs create.
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
		iteration, err := IterationOfProject(tx, m.ProjectID, n.IterationID)
		if err != nil {
			return domain.Created{}, err
		}
		artifact, err := artifactOfProject(tx, m.ProjectID, n.ArtifactID)
		if err != nil {
			return domain.Created{}, err
		}
		id, err := domain.NewID()
		if err != nil {
			return domain.Created{}, err
		}
		var version int64
		err = tx.Row(`UPDATE model SET last_version = last_version + 1 WHERE id = ? RETURNING last_version`,
			modelID).Scan(&version)
		if err != nil {
			return domain.Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO model_version
			(id, model_id, version, iteration_num, resource_num, source, location, run_id, run_link, stage,
				description, created_date, updated_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, modelID, version, iteration, artifact, n.Source, n.Origin.Location, n.Origin.RunID, n.Origin.RunLink, NoStage,
			n.Description, tx.Now, tx.Now)
		if err != nil {
			return domain.Created{}, err
		}
		owner := domain.PropertyOwner{ProjectID: m.ProjectID, Column: "model_version_id", Key: id}
		return domain.Created{ID: id}, tx.SetProperties(actor, owner, n.Properties)
	})
}

// UpdateModelVersion changes a version. A move to PRODUCTION archives the version that
// was there. Needs update.
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

// changes reports whether p would change v.
func (p ModelVersionPatch) changes(v ModelVersion) bool {
	return p.Stage != nil && (*p.Stage != v.Stage || v.Beside) ||
		p.Description != nil && *p.Description != v.Description ||
		p.ArtifactID != nil && (v.ArtifactID == nil || *p.ArtifactID != *v.ArtifactID) ||
		p.Aliases != nil && !slices.Equal(sortedAliases(*p.Aliases), v.Aliases)
}

// DeleteModelVersion moves a version to the trash. Its number is not used again;
// its iteration and its artifact stay. Needs delete.
func (db *DB) DeleteModelVersion(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if _, _, err := AllowModelVersion(tx, actor, id, domain.RightDelete); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedVersion, id)
	})
}

// AllowModelVersion returns the version and its project. It returns an error if the
// version does not exist or actor does not have the right in that project.
func AllowModelVersion(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (v ModelVersion, projectID string, err error) {
	err = tx.Get(&v, `SELECT `+modelVersionColumns+` `+modelVersionFrom+`WHERE model_version.id = ? AND `+tx.Found("model_version"), id)
	if err != nil {
		return v, "", domain.OrNotFound(err, "model version")
	}
	m, err := AllowModel(tx, actor, v.ModelID, want)
	return v, m.ProjectID, err
}

// IterationOfProject returns the number of an iteration of the project, for a model
// version. It returns nil for the id "".
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

// artifactOfProject returns the number of an artifact of the project, for a model
// version. It returns nil for nil. An artifact whose bytes are being removed counts
// as removed.
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
