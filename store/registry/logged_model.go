package registry

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
)

// LoggedModelStatus is the upload status of a logged model.
type LoggedModelStatus string

// These are the upload statuses.
const (
	LoggedModelPending LoggedModelStatus = "PENDING"
	LoggedModelReady   LoggedModelStatus = "READY"
	LoggedModelFailed  LoggedModelStatus = "FAILED"
)

// LoggedModel describes a trained model in an experiment. The files of the model are artifacts
// of the experiment. The names of these artifacts begin with LoggedModelFolder(ID). A model
// version can refer to a logged model as its source.
type LoggedModel struct {
	ID           string            `json:"id" db:"id"` // "m-" and 32 hexadecimal digits
	ExperimentID string            `json:"experiment_id" db:"experiment_id"`
	IterationID  *string           `json:"iteration_id" db:"iteration_id"` // iteration that created the model; nil if unknown
	Name         string            `json:"name" db:"name"`                 // not necessarily unique
	Type         string            `json:"type" db:"type"`
	Status       LoggedModelStatus `json:"status" db:"status"`
	Params       Params            `json:"params" db:"params"`
	CreatedDate  scalar.Time       `json:"created_date" db:"created_date"`
	UpdatedDate  scalar.Time       `json:"updated_date" db:"updated_date"` // time of the last status change
	Num          int64             `json:"-" db:"-"`                       // primary key
}

func (m LoggedModel) TextBytes() int {
	n := 0
	for key, value := range m.Params {
		n += len(key) + len(value)
	}
	return n
}

// Params holds the parameters of a logged model. Parameters can be added but not changed.
type Params map[string]string

// Scan decodes the stored JSON object.
func (p *Params) Scan(from any) error {
	text, ok := from.(string)
	if !ok {
		return fmt.Errorf("params must be stored as text, not %T", from)
	}
	return json.Unmarshal([]byte(text), (*map[string]string)(p))
}

// MaxLoggedModelParams is the maximum number of parameters of a logged model.
const MaxLoggedModelParams = 10_000

// NewLoggedModel holds the arguments of CreateLoggedModel.
type NewLoggedModel struct {
	Name        string
	Type        string
	IterationID string // an iteration in the project of the experiment, or ""
	Params      []domain.Property
	Properties  []domain.Property
}

// LoggedModelFolder returns the common prefix of the artifact names of a logged model. The
// artifacts belong to the model's experiment.
func LoggedModelFolder(id string) string { return "models/" + id + "/" }

const (
	loggedModelColumns = `
	logged_model.id,
	logged_model.experiment_id,
	iteration.id AS iteration_id,
	logged_model.name,
	logged_model.type,
	logged_model.status,
	logged_model.params,
	logged_model.created_date,
	logged_model.updated_date`

	loggedModelFrom = `FROM logged_model
	LEFT JOIN iteration ON iteration.num = logged_model.iteration_num `
)

// LoggedModel returns the logged model with the given id. The actor needs the right to read.
func (v *View) LoggedModel(id string) (LoggedModel, error) {
	m, _, err := AllowLoggedModel(v.tx, v.tx.Actor, id, domain.RightRead)
	return m, err
}

// LoggedModel calls View.LoggedModel in a new read transaction.
func (db *DB) LoggedModel(ctx context.Context, actor domain.Actor, id string) (LoggedModel, error) {
	return view(ctx, db, actor, func(v *View) (LoggedModel, error) { return v.LoggedModel(id) })
}

// CreateLoggedModel creates a logged model without files, with the status PENDING. The actor
// needs the right to create. The experiment must be in progress.
func (db *DB) CreateLoggedModel(ctx context.Context, actor domain.Actor, experimentID string, n NewLoggedModel) (domain.Created, error) {
	if err := domain.FirstError(domain.CheckName("name", n.Name), domain.CheckShort("model_type", n.Type), domain.CheckProperties(n.Properties)); err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		e, err := tx.AllowOpenExperiment(actor, experimentID, domain.RightCreate)
		if err != nil {
			return domain.Created{}, err
		}
		iteration, err := IterationOfProject(tx, e.ProjectID, n.IterationID)
		if err != nil {
			return domain.Created{}, err
		}
		params, err := AddParams(nil, n.Params)
		if err != nil {
			return domain.Created{}, err
		}
		id := domain.NewID()
		id = "m-" + strings.ReplaceAll(id, "-", "")
		var num int64
		err = tx.Row(`INSERT INTO logged_model
			(id, experiment_id, iteration_num, name, type, status, params, created_date, updated_date)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			RETURNING num`,
			id, experimentID, iteration, n.Name, n.Type, LoggedModelPending, params, tx.Now, tx.Now).Scan(&num)
		if err != nil {
			return domain.Created{}, err
		}
		owner := domain.PropertyOwner{ProjectID: e.ProjectID, Column: "logged_model_num", Key: num}
		return domain.Created{ID: id}, tx.SetProperties(actor, owner, n.Properties)
	})
}

