package domain

import (
	"context"

	"tracker/store/sqlite"
)

// TrashFilter selects records by whether they are in the trash.
type TrashFilter string

// The filters of the trash.
const (
	NotTrash  TrashFilter = ""     // only records that are not in the trash
	OnlyTrash TrashFilter = "only" // only records in the trash
	AlsoTrash TrashFilter = "also" // both
)

// Condition returns the SQL condition on the rows of a table.
func (f TrashFilter) Condition(table string) string {
	switch f {
	case OnlyTrash:
		return table + `.deleted_date IS NOT NULL`
	case AlsoTrash:
		return `TRUE`
	}
	return NotTrashed(table)
}

// Takes reports whether the filter selects a record that is deleted, or is not.
func (f TrashFilter) Takes(deleted bool) bool {
	return f == AlsoTrash || deleted == (f == OnlyTrash)
}

// NotTrashed returns the SQL condition for a row of a table not to be in the trash.
func NotTrashed(table string) string { return table + `.deleted_date IS NULL` }

type trashContext struct{}

// WithTrash returns a context in which reads by id find records in the trash, too,
// and read and list what they hold. Listings leave out what is in the trash, unless
// their TrashFilter says otherwise. A write never finds what is in the trash.
func WithTrash(ctx context.Context) context.Context {
	return context.WithValue(ctx, trashContext{}, true)
}

func trashFrom(ctx context.Context) bool {
	with, _ := ctx.Value(trashContext{}).(bool)
	return with
}

// Found returns the SQL condition for rows of these tables to be found: they are not
// in the trash, or the transaction also reads that.
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

// TrashKind is a kind of record that can be in the trash: the name of its table.
type TrashKind string

// The kinds of records that can be in the trash.
const (
	TrashedProject    TrashKind = "project"
	TrashedExperiment TrashKind = "experiment"
	TrashedIteration  TrashKind = "iteration"
	TrashedModel      TrashKind = "model"
	TrashedVersion    TrashKind = "model_version"
	TrashedArtifact   TrashKind = "resource"
	TrashedReport     TrashKind = "report"
)

// Discard runs fn, which calls Tx.Discard for records.
func (db *DB) Discard(ctx context.Context, actor Actor, fn func(*Tx) error) error {
	if db.Options.TrashAge > 0 {
		return db.write(ctx, sqlite.Change|sqlite.Marking, actor, fn)
	}
	err := Remove(ctx, db, actor, fn)
	db.Artifacts.Wake()
	return err
}

// Discard moves a record to the trash or, without one, deletes it.
func (tx *Tx) Discard(kind TrashKind, id string) error {
	if tx.DB.Options.TrashAge <= 0 {
		return tx.Purge(kind, id)
	}
	_, err := tx.Exec(`UPDATE `+string(kind)+` SET deleted_date = ?, deleted_by = nullif(?, '') WHERE id = ?`,
		tx.Now, tx.Actor.UserID, id)
	return err
}

// Purge deletes a record with all that it holds.
func (tx *Tx) Purge(kind TrashKind, id string) error {
	_, err := tx.Exec(`DELETE FROM `+string(kind)+` WHERE id = ?`, id)
	return err
}

// trashWords holds the kinds as words.
var trashWords = map[TrashKind]string{
	TrashedProject: "project", TrashedExperiment: "experiment", TrashedIteration: "iteration",
	TrashedModel: "model", TrashedVersion: "version", TrashedArtifact: "artifact", TrashedReport: "report",
}

// Word returns the kind as a word.
func (k TrashKind) Word() string { return trashWords[k] }
