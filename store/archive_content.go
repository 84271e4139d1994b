package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"tracker/store/record"
)

// different returns where the metrics of a run in dst differ from those in src.
func (c *copier) different(ctx context.Context, id string) (map[string]record.Divergence, error) {
	return read(ctx, c.dst, func(tx *tx) (map[string]record.Divergence, error) {
		all, err := tx.records().Differences(c.src, id)
		return all, orNotFound(err, "iteration")
	})
}

// copyPoints is the number of points in a transaction.
const copyPoints = 32768

// points copies the points of a run: all of a new one, and those from the first
// difference on of one that was there.
func (c *copier) points(ctx context.Context, id string, drop map[string]record.Divergence) error {
	num, err := c.src.Num(id)
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
	err = c.src.Walk(num, func(key string, step Step, value Value, at Time) error {
		if d, there := drop[key]; there && (d.Same || step < d.From) {
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
func (c *copier) artifacts(ctx context.Context, ref record.Ref, v verdict) error {
	if c.noArtifacts || ref.Context {
		return nil
	}
	kept := map[string]bool{}
	err := c.src.EachArtifact(ref.Kind, ref.ID, func(a record.Artifact) error {
		kept[a.ID] = true
		return c.artifact(ctx, ref, a)
	})
	if err != nil || v != replaceRecord || ref.Kind.Artifacts == "" {
		return err
	}
	var gone []string
	err = c.dst.ask(ctx, func(tx *tx) error {
		return tx.records().EachArtifact(ref.Kind, ref.ID, func(a record.Artifact) error {
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
			c.result.Lose(ref.ID, "%s", AsError(err).Message)
			err = nil
		}
	}
	return err
}

// artifact copies one artifact.
func (c *copier) artifact(ctx context.Context, ref record.Ref, a record.Artifact) error {
	var there record.StoredArtifact
	exists := false
	if !c.fresh {
		err := c.dst.ask(ctx, func(tx *tx) (err error) {
			there, err = tx.records().Artifact(ref, a.ID)
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
		return change(ctx, c.dst, c.actor, func(tx *tx) error { return tx.records().UpdateArtifact(a) })
	}
	use, release, err := c.claim(ctx, a.Hash, a.Size)
	if err != nil {
		return fmt.Errorf("the artifact %q: %w", a.Name, err)
	}
	err = change(ctx, c.dst, c.actor, func(tx *tx) error {
		h, err := tx.homeOf(ref)
		if err == nil {
			err = tx.allowProject(c.actor, h.ProjectID, rightCreate)
		}
		if err != nil {
			return err
		}
		blobID, err := use(tx)
		if err != nil {
			return err
		}
		return tx.records().PutArtifact(ref, a, blobID)
	})
	if err != nil {
		release()
		return artifactError(err)
	}
	c.result.Artifacts++
	c.result.Bytes += a.Size
	return nil
}

// received stores the bytes of a reader. Its results are those of copier.claim.
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
