// Package archive exports records of a database as archives, imports archives, and returns the
// states of the records of a project for the comparison with another database.
//
// An archive is a zip file with a database of its own; package transfer/archive reads and writes
// its format. An export copies records into a new database, and an import copies them out of one;
// package record does both. A database that is copied to checks the rights of the user who copies.
package archive

import (
	"context"
	"time"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/sqlite"
)

// DB has the methods that start their own transactions.
type DB struct {
	base   *domain.DB
	files  *files.DB
	open   func(context.Context, domain.Options) (*domain.DB, error)
	schema func() sqlite.Schema

	exporting chan struct{} // holds one element for each archive that is made
	importing chan struct{} // holds one element while an archive is read
	wait      time.Duration // how long an export waits for others
}

// New returns the methods for the archives of a database. open opens the databases in archives,
// which have the given schema.
func New(base *domain.DB, files *files.DB, open func(context.Context, domain.Options) (*domain.DB, error), schema func() sqlite.Schema) *DB {
	return &DB{
		base:      base,
		files:     files,
		open:      open,
		schema:    schema,
		exporting: make(chan struct{}, maxExports),
		importing: make(chan struct{}, 1),
		wait:      maxWait,
	}
}
