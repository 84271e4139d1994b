package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/sqlite"
)

// Deletion describes the effect of deleting iterations. The counts do not include iterations
// that can't be deleted.
type Deletion struct {
	Artifacts int                               // number of artifacts that would be deleted
	Bytes     int64                             // total size of the artifacts that would be deleted
	Children  int                               // number of children that would remain without a parent
	Versions  map[string][]registry.MadeVersion // model versions that prevent a deletion, by iteration id
}

// IterationsDeletion returns the effect of deleting the given iterations. For each iteration it
// returns at most MaxLimit model versions. The actor needs the right to read.
func (v *View) IterationsDeletion(ids []string) (d Deletion, err error) {
	d.Versions = map[string][]registry.MadeVersion{}
	var nums []int64 // row numbers of the iterations that can be deleted
	states, err := v.tx.AllowIterations(v.tx.Actor, ids, domain.RightRead)
	if err != nil {
		return d, err
	}
	for _, it := range states {
		var made []registry.MadeVersion
		err := v.tx.Select(&made, registry.MadeVersionSelect+`
			WHERE model_version.iteration_num = ?
				OR model_version.resource_num IN (SELECT num FROM resource WHERE iteration_num = ?)
				OR `+registry.FromArtifacts(`iteration_num = ?`)+registry.MadeVersionOrder,
			it.Num, it.Num, it.Num, domain.MaxLimit)
		if err != nil {
			return d, err
		}
		if len(made) > 0 {
			d.Versions[it.ID] = made
		} else {
			nums = append(nums, it.Num)
		}
	}
	list := sqlite.JSON(nums)
	err = v.tx.Row(`SELECT count(*) FROM iteration
		WHERE deleted_date IS NULL AND parent_num IN (SELECT value FROM json_each(?)) AND num NOT IN (SELECT value FROM json_each(?))`,
		list, list).Scan(&d.Children)
	if err != nil {
		return d, err
	}
	err = v.tx.Row(`SELECT count(*), coalesce(sum(blob.size_bytes), 0) `+domain.ResourceFrom+`
		WHERE resource.deleted_date IS NULL AND resource.iteration_num IN (SELECT value FROM json_each(?))`, list).Scan(&d.Artifacts, &d.Bytes)
	return d, err
}

// DeleteIteration moves an iteration with all its records and artifacts to the trash. Its
// children are not deleted, but have no parent until the iteration is restored. DeleteIteration
// returns CONFLICT if a model version refers to the iteration or to one of its artifacts. The
// actor needs the right to delete.
func (db *DB) DeleteIteration(ctx context.Context, actor domain.Actor, id string) error {
	return db.DeleteIterations(ctx, actor, []string{id})
}

// DeleteIterations deletes several iterations as DeleteIteration does. If it returns an error,
// it has deleted none of the iterations.
func (db *DB) DeleteIterations(ctx context.Context, actor domain.Actor, ids []string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		for _, id := range ids {
			if err := deleteIteration(tx, actor, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func deleteIteration(tx *domain.Tx, actor domain.Actor, id string) error {
	it, err := tx.AllowIteration(actor, id, domain.RightDelete)
	if err != nil {
		return err
	}
	if err := registry.RefuseIfIterationVersioned(tx, it.Num); err != nil {
		return err
	}
	return tx.Discard(domain.TrashedIteration, id)
}
