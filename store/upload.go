package store

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// UploadAge is how long an upload rests before it is given up, and how long
	// one that has become a resource can still be asked for.
	UploadAge = 24 * time.Hour

	// maxUploadWait is how long a request waits for another one that works on
	// the same upload and can't be interrupted, because all bytes are there.
	maxUploadWait = 20 * time.Second
)

// Upload is an artifact that comes in several requests.
type Upload struct {
	ID           string  `json:"id" db:"id"`
	ExperimentID string  `json:"experiment_id" db:"experiment_id"`
	IterationID  *string `json:"iteration_id" db:"iteration_id"`
	Name         string  `json:"name" db:"name"`
	Description  string  `json:"description" db:"description"`
	ContentType  string  `json:"content_type" db:"content_type"`
	ContentHash  string  `json:"content_hash" db:"hash"` // as announced; "" when it was not
	SizeBytes    int64   `json:"size_bytes" db:"size_bytes"`
	Offset       int64   `json:"offset" db:"received"`         // bytes that are on disk
	ResourceID   *string `json:"resource_id" db:"resource_id"` // once all bytes are there
	CreatedDate  Time    `json:"created_date" db:"created_date"`
	UpdatedDate  Time    `json:"updated_date" db:"updated_date"`

	Metadata string `json:"-" db:"metadata"` // as it was announced
}

// Expires is when the upload is given up unless more of it comes.
func (u Upload) Expires() time.Time { return u.UpdatedDate.Time().Add(UploadAge) }

