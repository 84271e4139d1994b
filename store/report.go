package store

import "context"

// Report is a page of Markdown about the runs of a project.
type Report struct {
	ID          string  `json:"id" db:"id"`
	ProjectID   string  `json:"project_id" db:"project_id"`
	Name        string  `json:"name" db:"name"`
	Text        string  `json:"text" db:"text"`
	CreatedBy   *string `json:"created_by" db:"created_by"` // a user name, nil when the account is gone
	CreatedDate Time    `json:"created_date" db:"created_date"`
	UpdatedDate Time    `json:"updated_date" db:"updated_date"`
}

func (r Report) TextBytes() int { return len(r.Text) }

// NewReport holds the arguments of CreateReport.
type NewReport struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ReportPatch holds the fields that UpdateReport sets; nil leaves a field as it is.
type ReportPatch struct {
	Name   *string `json:"name"`
	Text   *string `json:"text"`
	Before Before  `json:"-"`
}

const reportColumns = `
	report.id,
	report.project_id,
	report.name,
	report.text,
	(SELECT user.username FROM user WHERE user.id = report.created_by) AS created_by,
	report.created_date,
	report.updated_date`

// Reports lists the reports of a project, the newest first. Needs read.
func (v *View) Reports(projectID string, p Page) (List[Report], error) {
	if err := v.tx.allowProject(v.actor, projectID, rightRead); err != nil {
		return List[Report]{}, err
	}
	return list[Report](v.tx, p, reportColumns, `FROM report WHERE report.project_id = ? AND `+notTrashed("report"),
		`report.created_date DESC, report.id DESC`, projectID)
}

// Reports is View.Reports.
func (db *DB) Reports(ctx context.Context, actor Actor, projectID string, p Page) (List[Report], error) {
	return view(ctx, db, actor, func(v *View) (List[Report], error) { return v.Reports(projectID, p) })
}

// Report returns one report. Needs read.
func (v *View) Report(id string) (Report, error) { return v.tx.allowReport(v.actor, id, rightRead) }

// Report is View.Report.
func (db *DB) Report(ctx context.Context, actor Actor, id string) (Report, error) {
	return view(ctx, db, actor, func(v *View) (Report, error) { return v.Report(id) })
}

// CreateReport makes a report in a project. Needs create.
func (db *DB) CreateReport(ctx context.Context, actor Actor, projectID string, n NewReport) (Created, error) {
	if err := firstError(checkName("name", n.Name), checkText("text", n.Text)); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		if err := tx.allowProject(actor, projectID, rightCreate); err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO report (id, project_id, name, text, created_by, created_date, updated_date)
			VALUES (?, ?, ?, ?, (SELECT user.id FROM user WHERE user.id = ?), ?, ?)`,
			id, projectID, n.Name, n.Text, actor.UserID, tx.now, tx.now)
		return Created{ID: id}, err
	})
}

// UpdateReport changes a report. Needs update.
func (db *DB) UpdateReport(ctx context.Context, actor Actor, id string, p ReportPatch) error {
	if err := checkNameAndText(p.Name, "text", p.Text); err != nil {
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error {
		if _, err := tx.allowReport(actor, id, rightUpdate); err != nil {
			return err
		}
		if err := tx.refuseIfOverwritten(p.Before, "report", id, map[string]*string{"name": p.Name, "text": p.Text}); err != nil {
			return err
		}
		if p.Name == nil && p.Text == nil {
			return nil
		}
		_, err := tx.Exec(`UPDATE report SET
				name         = coalesce(?, name),
				text         = coalesce(?, text),
				updated_date = ?
			WHERE id = ?`, p.Name, p.Text, tx.now, id)
		return err
	})
}

// DeleteReport moves a report to the trash. Needs delete.
func (db *DB) DeleteReport(ctx context.Context, actor Actor, id string) error {
	return db.discard(ctx, actor, func(tx *tx) error {
		if _, err := tx.allowReport(actor, id, rightDelete); err != nil {
			return err
		}
		return tx.discard(TrashedReport, id)
	})
}

// allowReport returns the report. It fails unless there is one and actor has the right in
// its project.
func (tx *tx) allowReport(actor Actor, id string, want right) (r Report, err error) {
	err = tx.Get(&r, `SELECT `+reportColumns+`
		FROM report
		JOIN project ON project.id = report.project_id
		WHERE report.id = ? AND `+tx.found("report", "project"), id)
	if err != nil {
		return r, orNotFound(err, "report")
	}
	return r, tx.allow(actor, r.ProjectID, want)
}
