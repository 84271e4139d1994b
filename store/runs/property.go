package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// PropertyKind is a kind of record that has properties.
type PropertyKind string

// These are the kinds of records that have properties.
const (
	ExperimentProperty   PropertyKind = "experiment"
	IterationProperty    PropertyKind = "iteration"
	ModelProperty        PropertyKind = "model"
	ModelVersionProperty PropertyKind = "modelversion"
	LoggedModelProperty  PropertyKind = "loggedmodel"
)

// NotSentProperty is the key of a property that lists unsent data. A client sets the property of
// an iteration if it could not send all data, and deletes the property once it has sent the data.
// Additional processes of a run append the end of their spool's name to the key. An empty value
// means that no data is missing.
const NotSentProperty = "tracker.not_sent"

// Properties returns a page of the properties of a record, sorted by key. The actor needs the
// right to read.
func (v *View) Properties(kind PropertyKind, id string, p domain.Page) (domain.List[domain.Property], error) {
	owner, err := allowProperties(v.tx, v.tx.Actor, kind, id, domain.RightRead)
	if err != nil {
		return domain.List[domain.Property]{}, err
	}
	return domain.PageOf[domain.Property](v.tx, p, `key, value`, `FROM property WHERE `+owner.Column+` = ?`, `key`, owner.Key)
}

// Properties calls View.Properties in a new read transaction.
func (db *DB) Properties(ctx context.Context, actor domain.Actor, kind PropertyKind, id string, p domain.Page) (domain.List[domain.Property], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[domain.Property], error) { return v.Properties(kind, id, p) })
}

// SetProperties sets properties of a record. If it returns an error, it has set none of them.
// If a key is given twice, the last value is stored. The actor needs the right to create.
// Replacing a different value also requires the right to update,
// except for a text in the summary of a running iteration.
func (db *DB) SetProperties(ctx context.Context, actor domain.Actor, kind PropertyKind, id string, all []domain.Property) error {
	if err := domain.FirstError(domain.CheckProperties(all), checkDefinitions(all)); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		owner, err := allowProperties(tx, actor, kind, id, domain.RightCreate)
		if err != nil {
			return err
		}
		return tx.SetProperties(actor, owner, all)
	})
}

// DeleteProperty deletes a property of a record. It returns NOT_FOUND if the record does not
// have the property. The actor needs the right to delete.
func (db *DB) DeleteProperty(ctx context.Context, actor domain.Actor, kind PropertyKind, id, key string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		owner, err := allowProperties(tx, actor, kind, id, domain.RightDelete)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM property WHERE `+owner.Column+` = ? AND key = ?`, owner.Key, key)
		if err := domain.ChangedOne(n, err, "property"); err != nil {
			return err
		}
		return owner.Changed(tx)
	})
}

// allowProperties returns the owner of the properties. It returns an error if the record does
// not exist or actor lacks the right want in the record's project.
func allowProperties(tx *domain.Tx, actor domain.Actor, kind PropertyKind, id string, want domain.Right) (domain.PropertyOwner, error) {
	switch kind {
	case ExperimentProperty:
		e, err := tx.AllowExperiment(actor, id, want)
		return domain.PropertyOwner{ProjectID: e.ProjectID, Column: "experiment_id", Key: id}, err
	case IterationProperty:
		it, err := tx.AllowIteration(actor, id, want)
		owner := it.Properties()
		if !it.Ended() {
			owner.Replaceable = scalar.SummaryPrefix // a running iteration logs its summary
		}
		return owner, err
	case ModelProperty:
		m, err := registry.AllowModel(tx, actor, id, want)
		return domain.PropertyOwner{ProjectID: m.ProjectID, Column: "model_id", Key: id}, err
	case ModelVersionProperty:
		_, projectID, err := registry.AllowModelVersion(tx, actor, id, want)
		return domain.PropertyOwner{ProjectID: projectID, Column: "model_version_id", Key: id}, err
	case LoggedModelProperty:
		m, projectID, err := registry.AllowLoggedModel(tx, actor, id, want)
		return domain.PropertyOwner{ProjectID: projectID, Column: "logged_model_num", Key: m.Num}, err
	}
	return domain.PropertyOwner{}, domain.Errorf(domain.CodeNotFound, "The kind must be experiment, iteration, model, modelversion or loggedmodel.")
}

// PropertyOf returns the value of the property key for each given experiment, by experiment id.
// It omits experiments without the property. The actor needs the right to read every experiment
// that exists.
func (v *View) PropertyOf(experimentIDs []string, key string) (map[string]string, error) {
	experimentIDs, _, err := v.tx.AllowExperiments(v.tx.Actor, experimentIDs, domain.RightFind, true)
	if err != nil {
		return nil, err
	}
	var found []struct {
		ID    string `db:"experiment_id"`
		Value string `db:"value"`
	}
	err = v.tx.Select(&found, `SELECT experiment_id, value FROM property
		WHERE experiment_id IN (SELECT value FROM json_each(?)) AND key = ?`, sqlite.JSON(experimentIDs), key)
	values := make(map[string]string, len(found))
	for _, f := range found {
		values[f.ID] = f.Value
	}
	return values, err
}
