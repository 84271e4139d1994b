package trash

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/domain"
	"tracker/store/sqlite"
)

// Restore restores records and all records in them from the trash. If Restore returns an error,
// no record is restored. Restore returns NOT_FOUND if a record is not in the trash. It returns
// CONFLICT if a containing record is in the trash, or if another record has taken the name. It
// requires the right to delete.
func (db *DB) Restore(ctx context.Context, actor domain.Actor, ids ...string) error {
	if err := tooMany(ids); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		for _, id := range ids {
			if err := restore(tx, actor, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func restore(tx *domain.Tx, actor domain.Actor, id string) error {
	t, err := trashed(tx, actor, id)
	if err == nil && t.DeletedDate == 0 {
		err = domain.NotFound("record in the trash") // the record is being purged
	}
	if err != nil {
		return err
	}
	if t.HeldBy != "" {
		return errHeld(t)
	}
	if t.Kind == domain.TrashedModel {
		if err := refuseIfModelHeld(tx, t); err != nil {
			return err
		}
	}
	_, err = tx.Exec(`UPDATE `+string(t.Kind)+` SET deleted_date = NULL, deleted_by = NULL WHERE id = ?`, id)
	if sqlite.IsDuplicate(err) {
		return &domain.Error{Code: domain.CodeConflict, Field: "name",
			Message: "The project now has another model with this name; rename that one first."}
	}
	if err == nil {
		err = tx.AuditTrashed(domain.ActionRestore, t.Kind, id, "")
	}
	return err
}

// refuseIfModelHeld returns CONFLICT if a version of model t refers to a record in the trash.
func refuseIfModelHeld(tx *domain.Tx, t Trashed) error {
	var version int64
	err := tx.Row(`SELECT model_version.version
		FROM model_version
		LEFT JOIN iteration ON iteration.num = model_version.iteration_num
		LEFT JOIN experiment ON experiment.id = iteration.experiment_id
		LEFT JOIN resource ON resource.num = model_version.resource_num
		WHERE model_version.model_id = ? AND model_version.deleted_date IS NULL
		AND coalesce(experiment.deleted_date, iteration.deleted_date, resource.deleted_date) IS NOT NULL
		ORDER BY model_version.version LIMIT 1`, t.ID).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return domain.Errorf(domain.CodeConflict, "Version %d of the model %q came from a record that is also in the trash; restore that record first.",
		version, t.Name)
}
