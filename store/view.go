package store

import (
	"context"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/sqlite"
	"tracker/store/trash"
	"tracker/store/users"
	"tracker/store/wandb"
)

// View reads one snapshot on behalf of one actor. Its reads are consistent with each other, even
// if others write at the same time. It is valid until the function that received it returns, and
// must not be used by several goroutines at once.
//
// Its methods have the same rules and errors as the methods of DB with the same names.
type View struct {
	Runs   *runs.View
	Files  *files.View
	Models *registry.View
	Wandb  *wandb.View

	Users    *users.View
	Projects *projects.View
	Trash    *trash.View

	tx     *domain.Tx
	cursor string
}

// View calls fn with a view of a new snapshot, which holds a connection. Long computations and
// writes to a client should be done after View returns.
func (db *DB) View(ctx context.Context, actor domain.Actor, fn func(*View) error) error {
	// Taken before the snapshot, so that changes that the snapshot lacks come after the cursor.
	_, cursor, _ := db.base.Journal.Since("", nil)
	return db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		tx := db.base.Reading(snapshot)
		tx.Actor = actor
		return fn(&View{
			Runs: runs.In(tx), Files: files.In(tx), Models: registry.In(tx), Wandb: wandb.In(tx),
			Users: users.In(tx), Projects: projects.In(tx), Trash: trash.In(tx),
			tx: tx, cursor: cursor,
		})
	})
}

// Cursor returns the cursor for ExperimentChanges and IterationChanges. All changes that the view
// does not include come after it.
func (v *View) Cursor() string { return v.cursor }
