package store

import (
	"context"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/json"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Artifact is a file with a name, kept for an experiment and, as a
// rule, made by one of its iterations.
type Artifact struct {
	ID           string  `json:"id" db:"id"`
	ExperimentID string  `json:"experiment_id" db:"experiment_id"`
	IterationID  *string `json:"iteration_id" db:"iteration_id"`
	Name         string  `json:"name" db:"name"`
	Description  string  `json:"description" db:"description"`
	Backend      Backend `json:"backend" db:"backend"`
	URI          string  `json:"uri" db:"-"`
	SizeBytes    int64   `json:"size_bytes" db:"size_bytes"`
	ContentHash  string  `json:"content_hash" db:"content_hash"` // SHA-256, lowercase hex
	ContentType  string  `json:"content_type" db:"content_type"`
	CreatedDate  Time    `json:"created_date" db:"created_date"`
	UpdatedDate  Time    `json:"updated_date" db:"updated_date"`
}

func (r Artifact) TextBytes() int { return len(r.Description) }

// ArtifactQuery narrows a listing.
type ArtifactQuery struct {
	Page
	Name        string  // a part of the name, in any case; "" for all
	IterationID *string // nil for all
}

// DefaultContentType is the content type of artifacts for which none is given.
const DefaultContentType = "application/octet-stream"

const resourceColumns = `
	resource.id,
	resource.experiment_id,
	iteration.id AS iteration_id,
	resource.name,
	resource.description,
	blob.backend,
	blob.size_bytes,
	blob.hash AS content_hash,
	resource.content_type,
	resource.created_date,
	resource.updated_date`

// resourceFrom is the FROM clause of queries for artifacts. Those that are being removed
// are hidden.
const resourceFrom = `FROM resource
	JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
	LEFT JOIN iteration ON iteration.num = resource.iteration_num `

// Artifacts lists the artifacts of an experiment, the oldest first. Needs read.
func (v *View) Artifacts(experimentID string, q ArtifactQuery) (List[Artifact], error) {
	if _, err := v.tx.allowExperiment(v.actor, experimentID, rightRead); err != nil {
		return List[Artifact]{}, err
	}
	from := resourceFrom + `WHERE resource.experiment_id = ? AND ` + v.tx.found("resource", "iteration") + ` AND ` + search.Contains(`resource.name`)
	args := []any{experimentID, q.Name}
	if q.IterationID != nil {
		from += ` AND iteration.id = ?`
		args = append(args, *q.IterationID)
	}
	l, err := list[Artifact](v.tx, q.Page, resourceColumns, from, `resource.num`, args...)
	for i := range l.Data {
		l.Data[i].URI = v.tx.db.artifacts.URI(l.Data[i].Backend, l.Data[i].ContentHash)
	}
	return l, err
}

// Artifacts is View.Artifacts.
func (db *DB) Artifacts(ctx context.Context, actor Actor, experimentID string, q ArtifactQuery) (List[Artifact], error) {
	return view(ctx, db, actor, func(v *View) (List[Artifact], error) { return v.Artifacts(experimentID, q) })
}

// MaxMade bounds the artifacts that MadeArtifacts returns.
const MaxMade = 20_000

// MadeArtifacts returns the artifacts that iterations have made, the oldest first. Of more
// than MaxMade it returns the newest, and more is set. Iterations that do not exist are left
// out. Needs read.
func (v *View) MadeArtifacts(iterationIDs []string) (all []Artifact, more bool, err error) {
	states, err := v.tx.allowExisting(v.actor, iterationIDs, rightRead)
	if err != nil {
		return nil, false, err
	}
	nums, err := json.Marshal(numsOf(states))
	if err != nil {
		return nil, false, err
	}
	err = v.tx.Select(&all, `SELECT `+resourceColumns+` `+resourceFrom+`
		WHERE resource.iteration_num IN (SELECT value FROM json_each(?)) AND `+v.tx.found("resource")+`
		ORDER BY resource.num DESC LIMIT ?`, string(nums), MaxMade+1)
	if more = len(all) > MaxMade; more {
		all = all[:MaxMade]
	}
	slices.Reverse(all)
	return all, more, err
}

// Artifact returns one artifact without its bytes. Needs read.
func (v *View) Artifact(id string) (r Artifact, err error) {
	if _, err := v.tx.allowArtifact(v.actor, id, rightRead); err != nil {
		return r, err
	}
	err = v.tx.Get(&r, `SELECT `+resourceColumns+` `+resourceFrom+`WHERE resource.id = ?`, id)
	if err == nil {
		r.URI = v.tx.db.artifacts.URI(r.Backend, r.ContentHash)
	}
	return r, err
}

// Artifact is View.Artifact.
func (db *DB) Artifact(ctx context.Context, actor Actor, id string) (Artifact, error) {
	return view(ctx, db, actor, func(v *View) (Artifact, error) { return v.Artifact(id) })
}

// OpenArtifact returns an artifact and its bytes, which the caller closes.
// Read from the beginning to the end they are compared with their hash, and the
// last ones come only when all are right. Needs read.
func (db *DB) OpenArtifact(ctx context.Context, actor Actor, id string) (Artifact, io.ReadSeekCloser, error) {
	for again := true; ; again = false {
		r, err := db.Artifact(ctx, actor, id)
		if err != nil {
			return r, nil, err
		}
		content, err := db.artifacts.Open(ctx, r.Backend, blob.Blob{Hash: r.ContentHash, Size: r.SizeBytes})
		if errors.Is(err, blob.ErrNotFound) && again {
			continue // it was removed, or its bytes were changed or moved, after it was looked up
		}
		if err != nil {
			return r, nil, artifactError(err)
		}
		return r, resourceReader{content}, nil
	}
}

// resourceReader reads the bytes of an artifact and returns errors as
// artifactError does.
type resourceReader struct{ io.ReadSeekCloser }

func (r resourceReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	return n, artifactError(err)
}

// DeleteArtifact moves an artifact to the trash or, without one, removes it: the
// bytes first, unless another one has them, hidden meanwhile, then the record. When
// the bytes can't be removed the artifact stays. Needs delete.
func (db *DB) DeleteArtifact(ctx context.Context, actor Actor, id string) error {
	check := func(tx *tx) (resourceState, error) {
		r, err := tx.allowArtifact(actor, id, rightDelete)
		if err != nil {
			return r, err
		}
		return r, firstError(tx.refuseIfArtifactVersioned(r.num), tx.noteNumbered(r.iterationNum))
	}
	if db.opts.TrashAge == 0 {
		return purgeArtifact(ctx, db, actor, check)
	}
	return db.discard(ctx, actor, func(tx *tx) error {
		if _, err := check(tx); err != nil {
			return err
		}
		return tx.discard(TrashedArtifact, id)
	})
}

// purgeArtifact deletes the artifact that check allows, with its bytes unless
// another one has them.
func purgeArtifact(ctx context.Context, db *DB, actor Actor, check func(*tx) (resourceState, error)) error {
	deletion, err := writeOnce(ctx, db, sqlite.Change|sqlite.Freeing, actor, func(tx *tx) (*artifact.Deletion, error) {
		r, err := check(tx)
		if err != nil {
			return nil, err
		}
		deletion, err := db.artifacts.BeginDelete(tx.Tx, r.blobID, r.num)
		if err == nil && deletion == nil {
			_, err = tx.Exec(`DELETE FROM resource WHERE num = ?`, r.num)
		}
		return deletion, err
	})
	if err != nil || deletion == nil {
		return err
	}
	return artifactError(deletion.Finish(ctx))
}

// resourceState holds the fields of an artifact that rules depend on.
type resourceState struct {
	num          int64
	experimentID string
	iterationNum *int64
	blobID       int64
	experiment   experimentState
}

// allowArtifact fails unless the artifact exists, is not being removed, and
// actor has the right in its project.
func (tx *tx) allowArtifact(actor Actor, id string, want right) (r resourceState, err error) {
	err = tx.Row(`SELECT
			resource.num,
			resource.experiment_id,
			resource.iteration_num,
			resource.blob_id
		`+resourceFrom+`WHERE resource.id = ? AND `+tx.found("resource", "iteration"), id).
		Scan(&r.num, &r.experimentID, &r.iterationNum, &r.blobID)
	if err != nil {
		return r, orNotFound(err, "resource")
	}
	r.experiment, err = tx.allowExperiment(actor, r.experimentID, want)
	return r, err
}

// checkArtifactName accepts a name like that of a file, or a path like
// images/sample_10.png that can be put below a folder without leaving it.
func checkArtifactName(s string) error {
	if err := checkName("name", s); err != nil {
		return err
	}
	if strings.Contains(s, `\`) {
		return Invalid("name", `name must not have a backslash; separate folders with a slash.`)
	}
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return Invalid("name", `name must be like model.bin or images/1.png: no slash at an end, none twice, and no part that is "." or "..".`)
		}
	}
	return nil
}

func checkContentType(s string) error {
	media, _, err := mime.ParseMediaType(s)
	plain := len(s) <= MaxName
	for _, c := range []byte(s) {
		plain = plain && c >= ' ' && c <= '~'
	}
	if kind, name, ok := strings.Cut(media, "/"); err != nil || !plain || !ok || kind == "" || name == "" {
		return Invalid("content_type", "content_type must be a media type like image/png or text/csv; charset=utf-8.")
	}
	return nil
}
