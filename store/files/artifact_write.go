package files

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/scalar"
)

// NewArtifact holds the arguments of CreateArtifact except the bytes.
type NewArtifact struct {
	Name        string
	Description string
	IterationID string // id of an iteration of the same experiment, or ""
	ContentType string // media type; "" means DefaultContentType

	ID          string       // unused UUID for the artifact; "" means a random UUID
	CreatedDate *scalar.Time // creation time; nil means now
}

// ArtifactPatch holds the fields that UpdateArtifact sets. A nil field is not changed.
type ArtifactPatch struct {
	Name        *string
	Description *string
	IterationID *string // "" removes the iteration
	ContentType *string
}

// CreateArtifact creates an artifact from received bytes. It requires the right to create. The
// experiment must be in progress.
func (db *DB) CreateArtifact(ctx context.Context, actor domain.Actor, experimentID string, n NewArtifact, b *artifact.Received) (domain.Created, error) {
	if n.ContentType == "" {
		n.ContentType = DefaultContentType
	}
	err := CheckArtifact(ArtifactPatch{Name: &n.Name, Description: &n.Description, ContentType: &n.ContentType})
	if err != nil {
		return domain.Created{}, err
	}
	return put(ctx, db, actor, b, func(tx *domain.Tx, blobID int64) (domain.Created, error) {
		return InsertArtifact(tx, actor, experimentID, n, blobID)
	})
}

// InsertArtifact inserts the record of an artifact. The caller must have called CheckArtifact.
// InsertArtifact requires the right to create. The experiment must be in progress.
func InsertArtifact(tx *domain.Tx, actor domain.Actor, experimentID string, n NewArtifact, blobID int64) (domain.Created, error) {
	if _, err := tx.AllowOpenExperiment(actor, experimentID, domain.RightCreate); err != nil {
		return domain.Created{}, err
	}
	iteration, err := iterationOf(tx, experimentID, n.IterationID)
	if err != nil {
		return domain.Created{}, err
	}
	id, created := n.ID, tx.Now
	if id == "" {
		id = domain.NewID()
	}
	if n.CreatedDate != nil {
		created = *n.CreatedDate
	}
	_, err = tx.Exec(`INSERT INTO resource
		(id, experiment_id, iteration_num, blob_id, name, description, content_type, created_date, updated_date,
			created_by, created_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`)`,
		id, experimentID, iteration, blobID, n.Name, n.Description, n.ContentType, created, tx.Now, actor.CreatorID(), actor.Key)
	return domain.Created{ID: id}, err
}

// iterationOf returns the number of the iteration with the given id, or nil if id is "". It
// returns INVALID_PAYLOAD if the iteration is not in the experiment. If the iteration is
// RUNNING, iterationOf marks it as seen.
func iterationOf(tx *domain.Tx, experimentID, id string) (*int64, error) {
	if id == "" {
		return nil, nil
	}
	var num int64
	var status domain.IterationStatus
	err := tx.Row(`SELECT num, status FROM iteration WHERE id = ? AND experiment_id = ? AND deleted_date IS NULL`, id, experimentID).Scan(&num, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, domain.Invalid("iteration_id", "iteration_id must belong to the same experiment.")
	}
	if err == nil && status == domain.Running {
		tx.Seen = append(tx.Seen, num)
	}
	return &num, err
}

// UpdateArtifact sets the fields in p. If b is not nil, UpdateArtifact replaces the bytes. It
// requires the right to update. The bytes can be replaced only while the experiment is in progress.
func (db *DB) UpdateArtifact(ctx context.Context, actor domain.Actor, id string, p ArtifactPatch, b *artifact.Received) error {
	if err := CheckArtifact(p); err != nil {
		return err
	}
	if b == nil {
		return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
			_, err := updateArtifact(tx, actor, id, p, nil)
			return err
		})
	}
	former, err := put(ctx, db, actor, b, func(tx *domain.Tx, blobID int64) (int64, error) {
		return updateArtifact(tx, actor, id, p, &blobID)
	})
	if err != nil {
		return err
	}
	db.removeFormer(ctx, former)
	return nil
}

// removeFormer deletes the blob that an artifact used before an update, unless another artifact
// uses the blob.
func (db *DB) removeFormer(ctx context.Context, blobID int64) {
	if _, err := db.base.Artifacts.DeleteUnused(context.WithoutCancel(ctx), blobID); err != nil {
		db.base.Log.Warn("could not remove the former bytes of an artifact; will try again later", "error", err)
	}
}

// updateArtifact changes the record of an artifact and returns the id of its former blob.
func updateArtifact(tx *domain.Tx, actor domain.Actor, id string, p ArtifactPatch, blobID *int64) (former int64, err error) {
	r, err := tx.AllowArtifact(actor, id, domain.RightUpdate)
	if err == nil && blobID != nil {
		err = r.Experiment.Open()
	}
	if err != nil {
		return 0, err
	}
	iteration := r.IterationNum
	if p.IterationID != nil {
		if iteration, err = iterationOf(tx, r.ExperimentID, *p.IterationID); err != nil {
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
		tx.Now, p.Name, p.Description, p.ContentType, iteration, blobID, r.Num)
	return r.BlobID, err
}

// CheckArtifact checks the fields in p without the database.
func CheckArtifact(p ArtifactPatch) error {
	if p.Name != nil {
		if err := CheckArtifactName(*p.Name); err != nil {
			return err
		}
	}
	if err := domain.CheckOptional("description", p.Description); err != nil {
		return err
	}
	if p.ContentType != nil {
		return CheckContentType(*p.ContentType)
	}
	return nil
}
