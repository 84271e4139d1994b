package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tracker/blob"
)

// Bytes lie outside of the transactions that speak of them. So that no
// resource is ever without its bytes, and no bytes outlive their last resource,
// whoever adds or removes some says so first, in the row of the blob:
//
//   - An upload pins the blob, puts the bytes in their place, and inserts the
//     resource and takes its pin away in one transaction. If the pin is not
//     there any more, the bytes may not be either, and it fails.
//   - A removal marks the blob as deleting, which only works while nobody else
//     has or pins it, removes the bytes, and then the rows. An upload of the
//     same bytes waits meanwhile.
//
// A process that is killed leaves its pins and marks behind. The server is the
// only one with the lock of the file, so its own have no date and the next
// server takes them away when it starts. Those of other processes, which may
// well be alive when a server starts, have a date after which they don't count:
// pinAge is longer than it takes to put bytes that have arrived in their place,
// and a removal gives up after deleteTimeout, well before its mark does.
const (
	pinAge        = time.Hour
	deleteTimeout = time.Minute
	deletingAge   = 5 * time.Minute

	// An upload waits this long for the removal of the same bytes.
	maxDeleteWait   = 10 * time.Second
	deleteWaitPause = 20 * time.Millisecond
)

var (
	errDeleting = Errorf(CodeUnavailable, "The same bytes are being removed just now; send them again in a moment.")
	errUnpinned = Errorf(CodeUnavailable, "The upload took so long that its bytes may have been removed; send them again.")
)

// until is the date of a pin or mark of this process: NULL for the server's.
func (tx *tx) until(age time.Duration) *Time {
	if tx.db.opts.Exclusive {
		return nil
	}
	return new(tx.now + Time(age.Milliseconds()))
}

// inUse is true in SQL while a resource or a pin has the blob of the row. It
// binds the time.
const inUse = `(EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
	OR EXISTS (SELECT 1 FROM blob_pin WHERE blob_pin.blob_id = blob.id
		AND (blob_pin.expires_date IS NULL OR blob_pin.expires_date > ?)))`

// pin is a claim on bytes.
type pin struct {
	id   int64
	blob int64
}

// pin claims the blob, which need not be there yet, and waits while the same
// bytes are being removed.
func (db *DB) pin(ctx context.Context, name Backend, b blob.Blob) (pin, error) {
	ctx, cancel := context.WithTimeout(ctx, maxDeleteWait)
	defer cancel()
	for {
		p, err := write(ctx, db, System, func(tx *tx) (pin, error) { return tx.pin(name, b) })
		if !errors.Is(err, errDeleting) {
			return p, err
		}
		select {
		case <-ctx.Done():
			return pin{}, errDeleting
		case <-time.After(deleteWaitPause):
		}
	}
}

func (tx *tx) pin(name Backend, b blob.Blob) (p pin, err error) {
	var deleting bool
	var until *Time
	err = tx.row(`SELECT id, deleting, deleting_until FROM blob WHERE backend = ? AND hash = ?`,
		name, b.Hash).Scan(&p.blob, &deleting, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = tx.row(`INSERT INTO blob (backend, hash, size_bytes) VALUES (?, ?, ?) RETURNING id`,
			name, b.Hash, b.Size).Scan(&p.blob)
	case err == nil && deleting && (until == nil || *until > tx.now):
		err = errDeleting
	case err == nil && deleting:
		// Whoever removed it was killed. What it meant to remove goes, and the
		// bytes that are about to be written are the blob's.
		err = tx.endDelete(p.blob)
	}
	if err != nil {
		return pin{}, err
	}
	err = tx.row(`INSERT INTO blob_pin (blob_id, expires_date) VALUES (?, ?) RETURNING id`,
		p.blob, tx.until(pinAge)).Scan(&p.id)
	return p, err
}

// endDelete removes what a mark has hidden, and the mark.
func (tx *tx) endDelete(blobID int64) error {
	if _, err := tx.exec(`DELETE FROM resource WHERE blob_id = ?`, blobID); err != nil {
		return err
	}
	_, err := tx.exec(`UPDATE blob SET deleting = 0, deleting_until = NULL WHERE id = ?`, blobID)
	return err
}

