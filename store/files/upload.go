package files

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/scalar"
)

// Upload describes a resumable upload. A client sends the bytes in several requests.
type Upload struct {
	ID           string      `json:"id" db:"id"`
	ExperimentID string      `json:"experiment_id" db:"experiment_id"`
	IterationID  *string     `json:"iteration_id" db:"iteration_id"`
	Name         string      `json:"name" db:"name"`
	Description  string      `json:"description" db:"description"`
	ContentType  string      `json:"content_type" db:"content_type"`
	ContentHash  string      `json:"content_hash" db:"hash"` // expected SHA-256 of the bytes, or ""
	SizeBytes    int64       `json:"size_bytes" db:"size_bytes"`
	Offset       int64       `json:"offset" db:"received"`         // number of received bytes that are on disk
	ArtifactID   *string     `json:"resource_id" db:"resource_id"` // id of the created artifact; nil if the upload is incomplete
	CreatedDate  scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate  scalar.Time `json:"updated_date" db:"updated_date"`

	Metadata string `json:"-" db:"metadata"` // copy of NewUpload.Metadata
}

// Expires returns the time when the server deletes the upload. Each new part of the upload
// postpones the time.
func (u Upload) Expires() time.Time { return u.UpdatedDate.Time().Add(artifact.UploadAge) }

// NewUpload holds the arguments of CreateUpload.
type NewUpload struct {
	NewArtifact
	Hash     string // expected SHA-256 in lowercase hex; "" if unknown
	Size     int64  // total size in bytes
	Metadata string // arbitrary text, stored for the caller
}

const uploadColumns = `
	id,
	experiment_id,
	iteration_id,
	name,
	description,
	content_type,
	hash,
	size_bytes,
	received,
	resource_id,
	created_date,
	updated_date,
	metadata`

// CreateUpload creates a resumable upload. An upload of 0 bytes is complete immediately.
// CreateUpload requires the right to create. The experiment must be in progress.
func (db *DB) CreateUpload(ctx context.Context, actor domain.Actor, experimentID string, n NewUpload) (Upload, error) {
	if n.ContentType == "" {
		n.ContentType = DefaultContentType
	}
	if err := db.checkUpload(n); err != nil {
		return Upload{}, err
	}
	u, err := domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (u Upload, err error) {
		_, err = tx.AllowOpenExperiment(actor, experimentID, domain.RightCreate)
		if err == nil {
			_, err = iterationOf(tx, experimentID, n.IterationID)
		}
		if err != nil {
			return u, err
		}
		id := domain.NewID()
		_, err = tx.Exec(`INSERT INTO upload
			(id, experiment_id, iteration_id, name, description, content_type, hash, metadata, size_bytes, created_date, updated_date)
			VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, experimentID, n.IterationID, n.Name, n.Description, n.ContentType, n.Hash, n.Metadata, n.Size, tx.Now, tx.Now)
		if err != nil {
			return u, err
		}
		return upload(tx, actor, id)
	})
	if err != nil || u.SizeBytes > 0 {
		return u, err
	}
	return db.finishUpload(ctx, actor, u)
}

func (db *DB) checkUpload(n NewUpload) error {
	if n.Size < 0 {
		return domain.Invalid("Upload-Length", "Upload-Length must be the size of the artifact in bytes.")
	}
	if err := db.CheckSize(n.Size); err != nil {
		return err
	}
	if raw, err := hex.DecodeString(n.Hash); n.Hash != "" && (err != nil || len(raw) != 32 || n.Hash != hex.EncodeToString(raw)) {
		return domain.Invalid("sha256", "sha256 must be the SHA-256 of the whole artifact as 64 lowercase hexadecimal digits.")
	}
	return CheckArtifact(ArtifactPatch{Name: &n.Name, Description: &n.Description, ContentType: &n.ContentType})
}

// Upload returns the current state of an upload. It interrupts a request that is writing to the
// upload. It requires the right to create.
func (db *DB) Upload(ctx context.Context, actor domain.Actor, id string) (Upload, error) {
	if err := db.base.Ask(ctx, func(tx *domain.Tx) error { _, err := upload(tx, actor, id); return err }); err != nil {
		return Upload{}, err
	}
	release, err := db.base.Artifacts.LockUpload(ctx, id, func() {})
	if err != nil {
		return Upload{}, uploadError(err)
	}
	defer release()
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (Upload, error) { return upload(tx, actor, id) })
}

// upload returns the upload with the given id. It returns NOT_FOUND if the upload does not
// exist or has expired. It checks that actor has the right to create in the upload's project.
func upload(tx *domain.Tx, actor domain.Actor, id string) (u Upload, err error) {
	err = tx.Get(&u, `SELECT `+uploadColumns+` FROM upload WHERE id = ? AND updated_date > ?`,
		id, tx.Now-scalar.Time(artifact.UploadAge.Milliseconds()))
	if err != nil {
		return u, domain.OrNotFound(err, "upload")
	}
	_, err = tx.AllowExperiment(actor, u.ExperimentID, domain.RightCreate)
	return u, err
}

// DeleteUpload deletes an upload. It does not delete the artifact of a complete upload. It requires
// the right to create.
func (db *DB) DeleteUpload(ctx context.Context, actor domain.Actor, id string) error {
	if err := db.base.Ask(ctx, func(tx *domain.Tx) error { _, err := upload(tx, actor, id); return err }); err != nil {
		return err
	}
	release, err := db.base.Artifacts.LockUpload(ctx, id, func() {})
	if err != nil {
		return uploadError(err)
	}
	defer release()
	err = domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		if _, err := upload(tx, actor, id); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM upload WHERE id = ?`, id)
		return err
	})
	if err == nil {
		db.base.Artifacts.RemoveUpload(id)
	}
	return err
}

