package trash

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/scalar"
)

// purgePause is the time between two purges of expired records.
const purgePause = time.Hour

// Limits for one purge transaction, so that other writers need not wait long. A transaction
// deletes up to purgedArtifacts artifacts, or fewer if they take long. Once there are no more
// artifacts, each transaction deletes up to purgedIterations iterations, or as many as have up to
// purgedPoints points and console lines. All points of an iteration are deleted in one
// transaction.
const (
	purgedArtifacts  = 1000
	purgedStep       = 50 // maximum number of artifacts that one statement deletes
	purgedIterations = 100
	purgedPoints     = 200_000
)

// purgedAtOnce is the number of records that Empty reads in one query.
const purgedAtOnce = 1000

// Purge permanently deletes a record in the trash and all records in it. A background task
// deletes the bytes of the artifacts. Purge returns CONFLICT if a model version in the trash
// refers to the record. It requires the right to delete.
func (db *DB) Purge(ctx context.Context, actor domain.Actor, id string) error {
	t, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (Trashed, error) { return trashed(tx, actor, id) })
	if err != nil {
		return err
	}
	if t.Kind == domain.TrashedArtifact {
		return files.PurgeArtifact(ctx, db.files, actor, func(tx *domain.Tx) (r domain.ResourceState, err error) {
			if _, err := purgeable(tx, actor, id); err != nil {
				return r, err
			}
			if err := tx.AuditTrashed(domain.ActionPurge, t.Kind, id, ""); err != nil {
				return r, err
			}
			err = tx.Row(`SELECT num, blob_id FROM resource WHERE id = ?`, id).Scan(&r.Num, &r.BlobID)
			return r, err
		})
	}
	defer db.base.Artifacts.Wake()
	for more := true; more && err == nil; {
		err = domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
			t, err := purgeable(tx, actor, id)
			if err == nil {
				more, err = purgePart(tx, t)
			}
			return err
		})
	}
	return err
}

// purgePart deletes a record, or only some of the records in it if there are many artifacts or
// iterations. more is set if the record still exists. The first call sets the record's deletion
// date to 0. With this date, the record is not listed in the trash and can't be restored.
func purgePart(tx *domain.Tx, t Trashed) (more bool, err error) {
	if t.DeletedDate > 0 {
		if err := tx.AuditTrashed(domain.ActionPurge, t.Kind, t.ID, ""); err != nil {
			return false, err
		}
		if _, err := tx.Exec(`UPDATE `+string(t.Kind)+` SET deleted_date = 0 WHERE id = ?`, t.ID); err != nil {
			return false, err
		}
		if t.Kind == domain.TrashedProject { // model versions refer to iterations and artifacts of the project
			if _, err := tx.Exec(`DELETE FROM model WHERE project_id = ?`, t.ID); err != nil {
				return false, err
			}
		}
	}
	for _, part := range []func(*domain.Tx, Trashed) (bool, error){purgeArtifacts, purgeFileNames, purgeIterations} {
		if more, err := part(tx, t); err != nil || more {
			return more, err
		}
	}
	return false, tx.Purge(t.Kind, t.ID)
}

// purgeArtifacts deletes some artifacts in a record. more is set if artifacts might remain.
func purgeArtifacts(tx *domain.Tx, t Trashed) (more bool, err error) {
	condition := map[domain.TrashKind]string{
		domain.TrashedProject:    `experiment_id IN (SELECT id FROM experiment WHERE project_id = ?)`,
		domain.TrashedExperiment: `experiment_id = ?`,
		domain.TrashedIteration:  `iteration_num = (SELECT num FROM iteration WHERE id = ?)`,
	}[t.Kind]
	if condition == "" {
		return false, nil
	}
	full := domain.Part()
	for n := 0; n < purgedArtifacts && (n == 0 || !full()); n += purgedStep {
		deleted, err := tx.Exec(`DELETE FROM resource WHERE num IN (SELECT num FROM resource WHERE `+condition+` LIMIT ?)`, t.ID, purgedStep)
		if err != nil || deleted < purgedStep {
			return false, err
		}
	}
	return true, nil
}

