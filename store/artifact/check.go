package artifact

import (
	"context"
	"errors"
	"fmt"

	"tracker/blob"
	"tracker/store/sqlite"
)

// Damage describes a missing or damaged blob that at least one record uses.
type Damage struct {
	ID      int64 // id in the blob table
	Backend Backend
	Err     error
}

// Check checks that the bytes of each blob in use exist and have the right size. If deep is set, it
// also reads all bytes and checks the hashes.
//
// Check calls found for each missing or damaged blob. If progress is not nil, Check calls it with
// the number of checked bytes and the total number of bytes. It returns a message for each backend
// that can't be checked. Other goroutines and processes can read and write during the check.
func (s *Store) Check(ctx context.Context, deep bool, progress func(done, total int64), found func(Damage)) (failed []string, err error) {
	type count struct {
		Backend Backend `db:"backend"`
		Blobs   int     `db:"blobs"`
		Bytes   int64   `db:"bytes"`
	}
	counts, err := read(ctx, s, func(tx *sqlite.Tx) (all []count, err error) {
		err = tx.Select(&all, `SELECT
				backend,
				count(*) AS blobs,
				sum(size_bytes) AS bytes
			FROM blob
			WHERE deleting = 0 AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
			GROUP BY backend ORDER BY backend`)
		return all, err
	})
	if err != nil {
		return nil, err
	}
	c := &check{store: s, deep: deep, progress: progress, found: found}
	for _, n := range counts {
		c.total += n.Bytes
	}
	for _, n := range counts {
		err := c.backend(ctx, n.Backend)
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("The artifacts in %s (blobs: %d) can't be checked: %v", n.Backend, n.Blobs, backendError(err)))
		}
	}
	return failed, nil
}

// check is the state of a call to Check.
type check struct {
	store       *Store
	deep        bool
	progress    func(done, total int64)
	done, total int64
	found       func(Damage)
}

// backend checks the blobs in one backend. It returns the backend's error.
func (c *check) backend(ctx context.Context, name Backend) error {
	b, err := c.store.Backend(name)
	if err != nil {
		return err
	}
	// Listing is cheap: one request returns the sizes of a thousand blobs.
	sizes := map[string]int64{}
	if !c.deep {
		if err := b.Walk(ctx, func(i blob.Info) error { sizes[i.Hash] = i.Size; return nil }); err != nil {
			return err
		}
	}
	for after := int64(0); ; {
		page, err := read(ctx, c.store, func(tx *sqlite.Tx) (page []blobRow, err error) {
			err = tx.Select(&page, `SELECT
					id,
					backend,
					hash,
					size_bytes
				FROM blob
				WHERE backend = ? AND deleting = 0 AND id > ?
				AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
				ORDER BY id LIMIT 500`, name, after)
			return page, err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, row := range page {
			after = row.ID
			if size, ok := sizes[row.Hash]; ok && size == row.Size {
				continue
			}
			if err := c.blob(ctx, b, row); err != nil {
				return err
			}
		}
	}
}

// blob checks one blob. It opens the blob or, in a deep check, reads all bytes. It ignores a
// blob that was deleted or moved during the check.
func (c *check) blob(ctx context.Context, b blob.Store, row blobRow) error {
	var err error
	if c.deep {
		err = blob.Verify(ctx, b, row.blob())
	} else if content, failed := b.Open(ctx, row.blob()); failed == nil {
		err = content.Close()
	} else {
		err = failed
	}
	if c.done += row.Size; c.progress != nil {
		c.progress(c.done, c.total)
	}
	if err == nil {
		return nil
	}
	if err = asSourceError(err); !errors.As(err, new(*sourceError)) {
		return err
	}
	used, failed := c.store.hasRecord(ctx, row.ID)
	if failed == nil && used {
		c.found(Damage{ID: row.ID, Backend: row.Backend, Err: backendError(err)})
	}
	return failed
}

// CheckInline returns a message for each incomplete blob in the database.
func CheckInline(tx *sqlite.Tx) ([]string, error) {
	var all []struct {
		Hash string `db:"hash"`
		Size int64  `db:"size_bytes"`
		Have int64  `db:"have"`
	}
	err := tx.Select(&all, `SELECT
			blob_inline.hash,
			blob_inline.size_bytes,
			coalesce(sum(length(blob_piece.data)), 0) AS have
		FROM blob_inline
		LEFT JOIN blob_piece ON blob_piece.inline_id = blob_inline.id
		WHERE blob_inline.hash IS NOT NULL
		GROUP BY blob_inline.id
		HAVING have <> size_bytes OR count(blob_piece.part) <> coalesce(max(blob_piece.part) + 1, 0)`)
	var found []string
	for _, c := range all {
		found = append(found, fmt.Sprintf("The pieces of the inline blob %s have %d bytes instead of %d.", c.Hash, c.Have, c.Size))
	}
	return found, err
}