// errUploadTooLong returns the error for more bytes than the upload's size.
func errUploadTooLong(size int64) error {
	return domain.Invalid("Upload-Length", "The part exceeds the size of the upload, %d bytes; send only the remaining bytes.", size)
}

// WriteUpload adds a part to an upload. If p.Body returns an error, WriteUpload keeps the bytes
// that were read before the error and returns the error unchanged. After the last byte has arrived,
// WriteUpload creates the artifact. Upload.Offset is less than the size until the artifact exists.
//
// WriteUpload returns CONFLICT if the part does not begin at Upload.Offset. It requires the
// right to create. The experiment must be in progress.
func (db *DB) WriteUpload(ctx context.Context, actor domain.Actor, id string, p artifact.Part) (Upload, error) {
	open := func(tx *domain.Tx) (Upload, error) {
		u, err := upload(tx, actor, id)
		if err != nil || u.ArtifactID != nil {
			return u, err
		}
		_, err = tx.AllowOpenExperiment(actor, u.ExperimentID, domain.RightCreate)
		return u, err
	}
	if _, err := domain.Read(ctx, db.base, open); err != nil {
		return Upload{}, err
	}
	release, err := db.base.Artifacts.LockUpload(ctx, id, p.Interrupt)
	if err != nil {
		return Upload{}, uploadError(err)
	}
	defer release()
	u, err := domain.Read(ctx, db.base, open)
	if err != nil {
		return u, err
	}
	if p.Offset != u.Offset {
		return u, &domain.Error{Code: domain.CodeConflict, Field: "Upload-Offset",
			Message: fmt.Sprintf("The upload has %d bytes; continue at this offset.", u.Offset)}
	}
	if u.ArtifactID != nil {
		return u, nil
	}
	received, err := db.base.Artifacts.WritePart(ctx, id, u.SizeBytes, p)
	switch {
	case errors.Is(err, artifact.ErrUploadGone):
		db.dropUpload(context.WithoutCancel(ctx), id)
		return u, uploadError(err)
	case errors.Is(err, artifact.ErrTooLong):
		return u, errUploadTooLong(u.SizeBytes)
	case err != nil:
		return u, uploadError(err)
	case received == u.SizeBytes:
		return db.finishUpload(ctx, actor, u)
	}
	return domain.Read(context.WithoutCancel(ctx), db.base, func(tx *domain.Tx) (Upload, error) { return upload(tx, actor, id) })
}

// ErrChecksum reports that a part does not match its checksum.
var ErrChecksum = &domain.Error{Code: domain.CodeInvalidPayload, Field: "checksum",
	Message: "The part does not match its checksum; send it again from the same offset."}

// uploadError converts an error of a resumable upload to a *domain.Error.
func uploadError(err error) error {
	switch {
	case errors.Is(err, artifact.ErrUploadBusy):
		return &domain.Error{Code: domain.CodeUnavailable, Err: err, Message: "Another request is completing this upload; ask again in a moment."}
	case errors.Is(err, artifact.ErrUploadGone):
		return &domain.Error{Code: domain.CodeNotFound, Err: err, Message: "The content of this upload is gone; start the upload again."}
	case errors.Is(err, artifact.ErrChecksum):
		return ErrChecksum
	}
	return AsError(err)
}

// finishUpload creates the artifact of an upload after all bytes have arrived. It continues
// even if ctx is cancelled. The caller must hold the lock of the upload.
func (db *DB) finishUpload(ctx context.Context, actor domain.Actor, u Upload) (Upload, error) {
	ctx = context.WithoutCancel(ctx)
	b, err := db.base.Artifacts.ReceiveUpload(ctx, u.ID, u.SizeBytes)
	if err != nil {
		return u, AsError(err)
	}
	defer b.Discard()
	if u.ContentHash != "" && u.ContentHash != b.Hash {
		db.dropUpload(ctx, u.ID) // more parts can't correct the hash
		return u, errHash(b.Hash)
	}
	n := NewArtifact{Name: u.Name, Description: u.Description, ContentType: u.ContentType}
	if u.IterationID != nil {
		n.IterationID = *u.IterationID
	}
	u, err = put(ctx, db, actor, b, func(tx *domain.Tx, blobID int64) (Upload, error) {
		created, err := InsertArtifact(tx, actor, u.ExperimentID, n, blobID)
		if err != nil {
			return u, err
		}
		if _, err = tx.Exec(`UPDATE upload SET resource_id = ?, received = size_bytes, updated_date = ? WHERE id = ?`,
			created.ID, tx.Now, u.ID); err != nil {
			return u, err
		}
		return upload(tx, actor, u.ID)
	})
	if err == nil {
		db.base.Artifacts.RemoveUpload(u.ID)
	}
	return u, err
}

// dropUpload deletes an upload that can't be completed.
func (db *DB) dropUpload(ctx context.Context, id string) {
	err := domain.Change(ctx, db.base, domain.System, func(tx *domain.Tx) error {
		_, err := tx.Exec(`DELETE FROM upload WHERE id = ?`, id)
		return err
	})
	if err != nil {
		db.base.Log.Warn("can't remove an upload that can't be completed; it will expire", "upload", id, "error", err)
		return
	}
	db.base.Artifacts.RemoveUpload(id)
}
