package collections

import (
	"context"
	"fmt"
	"slices"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/transfer"
)

// Version is one version of an artifact. Each file of a version is stored as an artifact of the
// iteration that logged the version.
type Version struct {
	Num          int64          `json:"-" db:"num"`
	ID           string         `json:"id" db:"id"`
	ProjectID    string         `json:"project_id" db:"project_id"`
	Project      string         `json:"-" db:"project"` // name of the project
	ExperimentID string         `json:"experiment_id" db:"experiment_id"`
	IterationID  string         `json:"iteration_id" db:"iteration_id"` // iteration that logged the version
	Iteration    string         `json:"-" db:"iteration"`               // name of the iteration
	Collection   string         `json:"name" db:"collection"`
	Version      int64          `json:"version" db:"version"` // 0, 1, 2 and so on
	Type         string         `json:"type" db:"type"`
	Digest       string         `json:"digest" db:"digest"`
	Aliases      domain.Strings `json:"aliases" db:"aliases"` // sorted; set when the version is committed
	Tags         domain.Strings `json:"tags" db:"tags"`       // sorted
	Description  string         `json:"description" db:"description"`
	Metadata     string         `json:"-" db:"metadata"` // JSON, or ""
	State        State          `json:"state" db:"state"`
	Size         int64          `json:"size_bytes" db:"size"` // total size of the files in bytes
	Files        int64          `json:"files" db:"files"`     // number of files
	HistoryStep  *int64         `json:"-" db:"history_step"`  // step of the run at which it was logged; nil if unknown
	TTL          *int64         `json:"-" db:"ttl"`           // seconds from its creation to its deletion; nil means that it is kept
	domain.Creator
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"`
}

// TextBytes returns the length of the long fields in bytes.
func (a Version) TextBytes() int { return len(a.Description) + len(a.Metadata) }

// State is the state of an artifact version.
type State string

// These are the states of an artifact version. A pending version can't be found by name.
const (
	Pending   State = "PENDING"
	Committed State = "COMMITTED"
	Deleted   State = "DELETED"
)

// Folder returns the name of the folder that contains the files of version a.
func (a *Version) Folder() string { return fmt.Sprintf("%s:v%d", a.Collection, a.Version) }

// File returns the artifact name under which the iteration stores a file of version a.
func (a *Version) File(name string) string { return transfer.FitPath(a.Folder() + "/" + name) }

// Latest is the alias of the newest version in a collection.
const Latest = "latest"

const (
	versionColumns = `
	artifact_version.num,
	artifact_version.id,
	artifact_version.experiment_id,
	experiment.project_id,
	project.name AS project,
	iteration.id AS iteration_id,
	iteration.name AS iteration,
	artifact_version.collection,
	artifact_version.version,
	artifact_version.type,
	artifact_version.digest,
	artifact_version.description,
	artifact_version.metadata,
	artifact_version.state,
	artifact_version.size,
	artifact_version.files,
	artifact_version.history_step,
	artifact_version.ttl,
	artifact_version.created_date,
	artifact_version.created_by,
	artifact_version.created_key,
	artifact_version.updated_date,
	(SELECT json_group_array(alias ORDER BY alias) FROM artifact_alias WHERE artifact_num = artifact_version.num) AS aliases,
	(SELECT json_group_array(tag ORDER BY tag) FROM artifact_tag WHERE artifact_num = artifact_version.num) AS tags
	`

	versionFrom = `FROM artifact_version
	JOIN iteration ON iteration.num = artifact_version.iteration_num AND iteration.deleted_date IS NULL
	JOIN experiment ON experiment.id = artifact_version.experiment_id AND experiment.deleted_date IS NULL
	JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL `
)

// entity is the name of a version in messages.
const entity domain.Entity = "artifact version"

func versionByID(tx *domain.Tx, id string) (a Version, err error) {
	err = tx.Get(&a, `SELECT `+versionColumns+versionFrom+`WHERE artifact_version.id = ?`, id)
	return a, domain.OrNotFound(err, entity)
}

// allowVersion returns the artifact version with the given id. It returns an error if the version
// does not exist or if actor lacks the right want in its project.
func allowVersion(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (Version, error) {
	a, err := versionByID(tx, id)
	if err == nil {
		err = a.allow(tx, actor, want)
	}
	return a, err
}

// allow returns an error if actor lacks the right want in the project of version a. An API key that
// is limited to logging can only use the versions that its own runs log.
func (a *Version) allow(tx *domain.Tx, actor domain.Actor, want domain.Right) error {
	if actor.Scope.Only != domain.ScopeLog {
		return tx.Allow(actor, a.ProjectID, want)
	}
	_, err := tx.AllowIteration(actor, a.IterationID, want)
	return err
}

// Version returns the artifact version whose id or, if there is none, whose client id is the given
// id. If several versions have the client id, it returns the oldest, because another client can use
// the same client id later. The actor needs the right to read, or the right to create if the
// version is pending.
func (db *DB) Version(ctx context.Context, actor domain.Actor, id string) (Version, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (a Version, err error) {
		a, err = versionByID(tx, id)
		if err != nil && domain.AsError(err).Code == domain.CodeNotFound && id != "" {
			err = tx.Get(&a, `SELECT `+versionColumns+versionFrom+`WHERE artifact_version.client_id = ?
				ORDER BY artifact_version.state = 'DELETED', artifact_version.num LIMIT 1`, id)
			err = domain.OrNotFound(err, entity)
		}
		if err != nil {
			return a, err
		}
		want := domain.RightRead
		if a.State == Pending {
			want = domain.RightCreate
		}
		return a, a.allow(tx, actor, want)
	})
}

// MaxVersions is the maximum number of versions that Versions returns.
const MaxVersions = 100_000

// Versions returns the versions that q selects, newest first. It ignores the page of q. The actor
// needs the right to read.
func (db *DB) Versions(ctx context.Context, actor domain.Actor, q Search) ([]Version, error) {
	return view(ctx, db, actor, func(v *View) ([]Version, error) {
		from, err := v.from(q)
		if err != nil {
			return nil, err
		}
		return limited[Version](v.tx, versionTexts, versionColumns+from.String(), `artifact_version.num DESC`, from.Args)
	})
}

// versionTexts is the SQL expression for the size of the texts of a Version.
const versionTexts = `octet_length(description) + octet_length(metadata)`

// limited returns at most MaxVersions rows of the query SELECT from ORDER BY order. It counts their
// memory against the limit of the request before it reads them. texts is the SQL expression for the
// size of the texts of a row.
func limited[T any](tx *domain.Tx, texts, from, order string, args []any) ([]T, error) {
	query := `SELECT ` + from + ` ORDER BY ` + order + ` LIMIT ?`
	args = append(slices.Clone(args), MaxVersions)
	var size int64
	err := tx.Row(`SELECT coalesce(sum(`+texts+` + ?), 0) FROM (`+query+`)`, append([]any{versionBytes}, args...)...).Scan(&size)
	if err == nil {
		err = domain.Take(tx.Context(), size)
	}
	if err != nil {
		return nil, err
	}
	all := []T{}
	return all, tx.Select(&all, query, args...)
}

// versionBytes is the estimated memory size of a version without the description and
// metadata.
const versionBytes = 1000

// Users returns the ids of the iterations that View.Users returns.
func (db *DB) Users(ctx context.Context, actor domain.Actor, id string) (ids []string, err error) {
	users, err := view(ctx, db, actor, func(v *View) ([]RunRef, error) { return v.Users(id) })
	for _, u := range users {
		ids = append(ids, u.ID)
	}
	return ids, err
}
