package trash

import (
	"context"
	"fmt"
	"time"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// Trashed describes a record in the trash and counts the records in it. A restore or purge also
// affects the counted records. A contained record that was deleted earlier has its own entry: it
// is not counted, and Restore does not restore it with its container.
type Trashed struct {
	ID          string           `json:"id" db:"id"` // id of the record
	Kind        domain.TrashKind `json:"kind" db:"kind"`
	Name        string           `json:"name" db:"name"`
	ProjectID   string           `json:"project_id" db:"project_id"`
	ProjectName string           `json:"project_name" db:"project_name"`
	In          string           `json:"in" db:"within"` // name of the containing record; "" for a project
	DeletedDate scalar.Time      `json:"deleted_date" db:"deleted_date"`
	DeletedBy   *string          `json:"deleted_by" db:"deleted_by"` // user name; nil for the command line or a deleted account
	PurgeDate   scalar.Time      `json:"purge_date" db:"-"`
	HeldBy      domain.TrashKind `json:"held_by" db:"held_by"` // kind of the trashed record that must be restored first; "" if there is none

	Experiments int   `json:"experiments" db:"experiments"`
	Iterations  int   `json:"iterations" db:"iterations"`
	Models      int   `json:"models" db:"models"`
	Versions    int   `json:"versions" db:"versions"`
	Artifacts   int   `json:"artifacts" db:"artifacts"`
	SizeBytes   int64 `json:"size_bytes" db:"size_bytes"` // total size of the artifacts; shared bytes count for each artifact

	Rank int `json:"-" db:"rank"` // purge order; a record comes before the records that it refers to
}

// Query selects records in the trash.
type Query struct {
	domain.Page
	ProjectID *string // nil for all projects
	Kind      *domain.TrashKind
}

var trashKinds = []domain.TrashKind{domain.TrashedProject, domain.TrashedExperiment, domain.TrashedIteration, domain.TrashedModel, domain.TrashedVersion, domain.TrashedArtifact, domain.TrashedReport}

const (
	trashColumns = `
	trashed.rank,
	trashed.kind,
	trashed.id,
	trashed.name,
	trashed.project_id,
	project.name AS project_name,
	trashed.within,
	trashed.deleted_date,
	(SELECT user.username FROM user WHERE user.id = trashed.deleted_by) AS deleted_by,
	CASE WHEN trashed.kind <> 'project' AND project.deleted_date IS NOT NULL THEN 'project' ELSE trashed.held_by END AS held_by`

	// trashRows is the FROM clause for all records in the trash.
	trashRows = `FROM (
	SELECT
		0 AS rank,
		'model_version' AS kind,
		model_version.id,
		model.name || ' ' || model_version.version AS name,
		model.project_id,
		model.name AS within,
		model_version.deleted_date,
		model_version.deleted_by,
		CASE
			WHEN model.deleted_date IS NOT NULL THEN 'model'
			WHEN experiment.deleted_date IS NOT NULL THEN 'experiment'
			WHEN iteration.deleted_date IS NOT NULL THEN 'iteration'
			WHEN resource.deleted_date IS NOT NULL THEN 'resource'
			ELSE ''
		END AS held_by
	FROM model_version
	JOIN model ON model.id = model_version.model_id
	LEFT JOIN iteration ON iteration.num = model_version.iteration_num
	LEFT JOIN experiment ON experiment.id = iteration.experiment_id
	LEFT JOIN resource ON resource.num = model_version.resource_num
	WHERE model_version.deleted_date IS NOT NULL
	UNION ALL
	SELECT
		1,
		'model',
		model.id,
		model.name,
		model.project_id,
		(SELECT name FROM project WHERE project.id = model.project_id),
		model.deleted_date,
		model.deleted_by,
		''
	FROM model
	WHERE model.deleted_date IS NOT NULL
	UNION ALL
	SELECT
		1,
		'report',
		report.id,
		report.name,
		report.project_id,
		(SELECT name FROM project WHERE project.id = report.project_id),
		report.deleted_date,
		report.deleted_by,
		''
	FROM report
	WHERE report.deleted_date IS NOT NULL
	UNION ALL
	SELECT
		2,
		'resource',
		resource.id,
		resource.name,
		experiment.project_id,
		coalesce(iteration.name, experiment.name),
		resource.deleted_date,
		resource.deleted_by,
		CASE
			WHEN experiment.deleted_date IS NOT NULL THEN 'experiment'
			WHEN iteration.deleted_date IS NOT NULL THEN 'iteration'
			ELSE ''
		END
	FROM resource
	JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
	JOIN experiment ON experiment.id = resource.experiment_id
	LEFT JOIN iteration ON iteration.num = resource.iteration_num
	WHERE resource.deleted_date IS NOT NULL
	UNION ALL
	SELECT
		3,
		'iteration',
		iteration.id,
		iteration.name,
		experiment.project_id,
		experiment.name,
		iteration.deleted_date,
		iteration.deleted_by,
		CASE WHEN experiment.deleted_date IS NOT NULL THEN 'experiment' ELSE '' END
	FROM iteration
	JOIN experiment ON experiment.id = iteration.experiment_id
	WHERE iteration.deleted_date IS NOT NULL
	UNION ALL
	SELECT
		4,
		'experiment',
		experiment.id,
		experiment.name,
		experiment.project_id,
		(SELECT name FROM project WHERE project.id = experiment.project_id),
		experiment.deleted_date,
		experiment.deleted_by,
		''
	FROM experiment
	WHERE experiment.deleted_date IS NOT NULL
	UNION ALL
	SELECT
		5,
		'project',
		project.id,
		project.name,
		project.id,
		'',
		project.deleted_date,
		project.deleted_by,
		''
	FROM project
	WHERE project.deleted_date IS NOT NULL) AS trashed
	JOIN project ON project.id = trashed.project_id `
)

// List returns records in the trash, last deleted first. It omits records of projects in which
// the actor lacks the right to delete.
func (v *View) List(q Query) (domain.List[Trashed], error) {
	removable, args, err := v.tx.Having(v.tx.Actor, domain.RightDelete, `trashed.project_id`)
	if err != nil {
		return domain.List[Trashed]{}, err
	}
	from := trashRows + `WHERE trashed.deleted_date > 0 AND ` + removable // deleted_date is 0 while the record is being purged
	if q.ProjectID != nil {
		from += ` AND trashed.project_id = ?`
		args = append(args, *q.ProjectID)
	}
	if q.Kind != nil {
		if err := domain.OneOf("kind", *q.Kind, trashKinds...); err != nil {
			return domain.List[Trashed]{}, err
		}
		from += ` AND trashed.kind = ?`
		args = append(args, *q.Kind)
	}
	l, err := domain.PageOf[Trashed](v.tx, q.Page, trashColumns, from, `trashed.deleted_date DESC, trashed.id DESC`, args...)
	for i := range l.Data {
		if err == nil {
			err = countTrashed(v.tx, &l.Data[i])
		}
	}
	return l, err
}

// List calls View.List on a new snapshot.
func (db *DB) List(ctx context.Context, actor domain.Actor, q Query) (domain.List[Trashed], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Trashed], error) { return v.List(q) })
}