// AddParams returns the union of old and more as JSON. It returns an error if a parameter
// exists with a different value.
func AddParams(old Params, more []domain.Property) (string, error) {
	all := map[string]string{}
	maps.Copy(all, old)
	for _, p := range more {
		if err := domain.FirstError(domain.CheckKey(p.Key), domain.CheckText("value", p.Value)); err != nil {
			return "", err
		}
		if had, ok := all[p.Key]; ok && had != p.Value {
			return "", domain.Invalid("params", "The model already has the parameter %q with a different value; parameters of a logged model can't be changed.", p.Key)
		}
		all[p.Key] = p.Value
	}
	if len(all) > MaxLoggedModelParams {
		return "", domain.Invalid("params", "A logged model can have up to %d parameters.", MaxLoggedModelParams)
	}
	text, err := json.Marshal(all)
	if err == nil && len(text) > domain.MaxText {
		err = domain.Invalid("params", "The parameters of a logged model can have at most %d bytes in total.", domain.MaxText)
	}
	return string(text), err
}

// AddLoggedModelParams adds parameters to a logged model. The actor needs the right to create.
func (db *DB) AddLoggedModelParams(ctx context.Context, actor domain.Actor, id string, more []domain.Property) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		m, _, err := AllowLoggedModel(tx, actor, id, domain.RightCreate)
		if err != nil {
			return err
		}
		params, err := AddParams(m.Params, more)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE logged_model SET params = ? WHERE num = ?`, params, m.Num)
		return err
	})
}

// SetLoggedModelStatus sets the upload status of a logged model. The actor needs the right to
// create, as for an upload.
func (db *DB) SetLoggedModelStatus(ctx context.Context, actor domain.Actor, id string, status LoggedModelStatus) error {
	if err := domain.OneOf("status", status, LoggedModelPending, LoggedModelReady, LoggedModelFailed); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		m, _, err := AllowLoggedModel(tx, actor, id, domain.RightCreate)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE logged_model SET status = ?, updated_date = ? WHERE num = ?`, status, tx.Now, m.Num)
		return err
	})
}

// DeleteLoggedModel removes a logged model and moves its files to the trash. It returns
// CONFLICT if a model version uses the logged model. The actor needs the right to delete.
func (db *DB) DeleteLoggedModel(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		m, _, err := AllowLoggedModel(tx, actor, id, domain.RightDelete)
		if err != nil {
			return err
		}
		folder := LoggedModelFolder(m.ID)
		const files = `experiment_id = ? AND iteration_num IS NULL AND name >= ? AND name < ?`
		args := []any{m.ExperimentID, folder, afterFolder(folder)}
		err = RefuseIfVersioned(tx, `model_version.source = ? OR model_version.resource_num IN (SELECT num FROM resource WHERE `+files+`)`,
			"The logged model is used by %s; delete those versions first.", append([]any{"models:/" + m.ID}, args...)...)
		if err != nil {
			return err
		}
		var ids []string
		if err := tx.Select(&ids, `SELECT id FROM resource WHERE deleted_date IS NULL AND `+files, args...); err != nil {
			return err
		}
		for _, id := range ids {
			if err := tx.Discard(domain.TrashedArtifact, id); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(`DELETE FROM logged_model WHERE num = ?`, m.Num); err != nil {
			return err
		}
		return tx.Audit(domain.Event{Action: domain.ActionDelete, Kind: domain.AuditLoggedModel, ID: m.ID, Name: m.Name})
	})
}

// afterFolder returns the smallest string that is greater than all names in the folder. The
// folder must end with a slash.
func afterFolder(folder string) string { return strings.TrimSuffix(folder, "/") + "0" }

// AllowLoggedModel returns the logged model with the given id and the id of its project. It
// returns an error if the model does not exist or actor lacks the right want in the project.
func AllowLoggedModel(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (m LoggedModel, projectID string, err error) {
	row := struct {
		LoggedModel
		Num       int64  `db:"num"`
		ProjectID string `db:"project_id"`
	}{}
	err = tx.Get(&row, `SELECT `+loggedModelColumns+`, logged_model.num, experiment.project_id
		`+loggedModelFrom+`JOIN experiment ON experiment.id = logged_model.experiment_id
		JOIN project ON project.id = experiment.project_id
		WHERE logged_model.id = ? AND `+tx.Found("experiment", "project"), id)
	if err != nil {
		return m, "", domain.OrNotFound(err, "logged model")
	}
	m = row.LoggedModel
	m.Num = row.Num
	return m, row.ProjectID, tx.Allow(actor, row.ProjectID, want)
}

// loggedModelOf returns the row number of a logged model. The model must belong to the given
// project.
func loggedModelOf(tx *domain.Tx, projectID, id string) (num int64, err error) {
	err = tx.Row(`SELECT logged_model.num
		FROM logged_model
		JOIN experiment ON experiment.id = logged_model.experiment_id
		WHERE logged_model.id = ? AND experiment.project_id = ? AND experiment.deleted_date IS NULL`, id, projectID).Scan(&num)
	return num, domain.OrNotFound(err, "logged model")
}
