package store

import (
	"context"

	"github.com/go-json-experiment/json"
)

// Deletion is what goes with some iterations beside what was logged in them, and
// what stands in the way. Those that can't go count as if they were not named.
type Deletion struct {
	Artifacts int                      // that go
	Bytes     int64                    // of them
	Children  int                      // that stay, without a parent
	Versions  map[string][]MadeVersion // of models, by the id of the iteration that can't go before them
}

// IterationsDeletion tells what deleting iterations would do. It names up to
// MaxLimit versions of each. Needs read.
func (db *DB) IterationsDeletion(ctx context.Context, actor Actor, ids []string) (Deletion, error) {
	return read(ctx, db, func(tx *tx) (d Deletion, err error) {
		d.Versions = map[string][]MadeVersion{}
		var nums []int64 // of those that can go
		for _, id := range ids {
			it, err := tx.allowIteration(actor, id, rightRead)
			if err != nil {
				return d, err
			}
			var made []MadeVersion
			err = tx.all(&made, madeVersionSelect+`
				WHERE model_version.iteration_num = ?
					OR model_version.resource_num IN (SELECT num FROM resource WHERE iteration_num = ?)`+madeVersionOrder,
				it.num, it.num, MaxLimit)
			if err != nil {
				return d, err
			}
			if len(made) > 0 {
				d.Versions[id] = made
			} else {
				nums = append(nums, it.num)
			}
		}
		list, err := json.Marshal(nums)
		if err != nil {
			return d, err
		}
		err = tx.row(`SELECT count(*) FROM iteration
			WHERE parent_num IN (SELECT value FROM json_each(?)) AND num NOT IN (SELECT value FROM json_each(?))`,
			string(list), string(list)).Scan(&d.Children)
		if err != nil {
			return d, err
		}
		err = tx.row(`SELECT count(*), coalesce(sum(blob.size_bytes), 0) `+resourceFrom+`
			WHERE resource.iteration_num IN (SELECT value FROM json_each(?))`, string(list)).Scan(&d.Artifacts, &d.Bytes)
		return d, err
	})
}

// DeleteIteration removes an iteration with all that was recorded against it,
// artifacts too, whose bytes follow in the background. Its children stay, without
// a parent. Needs delete. CONFLICT when a model version points at it or at an
// artifact of it.
func (db *DB) DeleteIteration(ctx context.Context, actor Actor, id string) error {
	return db.DeleteIterations(ctx, actor, []string{id})
}

// DeleteIterations is DeleteIteration for several: all go or, with an error,
// none.
func (db *DB) DeleteIterations(ctx context.Context, actor Actor, ids []string) error {
	err := change(ctx, db, actor, func(tx *tx) error {
		for _, id := range ids {
			if err := tx.deleteIteration(actor, id); err != nil {
				return err
			}
		}
		return nil
	})
	db.collectSoon()
	return err
}

func (tx *tx) deleteIteration(actor Actor, id string) error {
	it, err := tx.allowIteration(actor, id, rightDelete)
	if err != nil {
		return err
	}
	if err := tx.refuseIfIterationVersioned(it.num); err != nil {
		return err
	}
	if err := tx.noteParent(it.num); err != nil {
		return err
	}
	_, err = tx.exec(`DELETE FROM iteration WHERE num = ?`, it.num)
	tx.noted = append(tx.noted, journalEntry{changeKey: changeKey{iteration: it.iterationRef}, deleted: true})
	return err
}
