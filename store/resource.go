package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"mime"
	"strings"

	"tracker/blob"
)

// Resource is an artifact: bytes with a name, kept for an experiment and, as a
// rule, made by one of its iterations.
type Resource struct {
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

// NewResource is what CreateResource takes beside the bytes.
type NewResource struct {
	Name        string
	Description string
	IterationID string // of the same experiment, or ""
	ContentType string // "" for application/octet-stream
}

// ResourcePatch is what UpdateResource changes; nil leaves a field as it is.
type ResourcePatch struct {
	Name        *string
	Description *string
	IterationID *string // "" for none
	ContentType *string
}

// ResourceQuery narrows a listing.
type ResourceQuery struct {
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

	// What is being removed is hidden.
	resourceFrom = `FROM resource
	JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
	LEFT JOIN iteration ON iteration.num = resource.iteration_num `
)

// Resources lists the artifacts of an experiment, the oldest first. Needs read.
func (db *DB) Resources(ctx context.Context, actor Actor, experimentID string, q ResourceQuery) (List[Resource], error) {
	l, err := read(ctx, db, func(tx *tx) (List[Resource], error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return List[Resource]{}, err
		}
		from := resourceFrom + `WHERE resource.experiment_id = ? AND ` + contains(`resource.name`)
		args := []any{experimentID, q.Name}
		if q.IterationID != nil {
			from += ` AND iteration.id = ?`
			args = append(args, *q.IterationID)
		}
		return list[Resource](tx, q.Page, resourceColumns, from, `resource.num`, args...)
	})
	for i := range l.Data {
		l.Data[i].URI = db.uri(l.Data[i].Backend, l.Data[i].ContentHash)
	}
	return l, err
}

// Resource returns one artifact without its bytes. Needs read.
func (db *DB) Resource(ctx context.Context, actor Actor, id string) (Resource, error) {
	r, err := read(ctx, db, func(tx *tx) (r Resource, err error) {
		if _, err := tx.allowResource(actor, id, rightRead); err != nil {
			return r, err
		}
		err = tx.get(&r, `SELECT `+resourceColumns+` `+resourceFrom+`WHERE resource.id = ?`, id)
		return r, err
	})
	if err == nil {
		r.URI = db.uri(r.Backend, r.ContentHash)
	}
	return r, err
}

// OpenResource returns an artifact and its bytes, which the caller closes.
// Needs read.
func (db *DB) OpenResource(ctx context.Context, actor Actor, id string) (Resource, io.ReadSeekCloser, error) {
	for again := true; ; again = false {
		r, err := db.Resource(ctx, actor, id)
		if err != nil {
			return r, nil, err
		}
		s, err := db.BlobStore(r.Backend)
		if err != nil {
			return r, nil, err
		}
		content, err := s.Open(ctx, blob.Blob{Hash: r.ContentHash, Size: r.SizeBytes})
		if errors.Is(err, blob.ErrNotFound) && again {
			continue // it was removed, or its bytes were changed or moved, after it was looked up
		}
		if err != nil {
			return r, nil, blobError(err)
		}
		return r, &following{ReadSeekCloser: content, ctx: ctx, db: db, backend: r.Backend,
			blob: blob.Blob{Hash: r.ContentHash, Size: r.SizeBytes}}, nil
	}
}

// CreateResource makes an artifact of bytes that have been received. Needs
// create; the experiment must be in progress.
func (db *DB) CreateResource(ctx context.Context, actor Actor, experimentID string, n NewResource, b *Received) (Created, error) {
	if n.ContentType == "" {
		n.ContentType = DefaultContentType
	}
	err := checkResource(ResourcePatch{Name: &n.Name, Description: &n.Description, ContentType: &n.ContentType})
	if err != nil {
		return Created{}, err
	}
	return put(ctx, db, actor, b, func(tx *tx, blobID int64) (Created, error) {
		return tx.insertResource(actor, experimentID, n, blobID)
	})
}

