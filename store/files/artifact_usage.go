package files

import (
	"context"

	"tracker/store/artifact"
	"tracker/store/domain"
)

// ArtifactUsage describes the disk space that artifacts use.
type ArtifactUsage struct {
	Artifacts    int             `json:"artifacts"`
	Bytes        int64           `json:"bytes"`         // total size of the artifacts; shared bytes count for each artifact
	Contents     int             `json:"contents"`      // number of stored blobs; artifacts with equal bytes in the same backend share a blob
	StoredBytes  int64           `json:"stored_bytes"`  // total size of the stored blobs
	Backends     []BackendUsage  `json:"backends"`      // usage of each backend, sorted by name
	Projects     []ProjectUsage  `json:"projects"`      // sorted by size, largest first
	Shared       []SharedContent `json:"shared"`        // up to MaxShared shared blobs, largest saving first
	Uploads      int             `json:"uploads"`       // number of incomplete resumable uploads
	UploadsBytes int64           `json:"uploads_bytes"` // total received bytes of incomplete resumable uploads
	Trash        TrashUsage      `json:"trash"`
}

// TrashUsage counts the artifacts in the trash, and the artifacts of experiments and projects
// in the trash. The fields Backends, Contents and StoredBytes of ArtifactUsage include
// artifacts in the trash. The fields Artifacts, Bytes, Projects and Shared omit artifacts in
// the trash.
type TrashUsage struct {
	Artifacts  int   `json:"artifacts" db:"artifacts"`
	Bytes      int64 `json:"bytes" db:"bytes"`             // total size of the artifacts; shared bytes count for each artifact
	FreedBytes int64 `json:"freed_bytes" db:"freed_bytes"` // bytes that emptying the trash would free
}

// MaxShared is the maximum number of shared blobs in ArtifactUsage.
const MaxShared = 100

// BackendUsage counts the blobs in a backend.
type BackendUsage struct {
	Backend     artifact.Backend `json:"backend" db:"backend"`
	Contents    int              `json:"contents" db:"contents"`
	StoredBytes int64            `json:"stored_bytes" db:"stored_bytes"`
}

// ProjectUsage counts the artifacts in a project.
type ProjectUsage struct {
	ID          string            `json:"id" db:"id"`
	Name        string            `json:"name" db:"name"`
	Artifacts   int               `json:"artifacts" db:"artifacts"`
	Bytes       int64             `json:"bytes" db:"bytes"`
	Experiments []ExperimentUsage `json:"experiments" db:"-"` // sorted by size, largest first
}

// ExperimentUsage counts the artifacts in an experiment.
type ExperimentUsage struct {
	ID        string `json:"id" db:"id"`
	ProjectID string `json:"-" db:"project_id"`
	Name      string `json:"name" db:"name"`
	Artifacts int    `json:"artifacts" db:"artifacts"`
	Bytes     int64  `json:"bytes" db:"bytes"`
}

// SharedContent describes a blob that several artifacts share.
type SharedContent struct {
	Hash      string           `json:"hash" db:"hash"`
	Backend   artifact.Backend `json:"backend" db:"backend"`
	Size      int64            `json:"size_bytes" db:"size_bytes"`
	Artifacts int              `json:"artifacts" db:"artifacts"`
	Name      string           `json:"name" db:"name"` // name of the oldest artifact with these bytes
}

// usageFrom is the FROM clause for a query of all artifacts. usageShown is the SQL condition
// for artifacts that are not in the trash.
const (
	usageFrom = `FROM resource
		JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
		JOIN experiment ON experiment.id = resource.experiment_id
		JOIN project ON project.id = experiment.project_id
		LEFT JOIN iteration ON iteration.num = resource.iteration_num`
	usageShown = `coalesce(resource.deleted_date, iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NULL`
)

// ArtifactUsage returns the disk space that artifacts use. It omits projects and experiments
// without artifacts.
func (db *DB) ArtifactUsage(ctx context.Context) (ArtifactUsage, error) {
	return domain.Read(ctx, db.base, func(t *domain.Tx) (ArtifactUsage, error) {
		u := ArtifactUsage{Backends: []BackendUsage{}, Projects: []ProjectUsage{}, Shared: []SharedContent{}}
		for _, count := range []func(*domain.Tx, *ArtifactUsage) error{usageOfBackends, usageOfProjects, usageShared, usageOfTrash} {
			if err := count(t, &u); err != nil {
				return u, err
			}
		}
		err := t.Row(`SELECT count(*), coalesce(sum(received), 0) FROM upload WHERE resource_id IS NULL`).
			Scan(&u.Uploads, &u.UploadsBytes)
		return u, err
	})
}

func usageOfBackends(tx *domain.Tx, u *ArtifactUsage) error {
	err := tx.Select(&u.Backends, `SELECT
			backend,
			count(*) AS contents,
			sum(size_bytes) AS stored_bytes
		FROM blob
		WHERE deleting = 0 AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
		GROUP BY backend ORDER BY backend`)
	for _, b := range u.Backends {
		u.Contents += b.Contents
		u.StoredBytes += b.StoredBytes
	}
	return err
}

func usageOfProjects(tx *domain.Tx, u *ArtifactUsage) error {
	var experiments []ExperimentUsage
	err := tx.Select(&experiments, `SELECT
			experiment.id,
			experiment.project_id,
			experiment.name,
			count(*) AS artifacts,
			sum(blob.size_bytes) AS bytes
		`+usageFrom+` WHERE `+usageShown+`
		GROUP BY experiment.id ORDER BY bytes DESC, experiment.id`)
	if err != nil {
		return err
	}
	err = tx.Select(&u.Projects, `SELECT
			project.id,
			project.name,
			count(*) AS artifacts,
			sum(blob.size_bytes) AS bytes
		`+usageFrom+` WHERE `+usageShown+`
		GROUP BY project.id ORDER BY bytes DESC, project.id`)
	at := map[string]*ProjectUsage{}
	for i := range u.Projects {
		p := &u.Projects[i]
		at[p.ID] = p
		u.Artifacts += p.Artifacts
		u.Bytes += p.Bytes
	}
	for _, e := range experiments {
		at[e.ProjectID].Experiments = append(at[e.ProjectID].Experiments, e)
	}
	return err
}

func usageShared(tx *domain.Tx, u *ArtifactUsage) error {
	return tx.Select(&u.Shared, `SELECT hash, backend, size_bytes, artifacts, name FROM (SELECT
			blob.hash,
			blob.backend,
			blob.size_bytes,
			count(*) AS artifacts,
			resource.name,
			min(resource.num) AS num
		`+usageFrom+` WHERE `+usageShown+`
		GROUP BY blob.id
		HAVING artifacts > 1)
		ORDER BY (artifacts - 1) * size_bytes DESC, hash LIMIT ?`, MaxShared)
}

func usageOfTrash(tx *domain.Tx, u *ArtifactUsage) error {
	return tx.Get(&u.Trash, `SELECT
			coalesce(sum(trashed), 0) AS artifacts,
			coalesce(sum(trashed * size_bytes), 0) AS bytes,
			coalesce(sum(iif(shown = 0, size_bytes, 0)), 0) AS freed_bytes
		FROM (SELECT
				blob.size_bytes,
				sum(`+usageShown+`) AS shown,
				count(*) - sum(`+usageShown+`) AS trashed
			`+usageFrom+`
			GROUP BY blob.id)`)
}
