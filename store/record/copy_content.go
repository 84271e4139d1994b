package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// artifacts copies the artifacts of a record. When it replaces a record, it moves artifacts
// that exist only in the target to the trash.
func (c *Copier) artifacts(ctx context.Context, ref Ref, v verdict) error {
	if c.NoArtifacts {
		return nil
	}
	if ref.Context {
		return c.bareArtifacts(ctx, ref)
	}
	kept := map[string]bool{}
	err := c.From.eachArtifact(ref.Kind, ref.ID, func(a Artifact) error {
		kept[a.ID] = true
		return c.artifact(ctx, ref, a)
	})
	if err != nil || v != replace || ref.Kind.Artifacts == "" {
		return err
	}
	var gone []string
	err = c.To.Read(ctx, func(tx TargetTx) error {
		return tx.Records().eachArtifact(ref.Kind, ref.ID, func(a Artifact) error {
			if !kept[a.ID] {
				gone = append(gone, a.ID)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, id := range gone {
		refused, err := c.To.Discard(ctx, id)
		if err != nil {
			return err
		}
		if refused != "" {
			c.Result.Lose(ref.ID, "%s", refused)
		}
	}
	return nil
}

// artifact copies one artifact.
func (c *Copier) artifact(ctx context.Context, ref Ref, a Artifact) error {
	var there storedArtifact
	exists := false
	if !c.Fresh {
		err := c.To.Read(ctx, func(tx TargetTx) (err error) {
			there, err = tx.Records().Artifact(ref, a.ID)
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
		c.Result.Lose(a.Name, "Another artifact has the same id.")
		return nil
	case exists && there.Deleted:
		c.Result.Lose(a.Name, "The artifact is in the trash.")
		return nil
	case exists && there.Hash == a.Hash:
		return c.change(ctx, func(tx TargetTx) error { return tx.Records().UpdateArtifact(a) })
	}
	use, release, err := c.To.Claim(ctx, a.Hash, a.Size)
	if err != nil {
		return fmt.Errorf("the artifact %q: %w", a.Name, err)
	}
	err = c.change(ctx, func(tx TargetTx) error {
		if err := allowContent(tx, ref); err != nil {
			return err
		}
		blobID, err := use(tx.Records())
		if err != nil {
			return err
		}
		return tx.Records().putArtifact(ref, a, blobID)
	})
	if err != nil {
		release()
		return err
	}
	c.Result.Artifacts++
	c.Result.Bytes += a.Size
	return nil
}
