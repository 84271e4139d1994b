package store

import (
	"context"
	"net/url"
	"strings"
)

// MaxViewQuery is the length limit of the query of a view, in bytes.
const MaxViewQuery = 16 << 10

// View is what somebody looked at in an experiment, under a name that the
// experiment has once.
type View struct {
	ID           string  `json:"id" db:"id"`
	ExperimentID string  `json:"experiment_id" db:"experiment_id"`
	Name         string  `json:"name" db:"name"`
	Query        string  `json:"query" db:"query"`           // of the dashboard's address, without the question mark
	CreatedBy    *string `json:"created_by" db:"created_by"` // a user name, nil when the account is gone
	CreatedDate  Time    `json:"created_date" db:"created_date"`
	UpdatedDate  Time    `json:"updated_date" db:"updated_date"`
}

// NewView is what CreateView takes.
type NewView struct {
	Name  string `json:"name"`
	Query string `json:"query"`
}

// ViewPatch is what UpdateView changes; nil leaves a field as it is.
type ViewPatch struct {
	Name  *string `json:"name"`
	Query *string `json:"query"`
}

const viewColumns = `
	experiment_view.id,
	experiment_view.experiment_id,
	experiment_view.name,
	experiment_view.query,
	(SELECT user.username FROM user WHERE user.id = experiment_view.created_by) AS created_by,
	experiment_view.created_date,
	experiment_view.updated_date`

// Views lists the views of an experiment by name. Needs read.
func (db *DB) Views(ctx context.Context, actor Actor, experimentID string, p Page) (List[View], error) {
	return read(ctx, db, func(tx *tx) (List[View], error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return List[View]{}, err
		}
		return list[View](tx, p, viewColumns, `FROM experiment_view WHERE experiment_view.experiment_id = ?`,
			`experiment_view.name`, experimentID)
	})
}

// CreateView keeps a view; CONFLICT when the experiment has one of that name.
// Needs create.
func (db *DB) CreateView(ctx context.Context, actor Actor, experimentID string, n NewView) (Created, error) {
	if err := firstError(checkName("name", n.Name), checkViewQuery(n.Query)); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightCreate); err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		// The command line is nobody's account.
		_, err = tx.exec(`INSERT INTO experiment_view
			(id, experiment_id, name, query, created_by, created_date, updated_date)
			VALUES (?, ?, ?, ?, (SELECT user.id FROM user WHERE user.id = ?), ?, ?)`,
			id, experimentID, n.Name, n.Query, actor.UserID, tx.now, tx.now)
		if isDuplicate(err) {
			return Created{}, errViewExists
		}
		return Created{ID: id}, err
	})
}

// UpdateView renames a view or gives it another query; CONFLICT when the
// experiment has another one of the new name. Needs update.
func (db *DB) UpdateView(ctx context.Context, actor Actor, id string, p ViewPatch) error {
	if p.Name != nil {
		if err := checkName("name", *p.Name); err != nil {
			return err
		}
	}
	if p.Query != nil {
		if err := checkViewQuery(*p.Query); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		if err := tx.allowView(actor, id, rightUpdate); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE experiment_view SET
				name         = coalesce(?, name),
				query        = coalesce(?, query),
				updated_date = ?
			WHERE id = ?`, p.Name, p.Query, tx.now, id)
		if isDuplicate(err) {
			return errViewExists
		}
		return err
	})
}

// DeleteView removes a view; nothing that it shows goes with it, so it needs
// no more than update.
func (db *DB) DeleteView(ctx context.Context, actor Actor, id string) error {
	return change(ctx, db, actor, func(tx *tx) error {
		if err := tx.allowView(actor, id, rightUpdate); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM experiment_view WHERE id = ?`, id)
		return err
	})
}

var errViewExists = &Error{Code: CodeConflict, Field: "name",
	Message: "The experiment has a view of this name; overwrite that one or choose another name."}

// checkViewQuery accepts what may stand behind the question mark of an address.
func checkViewQuery(s string) error {
	if len(s) > MaxViewQuery {
		return Invalid("query", "The view is too large to be kept: its address has %d bytes of at most %d.", len(s), MaxViewQuery)
	}
	outside := func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }
	if _, err := url.ParseQuery(s); err != nil || strings.ContainsFunc(s, outside) {
		return Invalid("query", "query must be that of an address, like filter=param.lr+%%3C+0.1.")
	}
	return nil
}

// allowView fails unless the view exists and actor has the right in its
// project.
func (tx *tx) allowView(actor Actor, id string, want right) error {
	var experimentID string
	if err := tx.row(`SELECT experiment_id FROM experiment_view WHERE id = ?`, id).Scan(&experimentID); err != nil {
		return orNotFound(err, "view")
	}
	_, err := tx.allowExperiment(actor, experimentID, want)
	return err
}
