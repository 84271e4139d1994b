package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/transfer"
)

// These values mark a record that was deleted in its source. The importer moves the record to the
// trash once, after the complete import. If a user restores the record, later imports do not move
// it again.
const (
	trashKind    = "trash"
	trashPending = "pending"
)

// trashLater records that a new record must be moved to the trash after its import. It returns
// transfer.ErrDeleted if an earlier import has already called trashLater for the record.
func trashLater(tx *domain.Tx, id string) error { return importOnce(tx, trashKind, id, trashPending) }

// trashNow moves a record to the trash if trashLater recorded it.
func trashNow(tx *domain.Tx, kind domain.TrashKind, id string) error {
	n, err := tx.Exec(`UPDATE source SET fingerprint = '' WHERE id = ? AND fingerprint = ?`, transfer.ID("imported", trashKind, id), trashPending)
	if err != nil || n == 0 {
		return err
	}
	return tx.Discard(kind, id)
}

// Trash moves a run to the trash because the source has deleted the run. Only the first call
// for a run moves it. refused is the reason if the run can't be moved, or "".
func (im importer) Trash(ctx context.Context, runID uuid.UUID) (refused string, err error) {
	err = im.base.Discard(ctx, im.actor, func(tx *domain.Tx) error {
		it, err := tx.AllowIteration(im.actor, runID.String(), domain.RightCreate)
		if err != nil && domain.AsError(err).Code == domain.CodeNotFound {
			return nil // the run is already in the trash or was not imported
		}
		if err != nil {
			return err
		}
		err = registry.RefuseIfIterationVersioned(tx, it.Num)
		if e := domain.AsError(err); err != nil && e.Code == domain.CodeConflict {
			refused = "The run is deleted in its source and not moved to the trash here: " + e.Message
			return nil
		}
		if err != nil {
			return err
		}
		return trashNow(tx, domain.TrashedIteration, it.ID)
	})
	return refused, err
}

// Experiment creates an experiment if it does not exist. It adds a missing description and
// missing properties. If the source has deleted the experiment, Experiment moves an imported
// experiment to the trash.
func (im importer) Experiment(ctx context.Context, e transfer.Experiment) (changes []string, err error) {
	properties := importedProperties(e.Properties)
	if err := domain.FirstError(domain.CheckName("name", e.Name), domain.CheckText("description", e.Description), checkImported(properties)); err != nil {
		return nil, err
	}
	if e.Deleted && im.base.Options.TrashAge <= 0 {
		return []string{"The experiment is deleted in its source. It is left out, because this database has no trash."}, nil
	}
	err = im.base.Discard(ctx, im.actor, func(tx *domain.Tx) error {
		changes = nil
		id, err := describeExperiment(tx, e, properties, &changes)
		if err == nil && id != "" && e.Deleted {
			err = trashNow(tx, domain.TrashedExperiment, id)
		}
		return err
	})
	return changes, err
}

// describeExperiment adds a missing description and missing properties to an experiment and returns
// its id. It appends a message to changes for each value that is omitted because the experiment has
// a different one. It returns "" if a user deleted the experiment.
func describeExperiment(tx *domain.Tx, e transfer.Experiment, properties []domain.Property, changes *[]string) (id string, err error) {
	parts := []string{e.Description}
	for _, p := range properties {
		parts = append(parts, p.Key, p.Value)
	}
	source, now := transfer.ID("imported", "experiment", e.ID, e.Name, strconv.FormatInt(int64(e.Created), 10)), transfer.ID(parts...).String()
	var before string
	err = tx.Row(`SELECT fingerprint, state FROM source WHERE id = ?`, source).Scan(&before, &id)
	isNew := errors.Is(err, sql.ErrNoRows)
	if isNew {
		id, err = experimentOf(tx, e)
	}
	if err != nil || id == "" || before == now {
		return id, err
	}
	var description, projectID string
	err = tx.Row(`SELECT experiment.description, project_id FROM experiment JOIN project ON project.id = project_id
		WHERE experiment.id = ? AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL`, id).Scan(&description, &projectID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO source (id, path, size, fingerprint, position, state, updated_date) VALUES (?, 'experiment', 0, ?, 0, ?, ?)
		ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, updated_date = excluded.updated_date`, source, now, id, tx.Now)
	if made := transfer.ID("experiment", projectID, e.Name).String(); err == nil && isNew && e.Created > 0 && (id == made || e.Deleted) {
		_, err = tx.Exec(`UPDATE experiment SET created_date = min(created_date, ?) WHERE id = ?`, e.Created, id)
	}
	if err != nil {
		return "", err
	}
	switch e.Description {
	case "", description:
	default:
		if description != "" {
			*changes = append(*changes, fmt.Sprintf("The description of the experiment %.80q is not imported: the experiment has a different one here.", e.Name))
			break
		}
		if _, err := tx.Exec(`UPDATE experiment SET description = ?, updated_date = ? WHERE id = ?`, e.Description, tx.Now, id); err != nil {
			return "", err
		}
	}
	return id, addProperties(tx, "experiment_id", id, properties, func(key string) {
		*changes = append(*changes, fmt.Sprintf("The tag %.80q of the experiment %.80q is not imported: the tag has a different value here.", key, e.Name))
	})
}

// addProperties adds missing properties to a record. It calls differs for each property that
// already has a different value.
func addProperties(tx *domain.Tx, column, id string, all []domain.Property, differs func(key string)) error {
	for _, p := range all {
		if _, err := tx.Exec(`INSERT INTO property (`+column+`, key, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, id, p.Key, p.Value); err != nil {
			return err
		}
		same, err := tx.Has(`SELECT 1 FROM property WHERE `+column+` = ? AND key = ? AND value = ?`, id, p.Key, p.Value)
		if err != nil {
			return err
		}
		if !same {
			differs(p.Key)
		}
	}
	return nil
}

// experimentOf returns the id of the experiment that contains the run of e. If e has no run,
// experimentOf finds or creates the experiment by name. It returns "" if a user deleted the run
// or the experiment.
func experimentOf(tx *domain.Tx, e transfer.Experiment) (id string, err error) {
	if e.RunID != nil {
		err = tx.Row(`SELECT experiment_id FROM iteration WHERE id = ?`, *e.RunID).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return id, err
	}
	id, err = importedExperiment(tx, &transfer.Run{Project: e.Project, Experiment: e.Name, ExperimentDeleted: e.Deleted})
	if errors.Is(err, transfer.ErrDeleted) {
		return "", nil
	}
	return id, err
}