// countTrashed sets the purge date of t and the counts of the records in it.
func countTrashed(tx *domain.Tx, t *Trashed) error {
	t.PurgeDate = t.DeletedDate + scalar.Time(tx.DB.Options.TrashAge.Milliseconds())
	const artifacts = `SELECT count(*), coalesce(sum(blob.size_bytes), 0)
		FROM resource
		JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
		JOIN experiment ON experiment.id = resource.experiment_id
		LEFT JOIN iteration ON iteration.num = resource.iteration_num
		WHERE `
	var err error
	count := func(to *int, query string) {
		if err == nil {
			err = tx.Row(query, t.ID).Scan(to)
		}
	}
	bytes := func(condition string) {
		if err == nil {
			err = tx.Row(artifacts+condition, t.ID).Scan(&t.Artifacts, &t.SizeBytes)
		}
	}
	switch t.Kind {
	case domain.TrashedProject:
		count(&t.Experiments, `SELECT count(*) FROM experiment WHERE project_id = ? AND deleted_date IS NULL`)
		count(&t.Iterations, `SELECT count(*) FROM experiment JOIN iteration ON iteration.experiment_id = experiment.id
			WHERE experiment.project_id = ? AND experiment.deleted_date IS NULL AND iteration.deleted_date IS NULL`)
		count(&t.Models, `SELECT count(*) FROM model WHERE project_id = ? AND deleted_date IS NULL`)
		count(&t.Versions, `SELECT count(*) FROM model JOIN model_version ON model_version.model_id = model.id
			WHERE model.project_id = ? AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL`)
		bytes(`experiment.project_id = ? AND experiment.deleted_date IS NULL
			AND iteration.deleted_date IS NULL AND resource.deleted_date IS NULL`)
	case domain.TrashedExperiment:
		count(&t.Iterations, `SELECT count(*) FROM iteration WHERE experiment_id = ? AND deleted_date IS NULL`)
		bytes(`resource.experiment_id = ? AND iteration.deleted_date IS NULL AND resource.deleted_date IS NULL`)
	case domain.TrashedIteration:
		bytes(`iteration.id = ? AND resource.deleted_date IS NULL`)
	case domain.TrashedModel:
		count(&t.Versions, `SELECT count(*) FROM model_version WHERE model_id = ? AND deleted_date IS NULL`)
	case domain.TrashedArtifact:
		bytes(`resource.id = ?`)
	}
	return err
}

// Trashed returns a record in the trash. It requires the right to delete.
func (v *View) Trashed(id string) (Trashed, error) {
	t, err := trashed(v.tx, v.tx.Actor, id)
	if err == nil {
		err = countTrashed(v.tx, &t)
	}
	return t, err
}

// trashed returns the record in the trash with the given id. It checks that actor has the right
// to delete. It returns NOT_FOUND if the record is not in the trash. Clients can choose the ids
// of iterations, so an iteration and another record can have the same id; trashed then returns
// the other record.
func trashed(tx *domain.Tx, actor domain.Actor, id string) (t Trashed, err error) {
	err = tx.Get(&t, `SELECT `+trashColumns+` `+trashRows+`WHERE trashed.id = ? ORDER BY trashed.kind = 'iteration' LIMIT 1`, id)
	if err != nil {
		return t, domain.OrNotFound(err, "record in the trash")
	}
	return t, tx.Allow(actor, t.ProjectID, domain.RightDelete)
}

func errHeld(t Trashed) error {
	return domain.Errorf(domain.CodeConflict, "%q belongs to a record that is also in the trash; restore that record first.", t.Name)
}

// String returns the kind and the quoted name of the record.
func (t Trashed) String() string { return fmt.Sprintf("%s %q", t.Kind.Word(), t.Name) }

// tooMany returns INVALID_PAYLOAD if ids has more than domain.MaxLimit ids.
func tooMany(ids []string) error {
	if len(ids) > domain.MaxLimit {
		return domain.Invalid("ids", "At most %d records can be chosen.", domain.MaxLimit)
	}
	return nil
}

// Age returns how long deleted records stay in the trash. It is 0 if records are deleted
// permanently at once.
func (db *DB) Age() time.Duration { return db.base.Options.TrashAge }
