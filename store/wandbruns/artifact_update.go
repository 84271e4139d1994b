package wandbruns

import (
	"context"
	"slices"

	"tracker/store/access"
	"tracker/store/files"
	"tracker/store/scalar"
)

// UseWandbArtifact records that an iteration uses a version. Needs create for the
// iteration and read for the version.
func (db *DB) UseWandbArtifact(ctx context.Context, actor access.Actor, id, iterationID string) (WandbArtifact, error) {
	return access.Write(ctx, db.base, actor, func(tx *access.Tx) (WandbArtifact, error) {
		a, err := allowWandbArtifact(tx, actor, id, access.RightRead)
		if err != nil {
			return a, err
		}
		it, err := tx.AllowIteration(actor, iterationID, access.RightCreate)
		if err != nil {
			return a, err
		}
		_, err = tx.Exec(`INSERT INTO wandb_artifact_use (artifact_num, iteration_num) VALUES (?, ?) ON CONFLICT DO NOTHING`, a.Num, it.Num)
		return a, err
	})
}

// WandbArtifactPatch is what UpdateWandbArtifact changes; nil leaves a field as it is.
type WandbArtifactPatch struct {
	Description *string
	Metadata    *string
	Aliases     []string // all of them; nil leaves them
	Add         []string // aliases
	Remove      []string // aliases
}

// UpdateWandbArtifact changes a version. Needs update.
func (db *DB) UpdateWandbArtifact(ctx context.Context, actor access.Actor, id string, p WandbArtifactPatch) (WandbArtifact, error) {
	err := access.FirstError(checkWandbAliases(p.Aliases), checkWandbAliases(p.Add),
		access.CheckOptional("description", p.Description), access.CheckOptional("metadata", p.Metadata))
	if err != nil {
		return WandbArtifact{}, err
	}
	return access.Write(ctx, db.base, actor, func(tx *access.Tx) (WandbArtifact, error) {
		a, err := allowWandbArtifact(tx, actor, id, access.RightUpdate)
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
		if err := setWandbAliases(tx, &a, append(slices.Concat(p.Aliases), p.Add...)); err != nil {
			return a, err
		}
		return wandbArtifact(tx, id)
	})
}

// DeleteWandbArtifact deletes a version: its files go to the trash, in several transactions
// after the version. Its number is not given again. A call that is broken off leaves files
// of the run without a version; another one continues. CONFLICT when it has an alias other
// than latest and withAliases is not set, or when a model version refers to one of its
// files. Needs delete.
func (db *DB) DeleteWandbArtifact(ctx context.Context, actor access.Actor, id string, withAliases bool) (a WandbArtifact, err error) {
	var from, next files.FileMark
	for more := true; more && err == nil; from = next {
		err = db.base.Discard(ctx, actor, func(tx *access.Tx) (err error) {
			if a, err = allowWandbArtifact(tx, actor, id, access.RightDelete); err != nil {
				return err
			}
			for _, alias := range a.Aliases {
				if alias != WandbLatest && !withAliases {
					return access.Errorf(access.CodeConflict, "The artifact has the alias %s; remove it first, or delete the artifact with its aliases.", scalar.Quote(alias))
				}
			}
			at, err := files.AllowTree(tx, actor, files.Tree{IterationID: a.IterationID}, access.RightDelete)
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
			a.State = WandbDeleted
			_, err = tx.Exec(`UPDATE wandb_artifact SET state = 'DELETED', updated_date = ? WHERE num = ?`, tx.Now, a.Num)
			return err
		})
	}
	return a, err
}

func checkWandbAliases(all []string) error {
	if len(all) > access.MaxLimit {
		return access.Invalid("aliases", "Give up to %d aliases.", access.MaxLimit)
	}
	for _, a := range all {
		if err := access.CheckName("alias", a); err != nil {
			return err
		}
	}
	return nil
}

// setWandbAliases gives a version aliases, which it takes from other versions.
func setWandbAliases(tx *access.Tx, a *WandbArtifact, aliases []string) error {
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