// unpin takes the pin away in the transaction that makes it unnecessary. It
// fails when somebody else has, since the bytes can be gone then.
func (tx *tx) unpin(p pin) error {
	n, err := tx.exec(`DELETE FROM blob_pin WHERE id = ?`, p.id)
	if err == nil && n == 0 {
		return errUnpinned
	}
	return err
}

// release takes the pin of a failed upload away, and the bytes if nobody else
// has them. What fails here is found by the next server, or by a collection.
func (db *DB) release(ctx context.Context, p pin) {
	ctx = context.WithoutCancel(ctx)
	err := change(ctx, db, System, func(tx *tx) error {
		_, err := tx.exec(`DELETE FROM blob_pin WHERE id = ?`, p.id)
		return err
	})
	if err == nil {
		_, err = db.removeBlob(ctx, p.blob)
	}
	if err != nil {
		db.log.Warn("the bytes of an upload that failed could not be removed; they are tried again later", "error", err)
	}
}

// removal is a blob that this process has marked as deleting.
type removal struct {
	ID      int64   `db:"id"`
	Backend Backend `db:"backend"`
	Hash    string  `db:"hash"`
	Size    int64   `db:"size_bytes"`
	until   *Time
}

// mark marks a blob as deleting, whoever has it.
func (tx *tx) mark(blobID int64) (r removal, err error) {
	r.until = tx.until(deletingAge)
	err = tx.row(`UPDATE blob SET deleting = 1, deleting_until = ? WHERE id = ?
		RETURNING id, backend, hash, size_bytes`, r.until, blobID).
		Scan(&r.ID, &r.Backend, &r.Hash, &r.Size)
	return r, err
}

// removeBlob removes the bytes of a blob that nobody has, and its row. It tells
// whether it did.
func (db *DB) removeBlob(ctx context.Context, blobID int64) (bool, error) {
	r, err := write(ctx, db, System, func(tx *tx) (*removal, error) {
		var unused bool
		err := tx.row(`SELECT deleting = 0 AND NOT `+inUse+` FROM blob WHERE id = ?`, tx.now, blobID).Scan(&unused)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !unused {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		r, err := tx.mark(blobID)
		return &r, err
	})
	if err != nil || r == nil {
		return false, err
	}
	err = db.carryOut(ctx, *r, false)
	return err == nil, err
}

// carryOut removes the bytes of a marked blob, then the rows. When the bytes
// can't be removed, what the mark has hidden comes back; unless again is set,
// and then the removal is due again.
func (db *DB) carryOut(ctx context.Context, r removal, again bool) error {
	ctx = context.WithoutCancel(ctx) // half of it would leave the other half to the next server
	failed := db.removeBytes(ctx, r)
	err := change(ctx, db, System, func(tx *tx) error {
		var one int
		err := tx.row(`SELECT 1 FROM blob WHERE id = ? AND deleting = 1 AND deleting_until IS ?`, r.ID, r.until).Scan(&one)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil // it took too long, and somebody else has ended it
		case err == nil && failed != nil && again:
			_, err = tx.exec(`UPDATE blob SET deleting_until = 0 WHERE id = ?`, r.ID)
		case err == nil && failed != nil:
			_, err = tx.exec(`UPDATE blob SET deleting = 0, deleting_until = NULL WHERE id = ?`, r.ID)
		case err == nil:
			if err = tx.endDelete(r.ID); err == nil {
				_, err = tx.exec(`DELETE FROM blob WHERE id = ?`, r.ID)
			}
		}
		return err
	})
	return errors.Join(failed, err)
}

// removeBytes removes the bytes. A failure is none when they are gone
// nevertheless: an answer can get lost.
func (db *DB) removeBytes(ctx context.Context, r removal) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	s, err := db.BlobStore(r.Backend)
	if err != nil {
		return err
	}
	if err = s.Delete(ctx, r.Hash); err == nil {
		return nil
	}
	content, gone := s.Open(ctx, blob.Blob{Hash: r.Hash, Size: r.Size})
	if errors.Is(gone, blob.ErrNotFound) {
		return nil
	}
	if gone == nil {
		content.Close()
	}
	return blobError(err)
}
