package artifact

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"tracker/blob"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Deletion is a running deletion of a blob by this process.
type Deletion struct {
	store *Store
	row   blobRow
	until *scalar.Time
}

// blobRow is a row of the blob table.
type blobRow struct {
	ID      int64   `db:"id"`
	Backend Backend `db:"backend"`
	Hash    string  `db:"hash"`
	Size    int64   `db:"size_bytes"`
}

func (r blobRow) blob() blob.Blob { return blob.Blob{Hash: r.Hash, Size: r.Size} }

// BeginDelete begins the deletion of a blob together with the only record that uses the blob.
// It hides the record. If another record or a claim uses the blob, BeginDelete returns nil, and
// the caller deletes only the record.
func (s *Store) BeginDelete(tx *sqlite.Tx, blobID, resourceNum int64) (*Deletion, error) {
	var shared bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM resource WHERE blob_id = ? AND num <> ?)
		OR EXISTS (SELECT 1 FROM blob_pin WHERE blob_id = ? AND (expires_date IS NULL OR expires_date > ?))`,
		blobID, resourceNum, blobID, s.now()).Scan(&shared)
	if err != nil || shared {
		return nil, err
	}
	return s.beginDeletion(tx, blobID)
}

// beginDeletion marks a blob as being deleted. The mark hides the records of the blob.
// beginDeletion does not check whether the blob is used.
func (s *Store) beginDeletion(tx *sqlite.Tx, blobID int64) (*Deletion, error) {
	d := &Deletion{store: s, until: s.expiry(deletionAge)}
	err := tx.Get(&d.row, `UPDATE blob SET deleting = 1, deleting_until = ? WHERE id = ?
		RETURNING id, backend, hash, size_bytes`, d.until, blobID)
	return d, err
}

// endDeletion removes the deletion mark from a blob and deletes the hidden records of the blob.
func endDeletion(tx *sqlite.Tx, blobID int64) error {
	if _, err := tx.Exec(`DELETE FROM resource WHERE blob_id = ?`, blobID); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE blob SET deleting = 0, deleting_until = NULL WHERE id = ?`, blobID)
	return err
}

// unfinished holds the deletions of this process whose final transaction failed. The bytes
// can't be uploaded again until the transaction succeeds.
type unfinished struct {
	mu  sync.Mutex
	all []*Deletion
}

func (u *unfinished) add(d *Deletion) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, d)
}

// take removes all deletions from u and returns them.
func (u *unfinished) take() []*Deletion {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.all
	u.all = nil
	return all
}

// Finish deletes the bytes, then the rows. If the bytes can't be deleted, the records become
// visible again.
func (d *Deletion) Finish(ctx context.Context) error { return d.finish(ctx, false) }

// finish deletes the bytes, then the rows. If the bytes can't be deleted, the result depends on
// again. If again is set, the records stay hidden, and a later collection deletes the bytes. If
// again is not set, the records become visible again.
func (d *Deletion) finish(ctx context.Context, again bool) error {
	ctx = context.WithoutCancel(ctx) // only the next server would finish an interrupted deletion
	failed := d.store.deleteBytes(ctx, d.row)
	err := d.store.db.Write(ctx, sqlite.Upkeep|sqlite.Freeing, func(tx *sqlite.Tx) error {
		var one int
		err := tx.Row(`SELECT 1 FROM blob WHERE id = ? AND deleting = 1 AND deleting_until IS ?`, d.row.ID, d.until).Scan(&one)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil // the deletion has expired, and another process has finished it
		case err == nil && failed != nil && again:
			_, err = tx.Exec(`UPDATE blob SET deleting_until = 0 WHERE id = ?`, d.row.ID)
		case err == nil && failed != nil:
			_, err = tx.Exec(`UPDATE blob SET deleting = 0, deleting_until = NULL WHERE id = ?`, d.row.ID)
		case err == nil:
			if err = endDeletion(tx, d.row.ID); err == nil {
				_, err = tx.Exec(`DELETE FROM blob WHERE id = ?`, d.row.ID)
			}
		}
		return err
	})
	if err != nil {
		d.store.unfinished.add(d) // a collection finishes the deletion later
	}
	return errors.Join(failed, err)
}

// DeleteUnused deletes the bytes and the row of a blob if no record and no claim uses the blob.
// It reports whether it deleted the blob.
func (s *Store) DeleteUnused(ctx context.Context, blobID int64) (bool, error) {
	d, err := free(ctx, s, func(tx *sqlite.Tx) (*Deletion, error) {
		var unused bool
		err := tx.Row(`SELECT deleting = 0 AND NOT `+isUsed+` FROM blob WHERE id = ?`, s.now(), blobID).Scan(&unused)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !unused {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return s.beginDeletion(tx, blobID)
	})
	if err != nil || d == nil {
		return false, err
	}
	err = d.Finish(ctx)
	return err == nil, err
}

// DeleteUnknown deletes a blob that has no row in the blob table. It reports whether it deleted the
// blob. It inserts a row for the duration of the deletion. An upload of the same bytes waits until
// the row is deleted.
func (s *Store) DeleteUnknown(ctx context.Context, name Backend, b blob.Blob) (bool, error) {
	d, err := free(ctx, s, func(tx *sqlite.Tx) (*Deletion, error) {
		d := &Deletion{store: s, row: blobRow{Backend: name, Hash: b.Hash, Size: b.Size}, until: s.expiry(deletionAge)}
		err := tx.Row(`INSERT INTO blob (backend, hash, size_bytes, deleting, deleting_until) VALUES (?, ?, ?, 1, ?)
			ON CONFLICT (backend, hash) DO NOTHING RETURNING id`, name, b.Hash, b.Size, d.until).Scan(&d.row.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return d, err
	})
	if err != nil || d == nil {
		return false, err
	}
	err = d.Finish(ctx)
	return err == nil, err
}

// deleteBytes deletes the bytes of a blob. If the backend returns an error, deleteBytes checks
// whether the bytes still exist. If they are gone, it returns nil, because the response to a
// successful deletion can be lost.
func (s *Store) deleteBytes(ctx context.Context, r blobRow) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	b, err := s.Backend(r.Backend)
	if err != nil {
		return err
	}
	if err = b.Delete(ctx, r.Hash); err == nil {
		return nil
	}
	content, gone := b.Open(ctx, r.blob())
	if errors.Is(gone, blob.ErrNotFound) {
		return nil
	}
	if gone == nil {
		content.Close()
	}
	return err
}
