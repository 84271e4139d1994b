package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
)

// divergence is where the points of a metric in two databases begin to differ.
type divergence struct {
	same bool // they do not
	from Step
}

// different returns where the metrics that a run has in dst differ.
func (c *copier) different(ctx context.Context, id string) (map[string]divergence, error) {
	from, err := c.src.numOf(id)
	if err != nil {
		return nil, err
	}
	return read(ctx, c.dst, func(tx *tx) (map[string]divergence, error) {
		drop := map[string]divergence{}
		to, err := tx.numOf(id)
		if err != nil {
			return nil, err
		}
		keys, err := tx.points().Keys(to)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if drop[key], err = firstDifference(c.src, from, tx, to, key); err != nil {
				return nil, err
			}
		}
		return drop, nil
	})
}

// firstDifference returns where a metric of two runs begins to differ.
func firstDifference(a *tx, aNum int64, b *tx, bNum int64, key string) (d divergence, err error) {
	ca, err := a.points().Cursor(aNum, key)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, ca.Close()) }()
	cb, err := b.points().Cursor(bNum, key)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, cb.Close()) }()
	for {
		moreA, moreB := ca.Next(), cb.Next()
		switch {
		case !moreA && !moreB:
			return divergence{same: true}, nil
		case !moreA:
			return divergence{from: cb.Step}, nil
		case !moreB:
			return divergence{from: ca.Step}, nil
		case ca.Step != cb.Step:
			return divergence{from: min(ca.Step, cb.Step)}, nil
		case ca.At != cb.At || math.Float64bits(float64(ca.Value)) != math.Float64bits(float64(cb.Value)):
			return divergence{from: ca.Step}, nil
		}
	}
}

// dropPoints deletes the points that are copied anew.
func (tx *tx) dropPoints(ref recordRef, drop map[string]divergence) (dropped int, err error) {
	if len(drop) == 0 {
		return 0, nil
	}
	num, err := tx.numOf(ref.id)
	if err != nil {
		return 0, err
	}
	for key, d := range drop {
		if d.same {
			continue
		}
		n, err := tx.points().DeleteFrom(num, key, d.from)
		if err != nil {
			return 0, err
		}
		dropped += int(n)
	}
	return dropped, nil
}

// copyPoints is the number of points in a transaction.
const copyPoints = 32768