func (tx *tx) insertResource(actor Actor, experimentID string, n NewResource, blobID int64) (Created, error) {
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
	id, err := newID()
	if err != nil {
		return Created{}, err
	}
	_, err = tx.exec(`INSERT INTO resource
		(id, experiment_id, iteration_num, blob_id, name, description, content_type, created_date, updated_date)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, experimentID, iteration, blobID, n.Name, n.Description, n.ContentType, tx.now, tx.now)
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
	err := tx.row(`SELECT num, status FROM iteration WHERE id = ? AND experiment_id = ?`, id, experimentID).Scan(&num, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, Invalid("iteration_id", "iteration_id must name an iteration of the same experiment.")
	}
	if err == nil && status == Running {
		tx.seen = append(tx.seen, num)
	}
	return &num, err
}

// UpdateResource changes an artifact, and gives it other bytes unless b is nil.
// Needs update; for other bytes the experiment must be in progress.
func (db *DB) UpdateResource(ctx context.Context, actor Actor, id string, p ResourcePatch, b *Received) error {
	if err := checkResource(p); err != nil {
		return err
	}
	if b == nil {
		return change(ctx, db, actor, func(tx *tx) error {
			_, err := tx.updateResource(actor, id, p, nil)
			return err
		})
	}
	former, err := put(ctx, db, actor, b, func(tx *tx, blobID int64) (int64, error) {
		return tx.updateResource(actor, id, p, &blobID)
	})
	if err != nil {
		return err
	}
	if _, err := db.removeBlob(context.WithoutCancel(ctx), former); err != nil {
		db.log.Warn("the former bytes of an artifact could not be removed; they are tried again later", "error", err)
	}
	return nil
}

// updateResource returns which bytes it had.
func (tx *tx) updateResource(actor Actor, id string, p ResourcePatch, blobID *int64) (former int64, err error) {
	r, err := tx.allowResource(actor, id, rightUpdate)
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
	_, err = tx.exec(`UPDATE resource SET
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

// DeleteResource removes an artifact, and its bytes when no other one has them:
// the bytes first, hidden meanwhile, then the record. When the bytes can't be
// removed the artifact stays. Needs delete.
func (db *DB) DeleteResource(ctx context.Context, actor Actor, id string) error {
	r, err := write(ctx, db, actor, func(tx *tx) (*removal, error) {
		r, err := tx.allowResource(actor, id, rightDelete)
		if err != nil {
			return nil, err
		}
		if err := tx.refuseIfResourceVersioned(r.num); err != nil {
			return nil, err
		}
		if err := tx.noteNumbered(r.iterationNum); err != nil {
			return nil, err
		}
		var shared bool
		err = tx.row(`SELECT EXISTS (SELECT 1 FROM resource WHERE blob_id = ? AND num <> ?)
			OR EXISTS (SELECT 1 FROM blob_pin WHERE blob_id = ? AND (expires_date IS NULL OR expires_date > ?))`,
			r.blobID, r.num, r.blobID, tx.now).Scan(&shared)
		if err != nil {
			return nil, err
		}
		if shared {
			_, err := tx.exec(`DELETE FROM resource WHERE num = ?`, r.num)
			return nil, err
		}
		marked, err := tx.mark(r.blobID)
		return &marked, err
	})
	if err != nil || r == nil {
		return err
	}
	return db.carryOut(ctx, *r, false)
}

// resourceState is what the rules ask of an artifact.
type resourceState struct {
	num          int64
	experimentID string
	iterationNum *int64
	blobID       int64
	experiment   experimentState
}

// allowResource fails unless the artifact exists, is not being removed, and
// actor has the right in its project.
func (tx *tx) allowResource(actor Actor, id string, want right) (r resourceState, err error) {
	err = tx.row(`SELECT
			resource.num,
			resource.experiment_id,
			resource.iteration_num,
			resource.blob_id
		`+resourceFrom+`WHERE resource.id = ?`, id).
		Scan(&r.num, &r.experimentID, &r.iterationNum, &r.blobID)
	if err != nil {
		return r, orNotFound(err, "resource")
	}
	r.experiment, err = tx.allowExperiment(actor, r.experimentID, want)
	return r, err
}

// CheckResource checks what of an artifact can be checked by itself.
func CheckResource(p ResourcePatch) error { return checkResource(p) }

func checkResource(p ResourcePatch) error {
	if p.Name != nil {
		if err := checkResourceName(*p.Name); err != nil {
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

// checkResourceName accepts a name like that of a file, or a path like
// images/sample_10.png that can be put below a folder without leaving it.
func checkResourceName(s string) error {
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
