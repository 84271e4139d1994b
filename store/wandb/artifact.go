package wandb

import (
	"context"
	"fmt"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/transfer"
)

// Artifact is one version of a W&B artifact. Each file of a version is stored as an artifact of
// the iteration that logged the version.
type Artifact struct {
	Num          int64          `db:"num"`
	ID           string         `db:"id"`
	ExperimentID string         `db:"experiment_id"`
	ProjectID    string         `db:"project_id"`
	Project      string         `db:"project"`      // name of the project
	IterationID  string         `db:"iteration_id"` // iteration that logged the version
	Collection   string         `db:"collection"`
	Version      int64          `db:"version"`
	Type         string         `db:"type"`
	Digest       string         `db:"digest"`
	Description  string         `db:"description"`
	Metadata     string         `db:"metadata"` // JSON
	State        ArtifactState  `db:"state"`
	Size         int64          `db:"size"` // total size of the files in bytes
	Files        int64          `db:"files"`
	CreatedDate  scalar.Time    `db:"created_date"`
	UpdatedDate  scalar.Time    `db:"updated_date"`
	Aliases      domain.Strings `db:"aliases"` // set by CommitArtifact
}

// ArtifactState is the state of an artifact version.
type ArtifactState string

// These are the states of an artifact version. A pending version can't be found by name.
const (
	Pending   ArtifactState = "PENDING"
	Committed ArtifactState = "COMMITTED"
	Deleted   ArtifactState = "DELETED"
)

// Folder returns the name of the folder that contains the files of version a.
func (a *Artifact) Folder() string { return fmt.Sprintf("%s:v%d", a.Collection, a.Version) }

// File returns the artifact name under which the iteration stores a file of version a.
func (a *Artifact) File(name string) string { return transfer.FitPath(a.Folder() + "/" + name) }

// Latest is the alias of the newest version in a collection.
const Latest = "latest"

const wandbArtifactColumns = `
	wandb_artifact.num,
	wandb_artifact.id,
	wandb_artifact.experiment_id,
	experiment.project_id,
	project.name AS project,
	iteration.id AS iteration_id,
	wandb_artifact.collection,
	wandb_artifact.version,
	wandb_artifact.type,
	wandb_artifact.digest,
	wandb_artifact.description,
	wandb_artifact.metadata,
	wandb_artifact.state,
	wandb_artifact.size,
	wandb_artifact.files,
	wandb_artifact.created_date,
	wandb_artifact.updated_date,
	(SELECT json_group_array(alias) FROM
		(SELECT alias FROM wandb_alias WHERE artifact_num = wandb_artifact.num ORDER BY alias)) AS aliases
	FROM wandb_artifact
	JOIN iteration ON iteration.num = wandb_artifact.iteration_num AND iteration.deleted_date IS NULL
	JOIN experiment ON experiment.id = wandb_artifact.experiment_id AND experiment.deleted_date IS NULL
	JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL `

func wandbArtifact(tx *domain.Tx, id string) (a Artifact, err error) {
	err = tx.Get(&a, `SELECT `+wandbArtifactColumns+`WHERE wandb_artifact.id = ?`, id)
	return a, domain.OrNotFound(err, "artifact")
}

// allowArtifact returns the artifact version with the given id. It returns an error if the version
// does not exist or if actor lacks the right want in its project.
func allowArtifact(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (Artifact, error) {
	a, err := wandbArtifact(tx, id)
	if err == nil {
		err = tx.Allow(actor, a.ProjectID, want)
	}
	return a, err
}

// Artifact returns the artifact version whose id or, if there is none, whose client id is the given
// id. If several versions have the client id, it returns the oldest, because another client can use
// the same client id later. The actor needs the right to read, or the right to create if the
// version is pending.
func (db *DB) Artifact(ctx context.Context, actor domain.Actor, id string) (Artifact, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (a Artifact, err error) {
		a, err = wandbArtifact(tx, id)
		if err != nil && domain.AsError(err).Code == domain.CodeNotFound && id != "" {
			err = tx.Get(&a, `SELECT `+wandbArtifactColumns+`WHERE wandb_artifact.client_id = ?
				ORDER BY wandb_artifact.state = 'DELETED', wandb_artifact.num LIMIT 1`, id)
			err = domain.OrNotFound(err, "artifact")
		}
		if err != nil {
			return a, err
		}
		want := domain.RightRead
		if a.State == Pending {
			want = domain.RightCreate
		}
		return a, tx.Allow(actor, a.ProjectID, want)
	})
}

