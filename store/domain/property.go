package domain

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	"tracker/store/json"
)

// Property is a key and a text that belong to a record. Keys are unique in a record.
type Property struct {
	Key   string `json:"key" db:"key"`
	Value string `json:"value" db:"value"`
}

func (p Property) TextBytes() int { return len(p.Value) }

// MaxProperties is the maximum number of properties that one call sets.
const MaxProperties = 1000

// PropertyOwner identifies the record that properties belong to: Column is the column of
// table property that refers to the record, and Key is its value.
type PropertyOwner struct {
	ProjectID string
	Column    string
	Key       any
}

// CheckProperties checks that all keys and values are valid.
func CheckProperties(all []Property) error {
	if len(all) > MaxProperties {
		return Invalid("properties", "At most %d properties can be set at once.", MaxProperties)
	}
	for _, p := range all {
		if err := FirstError(CheckKey(p.Key), CheckText("value", p.Value)); err != nil {
			return err
		}
	}
	return nil
}

// SetProperties sets properties. The caller must have called CheckProperties and checked
// the right to create. SetProperties checks the right to update if it changes an existing
// property.
func (tx *Tx) SetProperties(actor Actor, owner PropertyOwner, all []Property) error {
	if len(all) == 0 {
		return nil
	}
	for _, p := range all {
		var old string
		err := tx.Row(`SELECT value FROM property WHERE `+owner.Column+` = ? AND key = ?`, owner.Key, p.Key).Scan(&old)
		switch {
		case err == nil && old == p.Value:
			continue
		case err == nil:
			err = tx.Allow(actor, owner.ProjectID, RightUpdate)
		case errors.Is(err, sql.ErrNoRows):
			err = nil
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO property (`+owner.Column+`, key, value) VALUES (?, ?, ?)
			ON CONFLICT (`+owner.Column+`, key) WHERE `+owner.Column+` IS NOT NULL DO UPDATE SET value = excluded.value`,
			owner.Key, p.Key, p.Value)
		if err != nil {
			return err
		}
	}
	return owner.Changed(tx)
}

// Changed sets the time of the last change of an experiment whose properties have changed.
func (o PropertyOwner) Changed(tx *Tx) (err error) {
	if o.Column == "experiment_id" {
		_, err = tx.Exec(`UPDATE experiment SET updated_date = ? WHERE id = ?`, tx.Now, o.Key)
	}
	return err
}

// Properties returns the iteration as an owner of properties.
func (i IterationState) Properties() PropertyOwner {
	return PropertyOwner{ProjectID: i.ProjectID, Column: "iteration_num", Key: i.Num}
}

// PropertiesOf calls fn with each property of several records, ordered by record, then by
// key of the property. column and keys identify the records as in PropertyOwner.
func PropertiesOf[K comparable](tx *Tx, column string, keys []K, fn func(owner K, p Property)) error {
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
