package domain

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	"tracker/store/json"
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

// PropertyOwner is the record that properties belong to: the column of table
// property that names it, and the key in it.
type PropertyOwner struct {
	ProjectID string
	Column    string
	Key       any
	iteration *IterationState // nil when it is another kind of record
}

// CheckProperties fails unless all keys and values are valid.
func CheckProperties(all []Property) error {
	if len(all) > MaxProperties {
		return Invalid("properties", "Set up to %d properties at once.", MaxProperties)
	}
	for _, p := range all {
		if err := FirstError(CheckKey(p.Key), CheckText("value", p.Value)); err != nil {
			return err
		}
	}
	return nil
}

// SetProperties sets properties that were checked. The right to create was checked
// with the owner; the right to update is checked here.
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

// Changed records a change of properties: of an iteration in the journal, of an
// experiment as the time of its last change.
func (o PropertyOwner) Changed(tx *Tx) (err error) {
	switch o.Column {
	case "iteration_num":
		tx.Touch(o.iteration.IterationRef)
		tx.NoteIteration(o.iteration.IterationRef)
	case "experiment_id":
		_, err = tx.Exec(`UPDATE experiment SET updated_date = ? WHERE id = ?`, tx.Now, o.Key)
	}
	return err
}

// Properties returns the iteration as an owner of properties.
func (i IterationState) Properties() PropertyOwner {
	return PropertyOwner{ProjectID: i.ProjectID, Column: "iteration_num", Key: i.Num, iteration: &i}
}

// PropertiesOf calls fn with each property of the records whose keys in a column of
// table property are in keys, by key of the record, then name.
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
