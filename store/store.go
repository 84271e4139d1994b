// Package store implements all operations on the records of tracker, with their rules and
// permissions. The records are stored in one SQLite file.
//
// DB and View have a field for each package of records, such as Runs and Projects. These
// packages use package domain for transactions and rights.
//
// A method that is called for users takes an actor. It checks permission, existence and state in
// the transaction that does the work. Its errors are *domain.Error values, or can be converted by
// domain.AsError. All methods of DB are safe for concurrent use.
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
	"tracker/store/audit"
	"tracker/store/collections"
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

// DB is an open database of tracker.
type DB struct {
	Runs   *runs.DB
	Files  *files.DB
	Models *registry.DB
	Wandb  *wandb.DB

	Collections *collections.DB

	Users    *users.DB
	Projects *projects.DB
	Trash    *trash.DB
	Imports  *imports.DB
	Archive  *archive.DB
	Audit    *audit.DB

	base *domain.DB
}

// Options configures Open.
type Options = domain.Options

// Open opens the database at o.Path, migrates its schema, and starts the writer. It returns a
// *sqlite.FileError if the file is damaged or not writable, is not a database of tracker, or
// was written by a newer release.
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
		Collections: collections.New(base),
		Users:       users.New(base),
		Projects:    projects.New(base),
		Audit:       audit.New(base),
		base:        base,
	}
	db.Trash = trash.New(base, db.Files)
	db.Imports = imports.New(base, db.Runs, db.Files, db.Models)
	db.Archive = archive.New(base, db.Files, db.Audit, openBase, schema)
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
		PageSize:     o.PageSize,
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
	if o.Exclusive { // must run before the first commit
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
		base.Kernel.Go(db.Collections.ExpireVersions)
		base.Kernel.Go(db.Audit.Maintain)
		base.Kernel.Go(db.removeUpgradeCopies)
	}
	return db, nil
}

// openBase calls Open and returns the base of the DB. Package archive uses it.
func openBase(ctx context.Context, o Options) (*domain.DB, error) {
	db, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return db.base, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrationFiles contains the folder migrations. Tests replace it.
var migrationFiles fs.FS = migrations

// schema returns the schema of a database file.
func schema() sqlite.Schema {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // impossible: the name is valid
	}
	return sqlite.Schema{Application: "tracker", ID: 0x54524b52, Migrations: files} // the ID is "TRKR" in ASCII
}

// Close waits for the queued writes, checkpoints the write-ahead log into the database file,
// and closes the file. Further calls do nothing.
func (db *DB) Close() error { return db.base.Kernel.Close() }

// Base returns the domain.DB that all packages share. Only tests use Base.
func (db *DB) Base() *domain.DB { return db.base }

// Path returns the absolute path of the database file.
func (db *DB) Path() string { return db.base.Kernel.Path() }

// Ping checks that the database can run a query.
func (db *DB) Ping(ctx context.Context) error { return db.base.Kernel.Ping(ctx) }

// QueueLength returns the number of writes waiting for the writer.
func (db *DB) QueueLength() int { return db.base.Kernel.QueueLength() }

// Size returns the sizes of the database file and its write-ahead log in bytes.
func (db *DB) Size() (file, wal int64, err error) { return db.base.Kernel.Size() }

// Backup writes a verified copy of the database to path and syncs it to disk. The copy is a
// snapshot. Other goroutines and processes can write at the same time. Backup returns an error
// if path exists.
func (db *DB) Backup(ctx context.Context, path string) error { return db.base.Kernel.Backup(ctx, path) }

// Verify checks that path is an undamaged database of tracker and that this program can open
// it. It does not change the file.
func Verify(ctx context.Context, path string) error { return schema().Verify(ctx, path) }

// Restore replaces the database dst with the backup src. It returns the new path of the old
// database, or "" if there was none. Restore returns an error if a server uses dst. It also
// returns an error if dst exists and force is not set.
func Restore(ctx context.Context, src, dst string, force bool, now time.Time) (aside string, err error) {
	return schema().Restore(ctx, src, dst, force, now)
}

const (
	// upgradeCopyAge is the age at which the copy that an upgrade made of the database is removed.
	upgradeCopyAge = 30 * 24 * time.Hour
	// upgradeCopyPause is the time between two searches for such copies.
	upgradeCopyPause = 24 * time.Hour
)

// removeUpgradeCopies removes old copies that upgrades made of the database, at once and then once a
// day. It returns when the database closes.
func (db *DB) removeUpgradeCopies(ctx context.Context) {
	db.base.Repeat(ctx, upgradeCopyPause, "an old copy of the database could not be removed", func() error {
		removed, err := sqlite.RemoveUpgradeCopies(db.Path(), time.Now().Add(-upgradeCopyAge))
		for _, path := range removed {
			db.base.Log.Info("removed the copy that an upgrade made of the database", "copy", path)
		}
		return err
	})
}
