package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/access"
	"tracker/store/registry"
	"tracker/store/transfer"
)

// LoggedModel makes a logged model, with its experiment, unless it exists. It reports
// whether it made it. The error is transfer.ErrDeleted for a model that was imported
// before and then deleted.
func (im importer) LoggedModel(ctx context.Context, m transfer.LoggedModel) (made bool, err error) {
	hex, isModel := strings.CutPrefix(m.ID, "m-")
	if u, err := uuid.Parse(hex); err != nil || !isModel || strings.ReplaceAll(u.String(), "-", "") != hex {
		return false, access.Invalid("id", "%q is not the id of a logged model.", truncate(m.ID))
	}
	properties := importedProperties(m.Properties)
	if err := access.FirstError(access.CheckName("name", m.Name), access.CheckShort("model_type", m.Type), access.CheckProperties(properties)); err != nil {
		return false, err
	}
	return access.Write(ctx, im.db.base, im.actor, func(tx *access.Tx) (bool, error) {
		there, err := tx.Has(`SELECT 1 FROM logged_model WHERE id = ?`, m.ID)
		if err != nil || there {
			return false, err
		}
		if err := importOnce(tx, "logged model", m.ID); err != nil {
			return false, err
		}
		experimentID, err := importedExperiment(tx, &transfer.Run{Project: m.Project, Experiment: m.Experiment})
		if err != nil {
			return false, err
		}
		e, err := tx.AllowExperiment(im.actor, experimentID, access.RightCreate)
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
		status := LoggedModelPending
		switch {
		case m.Failed:
			status = LoggedModelFailed
		case m.Ready:
			status = LoggedModelReady
		}
		var num int64
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
				ON CONFLICT DO NOTHING`, *iteration, OutputModel, num)
			if err != nil {
				return false, err
			}
		}
		owner := access.PropertyOwner{ProjectID: e.ProjectID, Column: "logged_model_num", Key: num}
		return true, access.FirstError(tx.SetProperties(im.actor, owner, properties), tx.NoteNumbered(iteration))
	})
}

// importOnce notes that a record with an id of its source is imported, as a source file
// without a run. The error is transfer.ErrDeleted when that was done before.
func importOnce(tx *access.Tx, kind, id string) error {
	source := transfer.ID("imported", kind, id)
	done, err := tx.Has(`SELECT 1 FROM source WHERE id = ?`, source)
	if err == nil && done {
		err = transfer.ErrDeleted
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO source (id, path, size, fingerprint, position, state, updated_date) VALUES (?, ?, 0, '', 0, '', ?)`,
		source, kind, tx.Now)
	return err
}

// RegisteredModel makes a registered model that does not exist, and the versions that it
// does not have. It returns how many those are, and the numbers that other versions have.
// A version that was imported before and deleted is left out; for a model that was, the
// error is transfer.ErrDeleted.
func (im importer) RegisteredModel(ctx context.Context, m transfer.RegisteredModel) (made int, taken []int64, err error) {
	properties := importedProperties(m.Properties)
	if err := access.FirstError(access.CheckName("name", m.Name), access.CheckText("description", m.Description), access.CheckProperties(properties)); err != nil {
		return 0, nil, err
	}
	err = access.Change(ctx, im.db.base, im.actor, func(tx *access.Tx) error {
		projectID, err := importedProject(tx, m.Project)
		if err != nil {
			return err
		}
		isNew := false
		id, err := tx.FirstOr("model", transfer.ID("model", projectID, m.Name).String(), func(id string) error {
			isNew = true
			if err := importOnce(tx, "model", transfer.ID("model", projectID, m.Name).String()); err != nil {
				return err
			}
			_, err := tx.Exec(`INSERT INTO model (id, project_id, name, description, created_date, updated_date) VALUES (?, ?, ?, ?, ?, ?)`,
				id, projectID, m.Name, m.Description, m.Created, m.Created)
			return err
		}, `SELECT id FROM model WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
			m.Name, projectID)
		if err == nil && isNew {
			err = tx.SetProperties(im.actor, access.PropertyOwner{ProjectID: projectID, Column: "model_id", Key: id}, properties)
		}
		if err != nil {
			return err
		}
		for _, v := range m.Versions {
			isOther, isMade, err := importVersion(tx, projectID, id, v)
			if err != nil {
				return err
			}
			if isMade {
				made++
			}
			if isOther {
				taken = append(taken, v.Number)
			}
		}
		return nil
	})
	return made, taken, err
}

// importVersion makes a version that a model does not have. other is set when one that
// was not imported has its number.
func importVersion(tx *access.Tx, projectID, modelID string, v transfer.ModelVersion) (other, made bool, err error) {
	properties := importedProperties(v.Properties)
	err = access.FirstError(access.CheckText("description", v.Description), access.CheckText("source", v.Source), access.CheckProperties(properties), registry.CheckStage(Stage(v.Stage)),
		registry.CheckAliases(v.Aliases))
	if err != nil {
		return false, false, err
	}
	id := transfer.ID("version", modelID, strconv.FormatInt(v.Number, 10)).String()
	var found string
	err = tx.Row(`SELECT id FROM model_version WHERE id = ?1 OR model_id = ?2 AND version = ?3`, id, modelID, v.Number).Scan(&found)
	if !errors.Is(err, sql.ErrNoRows) {
		return found != id, false, err
	}
	if err := importOnce(tx, "version", id); err != nil {
		if errors.Is(err, transfer.ErrDeleted) {
			err = nil
		}
		return false, false, err
	}
	iteration, err := importedIteration(tx, projectID, v.RunID)
	if err != nil {
		return false, false, err
	}
	runID := ""
	if iteration == nil && v.RunID != nil {
		runID = strings.ReplaceAll(v.RunID.String(), "-", "")
	}
	_, err = tx.Exec(`INSERT INTO model_version
		(id, model_id, version, iteration_num, source, location, run_id, run_link, stage, description, created_date, updated_date)
		VALUES (?, ?, ?, ?, ?, '', ?, '', ?, ?, ?, ?)`,
		id, modelID, v.Number, iteration, v.Source, runID, NoStage, v.Description, v.Created, v.Created)
	if err != nil {
		return false, false, err
	}
	if _, err := tx.Exec(`UPDATE model SET last_version = max(last_version, ?) WHERE id = ?`, v.Number, modelID); err != nil {
		return false, false, err
	}
	// In PRODUCTION all stay that were there at the same time.
	stage := Stage(v.Stage)
	if stage != NoStage {
		if _, err := registry.LeaveStage(tx, ModelVersion{ID: id, ModelID: modelID}, stage, OthersKept); err != nil {
			return false, false, err
		}
		if _, err := tx.Exec(`UPDATE model_version SET stage = ? WHERE id = ?`, stage, id); err != nil {
			return false, false, err
		}
	}
	for _, alias := range v.Aliases {
		if err := registry.SetAlias(tx, ModelVersion{ID: id, ModelID: modelID}, alias); err != nil {
			return false, false, err
		}
	}
	owner := access.PropertyOwner{ProjectID: projectID, Column: "model_version_id", Key: id}
	return false, true, access.FirstError(tx.SetProperties(tx.Actor, owner, properties), tx.NoteNumbered(iteration))
}

// importedIteration returns the number of a run of the project, nil when there is none.
func importedIteration(tx *access.Tx, projectID string, id *uuid.UUID) (*int64, error) {
	if id == nil {
		return nil, nil
	}
	num, err := registry.IterationOfProject(tx, projectID, id.String())
	var refused *Error
	if errors.As(err, &refused) {
		return nil, nil
	}
	return num, err
}

func importedProperties(all []transfer.Parameter) []Property {
	properties := make([]Property, len(all))
	for i, p := range all {
		properties[i] = Property{Key: p.Key, Value: p.Value}
	}
	return properties
}
