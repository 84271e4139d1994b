package store

import (
	"context"
	"errors"
	"fmt"

	"tracker/blob"
)

// checkedBlob is a content that artifacts have.
type checkedBlob struct {
	ID       int64  `db:"id"`
	Hash     string `db:"hash"`
	Size     int64  `db:"size_bytes"`
	Resource string `db:"resource"` // one of them
	Name     string `db:"name"`
	Uses     int    `db:"uses"`
	Num      int64  `db:"num"` // which is the one of the lowest
}

// CheckArtifacts proves that the bytes of each artifact are there and have the
// right size; with deep that they have the right hash, for which all of them are
// read. Others may go on reading and writing. progress, which may be nil, is
// called while they are read. Bytes that no artifact has are no problem;
// CollectStrays lists them.
func (db *DB) CheckArtifacts(ctx context.Context, deep bool, progress func(done, total int64)) ([]Problem, error) {
	type place struct {
		Backend  Backend `db:"backend"`
		Contents int     `db:"contents"`
		Bytes    int64   `db:"bytes"`
	}
	places, err := read(ctx, db, func(tx *tx) (all []place, err error) {
		err = tx.all(&all, `SELECT
				backend,
				count(*) AS contents,
				sum(size_bytes) AS bytes
			FROM blob
			WHERE deleting = 0 AND EXISTS (SELECT 1 FROM resource WHERE resource.blob_id = blob.id)
			GROUP BY backend ORDER BY backend`)
		return all, err
	})
	if err != nil {
		return nil, err
	}
	c := &artifactCheck{db: db, deep: deep, progress: progress}
	for _, p := range places {
		c.total += p.Bytes
	}
	for _, p := range places {
		err := c.check(ctx, p.Backend)
		if ctx.Err() != nil {
			return c.found, ctx.Err()
		}
		if err != nil {
			c.found = append(c.found, Problem{Text: fmt.Sprintf("The %d contents of artifacts in %s can't be proved: %v", p.Contents, p.Backend, plainly(err))})
		}
	}
	return c.found, nil
}

// artifactCheck is one run of CheckArtifacts.
type artifactCheck struct {
	db          *DB
	deep        bool
	progress    func(done, total int64)
	done, total int64
	found       []Problem
}

// check proves the contents of one backend. It fails when the backend does.
func (c *artifactCheck) check(ctx context.Context, name Backend) error {
	s, err := c.db.BlobStore(name)
	if err != nil {
		return err
	}
	// One listing tells of a thousand contents what a request each would.
	sizes := map[string]int64{}
	if !c.deep {
		if err := s.Walk(ctx, func(f blob.Found) error { sizes[f.Hash] = f.Size; return nil }); err != nil {
			return err
		}
	}
	for after := int64(0); ; {
		page, err := c.page(ctx, name, after)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, b := range page {
			after = b.ID
			if size, ok := sizes[b.Hash]; ok && size == b.Size {
				continue
			}
			if err := c.prove(ctx, name, s, b); err != nil {
				return err
			}
		}
	}
}

func (c *artifactCheck) page(ctx context.Context, name Backend, after int64) ([]checkedBlob, error) {
	return read(ctx, c.db, func(tx *tx) (page []checkedBlob, err error) {
		err = tx.all(&page, `SELECT
				blob.id,
				blob.hash,
				blob.size_bytes,
				resource.id AS resource,
				resource.name,
				count(*) AS uses,
				min(resource.num) AS num
			FROM blob
			JOIN resource ON resource.blob_id = blob.id
			WHERE blob.backend = ? AND blob.deleting = 0 AND blob.id > ?
			GROUP BY blob.id ORDER BY blob.id LIMIT 500`, name, after)
		return page, err
	})
}

// prove opens a content, or reads it to its end. What has gone because its last
// artifact has, or has been moved, is no problem.
func (c *artifactCheck) prove(ctx context.Context, name Backend, s blob.Store, b checkedBlob) error {
	want := blob.Blob{Hash: b.Hash, Size: b.Size}
	var err error
	if c.deep {
		err = blob.Verify(ctx, s, want)
	} else if content, failed := s.Open(ctx, want); failed == nil {
		err = content.Close()
	} else {
		err = failed
	}
	if c.done += b.Size; c.progress != nil {
		c.progress(c.done, c.total)
	}
	if err == nil {
		return nil
	}
	if err = lost(err); !errors.As(err, new(*lostError)) {
		return err
	}
	used, failed := c.db.blobUsed(ctx, b.ID)
	if failed != nil || !used {
		return failed
	}
	others := ""
	if b.Uses > 1 {
		others = fmt.Sprintf(" and %d more", b.Uses-1)
	}
	c.found = append(c.found, Problem{Text: fmt.Sprintf("Artifact %q (%s)%s in %s: %v", b.Name, b.Resource, others, name, plainly(err))})
	return nil
}

// wrongPieces looks for inline contents whose pieces do not add up.
func (t *tx) wrongPieces() ([]Problem, error) {
	var all []struct {
		Hash string `db:"hash"`
		Size int64  `db:"size_bytes"`
		Have int64  `db:"have"`
	}
	err := t.all(&all, `SELECT
			blob_inline.hash,
			blob_inline.size_bytes,
			coalesce(sum(length(blob_piece.data)), 0) AS have
		FROM blob_inline
		LEFT JOIN blob_piece ON blob_piece.inline_id = blob_inline.id
		WHERE blob_inline.hash IS NOT NULL
		GROUP BY blob_inline.id
		HAVING have <> size_bytes OR count(blob_piece.part) <> coalesce(max(blob_piece.part) + 1, 0)`)
	var found []Problem
	for _, c := range all {
		found = append(found, Problem{Text: fmt.Sprintf("The inline content %s has %d bytes in its pieces instead of %d.", c.Hash, c.Have, c.Size)})
	}
	return found, err
}
