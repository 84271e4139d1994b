package domain

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"tracker/store/sqlite"
)

// Property is a key with a text value. The keys of a record's properties are unique.
type Property struct {
	Key   string `json:"key" db:"key"`
	Value string `json:"value" db:"value"`
}

func (p Property) TextBytes() int { return len(p.Value) }

// MaxProperties is the maximum number of properties in one call.
const MaxProperties = 1000

// PropertyOwner identifies the record that has the properties. Column is the column of the
// property table that refers to the record. Key is the column's value.
type PropertyOwner struct {
	ProjectID string
	Column    string
	Key       any
	// Replaceable begins the keys of properties whose values can be replaced with the right to
	// create. "" means none.
	Replaceable string
}

// CheckProperties checks the number of properties and all keys and values.
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

// SetProperties inserts or updates properties. The caller must have called CheckProperties and
// checked the right to create. If a value changes, SetProperties checks the right to update.
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
		case err == nil && (owner.Replaceable == "" || !strings.HasPrefix(p.Key, owner.Replaceable)):
			if num, ok := owner.Key.(int64); ok && owner.Column == "iteration_num" {
				err = tx.AllowRun(actor, owner.ProjectID, num, RightUpdate)
			} else {
				err = tx.Allow(actor, owner.ProjectID, RightUpdate)
			}
		case errors.Is(err, sql.ErrNoRows):
			err = nil
		}
		if err != nil {
			return err
		}
		if err := PutProperty(tx.Tx, owner.Column, owner.Key, p); err != nil {
			return err
		}
	}
	return owner.Changed(tx)
}

// PutProperty inserts or updates a property. column and key identify the record as in
// PropertyOwner. The caller checks rights. PutProperty writes nothing if the property has the
// value.
func PutProperty(tx *sqlite.Tx, column string, key any, p Property) error {
	_, err := tx.Exec(`INSERT INTO property (`+column+`, key, value) VALUES (?, ?, ?)
		ON CONFLICT (`+column+`, key) WHERE `+column+` IS NOT NULL DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
		key, p.Key, p.Value)
	return err
}

// Changed sets updated_date of the owner. It does nothing if the owner is not an experiment.
func (o PropertyOwner) Changed(tx *Tx) (err error) {
	if o.Column == "experiment_id" {
		_, err = tx.Exec(`UPDATE experiment SET updated_date = ? WHERE id = ?`, tx.Now, o.Key)
	}
	return err
}

// Properties returns the iteration as a PropertyOwner.
func (i IterationState) Properties() PropertyOwner {
	return PropertyOwner{ProjectID: i.ProjectID, Column: "iteration_num", Key: i.Num}
}

// PropertiesOf calls fn for each property of the given records, sorted by record and property
// key. column and keys identify the records as in PropertyOwner.
func PropertiesOf[K comparable](tx *Tx, column string, keys []K, fn func(owner K, p Property)) error {
	return tx.EachRow(`SELECT `+column+`, key, value FROM property
		WHERE `+column+` IN (SELECT value FROM json_each(?)) ORDER BY `+column+`, key`,
		func(row []driver.Value) error {
			fn(row[0].(K), Property{row[1].(string), row[2].(string)})
			return nil
		}, sqlite.JSON(keys))
}
