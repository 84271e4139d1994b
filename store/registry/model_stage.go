package registry

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/domain"
)

// Stage is the stage of a version of a model.
type Stage string

// The stages of a version. A version can move from any stage to any other. At most one
// version of a model is in PRODUCTION, except when a client asked to keep the others there.
const (
	NoStage    Stage = "NONE"
	Staging    Stage = "STAGING"
	Production Stage = "PRODUCTION"
	Archived   Stage = "ARCHIVED"
)

// StageOthers selects what happens to the other versions of a model that are in the stage
// that a version is moved to.
type StageOthers int

// The values of StageOthers.
const (
	OthersByStage StageOthers = iota // archives them in PRODUCTION, keeps them in any other stage
	OthersArchived
	OthersKept
)

// ProductionVersion returns the version of a model that is in PRODUCTION, or if there are
// several, the one that was moved there last. NOT_FOUND if there is none. Needs read.
func (db *DB) ProductionVersion(ctx context.Context, actor domain.Actor, modelID string) (ModelVersion, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (v ModelVersion, err error) {
		if _, err := AllowModel(tx, actor, modelID, domain.RightRead); err != nil {
			return v, err
		}
		err = tx.Get(&v, `SELECT `+modelVersionColumns+` `+modelVersionFrom+
			`WHERE model_version.model_id = ? AND model_version.stage = 'PRODUCTION' AND model_version.deleted_date IS NULL
			ORDER BY model_version.beside, model_version.version DESC LIMIT 1`, modelID)
		if errors.Is(err, sql.ErrNoRows) {
			return v, domain.Errorf(domain.CodeNotFound, "No version of this model is in production; set the stage of one to PRODUCTION.")
		}
		return v, err
	})
}

// Promotion is the result of a change of stage.
type Promotion struct {
	ModelID string
	Version int64
	Former  *int64 // the version that was archived because it was in PRODUCTION; nil if there was none
}

// SetStage moves a version to another stage. A move to PRODUCTION archives the version
// that was there. Needs update.
func (db *DB) SetStage(ctx context.Context, actor domain.Actor, id string, stage Stage) (Promotion, error) {
	if err := CheckStage(stage); err != nil {
		return Promotion{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Promotion, error) {
		return updateModelVersion(tx, actor, id, ModelVersionPatch{Stage: &stage})
	})
}

// LeaveStage archives the other versions of v's model in a stage, or keeps them there
// with v, according to others. It returns the number of the version that was archived
// because it was in PRODUCTION, or nil if there was none.
func LeaveStage(tx *domain.Tx, v ModelVersion, stage Stage, others StageOthers) (former *int64, err error) {
	if others == OthersKept || others == OthersByStage && stage != Production {
		if stage == Production {
			_, err = tx.Exec(`UPDATE model_version SET beside = 1
				WHERE model_id = ? AND stage = 'PRODUCTION' AND id <> ?`, v.ModelID, v.ID)
		}
		return nil, err
	}
	if stage == Production {
		err = tx.Row(`SELECT (SELECT version FROM model_version
			WHERE model_id = ? AND stage = 'PRODUCTION' AND id <> ? AND deleted_date IS NULL
			ORDER BY beside, version DESC LIMIT 1)`, v.ModelID, v.ID).Scan(&former)
		if err != nil {
			return nil, err
		}
	}
	// A version in the trash is archived as well, so that it is not in production after a restore.
	_, err = tx.Exec(`UPDATE model_version SET
			stage        = 'ARCHIVED',
			beside       = 0,
			updated_date = ?
		WHERE model_id = ? AND stage = ? AND id <> ?`, tx.Now, v.ModelID, stage, v.ID)
	return former, err
}

// CheckStage returns an error if s is not a stage.
func CheckStage(s Stage) error {
	return domain.OneOf("stage", s, NoStage, Staging, Production, Archived)
}
