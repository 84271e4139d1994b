package record

import (
	"errors"
	"fmt"

	"tracker/store/scalar"
)

// Artifact holds the columns of an artifact. It contains ids instead of row numbers.
type Artifact struct {
	ID          string      `db:"id"`
	Name        string      `db:"name"`
	Description string      `db:"description"`
	ContentType string      `db:"content_type"`
	CreatedDate scalar.Time `db:"created_date"`
	UpdatedDate scalar.Time `db:"updated_date"`
	Hash        string      `db:"hash"`
	Size        int64       `db:"size_bytes"`
	CreatedBy   string      `db:"created_by"`  // "" if unknown
	CreatedKey  string      `db:"created_key"` // "" if no key was used
}

// eachArtifact calls fn for each artifact of a record, oldest first.
func (tx Tx) eachArtifact(k *Kind, id string, fn func(Artifact) error) error {
	if k.Artifacts == "" {
		return nil
	}
	rows, err := tx.Tx.Rows(`SELECT resource.id, name, description, content_type, created_date, updated_date,
			coalesce(created_by, '') AS created_by, coalesce(created_key, '') AS created_key, hash, size_bytes
		FROM resource JOIN blob ON blob.id = blob_id AND deleting = 0
		WHERE deleted_date IS NULL AND `+k.Artifacts+` ORDER BY resource.num`, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a Artifact
		if err := rows.StructScan(&a); err != nil {
			return err
		}
		for _, c := range []struct {
			column TextKind
			text   string
		}{{ID, a.ID}, {FileName, a.Name}, {Text, a.Description}, {ContentType, a.ContentType}, {Short, a.CreatedBy}, {Short, a.CreatedKey}} {
			if err := tx.Check(c.column, c.text); err != nil {
				return fmt.Errorf("in the table resource: %w", err)
			}
		}
		if err := fn(a); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// storedArtifact is the artifact in the target database with the id of a copied artifact.
type storedArtifact struct {
	Artifact
	Ours    bool `db:"ours"` // belongs to the record that is being copied
	Deleted bool `db:"deleted"`
}

// Artifact returns the artifact with the given id, or sql.ErrNoRows. ref is the record that is
// being copied.
func (tx Tx) Artifact(ref Ref, id string) (a storedArtifact, err error) {
	err = tx.Get(&a, `SELECT resource.id, name, description, content_type, created_date, updated_date,
			coalesce(created_by, '') AS created_by, coalesce(created_key, '') AS created_key, hash, size_bytes,
			coalesce(`+ref.Kind.Artifacts+`, 0) AS ours, deleted_date IS NOT NULL AS deleted
		FROM resource JOIN blob ON blob.id = blob_id WHERE resource.id = ?2`, ref.ID, id)
	return a, err
}

// UpdateArtifact updates the row of an artifact. It does not change the bytes.
func (tx Tx) UpdateArtifact(a Artifact) error {
	_, err := tx.Exec(`UPDATE resource SET name = ?, description = ?, content_type = ?, created_date = ?, updated_date = ?
		WHERE id = ?`, a.Name, a.Description, a.ContentType, a.CreatedDate, a.UpdatedDate, a.ID)
	return err
}

// putArtifact inserts or replaces an artifact of an experiment or iteration.
func (tx Tx) putArtifact(ref Ref, a Artifact, blobID int64) error {
	_, err := tx.Exec(`INSERT INTO resource
			(id, experiment_id, iteration_num, blob_id, name, description, content_type, created_date, updated_date, created_by, created_key)
		SELECT ?2, coalesce(iteration.experiment_id, ?1), iteration.num, ?3, ?4, ?5, ?6, ?7, ?8, nullif(?9, ''), nullif(?10, '')
		FROM (SELECT 1) LEFT JOIN iteration ON iteration.id = ?1
		WHERE TRUE
		ON CONFLICT (id) DO UPDATE SET
			blob_id      = excluded.blob_id,
			name         = excluded.name,
			description  = excluded.description,
			content_type = excluded.content_type,
			created_date = excluded.created_date,
			updated_date = excluded.updated_date`,
		ref.ID, a.ID, blobID, a.Name, a.Description, a.ContentType, a.CreatedDate, a.UpdatedDate, a.CreatedBy, a.CreatedKey)
	return err
}
