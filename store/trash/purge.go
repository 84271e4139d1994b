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
	"tracker/store/sqlite"
)

// purgePause is the time between two purges of expired records.
const purgePause = time.Hour

// Limits of one transaction of a purge, so that other writes do not wait long. It deletes up to
// this number of artifacts, fewer if they take long. When no artifacts are left, it deletes
// iterations, limited by their number, points and lines of console output. All points of one
// iteration are deleted in the same transaction.
const (
	purgedArtifacts  = 1000
	purgedStep       = 50 // artifacts that one statement deletes
	purgedIterations = 100
	purgedPoints     = 200_000
)

// purgedAtOnce is the number of records that Empty looks up at once.
const purgedAtOnce = 1000

// Purge deletes a record in the trash and its contents permanently. The bytes of its artifacts are
// deleted in the background. Needs delete. It returns CONFLICT if a model version in the trash
// refers to it.
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

// purgePart deletes a record or, if it contains many artifacts or iterations, some of these, and
// reports whether there is more to delete. The first part sets the deletion date of the record to
// 0, which removes it from the list of the trash and prevents a restore.
func purgePart(tx *domain.Tx, t Trashed) (more bool, err error) {
	if t.DeletedDate > 0 {
		if _, err := tx.Exec(`UPDATE `+string(t.Kind)+` SET deleted_date = 0 WHERE id = ?`, t.ID); err != nil {
			return false, err
		}
		if t.Kind == domain.TrashedProject { // its versions refer to its iterations and artifacts
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

// purgeArtifacts deletes some artifacts of a record, and reports whether there may be more.
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

// purgeFileNames deletes some rows with the file names of W&B artifact versions in a record, and
// reports whether there may be more.
func purgeFileNames(tx *domain.Tx, t Trashed) (more bool, err error) {
	condition := map[domain.TrashKind]string{
		domain.TrashedProject:    `wandb_artifact.experiment_id IN (SELECT id FROM experiment WHERE project_id = ?)`,
		domain.TrashedExperiment: `wandb_artifact.experiment_id = ?`,
		domain.TrashedIteration:  `wandb_artifact.iteration_num = (SELECT num FROM iteration WHERE id = ?)`,
	}[t.Kind]
	if condition == "" {
		return false, nil
	}
	full := domain.Part()
	for n := 0; n < purgedArtifacts && (n == 0 || !full()); n += purgedStep {
		var version int64
		err := tx.Row(`SELECT wandb_artifact.num
			FROM wandb_artifact
			JOIN wandb_file ON wandb_file.artifact_num = wandb_artifact.num
			WHERE `+condition+` LIMIT 1`, t.ID).Scan(&version)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		_, err = tx.Exec(`DELETE FROM wandb_file WHERE artifact_num = ?1 AND name IN (
			SELECT name FROM wandb_file WHERE artifact_num = ?1 LIMIT ?2)`, version, purgedStep)
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// purgeIterations deletes some iterations of an experiment or a project, and reports
// whether there are more.
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

// purgeable returns a record in the trash after checking that actor may purge it and that nothing
// refers to it.
func purgeable(tx *domain.Tx, actor domain.Actor, id string) (t Trashed, err error) {
	if t, err = trashed(tx, actor, id); err != nil {
		return t, err
	}
	var condition string
	args := []any{id, id}
	switch t.Kind {
	case domain.TrashedArtifact:
		condition, args = `model_version.resource_num = (SELECT num FROM resource WHERE id = ?)`, args[:1]
	case domain.TrashedIteration:
		condition = `model_version.iteration_num = (SELECT num FROM iteration WHERE id = ?)
			OR model_version.resource_num IN (
				SELECT num FROM resource WHERE iteration_num = (SELECT num FROM iteration WHERE id = ?))`
	case domain.TrashedExperiment:
		condition = `model_version.iteration_num IN (SELECT num FROM iteration WHERE experiment_id = ?)
			OR model_version.resource_num IN (SELECT num FROM resource WHERE experiment_id = ?)`
	default:
		return t, nil
	}
	return t, registry.RefuseIfAnyVersioned(tx, `(`+condition+`)`, "It is used by %s in the trash; delete those permanently first.", args...)
}

// Purged is a record that Empty has processed.
type Purged struct {
	Trashed
	Kept bool // it was not purged, since a model version that is not old enough refers to it
}

// Empty purges the records that were deleted at least age ago, and calls done for each. Others
// may read and write at the same time. Only admins may call it.
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
				// It was restored, or purged with its container.
			default:
				return err
			}
		}
	}
}

// PurgeExpired purges expired records at once and then at intervals until the database closes.
func (db *DB) PurgeExpired(ctx context.Context) {
	tick := time.NewTicker(purgePause)
	defer tick.Stop()
	for {
		err := db.Empty(ctx, domain.System, db.base.Options.TrashAge, func(Purged) {})
		if err != nil && ctx.Err() == nil && !errors.Is(err, sqlite.ErrClosed) {
			db.base.Log.Warn("could not purge the trash; will try again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
