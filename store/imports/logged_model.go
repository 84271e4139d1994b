package imports

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/transfer"
)

// LoggedModel creates a logged model and its experiment if they do not exist. It also records
// the uses and metrics of the model. It returns transfer.ErrDeleted if the model was imported
// before and then deleted.
func (im importer) LoggedModel(ctx context.Context, m transfer.LoggedModel) (made bool, err error) {
	hex, isModel := strings.CutPrefix(m.ID, "m-")
	if u, err := uuid.Parse(hex); err != nil || !isModel || strings.ReplaceAll(u.String(), "-", "") != hex {
		return false, domain.Invalid("id", "%.80q is not the id of a logged model.", m.ID)
	}
	properties := importedProperties(m.Properties)
	if err := domain.FirstError(domain.CheckName("name", m.Name), domain.CheckShort("model_type", m.Type), checkImported(properties)); err != nil {
		return false, err
	}
	return domain.Write(ctx, im.base, im.actor, func(tx *domain.Tx) (bool, error) {
		var trashed bool
		var num int64
		err := tx.Row(`SELECT num, experiment.deleted_date IS NOT NULL OR project.deleted_date IS NOT NULL FROM logged_model
			JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id WHERE logged_model.id = ?`, m.ID).Scan(&num, &trashed)
		if err == nil && trashed {
			err = transfer.ErrDeleted
		}
		if err == nil {
			err = importModelUses(tx, num, m)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
		if err := importOnce(tx, "logged model", m.ID, ""); err != nil {
			return false, err
		}
		experimentID, err := importedExperiment(tx, &transfer.Run{Project: m.Project, Experiment: m.Experiment, ExperimentDeleted: m.Trashed})
		if err != nil {
			return false, err
		}
		e, err := tx.AllowExperiment(im.actor, experimentID, domain.RightCreate)
		if err != nil {
			return false, err
		}
		iteration, err := importedIteration(tx, e.ProjectID, m.RunID)
		if err != nil {
			return false, err
		}
		params, err := registry.AddParams(nil, importedProperties(m.Params))
		if err != nil {
			return false, err
		}
		status := registry.LoggedModelPending
		switch {
		case m.Failed:
			status = registry.LoggedModelFailed
		case m.Ready:
			status = registry.LoggedModelReady
		}
		err = tx.Row(`INSERT INTO logged_model
			(id, experiment_id, iteration_num, name, type, status, params, created_date, updated_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			RETURNING num`,
			m.ID, experimentID, iteration, m.Name, m.Type, status, params, m.Created, m.Created).Scan(&num)
		if err != nil {
			return false, err
		}
		if iteration != nil {
			_, err := tx.Exec(`INSERT INTO logged_model_use (iteration_num, role, logged_model_num, step) VALUES (?, ?, ?, 0)
				ON CONFLICT DO NOTHING`, *iteration, registry.OutputModel, num)
			if err != nil {
				return false, err
			}
		}
		owner := domain.PropertyOwner{ProjectID: e.ProjectID, Column: "logged_model_num", Key: num}
		return true, domain.FirstError(importModelUses(tx, num, m), tx.SetProperties(im.actor, owner, properties))
	})
}

// importModelUses records the runs that created, used or measured a logged model. It ignores
// runs of other experiments.
func importModelUses(tx *domain.Tx, num int64, m transfer.LoggedModel) error {
	const iteration = `FROM iteration WHERE id = ?1 AND experiment_id = (SELECT experiment_id FROM logged_model WHERE num = ?2) ON CONFLICT DO NOTHING`
	for _, u := range m.Uses {
		role := registry.InputModel
		if u.Made {
			role = registry.OutputModel
		}
		if _, err := tx.Exec(`INSERT INTO logged_model_use (iteration_num, role, logged_model_num, step) SELECT num, ?3, ?2, ?4 `+iteration,
			u.RunID, num, role, u.Step); err != nil {
			return err
		}
	}
	for _, p := range m.Metrics {
		if err := domain.FirstError(domain.CheckKey(p.Key), domain.CheckText("dataset_name", p.DatasetName), domain.CheckText("dataset_digest", p.DatasetDigest)); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO logged_model_metric (logged_model_num, key, recorded_at, step, iteration_num, dataset_name, dataset_digest, value)
			SELECT ?2, ?3, ?4, ?5, num, ?6, ?7, ?8 `+iteration, p.RunID, num, p.Key, p.At, p.Step, p.DatasetName, p.DatasetDigest, p.Value)
		if err != nil {
			return err
		}
	}
	return nil
}

// importOnce records the import of a record in a row of the source table. The row has no run. stamp
// distinguishes records with the same id. importOnce returns transfer.ErrDeleted if the record was
// imported before.
func importOnce(tx *domain.Tx, kind, id, stamp string) error {
	source := transfer.ID("imported", kind, id)
	done, err := tx.Has(`SELECT 1 FROM source WHERE id = ?`, source)
	if err == nil && done {
		err = transfer.ErrDeleted
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO source (id, path, size, fingerprint, position, state, updated_date) VALUES (?, ?, 0, ?, 0, '', ?)`,
		source, kind, stamp, tx.Now)
	return err
}

// importedIteration returns the number of a run in the project. It returns nil if the run does
// not exist.
func importedIteration(tx *domain.Tx, projectID string, id *uuid.UUID) (*int64, error) {
	if id == nil {
		return nil, nil
	}
	num, err := registry.IterationOfProject(tx, projectID, id.String())
	var refused *domain.Error
	if errors.As(err, &refused) {
		return nil, nil
	}
	return num, err
}

func importedProperties(all []transfer.Parameter) []domain.Property {
	properties := make([]domain.Property, len(all))
	for i, p := range all {
		properties[i] = domain.Property{Key: p.Key, Value: p.Value}
	}
	return properties
}

// checkImported checks properties in chunks, because CheckProperties limits their number.
func checkImported(all []domain.Property) error {
	for some := range slices.Chunk(all, domain.MaxProperties) {
		if err := domain.CheckProperties(some); err != nil {
			return err
		}
	}
	return nil
}
