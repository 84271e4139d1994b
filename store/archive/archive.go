// Package archive exports and imports the records of a database. It also computes the states of a
// project's records, so that they can be compared with another database.
//
// An archive is a zip file that contains its own SQLite database. Package transfer/archive reads
// and writes the file format. Export copies records into a new database. Import copies records out
// of an archived database. Export and Import use package record. The receiving database checks the
// rights of the importing user.
package archive

import (
	"context"
	"sync/atomic"
	"time"

	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/sqlite"
)

// DB holds the methods of this package. Each method starts its own transaction.
type DB struct {
	base   *domain.DB
	files  *files.DB
	audit  *audit.DB
	open   func(context.Context, domain.Options) (*domain.DB, error)
	schema func() sqlite.Schema

	// schemas holds the schema objects of each database version. Only the import in progress uses
	// it.
	schemas map[int]map[string]string
	// empty holds the bytes of a new, empty database file. It is nil before the first call of
	// openFast.
	empty atomic.Pointer[[]byte]

	exporting chan struct{} // holds one element for each export in progress
	importing chan struct{} // holds one element during an import
	wait      time.Duration // maximum time that an export waits for other exports
}

// New returns a DB for the given databases. New uses open to open the databases in archives,
// and schema to check them.
func New(base *domain.DB, files *files.DB, audit *audit.DB, open func(context.Context, domain.Options) (*domain.DB, error), schema func() sqlite.Schema) *DB {
	return &DB{
		base:      base,
		files:     files,
		audit:     audit,
		open:      open,
		schema:    schema,
		schemas:   map[int]map[string]string{},
		exporting: make(chan struct{}, maxExports),
		importing: make(chan struct{}, 1),
		wait:      maxWait,
	}
}