// NewUpload is what CreateUpload takes.
type NewUpload struct {
	NewResource
	Hash     string // SHA-256 in lowercase hex; "" when it is not known
	Size     int64  // in bytes
	Metadata string // kept for the caller
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

// CreateUpload begins an artifact that comes in several requests; one without
// bytes is complete at once. Needs create; the experiment must be in progress.
func (db *DB) CreateUpload(ctx context.Context, actor Actor, experimentID string, n NewUpload) (Upload, error) {
	if n.ContentType == "" {
		n.ContentType = DefaultContentType
	}
	if err := db.checkUpload(n); err != nil {
		return Upload{}, err
	}
	u, err := write(ctx, db, actor, func(tx *tx) (u Upload, err error) {
		e, err := tx.allowExperiment(actor, experimentID, rightCreate)
		if err == nil {
			err = e.open()
		}
		if err == nil {
			_, err = tx.iterationOf(experimentID, n.IterationID)
		}
		if err != nil {
			return u, err
		}
		id, err := newID()
		if err != nil {
			return u, err
		}
		_, err = tx.exec(`INSERT INTO upload
			(id, experiment_id, iteration_id, name, description, content_type, hash, metadata, size_bytes, created_date, updated_date)
			VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, experimentID, n.IterationID, n.Name, n.Description, n.ContentType, n.Hash, n.Metadata, n.Size, tx.now, tx.now)
		if err != nil {
			return u, err
		}
		return tx.upload(actor, id)
	})
	if err != nil || u.SizeBytes > 0 {
		return u, err
	}
	return db.finishUpload(ctx, actor, u)
}

func (db *DB) checkUpload(n NewUpload) error {
	if n.Size < 0 {
		return Invalid("Upload-Length", "Upload-Length must be the number of bytes of the artifact.")
	}
	if err := db.CheckSize(n.Size); err != nil {
		return err
	}
	if raw, err := hex.DecodeString(n.Hash); n.Hash != "" && (err != nil || len(raw) != 32 || n.Hash != hex.EncodeToString(raw)) {
		return Invalid("sha256", "sha256 must be the SHA-256 of the whole artifact in 64 lowercase hexadecimal digits.")
	}
	return checkResource(ResourcePatch{Name: &n.Name, Description: &n.Description, ContentType: &n.ContentType})
}

// Upload tells how far an upload has come, after it has interrupted a request
// that is writing to it. Needs create.
func (db *DB) Upload(ctx context.Context, actor Actor, id string) (Upload, error) {
	if err := db.ask(ctx, func(tx *tx) error { _, err := tx.upload(actor, id); return err }); err != nil {
		return Upload{}, err
	}
	release, err := db.uploads.acquire(ctx, id, func() {})
	if err != nil {
		return Upload{}, err
	}
	defer release()
	return read(ctx, db, func(tx *tx) (Upload, error) { return tx.upload(actor, id) })
}

// upload returns an upload that has not expired, when actor may add to its
// experiment.
func (tx *tx) upload(actor Actor, id string) (u Upload, err error) {
	err = tx.get(&u, `SELECT `+uploadColumns+` FROM upload WHERE id = ? AND updated_date > ?`,
		id, tx.now-Time(UploadAge.Milliseconds()))
	if err != nil {
		return u, orNotFound(err, "upload")
	}
	_, err = tx.allowExperiment(actor, u.ExperimentID, rightCreate)
	return u, err
}

// DeleteUpload gives an upload up. Needs create.
func (db *DB) DeleteUpload(ctx context.Context, actor Actor, id string) error {
	if err := db.ask(ctx, func(tx *tx) error { _, err := tx.upload(actor, id); return err }); err != nil {
		return err
	}
	release, err := db.uploads.acquire(ctx, id, func() {})
	if err != nil {
		return err
	}
	defer release()
	err = change(ctx, db, actor, func(tx *tx) error {
		if _, err := tx.upload(actor, id); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM upload WHERE id = ?`, id)
		return err
	})
	if err == nil {
		db.removeUploadFile(id)
	}
	return err
}

// finishUpload makes the resource of an upload whose bytes are all there. The
// caller holds its lock. It goes on when the caller's client goes.
func (db *DB) finishUpload(ctx context.Context, actor Actor, u Upload) (Upload, error) {
	ctx = context.WithoutCancel(ctx)
	f, err := os.OpenFile(db.uploadPath(u.ID), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) && u.SizeBytes == 0 {
		f, err = os.Open(os.DevNull)
	}
	if err != nil {
		return u, err
	}
	defer f.Close()
	b, err := db.Receive(ctx, f, u.ContentHash)
	if err != nil {
		if AsError(err).Code == CodeInvalidPayload {
			db.dropUpload(ctx, u.ID) // it won't become right
		}
		return u, err
	}
	defer b.Discard()
	n := NewResource{Name: u.Name, Description: u.Description, ContentType: u.ContentType}
	if u.IterationID != nil {
		n.IterationID = *u.IterationID
	}
	u, err = put(ctx, db, actor, b, func(tx *tx, blobID int64) (Upload, error) {
		created, err := tx.insertResource(actor, u.ExperimentID, n, blobID)
		if err != nil {
			return u, err
		}
		if _, err = tx.exec(`UPDATE upload SET resource_id = ?, received = size_bytes, updated_date = ? WHERE id = ?`,
			created.ID, tx.now, u.ID); err != nil {
			return u, err
		}
		return tx.upload(actor, u.ID)
	})
	if err == nil {
		db.removeUploadFile(u.ID)
	}
	return u, err
}

// dropUpload removes an upload that can't be completed.
func (db *DB) dropUpload(ctx context.Context, id string) {
	err := change(ctx, db, System, func(tx *tx) error {
		_, err := tx.exec(`DELETE FROM upload WHERE id = ?`, id)
		return err
	})
	if err != nil {
		db.log.Warn("an upload that is of no use is still there; it expires", "upload", id, "error", err)
		return
	}
	db.removeUploadFile(id)
}

func (db *DB) uploadPath(id string) string { return filepath.Join(db.opts.UploadDir, id) }

func (db *DB) removeUploadFile(id string) {
	if err := os.Remove(db.uploadPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		db.log.Warn("the file of an upload that has ended is still there; it is removed in a day", "upload", id, "error", err)
	}
}

// removeOldUploads removes uploads to which nothing was added for UploadAge,
// and files as old that no upload has.
func (db *DB) removeOldUploads(ctx context.Context) error {
	err := change(ctx, db, System, func(tx *tx) error {
		_, err := tx.exec(`DELETE FROM upload WHERE updated_date <= ?`, tx.now-Time(UploadAge.Milliseconds()))
		return err
	})
	if err != nil {
		return err
	}
	old, err := db.oldUploads(ctx)
	for _, s := range old {
		db.removeUploadFile(s.Name)
	}
	return err
}

// uploadLocks let one request at a time work on an upload. A newer one
// interrupts the older: it comes from a client whose connection broke, of which
// the older has not heard yet.
type uploadLocks struct {
	mu   sync.Mutex
	held map[string]*uploadLock
}

type uploadLock struct {
	interrupt func()
	released  chan struct{}
}

// acquire waits for the upload of that id. interrupt is called when another
// request wants it, until it is released; it must make the holder do so soon,
// and return at once.
func (l *uploadLocks) acquire(ctx context.Context, id string, interrupt func()) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, maxUploadWait)
	defer cancel()
	mine := &uploadLock{interrupt, make(chan struct{})}
	for {
		l.mu.Lock()
		if l.held == nil {
			l.held = map[string]*uploadLock{}
		}
		other := l.held[id]
		if other == nil {
			l.held[id] = mine
		} else {
			other.interrupt() // within mu, so that its holder is still there
		}
		l.mu.Unlock()
		if other == nil {
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.held, id)
				close(mine.released)
			}, nil
		}
		select {
		case <-other.released:
		case <-ctx.Done():
			return nil, Errorf(CodeUnavailable, "Another request is completing this upload; ask again in a moment.")
		}
	}
}
