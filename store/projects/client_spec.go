package projects

import (
	"database/sql"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// MaxClientSpec is the maximum size of ClientSpec.Spec in bytes.
const MaxClientSpec = 2 << 20

// ClientSpec is the definition of a report or a saved view in the format of the client that made it.
// It is stored next to the record, so that the client can read its own format again.
type ClientSpec struct {
	Name        string `json:"name"` // name by which the client finds the record
	Description string `json:"description,omitzero"`
	Spec        string `json:"spec"`
	// Of is the fingerprint of the text of the report that was made from Spec. If the text is
	// changed, Spec no longer describes the report.
	Of string `json:"of,omitzero"`
}

// encode returns c as JSON, or nil if c is nil. It returns PAYLOAD_TOO_LARGE if the definition is too
// large.
func (c *ClientSpec) encode() (*string, error) {
	if c == nil {
		return nil, nil
	}
	if len(c.Spec) > MaxClientSpec {
		return nil, domain.Errorf(domain.CodePayloadTooLarge, "The definition has %d bytes, and at most %d are allowed; make it shorter.", len(c.Spec), MaxClientSpec)
	}
	if err := domain.FirstError(domain.CheckName("name", c.Name), domain.CheckText("description", c.Description)); err != nil {
		return nil, err
	}
	b, err := json.Marshal(c, json.AllowInvalidUTF8(true))
	return new(string(b)), err
}

func decodeClientSpec(text sql.NullString) (*ClientSpec, error) {
	if !text.Valid {
		return nil, nil
	}
	var c ClientSpec
	return &c, json.Unmarshal([]byte(text.String), &c)
}

// ReportClient returns the definition of a report in the format of its client. It returns nil if the
// report has none, or if its text was changed since. It requires the right to read.
func (v *View) ReportClient(id string) (*ClientSpec, error) {
	r, err := allowReport(v.tx, v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return nil, err
	}
	var text sql.NullString
	if err := v.tx.Row(`SELECT client FROM report WHERE id = ?`, id).Scan(&text); err != nil {
		return nil, err
	}
	c, err := decodeClientSpec(text)
	if err != nil || c == nil || c.Of != domain.Fingerprint(r.Text) {
		return nil, err
	}
	return c, nil
}

// ClientView is a saved view that a client made.
type ClientView struct {
	ID           string
	ExperimentID string
	Name         string
	Query        string
	CreatedDate  scalar.Time
	UpdatedDate  scalar.Time
	ClientSpec   ClientSpec
}

// maxClientViews is the maximum number of views that ClientViews returns.
const maxClientViews = 100

// ClientViews returns the saved views of a project that clients made, oldest first, at most
// maxClientViews. If name is not "", it returns only views whose ClientSpec has this name. It requires
// the right to read.
func (v *View) ClientViews(projectID, name string) ([]ClientView, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	return v.clientViews(`experiment.project_id = ?1 AND (?2 = '' OR experiment_view.client ->> 'name' = ?2)`, projectID, name)
}

// ClientView returns a saved view that a client made. It returns NOT_FOUND for other views. It
// requires the right to read.
func (v *View) ClientView(id string) (ClientView, error) {
	if err := allowSavedView(v.tx, v.tx.Actor, id, domain.RightRead); err != nil {
		return ClientView{}, err
	}
	all, err := v.clientViews(`experiment_view.id = ?`, id)
	if err == nil && len(all) == 0 {
		err = domain.OrNotFound(sql.ErrNoRows, "view")
	}
	if err != nil {
		return ClientView{}, err
	}
	return all[0], nil
}

func (v *View) clientViews(where string, args ...any) (all []ClientView, err error) {
	rows, err := v.tx.Rows(`SELECT
			experiment_view.id,
			experiment_view.experiment_id,
			experiment_view.name,
			experiment_view.query,
			experiment_view.created_date,
			experiment_view.updated_date,
			experiment_view.client
		FROM experiment_view
		JOIN experiment ON experiment.id = experiment_view.experiment_id
		WHERE experiment_view.client IS NOT NULL AND experiment.deleted_date IS NULL AND `+where+`
		ORDER BY experiment_view.created_date, experiment_view.id
		LIMIT ?`, append(args, maxClientViews)...)
	err = sqlite.Each(rows, err, func() error {
		var one ClientView
		var text sql.NullString
		if err := rows.Scan(&one.ID, &one.ExperimentID, &one.Name, &one.Query, &one.CreatedDate, &one.UpdatedDate, &text); err != nil {
			return err
		}
		c, err := decodeClientSpec(text)
		if err != nil {
			return err
		}
		one.ClientSpec = *c
		all = append(all, one)
		return domain.Take(v.tx.Context(), int64(len(text.String)))
	})
	return all, err
}