// ArtifactQuery selects committed artifact versions.
type ArtifactQuery struct {
	ProjectID   string // "" if IterationID or UsedBy is set
	Collection  string // "" selects all
	Type        string // "" selects all
	IterationID string // iteration that logged the versions; "" selects all
	UsedBy      string // iteration that uses the versions; "" selects all
}

// MaxArtifacts is the maximum number of versions that Artifacts returns.
const MaxArtifacts = 100_000

// Artifacts returns artifact versions, newest first. The actor needs the right to read.
func (db *DB) Artifacts(ctx context.Context, actor domain.Actor, q ArtifactQuery) ([]Artifact, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Artifact, error) {
		var where search.SQL
		where.Add(`WHERE wandb_artifact.state = 'COMMITTED'`)
		if q.ProjectID != "" {
			if err := tx.AllowProject(actor, q.ProjectID, domain.RightRead); err != nil {
				return nil, err
			}
			where.Add(` AND experiment.project_id = ?`, q.ProjectID)
		}
		if q.Collection != "" {
			where.Add(` AND wandb_artifact.collection = ?`, q.Collection)
		}
		if q.Type != "" {
			where.Add(` AND wandb_artifact.type = ?`, q.Type)
		}
		if q.IterationID != "" {
			it, err := tx.AllowIteration(actor, q.IterationID, domain.RightRead)
			if err != nil {
				return nil, err
			}
			where.Add(` AND wandb_artifact.iteration_num = ?`, it.Num)
		}
		if q.UsedBy != "" {
			it, err := tx.AllowIteration(actor, q.UsedBy, domain.RightRead)
			if err != nil {
				return nil, err
			}
			where.Add(` AND wandb_artifact.num IN (SELECT artifact_num FROM wandb_artifact_use WHERE iteration_num = ?)`, it.Num)
		}
		page := append(where.Args, MaxArtifacts)
		const order = ` ORDER BY wandb_artifact.num DESC LIMIT ?`
		var size int64
		err := tx.Row(`SELECT coalesce(sum(octet_length(description) + octet_length(metadata) + ?), 0) FROM (SELECT `+wandbArtifactColumns+where.String()+order+`)`,
			append([]any{wandbArtifactBytes}, page...)...).Scan(&size)
		if err == nil {
			err = domain.Take(tx.Context(), size)
		}
		if err != nil {
			return nil, err
		}
		all := []Artifact{}
		err = tx.Select(&all, `SELECT `+wandbArtifactColumns+where.String()+order, page...)
		return all, err
	})
}

// wandbArtifactBytes is the estimated memory size of a version without the description and
// metadata.
const wandbArtifactBytes = 1000

// ArtifactUsers returns the ids of the iterations that use an artifact version, at most
// MaxLimit. The actor needs the right to read.
func (db *DB) ArtifactUsers(ctx context.Context, actor domain.Actor, id string) (ids []string, err error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (ids []string, err error) {
		a, err := allowArtifact(tx, actor, id, domain.RightRead)
		if err != nil {
			return nil, err
		}
		err = tx.Select(&ids, `SELECT iteration.id FROM wandb_artifact_use
			JOIN iteration ON iteration.num = wandb_artifact_use.iteration_num AND iteration.deleted_date IS NULL
			WHERE wandb_artifact_use.artifact_num = ? ORDER BY iteration.num LIMIT ?`, a.Num, domain.MaxLimit)
		return ids, err
	})
}
