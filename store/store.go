// Package store is the domain: the records, their rules, who may do what, and
// the SQL that keeps them in one SQLite file.
//
// DB and View have a field for each package of records, such as Runs and Projects. They
// are written on top of package domain, which has transactions and rights. Imports and
// archives, which concern all records, are here.
//
// Every method that a person can reach takes the acting user first and checks
// permission, existence and state in the transaction that does the work.
// Errors are *Error, or become one with AsError. All methods are safe for
// concurrent use.
package store

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/crypto/bcrypt"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/store/sqlite"
	"tracker/store/trash"
	"tracker/store/users"
	"tracker/store/wandb"
)

// DB is an open database.
type DB struct {
	Runs   *runs.DB
	Files  *files.DB
	Models *registry.DB
	Wandb  *wandb.DB

	Users    *users.DB
	Projects *projects.DB
	Trash    *trash.DB

	base *domain.DB

	estimating  chan struct{} // holds one element while an importance is estimated
	exporting   chan struct{} // holds one element for each archive that is made
	importing   chan struct{} // holds one element while an archive is read
	archiveWait time.Duration // tests change it
}

// Options are the options of Open.
type Options = domain.Options

// Open opens the database at o.Path, brings its schema up to date, and starts
// the writer. A file that is newer than this program, damaged, not a database
// of tracker, or not writable is refused with a *sqlite.FileError.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.BcryptCost == 0 {
		o.BcryptCost = bcrypt.DefaultCost
	}
	base := domain.New(o)
	db := &DB{
		Runs:        runs.New(base),
		Files:       files.New(base),
		Models:      registry.New(base),
		Wandb:       wandb.New(base),
		Users:       users.New(base),
		Projects:    projects.New(base),
		base:        base,
		estimating:  make(chan struct{}, 1),
		exporting:   make(chan struct{}, maxExports),
		importing:   make(chan struct{}, 1),
		archiveWait: archiveWait,
	}
	db.Trash = trash.New(base, db.Files)
	participants := base.Participants()
	if o.Exclusive {
		participants = append(participants, &writeCount{db: db}, &base.Orders)
	} else {
		participants = append(participants, search.Foreign{})
	}
	var err error
	base.Kernel, err = sqlite.Open(ctx, sqlite.Options{
		Path:         o.Path,
		Schema:       schema(),
		Exclusive:    o.Exclusive,
		MustExist:    o.MustExist,
		Scratch:      o.Scratch,
		Reserve:      o.Reserve,
		FreeSpace:    blob.FreeSpace,
		Now:          base.Now,
		Logger:       base.Log,
		OnCommit:     o.OnCommit,
		OnRead:       o.OnRead,
		Participants: participants,
	})
	if err != nil {
		return nil, err
	}
	if base.Options.UploadDir == "" {
		base.Options.UploadDir = db.Path() + ".uploads"
	}
	base.Copies = search.NewCopies(base.Kernel, base.Now, base.Log)
	base.Artifacts = artifact.New(artifact.Options{
		Database:  base.Kernel,
		Backends:  o.Backends,
		UploadDir: base.Options.UploadDir,
		Now:       base.Now,
		Logger:    base.Log,
	})
	if o.Exclusive { // before the first commit
		err = base.Ask(ctx, db.logLostWrites)
	}
	if err == nil {
		err = base.Points.Open(ctx, base.Kernel)
	}
	if err == nil && o.Exclusive {
		err = base.Artifacts.Recover()
	}
	if err != nil {
		return nil, errors.Join(sqlite.OpenError(db.Path(), err), db.Close())
	}
	base.Kernel.Go(base.Copies.Run)
	base.Kernel.Go(base.Artifacts.Run)
	if o.Exclusive {
		base.Kernel.Go(db.Trash.PurgeExpired)
	}
	return db, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrationFiles holds the folder of migrations; tests replace it.
var migrationFiles fs.FS = migrations

// schema returns the schema of a database file.
func schema() sqlite.Schema {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the name is a valid one
	}
	return sqlite.Schema{Application: "tracker", ID: 0x54524b52, Migrations: files} // "TRKR"
}

// Close waits for the writes that were queued, checkpoints the write-ahead
// log into the database file, and closes it. Closing again does nothing.
func (db *DB) Close() error { return db.base.Kernel.Close() }

// Path returns the absolute path of the database file.
func (db *DB) Path() string { return db.base.Kernel.Path() }

// Ping fails unless the database answers a query.
func (db *DB) Ping(ctx context.Context) error { return db.base.Kernel.Ping(ctx) }

// QueueLength returns how many writes wait for the writer.
func (db *DB) QueueLength() int { return db.base.Kernel.QueueLength() }

// Size returns the size in bytes of the database file and its write-ahead log.
func (db *DB) Size() (file, wal int64, err error) { return db.base.Kernel.Size() }

// Backup writes a copy of the database as it is at one moment to path, while
// others go on writing. The copy is verified and on disk when it returns. It
// refuses to overwrite a file.
func (db *DB) Backup(ctx context.Context, path string) error { return db.base.Kernel.Backup(ctx, path) }

// Verify fails unless the file at path is a sound database of tracker that this
// program can open. It does not change it.
func Verify(ctx context.Context, path string) error { return schema().Verify(ctx, path) }

// Restore puts the backup src in the place of the database dst and returns
// where the former one was put, "" when there was none. It refuses while a
// server has dst, and over a database unless force is set.
func Restore(ctx context.Context, src, dst string, force bool, now time.Time) (aside string, err error) {
	return schema().Restore(ctx, src, dst, force, now)
}
