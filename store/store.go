// Package store implements all operations on the records of tracker, with their rules and
// permissions. Records are stored in one SQLite file.
//
// DB and View have a field for each package of records, such as Runs and Projects. These packages
// use package domain for transactions and rights.
//
// Methods that users can call take the acting user first. They check permission, existence and
// state in the transaction that does the work. Their errors are *domain.Error, or are converted
// by domain.AsError. All methods are safe for concurrent use.
package store

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/crypto/bcrypt"

	"tracker/blob"
	"tracker/store/archive"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/imports"
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
	Imports  *imports.DB
	Archive  *archive.DB

	base *domain.DB
}

// Options are the options of Open.
type Options = domain.Options

// Open opens the database at o.Path, migrates its schema, and starts the writer. It returns a
// *sqlite.FileError if the file is newer than this program, damaged, not a database of tracker,
// or not writable.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.BcryptCost == 0 {
		o.BcryptCost = bcrypt.DefaultCost
	}
	base := domain.New(o)
	db := &DB{
		Runs:     runs.New(base),
		Files:    files.New(base),
		Models:   registry.New(base),
		Wandb:    wandb.New(base),
		Users:    users.New(base),
		Projects: projects.New(base),
		base:     base,
	}
	db.Trash = trash.New(base, db.Files)
	db.Imports = imports.New(base, db.Runs, db.Files, db.Models)
	db.Archive = archive.New(base, db.Files, openBase, schema)
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

// openBase is Open for package archive.
func openBase(ctx context.Context, o Options) (*domain.DB, error) {
	db, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return db.base, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrationFiles holds the folder migrations. Tests replace it.
var migrationFiles fs.FS = migrations

// schema returns the schema of a database file.
func schema() sqlite.Schema {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the name is a valid one
	}
	return sqlite.Schema{Application: "tracker", ID: 0x54524b52, Migrations: files} // "TRKR"
}

// Close waits for the queued writes, checkpoints the write-ahead log into the database file, and
// closes it. Further calls do nothing.
func (db *DB) Close() error { return db.base.Kernel.Close() }

// Base returns what the packages of records share. It is for tests.
func (db *DB) Base() *domain.DB { return db.base }

// Path returns the absolute path of the database file.
func (db *DB) Path() string { return db.base.Kernel.Path() }

// Ping checks that the database answers a query.
func (db *DB) Ping(ctx context.Context) error { return db.base.Kernel.Ping(ctx) }

// QueueLength returns the number of writes that wait for the writer.
func (db *DB) QueueLength() int { return db.base.Kernel.QueueLength() }

// Size returns the size in bytes of the database file and its write-ahead log.
func (db *DB) Size() (file, wal int64, err error) { return db.base.Kernel.Size() }

// Backup writes a copy of a snapshot of the database to path. Others may write at the same time.
// When Backup returns, the copy is verified and synced to disk. It returns an error if path
// exists.
func (db *DB) Backup(ctx context.Context, path string) error { return db.base.Kernel.Backup(ctx, path) }

// Verify checks that the file at path is an undamaged database of tracker that this program can
// open. It does not change the file.
func Verify(ctx context.Context, path string) error { return schema().Verify(ctx, path) }

// Restore replaces the database dst by the backup src and returns the path that the old database
// was moved to, "" if there was none. It returns an error if a server uses dst, or if dst exists
// and force is not set.
func Restore(ctx context.Context, src, dst string, force bool, now time.Time) (aside string, err error) {
	return schema().Restore(ctx, src, dst, force, now)
}