// purgeFileNames deletes some file names of W&B artifact versions in a record. more is set if
// file names might remain.
func purgeFileNames(tx *domain.Tx, t Trashed) (more bool, err error) {
	condition := map[domain.TrashKind]string{
		domain.TrashedProject:    `artifact_version.experiment_id IN (SELECT id FROM experiment WHERE project_id = ?)`,
		domain.TrashedExperiment: `artifact_version.experiment_id = ?`,
		domain.TrashedIteration:  `artifact_version.iteration_num = (SELECT num FROM iteration WHERE id = ?)`,
	}[t.Kind]
	if condition == "" {
		return false, nil
	}
	full := domain.Part()
	for n := 0; n < purgedArtifacts && (n == 0 || !full()); n += purgedStep {
		var version int64
		err := tx.Row(`SELECT artifact_version.num
			FROM artifact_version
			JOIN artifact_file ON artifact_file.artifact_num = artifact_version.num
			WHERE `+condition+` LIMIT 1`, t.ID).Scan(&version)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		_, err = tx.Exec(`DELETE FROM artifact_file WHERE artifact_num = ?1 AND name IN (
			SELECT name FROM artifact_file WHERE artifact_num = ?1 LIMIT ?2)`, version, purgedStep)
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// purgeIterations deletes some iterations in an experiment or project. more is set if another
// call is needed. If one transaction can delete all remaining iterations, purgeIterations
// leaves them to Tx.Purge and returns false.
func purgeIterations(tx *domain.Tx, t Trashed) (more bool, err error) {
	var held []struct {
		Num    int64 `db:"num"`
		Points int64 `db:"points"`
	}
	condition := map[domain.TrashKind]string{
		domain.TrashedProject:    `experiment.project_id = ?`,
		domain.TrashedExperiment: `experiment.id = ?`,
	}[t.Kind]
	if condition == "" {
		return false, nil
	}
	err = tx.Select(&held, `SELECT
			iteration.num,
			(SELECT coalesce(sum(count), 0) FROM series WHERE iteration_num = iteration.num)
				+ (SELECT count(*) FROM console_line WHERE iteration_num = iteration.num)
				+ (SELECT count(*) FROM wandb_row WHERE iteration_num = iteration.num) AS points
		FROM experiment
		JOIN iteration ON iteration.experiment_id = experiment.id
		WHERE `+condition+` LIMIT ?`, t.ID, purgedIterations+1)
	if err != nil {
		return false, err
	}
	n, points := 0, int64(0)
	for n < min(len(held), purgedIterations) && (n == 0 || points+held[n].Points <= purgedPoints) {
		points += held[n].Points
		n++
	}
	if n == len(held) {
		return false, nil
	}
	for _, it := range held[:n] {
		if _, err := tx.Exec(`DELETE FROM iteration WHERE num = ?`, it.Num); err != nil {
			return false, err
		}
	}
	return true, nil
}

// purgeable returns a record in the trash. It checks that actor has the right to delete. It
// returns CONFLICT if a model version refers to the record.
func purgeable(tx *domain.Tx, actor domain.Actor, id string) (t Trashed, err error) {
	if t, err = trashed(tx, actor, id); err != nil {
		return t, err
	}
	var condition string
	args := []any{id, id, id}
	switch t.Kind {
	case domain.TrashedArtifact:
		condition, args = `model_version.resource_num = (SELECT num FROM resource WHERE id = ?)`, args[:1]
	case domain.TrashedIteration:
		condition = registry.FromIteration(`(SELECT num FROM iteration WHERE id = ?)`)
	case domain.TrashedExperiment:
		condition = registry.FromExperiment
	default:
		return t, nil
	}
	return t, registry.RefuseIfAnyVersioned(tx, `(`+condition+`)`, "It is used by %s in the trash; delete those versions permanently first.", args...)
}

// Purged describes a record that Empty has processed.
type Purged struct {
	Trashed
	Kept bool // not purged, because a newer model version in the trash refers to the record
}

// Empty purges the records that were deleted at least age ago. It calls done for each processed
// record. Other goroutines and processes can read and write at the same time. The actor must be
// an admin.
func (db *DB) Empty(ctx context.Context, actor domain.Actor, age time.Duration, done func(Purged)) error {
	until := scalar.TimeOf(db.base.Now().Add(-age))
	after := Trashed{Rank: -1}
	for {
		page, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (page []Trashed, err error) {
			if err := tx.Admin(actor); err != nil {
				return nil, err
			}
			err = tx.Select(&page, `SELECT `+trashColumns+` `+trashRows+`
				WHERE trashed.deleted_date <= ? AND (trashed.rank, trashed.id) > (?, ?)
				ORDER BY trashed.rank, trashed.id LIMIT ?`, until, after.Rank, after.ID, purgedAtOnce)
			for i := range page {
				if err == nil {
					err = countTrashed(tx, &page[i])
				}
			}
			return page, err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, t := range page {
			if err := ctx.Err(); err != nil {
				return err
			}
			after = t
			err := db.Purge(ctx, actor, t.ID)
			var e *domain.Error
			switch {
			case err == nil:
				done(Purged{Trashed: t})
			case errors.As(err, &e) && e.Code == domain.CodeConflict:
				done(Purged{Trashed: t, Kept: true})
			case errors.As(err, &e) && e.Code == domain.CodeNotFound:
				// The record was restored, or purged with its container.
			default:
				return err
			}
		}
	}
}

// PurgeExpired purges expired records immediately and then every purgePause. It returns when
// the database closes.
func (db *DB) PurgeExpired(ctx context.Context) {
	db.base.Repeat(ctx, purgePause, "could not purge the trash; will try again", func() error {
		return db.Empty(ctx, domain.System, db.base.Options.TrashAge, func(Purged) {})
	})
}
