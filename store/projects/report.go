package projects

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// Report is a Markdown page about the runs of a project.
type Report struct {
	ID        string `json:"id" db:"id"`
	ProjectID string `json:"project_id" db:"project_id"`
	Name      string `json:"name" db:"name"`
	Text      string `json:"text" db:"text"`
	domain.Creator
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"`
}

func (r Report) TextBytes() int { return len(r.Text) }

// NewReport holds the arguments of CreateReport.
type NewReport struct {
	Name   string      `json:"name"`
	Text   string      `json:"text"`
	Client *ClientSpec `json:"-"` // nil if no client has a definition in its own format
}

// ReportPatch holds the fields that UpdateReport sets. A nil field is not changed.
type ReportPatch struct {
	Name   *string       `json:"name"`
	Text   *string       `json:"text"`
	Before domain.Before `json:"-"`
	Client *ClientSpec   `json:"-"`
}

const reportColumns = `
	report.id,
	report.project_id,
	report.name,
	report.text,
	report.created_by,
	report.created_key,
	report.created_date,
	report.updated_date`

// Reports returns the reports of a project, newest first. It requires the right to read.
func (v *View) Reports(projectID string, p domain.Page) (domain.List[Report], error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return domain.List[Report]{}, err
	}
	return domain.PageOf[Report](v.tx, p, reportColumns, `FROM report WHERE report.project_id = ? AND `+domain.NotTrashed("report"),
		`report.created_date DESC, report.id DESC`, projectID)
}

// Reports calls View.Reports on a new snapshot.
func (db *DB) Reports(ctx context.Context, actor domain.Actor, projectID string, p domain.Page) (domain.List[Report], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Report], error) { return v.Reports(projectID, p) })
}

// Report returns the report with the given id. It requires the right to read.
func (v *View) Report(id string) (Report, error) {
	return allowReport(v.tx, v.tx.Actor, id, domain.RightRead)
}

// Report calls View.Report on a new snapshot.
func (db *DB) Report(ctx context.Context, actor domain.Actor, id string) (Report, error) {
	return view(ctx, db, actor, func(v *View) (Report, error) { return v.Report(id) })
}

// CreateReport creates a report in a project. It requires the right to create.
func (db *DB) CreateReport(ctx context.Context, actor domain.Actor, projectID string, n NewReport) (domain.Created, error) {
	if err := domain.FirstError(domain.CheckName("name", n.Name), domain.CheckText("text", n.Text)); err != nil {
		return domain.Created{}, err
	}
	client, err := n.Client.encode()
	if err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if err := tx.AllowProject(actor, projectID, domain.RightCreate); err != nil {
			return domain.Created{}, err
		}
		id := domain.NewID()
		_, err := tx.Exec(`INSERT INTO report (id, project_id, name, text, client, created_date, updated_date, created_by, created_key)
			VALUES (?, ?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`)`,
			id, projectID, n.Name, n.Text, client, tx.Now, tx.Now, actor.CreatorID(), actor.Key)
		return domain.Created{ID: id}, err
	})
}

// UpdateReport changes a report. It requires the right to update.
func (db *DB) UpdateReport(ctx context.Context, actor domain.Actor, id string, p ReportPatch) error {
	if err := domain.CheckNameAndText(p.Name, "text", p.Text); err != nil {
		return err
	}
	client, err := p.Client.encode()
	if err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if _, err := allowReport(tx, actor, id, domain.RightUpdate); err != nil {
			return err
		}
		if err := tx.RefuseIfOverwritten(p.Before, "report", id, map[string]*string{"name": p.Name, "text": p.Text}); err != nil {
			return err
		}
		if p.Name == nil && p.Text == nil {
			return nil
		}
		_, err := tx.Exec(`UPDATE report SET
				name         = coalesce(?, name),
				text         = coalesce(?, text),
				client       = coalesce(?, client),
				updated_date = ?
			WHERE id = ?`, p.Name, p.Text, client, tx.Now, id)
		return err
	})
}

// DeleteReport moves a report to the trash. It requires the right to delete.
func (db *DB) DeleteReport(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if _, err := allowReport(tx, actor, id, domain.RightDelete); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedReport, id)
	})
}

// allowReport returns a report after checking that actor has the wanted right in its project.
// It returns NOT_FOUND if the report does not exist.
func allowReport(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (r Report, err error) {
	err = tx.Get(&r, `SELECT `+reportColumns+`
		FROM report
		JOIN project ON project.id = report.project_id
		WHERE report.id = ? AND `+tx.Found("report", "project"), id)
	if err != nil {
		return r, domain.OrNotFound(err, "report")
	}
	return r, tx.Allow(actor, r.ProjectID, want)
}
