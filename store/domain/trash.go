package domain

import (
	"context"

	"tracker/store/sqlite"
)

// TrashFilter selects whether a listing includes records in the trash.
type TrashFilter string

// Values of TrashFilter.
const (
	NotTrash  TrashFilter = ""     // only records outside the trash
	OnlyTrash TrashFilter = "only" // only records in the trash
	AlsoTrash TrashFilter = "also" // records outside and in the trash
)

// Condition returns the filter as an SQL condition for the given table.
func (f TrashFilter) Condition(table string) string {
	switch f {
	case OnlyTrash:
		return table + `.deleted_date IS NOT NULL`
	case AlsoTrash:
		return `TRUE`
	}
	return NotTrashed(table)
}

// Takes reports whether the filter selects a record. deleted reports whether the record is in the
// trash.
func (f TrashFilter) Takes(deleted bool) bool {
	return f == AlsoTrash || deleted == (f == OnlyTrash)
}

// NotTrashed returns the SQL condition for rows of table that are not in the trash.
func NotTrashed(table string) string { return table + `.deleted_date IS NULL` }

type trashContext struct{}

// WithTrash returns a context for reads that include the trash. A read by id also finds a
// record in the trash and the records that belong to it. A listing still omits records in the
// trash if its TrashFilter does not select them. Writes never find records in the trash.
func WithTrash(ctx context.Context) context.Context {
	return context.WithValue(ctx, trashContext{}, true)
}

func trashFrom(ctx context.Context) bool {
	with, _ := ctx.Value(trashContext{}).(bool)
	return with
}

// Found returns the SQL condition for rows of the given tables that are not in the trash. It
// returns TRUE if the reads of tx include the trash.
func (tx *Tx) Found(tables ...string) string {
	if tx.trash {
		return `TRUE`
	}
	condition := ``
	for _, t := range tables {
		if condition != `` {
			condition += ` AND `
		}
		condition += NotTrashed(t)
	}
	return condition
}

// TrashKind is a kind of record that can be in the trash. Its value is the table name.
type TrashKind string

// Kinds of records that can be in the trash.
const (
	TrashedProject    TrashKind = "project"
	TrashedExperiment TrashKind = "experiment"
	TrashedIteration  TrashKind = "iteration"
	TrashedModel      TrashKind = "model"
	TrashedVersion    TrashKind = "model_version"
	TrashedArtifact   TrashKind = "resource"
	TrashedReport     TrashKind = "report"
)

// Discard runs fn, which calls Tx.Discard, in the writer. If Options.TrashAge is 0, fn can use
// the reserve when the disk is full.
func (db *DB) Discard(ctx context.Context, actor Actor, fn func(*Tx) error) error {
	if db.Options.TrashAge > 0 {
		return db.write(ctx, sqlite.Change|sqlite.Marking, actor, fn)
	}
	err := Remove(ctx, db, actor, fn)
	db.Artifacts.Wake()
	return err
}

// Discard moves a record to the trash. It deletes the record if Options.TrashAge is 0. The audit trail
// gets an entry.
func (tx *Tx) Discard(kind TrashKind, id string) error {
	if tx.DB.Options.TrashAge <= 0 {
		if err := tx.AuditTrashed(ActionDelete, kind, id, "permanently"); err != nil {
			return err
		}
		return tx.Purge(kind, id)
	}
	if err := tx.AuditTrashed(ActionDelete, kind, id, ""); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE `+string(kind)+` SET deleted_date = ?, deleted_by = nullif(?, '') WHERE id = ?`,
		tx.Now, tx.Actor.UserID, id)
	return err
}

// Purge deletes a record and all records that belong to it.
func (tx *Tx) Purge(kind TrashKind, id string) error {
	_, err := tx.Exec(`DELETE FROM `+string(kind)+` WHERE id = ?`, id)
	return err
}

// trashWords holds the name of each kind in messages.
var trashWords = map[TrashKind]string{
	TrashedProject: "project", TrashedExperiment: "experiment", TrashedIteration: "run",
	TrashedModel: "model", TrashedVersion: "version", TrashedArtifact: "artifact", TrashedReport: "report",
}

// Word returns the name of k in messages.
func (k TrashKind) Word() string { return trashWords[k] }