// points copies the points of a run: all of a new one, and those from the first
// difference on of one that was there.
func (c *copier) points(ctx context.Context, id string, drop map[string]divergence) error {
	num, err := c.src.numOf(id)
	if err != nil {
		return err
	}
	var samples []NewMetric
	flush := func() error {
		if len(samples) == 0 {
			return ctx.Err()
		}
		err := change(ctx, c.dst, c.actor, func(tx *tx) error {
			it, err := tx.allowIteration(c.actor, id, rightCreate)
			if err == nil {
				err = tx.points().AppendAll(it.num, samples, tx.now)
			}
			return err
		})
		c.result.Points += len(samples)
		samples = samples[:0]
		return err
	}
	err = c.src.points().Walk(num, func(key string, step Step, value Value, at Time) error {
		if d, there := drop[key]; there && (d.same || step < d.from) {
			return nil
		}
		if err := checkKey(key); err != nil {
			return err
		}
		samples = append(samples, NewMetric{Key: key, Value: value, Step: &step, RecordedAt: &at})
		if len(samples) < copyPoints {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// artifacts copies the artifacts of a record. Those that only the other database has
// go to the trash.
func (c *copier) artifacts(ctx context.Context, ref recordRef, v verdict) error {
	if c.noArtifacts || ref.context {
		return nil
	}
	kept := map[string]bool{}
	err := c.src.eachArtifact(ref.kind, ref.id, func(a archivedArtifact) error {
		kept[a.ID] = true
		return c.artifact(ctx, ref, a)
	})
	if err != nil || v != replaceRecord || ref.kind.artifacts == "" {
		return err
	}
	var gone []string
	err = c.dst.ask(ctx, func(tx *tx) error {
		return tx.eachArtifact(ref.kind, ref.id, func(a archivedArtifact) error {
			if !kept[a.ID] {
				gone = append(gone, a.ID)
			}
			return nil
		})
	})
	for _, id := range gone {
		if err == nil {
			err = c.dst.DeleteArtifact(ctx, c.actor, id)
		}
		if err != nil && AsError(err).Code == CodeConflict {
			c.result.Lose(ref.id, "%s", AsError(err).Message)
			err = nil
		}
	}
	return err
}

// artifact copies one artifact.
func (c *copier) artifact(ctx context.Context, ref recordRef, a archivedArtifact) error {
	var there struct {
		archivedArtifact
		Ours    bool `db:"ours"`
		Deleted bool `db:"deleted"`
	}
	exists := false
	if !c.fresh {
		err := c.dst.ask(ctx, func(tx *tx) error {
			err := tx.Get(&there, `SELECT resource.id, name, description, content_type, created_date, updated_date, hash, size_bytes,
					coalesce(`+ref.kind.artifacts+`, 0) AS ours, deleted_date IS NOT NULL AS deleted
				FROM resource JOIN blob ON blob.id = blob_id WHERE resource.id = ?2`, ref.id, a.ID)
			exists = err == nil
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case exists && !there.Ours:
		c.result.Lose(a.Name, "Another artifact has its id.")
		return nil
	case exists && there.Deleted:
		c.result.Lose(a.Name, "The artifact is in the trash.")
		return nil
	case exists && there.Hash == a.Hash:
		return change(ctx, c.dst, c.actor, func(tx *tx) error {
			_, err := tx.Exec(`UPDATE resource SET name = ?, description = ?, content_type = ?, created_date = ?, updated_date = ?
				WHERE id = ?`, a.Name, a.Description, a.ContentType, a.CreatedDate, a.UpdatedDate, a.ID)
			return err
		})
	}
	use, release, err := c.claim(ctx, a.Hash, a.Size)
	if err != nil {
		return fmt.Errorf("the artifact %q: %w", a.Name, err)
	}
	err = change(ctx, c.dst, c.actor, func(tx *tx) error {
		h, err := tx.homeOf(ref)
		if err == nil {
			err = tx.allowProject(c.actor, h.projectID, rightCreate)
		}
		if err != nil {
			return err
		}
		blobID, err := use(tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO resource
				(id, experiment_id, iteration_num, blob_id, name, description, content_type, created_date, updated_date)
			SELECT ?2, coalesce(iteration.experiment_id, ?1), iteration.num, ?3, ?4, ?5, ?6, ?7, ?8
			FROM (SELECT 1) LEFT JOIN iteration ON iteration.id = ?1
			WHERE TRUE
			ON CONFLICT (id) DO UPDATE SET
				blob_id      = excluded.blob_id,
				name         = excluded.name,
				description  = excluded.description,
				content_type = excluded.content_type,
				created_date = excluded.created_date,
				updated_date = excluded.updated_date`,
			ref.id, a.ID, blobID, a.Name, a.Description, a.ContentType, a.CreatedDate, a.UpdatedDate)
		return err
	})
	if err != nil {
		release()
		return artifactError(err)
	}
	c.result.Artifacts++
	c.result.Bytes += a.Size
	return nil
}

// received puts bytes that a reader gives in place, as copier.claim does.
func (db *DB) received(ctx context.Context, r io.Reader, hash string) (use useBlob, release func(), err error) {
	got, err := db.Receive(ctx, r, hash)
	if err != nil {
		return nil, nil, err
	}
	defer got.Discard()
	claim, err := got.Commit(ctx)
	if err != nil {
		return nil, nil, artifactError(err)
	}
	return func(tx *tx) (int64, error) { return claim.Use(tx.Tx) }, func() { claim.Release(ctx) }, nil
}
