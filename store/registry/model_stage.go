package registry

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/domain"
)

// Stage is the stage of a model version.
type Stage string

// These are the stages of a version. A version can move from any stage to any other stage. At most
// one version of a model is in PRODUCTION, unless a client uses OthersKept.
const (
	NoStage    Stage = "NONE"
	Staging    Stage = "STAGING"
	Production Stage = "PRODUCTION"
	Archived   Stage = "ARCHIVED"
)

// StageOthers selects what happens when a version moves to a stage that contains other versions
// of the same model.
type StageOthers int

// These are the choices for the other versions.
const (
	OthersByStage StageOthers = iota // archive the other versions if the stage is PRODUCTION
	OthersArchived
	OthersKept
)

// ProductionVersion returns the version of a model that is in PRODUCTION. If several versions
// are in PRODUCTION, it returns the last version that was moved there. It returns NOT_FOUND if
// no version is in PRODUCTION. The actor needs the right to read.
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

// Promotion is the result of moving a version to a stage.
type Promotion struct {
	ModelID string
	Version int64
	Former  *int64 // number of the version that left PRODUCTION for ARCHIVED; nil if none
}

// SetStage moves a version to another stage. A move to PRODUCTION archives the former
// production version. The actor needs the right to update.
func (db *DB) SetStage(ctx context.Context, actor domain.Actor, id string, stage Stage) (Promotion, error) {
	if err := CheckStage(stage); err != nil {
		return Promotion{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Promotion, error) {
		return updateModelVersion(tx, actor, id, ModelVersionPatch{Stage: &stage})
	})
}

// LeaveStage prepares a move of version v to stage. The argument others decides whether the
// other versions in the stage are archived or stay there. It returns the number of the archived
// version that was in PRODUCTION, or nil if there was none.
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
	// Also archive versions in the trash. A restored version must not be in PRODUCTION.
	_, err = tx.Exec(`UPDATE model_version SET
			stage        = 'ARCHIVED',
			beside       = 0,
			updated_date = ?
		WHERE model_id = ? AND stage = ? AND id <> ?`, tx.Now, v.ModelID, stage, v.ID)
	return former, err
}

// CheckStage returns an error if s is not a valid stage.
func CheckStage(s Stage) error {
	return domain.OneOf("stage", s, NoStage, Staging, Production, Archived)
}
