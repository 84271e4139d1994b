package store

import (
	"context"

	"tracker/store/audit"
	"tracker/store/collections"
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

// View reads one snapshot for one actor. All reads see the same state of the database, even
// during concurrent writes. A View is valid only until the function that received it returns.
// Several goroutines must not use a View at the same time.
//
// Methods of View and DB with the same name have the same rules and errors.
type View struct {
	Runs   *runs.View
	Files  *files.View
	Models *registry.View
	Wandb  *wandb.View

	Collections *collections.View

	Users    *users.View
	Projects *projects.View
	Trash    *trash.View
	Audit    *audit.View

	tx     *domain.Tx
	cursor string
}

// View calls fn with a View of a new snapshot. The snapshot holds a connection until fn
// returns. Callers should do long computations and writes to a client after View returns.
func (db *DB) View(ctx context.Context, actor domain.Actor, fn func(*View) error) error {
	// Take the cursor before the snapshot. Changes missing in the snapshot then come after the
	// cursor.
	_, cursor, _ := db.base.Journal.Since("", nil)
	return db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		tx := db.base.Reading(snapshot)
		tx.Actor = actor
		return fn(&View{
			Runs: runs.In(tx), Files: files.In(tx), Models: registry.In(tx), Wandb: wandb.In(tx),
			Collections: collections.In(tx),
			Users:       users.In(tx), Projects: projects.In(tx), Trash: trash.In(tx), Audit: audit.In(tx),
			tx: tx, cursor: cursor,
		})
	})
}

// Cursor returns the cursor for ExperimentChanges and IterationChanges. All changes that are
// missing in the snapshot come after the cursor.
func (v *View) Cursor() string { return v.cursor }
