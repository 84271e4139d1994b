package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"tracker/store/json"
)

// PropertyKind is a kind of record that has properties.
type PropertyKind string

// The kinds of record that have properties.
const (
	ExperimentProperty   PropertyKind = "experiment"
	IterationProperty    PropertyKind = "iteration"
	ModelProperty        PropertyKind = "model"
	ModelVersionProperty PropertyKind = "modelversion"
	LoggedModelProperty  PropertyKind = "loggedmodel"
)

// Property is a text with a name that belongs to a record. Keys are unique in a
// record.
type Property struct {
	Key   string `json:"key" db:"key"`
	Value string `json:"value" db:"value"`
}

func (p Property) TextBytes() int { return len(p.Value) }

// MaxProperties is the largest number of properties that one call sets.
const MaxProperties = 1000

// propertyOwner is the record that properties belong to: the column of table
// property that names it, and the key in it.
type propertyOwner struct {
	projectID string
	column    string
	key       any
	iteration *iterationState // nil when it is another kind of record
}

// Properties lists the properties of a record by key. Needs read.
func (v *View) Properties(kind PropertyKind, id string, p Page) (List[Property], error) {
	owner, err := v.tx.allowProperties(v.actor, kind, id, rightRead)
	if err != nil {
		return List[Property]{}, err
	}
	return list[Property](v.tx, p, `key, value`, `FROM property WHERE `+owner.column+` = ?`, `key`, owner.key)
}

// Properties is View.Properties.
func (db *DB) Properties(ctx context.Context, actor Actor, kind PropertyKind, id string, p Page) (List[Property], error) {
	return view(ctx, db, actor, func(v *View) (List[Property], error) { return v.Properties(kind, id, p) })
}

// SetProperties sets properties of a record, all of them or, with an error, none.
// When a key is given twice, its last value is set. Needs create, and update where
// another value is replaced.
func (db *DB) SetProperties(ctx context.Context, actor Actor, kind PropertyKind, id string, all []Property) error {
	if err := checkProperties(all); err != nil {
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error {
		owner, err := tx.allowProperties(actor, kind, id, rightCreate)
		if err != nil {
			return err
		}
		tx.within()
		return tx.setProperties(actor, owner, all)
	})
}

// DeleteProperty removes a property; NOT_FOUND when the record does not have it.
// Needs delete.
func (db *DB) DeleteProperty(ctx context.Context, actor Actor, kind PropertyKind, id, key string) error {
	return remove(ctx, db, actor, func(tx *tx) error {
		owner, err := tx.allowProperties(actor, kind, id, rightDelete)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM property WHERE `+owner.column+` = ? AND key = ?`, owner.key, key)
		if err := changedOne(n, err, "property of this "+string(kind)); err != nil {
			return err
		}
		return owner.changed(tx)
	})
}

func checkProperties(all []Property) error {
	if len(all) > MaxProperties {
		return Invalid("properties", "Set up to %d properties at once.", MaxProperties)
	}
	for _, p := range all {
		if err := firstError(checkKey(p.Key), checkText("value", p.Value)); err != nil {
			return err
		}
	}
	return nil
}

// setProperties sets properties that were checked. The right to create was checked
// with the owner; the right to update is checked here.
func (tx *tx) setProperties(actor Actor, owner propertyOwner, all []Property) error {
	if len(all) == 0 {
		return nil
	}
	for _, p := range all {
		var old string
		err := tx.Row(`SELECT value FROM property WHERE `+owner.column+` = ? AND key = ?`, owner.key, p.Key).Scan(&old)
		switch {
		case err == nil && old == p.Value:
			continue
		case err == nil:
			err = tx.allow(actor, owner.projectID, rightUpdate)
		case errors.Is(err, sql.ErrNoRows):
			err = nil
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO property (`+owner.column+`, key, value) VALUES (?, ?, ?)
			ON CONFLICT (`+owner.column+`, key) WHERE `+owner.column+` IS NOT NULL DO UPDATE SET value = excluded.value`,
			owner.key, p.Key, p.Value)
		if err != nil {
			return err
		}
	}
	return owner.changed(tx)
}

// changed records a change of properties: of an iteration in the journal, of an
// experiment as the time of its last change.
func (o propertyOwner) changed(tx *tx) (err error) {
	switch o.column {
	case "iteration_num":
		tx.touch(o.iteration.experimentID)
		tx.noteIteration(o.iteration.iterationRef)
	case "experiment_id":
		_, err = tx.Exec(`UPDATE experiment SET updated_date = ? WHERE id = ?`, tx.now, o.key)
	}
	return err
}

// allowProperties fails unless the record exists and actor has the right in its
// project.
func (tx *tx) allowProperties(actor Actor, kind PropertyKind, id string, want right) (propertyOwner, error) {
	switch kind {
	case ExperimentProperty:
		e, err := tx.allowExperiment(actor, id, want)
		return propertyOwner{projectID: e.projectID, column: "experiment_id", key: id}, err
	case IterationProperty:
		it, err := tx.allowIteration(actor, id, want)
		return it.properties(), err
	case ModelProperty:
		m, err := tx.allowModel(actor, id, want)
		return propertyOwner{projectID: m.ProjectID, column: "model_id", key: id}, err
	case ModelVersionProperty:
		_, projectID, err := tx.allowModelVersion(actor, id, want)
		return propertyOwner{projectID: projectID, column: "model_version_id", key: id}, err
	case LoggedModelProperty:
		m, projectID, err := tx.allowLoggedModel(actor, id, want)
		return propertyOwner{projectID: projectID, column: "logged_model_num", key: m.num}, err
	}
	return propertyOwner{}, Errorf(CodeNotFound, "Only an experiment, an iteration, a model, a model version or a logged model has properties.")
}

// properties returns the iteration as an owner of properties.
func (i iterationState) properties() propertyOwner {
	return propertyOwner{projectID: i.projectID, column: "iteration_num", key: i.num, iteration: &i}
}

// propertiesOf calls fn with each property of the records whose keys in a column of
// table property are in keys, by key of the record, then name.
func propertiesOf[K comparable](tx *tx, column string, keys []K, fn func(owner K, p Property)) error {
	list, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return tx.EachRow(`SELECT `+column+`, key, value FROM property
		WHERE `+column+` IN (SELECT value FROM json_each(?)) ORDER BY `+column+`, key`,
		func(row []driver.Value) error {
			fn(row[0].(K), Property{row[1].(string), row[2].(string)})
			return nil
		}, string(list))
}

// PropertyOf returns the values of one property, by the ids of those of the
// experiments that have it. Needs read for all of them that exist.
func (v *View) PropertyOf(experimentIDs []string, key string) (map[string]string, error) {
	experimentIDs, _, err := v.tx.allowExperiments(v.actor, experimentIDs, true)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(experimentIDs)
	if err != nil {
		return nil, err
	}
	var found []struct {
		ID    string `db:"experiment_id"`
		Value string `db:"value"`
	}
	err = v.tx.Select(&found, `SELECT experiment_id, value FROM property
		WHERE experiment_id IN (SELECT value FROM json_each(?)) AND key = ?`, string(list), key)
	values := make(map[string]string, len(found))
	for _, f := range found {
		values[f.ID] = f.Value
	}
	return values, err
}
