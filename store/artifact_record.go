package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/json"
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

func (r Artifact) size() int { return len(r.Description) }

// NewArtifact is what CreateArtifact takes beside the bytes.
type NewArtifact struct {
	Name        string
	Description string
	IterationID string // of the same experiment, or ""
	ContentType string // "" for application/octet-stream

	ID          string // a UUID that no artifact has; "" for a new one
	CreatedDate *Time  // nil for now
}

// ArtifactPatch is what UpdateArtifact changes; nil leaves a field as it is.
type ArtifactPatch struct {
	Name        *string
	Description *string
	IterationID *string // "" for none
	ContentType *string
}

// ArtifactQuery narrows a listing.
type ArtifactQuery struct {
	Page
	Name        string  // a part of the name, in any case; "" for all
	IterationID *string // nil for all
}

// DefaultContentType is that of bytes of which nothing is known.
const DefaultContentType = "application/octet-stream"

const (
	resourceColumns = `
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

	// Artifacts that are being removed are hidden.
	resourceFrom = `FROM resource
	JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
	LEFT JOIN iteration ON iteration.num = resource.iteration_num `
)

// Artifacts lists the artifacts of an experiment, the oldest first. Needs read.
func (v *View) Artifacts(experimentID string, q ArtifactQuery) (List[Artifact], error) {
	if _, err := v.tx.allowExperiment(v.actor, experimentID, rightRead); err != nil {
		return List[Artifact]{}, err
	}
	from := resourceFrom + `WHERE resource.experiment_id = ? AND ` + v.tx.found("resource", "iteration") + ` AND ` + contains(`resource.name`)
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

// resourceReader is the bytes of an artifact. Its errors are *Error or the
// caller's own.
type resourceReader struct{ io.ReadSeekCloser }

func (r resourceReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	return n, artifactError(err)
}

// CreateArtifact makes an artifact of bytes that have been received. Needs
// create; the experiment must be in progress.
func (db *DB) CreateArtifact(ctx context.Context, actor Actor, experimentID string, n NewArtifact, b *Received) (Created, error) {
	if n.ContentType == "" {
		n.ContentType = DefaultContentType
	}
	err := checkArtifact(ArtifactPatch{Name: &n.Name, Description: &n.Description, ContentType: &n.ContentType})
	if err != nil {
		return Created{}, err
	}
	return put(ctx, db, actor, b, func(tx *tx, blobID int64) (Created, error) {
		return tx.insertArtifact(actor, experimentID, n, blobID)
	})
}

func (tx *tx) insertArtifact(actor Actor, experimentID string, n NewArtifact, blobID int64) (Created, error) {
	e, err := tx.allowExperiment(actor, experimentID, rightCreate)
	if err == nil {
		err = e.open()
	}
	if err != nil {
		return Created{}, err
	}
	iteration, err := tx.iterationOf(experimentID, n.IterationID)
	if err != nil {
		return Created{}, err
	}
	id, created := n.ID, tx.now
	if id == "" {
		if id, err = newID(); err != nil {
			return Created{}, err
		}
	}
	if n.CreatedDate != nil {
		created = *n.CreatedDate
	}
	_, err = tx.Exec(`INSERT INTO resource
		(id, experiment_id, iteration_num, blob_id, name, description, content_type, created_date, updated_date)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, experimentID, iteration, blobID, n.Name, n.Description, n.ContentType, created, tx.now)
	if err != nil {
		return Created{}, err
	}
	return Created{ID: id}, tx.noteNumbered(iteration)
}

// iterationOf returns the number of an iteration of the experiment, nil for the
// id "". The run is alive, if it has not ended.
func (tx *tx) iterationOf(experimentID, id string) (*int64, error) {
	if id == "" {
		return nil, nil
	}
	var num int64
	var status IterationStatus
	err := tx.Row(`SELECT num, status FROM iteration WHERE id = ? AND experiment_id = ? AND deleted_date IS NULL`, id, experimentID).Scan(&num, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, Invalid("iteration_id", "iteration_id must name an iteration of the same experiment.")
	}
	if err == nil && status == Running {
		tx.seen = append(tx.seen, num)
	}
	return &num, err
}

// UpdateArtifact changes an artifact, and gives it other bytes unless b is nil.
// Needs update; for other bytes the experiment must be in progress.
func (db *DB) UpdateArtifact(ctx context.Context, actor Actor, id string, p ArtifactPatch, b *Received) error {
	if err := checkArtifact(p); err != nil {
		return err
	}
	if b == nil {
		return change(ctx, db, actor, func(tx *tx) error {
			_, err := tx.updateArtifact(actor, id, p, nil)
			return err
		})
	}
	former, err := put(ctx, db, actor, b, func(tx *tx, blobID int64) (int64, error) {
		return tx.updateArtifact(actor, id, p, &blobID)
	})
	if err != nil {
		return err
	}
	if _, err := db.artifacts.DeleteUnused(context.WithoutCancel(ctx), former); err != nil {
		db.log.Warn("the former bytes of an artifact could not be removed; they are tried again later", "error", err)
	}
	return nil
}

// updateArtifact returns which bytes it had.
func (tx *tx) updateArtifact(actor Actor, id string, p ArtifactPatch, blobID *int64) (former int64, err error) {
	r, err := tx.allowArtifact(actor, id, rightUpdate)
	if err == nil && blobID != nil {
		err = r.experiment.open()
	}
	if err != nil {
		return 0, err
	}
	iteration := r.iterationNum
	if p.IterationID != nil {
		if iteration, err = tx.iterationOf(r.experimentID, *p.IterationID); err != nil {
			return 0, err
		}
	}
	_, err = tx.Exec(`UPDATE resource SET
			name          = new.name,
			description   = new.description,
			content_type  = new.content_type,
			iteration_num = new.iteration_num,
			blob_id       = new.blob_id,
			updated_date  = ?
		FROM (SELECT
				num,
				coalesce(?, name) AS name,
				coalesce(?, description) AS description,
				coalesce(?, content_type) AS content_type,
				? AS iteration_num,
				coalesce(?, blob_id) AS blob_id
			FROM resource WHERE num = ?) AS new
		WHERE resource.num = new.num
		AND (resource.name, resource.description, resource.content_type, resource.iteration_num, resource.blob_id)
			IS NOT (new.name, new.description, new.content_type, new.iteration_num, new.blob_id)`,
		tx.now, p.Name, p.Description, p.ContentType, iteration, blobID, r.num)
	return r.blobID, firstError(err, tx.noteNumbered(r.iterationNum), tx.noteNumbered(iteration))
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
		return db.purgeArtifact(ctx, actor, check)
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
func (db *DB) purgeArtifact(ctx context.Context, actor Actor, check func(*tx) (resourceState, error)) error {
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

// CheckArtifact checks the fields of an artifact that need no look at the database.
func CheckArtifact(p ArtifactPatch) error { return checkArtifact(p) }

func checkArtifact(p ArtifactPatch) error {
	if p.Name != nil {
		if err := checkArtifactName(*p.Name); err != nil {
			return err
		}
	}
	if p.Description != nil {
		if err := checkText("description", *p.Description); err != nil {
			return err
		}
	}
	if p.ContentType != nil {
		return checkContentType(*p.ContentType)
	}
	return nil
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
