package store

import (
	"context"
	"database/sql"
	"errors"
)

// NewArtifact is what CreateArtifact takes beside the bytes.
type NewArtifact struct {
	Name        string
	Description string
	IterationID string // of the same experiment, or ""
	ContentType string // "" for application/octet-stream

	ID          string // a UUID that no artifact has; "" for a new one
	CreatedDate *Time  // nil for now
}

// ArtifactPatch is what UpdateArtifact changes; nil leaves a field as it is.
type ArtifactPatch struct {
	Name        *string
	Description *string
	IterationID *string // "" for none
	ContentType *string
}

// CreateArtifact makes an artifact of bytes that have been received. Needs
// create; the experiment must be in progress.
func (db *DB) CreateArtifact(ctx context.Context, actor Actor, experimentID string, n NewArtifact, b *Received) (Created, error) {
	if n.ContentType == "" {
		n.ContentType = DefaultContentType
	}
	err := checkArtifact(ArtifactPatch{Name: &n.Name, Description: &n.Description, ContentType: &n.ContentType})
	if err != nil {
		return Created{}, err
	}
	return put(ctx, db, actor, b, func(tx *tx, blobID int64) (Created, error) {
		return tx.insertArtifact(actor, experimentID, n, blobID)
	})
}

func (tx *tx) insertArtifact(actor Actor, experimentID string, n NewArtifact, blobID int64) (Created, error) {
	e, err := tx.allowExperiment(actor, experimentID, rightCreate)
	if err == nil {
		err = e.open()
	}
	if err != nil {
		return Created{}, err
	}
	iteration, err := tx.iterationOf(experimentID, n.IterationID)
	if err != nil {
		return Created{}, err
	}
	id, created := n.ID, tx.now
	if id == "" {
		if id, err = newID(); err != nil {
			return Created{}, err
		}
	}
	if n.CreatedDate != nil {
		created = *n.CreatedDate
	}
	_, err = tx.Exec(`INSERT INTO resource
		(id, experiment_id, iteration_num, blob_id, name, description, content_type, created_date, updated_date)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, experimentID, iteration, blobID, n.Name, n.Description, n.ContentType, created, tx.now)
	if err != nil {
		return Created{}, err
	}
	return Created{ID: id}, tx.noteNumbered(iteration)
}

// iterationOf returns the number of an iteration of the experiment, nil for the
// id "". The run is alive, if it has not ended.
func (tx *tx) iterationOf(experimentID, id string) (*int64, error) {
	if id == "" {
		return nil, nil
	}
	var num int64
	var status IterationStatus
	err := tx.Row(`SELECT num, status FROM iteration WHERE id = ? AND experiment_id = ? AND deleted_date IS NULL`, id, experimentID).Scan(&num, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, Invalid("iteration_id", "iteration_id must name an iteration of the same experiment.")
	}
	if err == nil && status == Running {
		tx.seen = append(tx.seen, num)
	}
	return &num, err
}

// UpdateArtifact changes an artifact, and gives it other bytes unless b is nil.
// Needs update; for other bytes the experiment must be in progress.
func (db *DB) UpdateArtifact(ctx context.Context, actor Actor, id string, p ArtifactPatch, b *Received) error {
	if err := checkArtifact(p); err != nil {
		return err
	}
	if b == nil {
		return change(ctx, db, actor, func(tx *tx) error {
			_, err := tx.updateArtifact(actor, id, p, nil)
			return err
		})
	}
	former, err := put(ctx, db, actor, b, func(tx *tx, blobID int64) (int64, error) {
		return tx.updateArtifact(actor, id, p, &blobID)
	})
	if err != nil {
		return err
	}
	if _, err := db.artifacts.DeleteUnused(context.WithoutCancel(ctx), former); err != nil {
		db.log.Warn("the former bytes of an artifact could not be removed; they are tried again later", "error", err)
	}
	return nil
}

// updateArtifact returns which bytes it had.
func (tx *tx) updateArtifact(actor Actor, id string, p ArtifactPatch, blobID *int64) (former int64, err error) {
	r, err := tx.allowArtifact(actor, id, rightUpdate)
	if err == nil && blobID != nil {
		err = r.experiment.open()
	}
	if err != nil {
		return 0, err
	}
	iteration := r.iterationNum
	if p.IterationID != nil {
		if iteration, err = tx.iterationOf(r.experimentID, *p.IterationID); err != nil {
			return 0, err
		}
	}
	_, err = tx.Exec(`UPDATE resource SET
			name          = new.name,
			description   = new.description,
			content_type  = new.content_type,
			iteration_num = new.iteration_num,
			blob_id       = new.blob_id,
			updated_date  = ?
		FROM (SELECT
				num,
				coalesce(?, name) AS name,
				coalesce(?, description) AS description,
				coalesce(?, content_type) AS content_type,
				? AS iteration_num,
				coalesce(?, blob_id) AS blob_id
			FROM resource WHERE num = ?) AS new
		WHERE resource.num = new.num
		AND (resource.name, resource.description, resource.content_type, resource.iteration_num, resource.blob_id)
			IS NOT (new.name, new.description, new.content_type, new.iteration_num, new.blob_id)`,
		tx.now, p.Name, p.Description, p.ContentType, iteration, blobID, r.num)
	return r.blobID, firstError(err, tx.noteNumbered(r.iterationNum), tx.noteNumbered(iteration))
}

// CheckArtifact checks the fields of an artifact that need no look at the database.
func CheckArtifact(p ArtifactPatch) error { return checkArtifact(p) }

func checkArtifact(p ArtifactPatch) error {
	if p.Name != nil {
		if err := checkArtifactName(*p.Name); err != nil {
			return err
		}
	}
	if p.Description != nil {
		if err := checkText("description", *p.Description); err != nil {
			return err
		}
	}
	if p.ContentType != nil {
		return checkContentType(*p.ContentType)
	}
	return nil
}
