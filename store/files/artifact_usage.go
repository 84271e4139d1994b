package files

import (
	"context"

	"tracker/store/artifact"
	"tracker/store/domain"
)

// ArtifactUsage holds the disk space that artifacts use.
type ArtifactUsage struct {
	Artifacts    int             `json:"artifacts"`
	Bytes        int64           `json:"bytes"`         // size of all artifacts; shared contents count for each artifact
	Contents     int             `json:"contents"`      // number of stored contents, each once in its backend
	StoredBytes  int64           `json:"stored_bytes"`  // size of these contents
	Backends     []BackendUsage  `json:"backends"`      // sorted by name
	Projects     []ProjectUsage  `json:"projects"`      // the largest first
	Shared       []SharedContent `json:"shared"`        // the contents whose sharing saves most bytes, at most MaxShared
	Uploads      int             `json:"uploads"`       // number of incomplete resumable uploads
	UploadsBytes int64           `json:"uploads_bytes"` // size of the received bytes of these uploads
	Trash        TrashUsage      `json:"trash"`
}

// TrashUsage counts the artifacts in the trash, including the artifacts of experiments
// and projects in the trash. In ArtifactUsage they also count in Backends, but not in the
// other fields.
type TrashUsage struct {
	Artifacts  int   `json:"artifacts" db:"artifacts"`
	Bytes      int64 `json:"bytes" db:"bytes"`             // shared contents count for each artifact
	FreedBytes int64 `json:"freed_bytes" db:"freed_bytes"` // freed when the trash is emptied
}

// MaxShared is the maximum number of shared contents in ArtifactUsage.
const MaxShared = 100

// BackendUsage counts the contents of a backend.
type BackendUsage struct {
	Backend     artifact.Backend `json:"backend" db:"backend"`
	Contents    int              `json:"contents" db:"contents"`
	StoredBytes int64            `json:"stored_bytes" db:"stored_bytes"`
}

// ProjectUsage counts the artifacts of a project.
type ProjectUsage struct {
	ID          string            `json:"id" db:"id"`
	Name        string            `json:"name" db:"name"`
	Artifacts   int               `json:"artifacts" db:"artifacts"`
	Bytes       int64             `json:"bytes" db:"bytes"`
	Experiments []ExperimentUsage `json:"experiments" db:"-"` // the largest first
}

// ExperimentUsage counts the artifacts of an experiment.
type ExperimentUsage struct {
	ID        string `json:"id" db:"id"`
	ProjectID string `json:"-" db:"project_id"`
	Name      string `json:"name" db:"name"`
	Artifacts int    `json:"artifacts" db:"artifacts"`
	Bytes     int64  `json:"bytes" db:"bytes"`
}

// SharedContent describes bytes that are stored once for several artifacts.
type SharedContent struct {
	Hash      string           `json:"hash" db:"hash"`
	Backend   artifact.Backend `json:"backend" db:"backend"`
	Size      int64            `json:"size_bytes" db:"size_bytes"`
	Artifacts int              `json:"artifacts" db:"artifacts"`
	Name      string           `json:"name" db:"name"` // name of the oldest of these artifacts
}

// usageFrom is the FROM clause for all artifacts. usageShown is the condition that an
// artifact is not in the trash.
const (
	usageFrom = `FROM resource
		JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
		JOIN experiment ON experiment.id = resource.experiment_id
		JOIN project ON project.id = experiment.project_id
		LEFT JOIN iteration ON iteration.num = resource.iteration_num`
	usageShown = `coalesce(resource.deleted_date, iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NULL`
)

// ArtifactUsage returns the disk space that artifacts use. Projects and experiments
// without artifacts are not listed.
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
