package wandb

import (
	"context"
	"slices"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
)

// UseArtifact records that an iteration uses an artifact version. The actor needs the right to
// create for the iteration and the right to read for the version.
func (db *DB) UseArtifact(ctx context.Context, actor domain.Actor, id, iterationID string) (Artifact, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Artifact, error) {
		a, err := allowArtifact(tx, actor, id, domain.RightRead)
		if err != nil {
			return a, err
		}
		it, err := tx.AllowIteration(actor, iterationID, domain.RightCreate)
		if err != nil {
			return a, err
		}
		_, err = tx.Exec(`INSERT INTO wandb_artifact_use (artifact_num, iteration_num) VALUES (?, ?) ON CONFLICT DO NOTHING`, a.Num, it.Num)
		return a, err
	})
}

// ArtifactPatch holds the new values for UpdateArtifact. UpdateArtifact does not change a field
// whose value is nil.
type ArtifactPatch struct {
	Description *string
	Metadata    *string
	Aliases     []string // replaces all aliases of the version; nil keeps them
	Add         []string // list of aliases
	Remove      []string // list of aliases
}

// UpdateArtifact changes an artifact version. The actor needs the right to update.
func (db *DB) UpdateArtifact(ctx context.Context, actor domain.Actor, id string, p ArtifactPatch) (Artifact, error) {
	err := domain.FirstError(checkAliases(p.Aliases), checkAliases(p.Add),
		domain.CheckOptional("description", p.Description), domain.CheckOptional("metadata", p.Metadata))
	if err != nil {
		return Artifact{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Artifact, error) {
		a, err := allowArtifact(tx, actor, id, domain.RightUpdate)
		if err != nil {
			return a, err
		}
		if _, err := tx.Exec(`UPDATE wandb_artifact SET
				description  = coalesce(?, description),
				metadata     = coalesce(?, metadata),
				updated_date = ?
			WHERE num = ?`, p.Description, p.Metadata, tx.Now, a.Num); err != nil {
			return a, err
		}
		remove := p.Remove
		if p.Aliases != nil {
			for _, old := range a.Aliases {
				if !slices.Contains(p.Aliases, old) {
					remove = append(remove, old)
				}
			}
		}
		for _, alias := range remove {
			if _, err := tx.Exec(`DELETE FROM wandb_alias WHERE artifact_num = ? AND alias = ?`, a.Num, alias); err != nil {
				return a, err
			}
		}
		if err := setAliases(tx, &a, append(slices.Concat(p.Aliases), p.Add...)); err != nil {
			return a, err
		}
		return wandbArtifact(tx, id)
	})
}

// DeleteArtifact deletes a version and moves its files to the trash. The number of the version
// is not reused. The actor needs the right to delete.
//
// DeleteArtifact returns CONFLICT if a model version refers to one of the files, or if the version
// has an alias other than latest and withAliases is false. It uses several transactions. If it is
// interrupted, the version is deleted but some files remain; a second call moves them to the trash.
func (db *DB) DeleteArtifact(ctx context.Context, actor domain.Actor, id string, withAliases bool) (a Artifact, err error) {
	var from, next files.FileMark
	for more := true; more && err == nil; from = next {
		err = db.base.Discard(ctx, actor, func(tx *domain.Tx) (err error) {
			if a, err = allowArtifact(tx, actor, id, domain.RightDelete); err != nil {
				return err
			}
			for _, alias := range a.Aliases {
				if alias != Latest && !withAliases {
					return domain.Errorf(domain.CodeConflict, "The artifact has the alias %s; remove it first, or delete the artifact with its aliases.", scalar.Quote(alias))
				}
			}
			at, err := files.AllowTree(tx, actor, files.Tree{IterationID: a.IterationID}, domain.RightDelete)
			if err != nil {
				return err
			}
			next, more, err = files.DiscardFiles(tx, at, []files.Names{{From: a.Folder() + "/", To: a.Folder() + "0"}}, from)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`DELETE FROM wandb_alias WHERE artifact_num = ?`, a.Num); err != nil {
				return err
			}
			a.State = Deleted
			_, err = tx.Exec(`UPDATE wandb_artifact SET state = 'DELETED', updated_date = ? WHERE num = ?`, tx.Now, a.Num)
			return err
		})
	}
	return a, err
}

func checkAliases(all []string) error {
	if len(all) > domain.MaxLimit {
		return domain.Invalid("aliases", "At most %d aliases can be given.", domain.MaxLimit)
	}
	for _, a := range all {
		if err := domain.CheckName("alias", a); err != nil {
			return err
		}
	}
	return nil
}

// setAliases adds aliases to version a. An alias that another version has is moved to a.
func setAliases(tx *domain.Tx, a *Artifact, aliases []string) error {
	for _, alias := range aliases {
		_, err := tx.Exec(`INSERT INTO wandb_alias (experiment_id, collection, alias, artifact_num) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET artifact_num = excluded.artifact_num`, a.ExperimentID, a.Collection, alias, a.Num)
		if err != nil {
			return err
		}
		if !slices.Contains(a.Aliases, alias) {
			a.Aliases = append(a.Aliases, alias)
		}
	}
	return nil
}
