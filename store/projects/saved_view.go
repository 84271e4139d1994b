package projects

import (
	"context"
	"net/url"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// MaxSavedViewQuery is the maximum length of SavedView.Query in bytes.
const MaxSavedViewQuery = 16 << 10

// SavedView is a named address of a dashboard page about an experiment. The names of an
// experiment's views are unique.
type SavedView struct {
	ID           string `json:"id" db:"id"`
	ExperimentID string `json:"experiment_id" db:"experiment_id"`
	Name         string `json:"name" db:"name"`
	Query        string `json:"query" db:"query"`           // query string of the page's URL
	HasPanels    bool   `json:"has_panels" db:"has_panels"` // whether the view has a layout, see ViewLayout
	domain.Creator
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"`
}

// NewSavedView holds the arguments of CreateSavedView.
type NewSavedView struct {
	Name   string      `json:"name"`
	Query  string      `json:"query"`
	Panels *Layout     `json:"panels"` // nil for the default layout
	Client *ClientSpec `json:"-"`      // nil if no client has a definition in its own format
}

// SavedViewPatch holds the fields that UpdateSavedView sets. A nil field is not changed.
type SavedViewPatch struct {
	Name   *string     `json:"name"`
	Query  *string     `json:"query"`
	Panels *Layout     `json:"panels"` // a layout without sections is the default layout
	Client *ClientSpec `json:"-"`
}

const savedViewColumns = `
	experiment_view.id,
	experiment_view.experiment_id,
	experiment_view.name,
	experiment_view.query,
	experiment_view.panels IS NOT NULL AS has_panels,
	experiment_view.created_by,
	experiment_view.created_key,
	experiment_view.created_date,
	experiment_view.updated_date`

// SavedViews returns the saved views of an experiment, sorted by name. It requires the right to
// read.
func (db *DB) SavedViews(ctx context.Context, actor domain.Actor, experimentID string, p domain.Page) (domain.List[SavedView], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (domain.List[SavedView], error) {
		if _, err := tx.AllowExperiment(actor, experimentID, domain.RightRead); err != nil {
			return domain.List[SavedView]{}, err
		}
		return domain.PageOf[SavedView](tx, p, savedViewColumns, `FROM experiment_view WHERE experiment_view.experiment_id = ?`,
			`experiment_view.name`, experimentID)
	})
}

// ViewLayout returns the layout of a saved view. It returns nil if the view has the default
// layout, and INVALID_PAYLOAD if an import wrote a layout that is invalid. It requires the right
// to read.
func (v *View) ViewLayout(id string) (*Layout, error) {
	if err := allowSavedView(v.tx, v.tx.Actor, id, domain.RightRead); err != nil {
		return nil, err
	}
	var panels *string
	if err := v.tx.Row(`SELECT panels FROM experiment_view WHERE id = ?`, id).Scan(&panels); err != nil {
		return nil, domain.OrNotFound(err, "view")
	}
	return decodeLayout(panels)
}

// CreateSavedView saves a view. It returns CONFLICT if the experiment has a view with the same
// name. It requires the right to create.
func (db *DB) CreateSavedView(ctx context.Context, actor domain.Actor, experimentID string, n NewSavedView) (domain.Created, error) {
	if err := domain.FirstError(domain.CheckName("name", n.Name), checkSavedViewQuery(n.Query)); err != nil {
		return domain.Created{}, err
	}
	panels, err := n.Panels.encode()
	if err != nil {
		return domain.Created{}, err
	}
	client, err := n.Client.encode()
	if err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if _, err := tx.AllowExperiment(actor, experimentID, domain.RightCreate); err != nil {
			return domain.Created{}, err
		}
		id := domain.NewID()
		_, err := tx.Exec(`INSERT INTO experiment_view
			(id, experiment_id, name, query, panels, client, created_date, updated_date, created_by, created_key)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`)`,
			id, experimentID, n.Name, n.Query, panels, client, tx.Now, tx.Now, actor.CreatorID(), actor.Key)
		if sqlite.IsDuplicate(err) {
			return domain.Created{}, errSavedViewExists
		}
		return domain.Created{ID: id}, err
	})
}

// UpdateSavedView changes the name, the query or the layout of a saved view. It returns CONFLICT if the
// experiment has another view with the new name. It requires the right to update.
func (db *DB) UpdateSavedView(ctx context.Context, actor domain.Actor, id string, p SavedViewPatch) error {
	if p.Name != nil {
		if err := domain.CheckName("name", *p.Name); err != nil {
			return err
		}
	}
	if p.Query != nil {
		if err := checkSavedViewQuery(*p.Query); err != nil {
			return err
		}
	}
	panels, err := p.Panels.encode()
	if err != nil {
		return err
	}
	client, err := p.Client.encode()
	if err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := allowSavedView(tx, actor, id, domain.RightUpdate); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE experiment_view SET
				name         = coalesce(?, name),
				query        = coalesce(?, query),
				panels       = CASE WHEN ? THEN ? ELSE panels END,
				client       = coalesce(?, client),
				updated_date = ?
			WHERE id = ?`, p.Name, p.Query, p.Panels != nil, panels, client, tx.Now, id)
		if sqlite.IsDuplicate(err) {
			return errSavedViewExists
		}
		return err
	})
}

// DeleteSavedView deletes a saved view, but not the records that the view shows. It requires the
// right to update.
func (db *DB) DeleteSavedView(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := allowSavedView(tx, actor, id, domain.RightUpdate); err != nil {
			return err
		}
		e := domain.Event{Action: domain.ActionDelete, Kind: domain.AuditSavedView, ID: id}
		if err := tx.Row(`SELECT name FROM experiment_view WHERE id = ?`, id).Scan(&e.Name); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM experiment_view WHERE id = ?`, id); err != nil {
			return err
		}
		return tx.Audit(e)
	})
}

var errSavedViewExists = &domain.Error{Code: domain.CodeConflict, Field: "name",
	Message: "The experiment already has a view with this name; overwrite it or choose another name."}

// checkSavedViewQuery checks that s is a URL query string.
func checkSavedViewQuery(s string) error {
	if len(s) > MaxSavedViewQuery {
		return domain.Invalid("query", "The view is too large to be saved: its address has %d bytes, and at most %d are allowed.", len(s), MaxSavedViewQuery)
	}
	outside := func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }
	if _, err := url.ParseQuery(s); err != nil || strings.ContainsFunc(s, outside) {
		return domain.Invalid("query", "query must be the query string of a URL, like filter=param.lr+%%3C+0.1.")
	}
	return nil
}

// allowSavedView checks that actor has the wanted right in the saved view's project. It returns
// NOT_FOUND if the saved view does not exist.
func allowSavedView(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) error {
	var experimentID string
	if err := tx.Row(`SELECT experiment_id FROM experiment_view WHERE id = ?`, id).Scan(&experimentID); err != nil {
		return domain.OrNotFound(err, "view")
	}
	_, err := tx.AllowExperiment(actor, experimentID, want)
	return err
}
