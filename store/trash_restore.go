package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/access"
	"tracker/store/sqlite"
)

// Restore takes records out of the trash, with all that went there with them: all
// of them or, with an error, none. Needs delete. NOT_FOUND when one is not in the
// trash; CONFLICT when its container is in the trash, too, or when its name was taken
// meanwhile.
func (db *DB) Restore(ctx context.Context, actor Actor, ids ...string) error {
	if err := tooMany(ids); err != nil {
		return err
	}
	return access.Change(ctx, db.base, actor, func(tx *access.Tx) error {
		for _, id := range ids {
			if err := restore(tx, actor, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func restore(tx *access.Tx, actor Actor, id string) error {
	t, err := trashed(tx, actor, id)
	if err == nil && t.DeletedDate == 0 {
		err = access.NotFound("record in the trash") // it is being purged
	}
	if err != nil {
		return err
	}
	if t.HeldBy != "" {
		return errHeld(t)
	}
	if t.Kind == TrashedModel {
		if err := refuseIfModelHeld(tx, t); err != nil {
			return err
		}
	}
	_, err = tx.Exec(`UPDATE `+string(t.Kind)+` SET deleted_date = NULL, deleted_by = NULL WHERE id = ?`, id)
	if sqlite.IsDuplicate(err) {
		return &Error{Code: CodeConflict, Field: "name",
			Message: "The project has another model of this name by now; rename that one first."}
	}
	if err != nil {
		return err
	}
	return noteRestored(tx, t)
}

// refuseIfModelHeld fails with CONFLICT when a version of a model came from
// something that is in the trash.
func refuseIfModelHeld(tx *access.Tx, t Trashed) error {
	var version int64
	var held string
	err := tx.Row(`SELECT model_version.version, CASE
			WHEN experiment.deleted_date IS NOT NULL THEN 'experiment'
			WHEN iteration.deleted_date IS NOT NULL THEN 'iteration'
			ELSE 'artifact'
		END
		FROM model_version
		LEFT JOIN iteration ON iteration.num = model_version.iteration_num
		LEFT JOIN experiment ON experiment.id = iteration.experiment_id
		LEFT JOIN resource ON resource.num = model_version.resource_num
		WHERE model_version.model_id = ? AND model_version.deleted_date IS NULL
		AND coalesce(experiment.deleted_date, iteration.deleted_date, resource.deleted_date) IS NOT NULL
		ORDER BY model_version.version LIMIT 1`, t.ID).Scan(&version, &held)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return access.Errorf(CodeConflict, "Version %d of the model %q came from %s that is in the trash, too; restore the %s first.",
		version, t.Name, article(held), held)
}

// noteRestored adds a restored record to the journal.
func noteRestored(tx *access.Tx, t Trashed) error {
	query := ``
	switch t.Kind {
	case TrashedIteration:
		query = `SELECT num FROM iteration WHERE id = ?`
	case TrashedArtifact:
		query = `SELECT iteration_num FROM resource WHERE id = ?`
	case TrashedVersion:
		query = `SELECT iteration_num FROM model_version WHERE id = ?`
	default:
		return nil
	}
	var num *int64
	if err := tx.Row(query, t.ID).Scan(&num); err != nil {
		return err
	}
	if t.Kind == TrashedIteration {
		if err := tx.NoteParent(*num); err != nil {
			return err
		}
	}
	return tx.NoteNumbered(num)
}
