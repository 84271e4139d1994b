// Package store is the domain: the records, their rules, who may do what, and
// the SQL that keeps them in one SQLite file.
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
	"log/slog"
	"time"

	"golang.org/x/crypto/bcrypt"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/journal"
	"tracker/store/lastseen"
	"tracker/store/points"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Options are the options of Open.
type Options struct {
	// Path of the SQLite file; it is made, with its folder, when it is not there.
	Path string
	// Exclusive takes the lock file beside the database, as a server does.
	// Open fails when another process has it.
	Exclusive bool
	// Reserve is the size in bytes of a file beside the database that deletions may
	// use when the disk is full; 0 for none. It needs Exclusive.
	Reserve int64
	// MustExist makes Open fail when the file is missing or empty.
	MustExist bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger gets failures that can't be returned to a caller; nil discards them.
	Logger *slog.Logger
	// OnCommit is called by the writer after each transaction; it may be nil.
	OnCommit func(CommitStats)
	// OnRead is called before each snapshot is taken, with the context of the
	// caller; it may be nil.
	OnRead func(context.Context)
	// BcryptCost of new passwords; 0 means bcrypt.DefaultCost.
	BcryptCost int
	// Backends hold the bytes of artifacts; the zero value is the database alone.
	Backends Backends
	// UploadDir is the folder of artifacts that come in several requests, until
	// all of their bytes are there. It is made when it is needed; "" means a
	// folder beside the database.
	UploadDir string
	// MaxUpload is the size in bytes of the largest artifact; 0 for no limit.
	MaxUpload int64
	// TrashAge is the time that deleted records stay in the trash; 0 deletes for good
	// at once.
	TrashAge time.Duration
}

// CommitStats describe one transaction of the writer.
type CommitStats = sqlite.CommitStats

// DB is an open database.
type DB struct {
	opts   Options
	kernel *sqlite.DB
	now    func() time.Time
	log    *slog.Logger

	points *points.Engine // of the metrics

	copies      *search.Copies // of the statistics that people search for
	orders      search.Orders  // of former searches
	searchLimit time.Duration  // tests change it
	estimating  chan struct{}  // holds one element while an importance is estimated
	archiving   chan struct{}  // holds one element while an archive is made or read
	archiveWait time.Duration  // tests change it

	artifacts *artifact.Store

	// Participants in every commit, after the points.
	openIterations openIterations
	journal        *journal.Journal
	lastSeen       *lastseen.Times
}

// Open opens the database at o.Path, brings its schema up to date, and starts
// the writer. A file that is newer than this program, damaged, not a database
// of tracker, or not writable is refused with a *sqlite.FileError.
func Open(ctx context.Context, o Options) (*DB, error) {
	db := &DB{
		opts:        o,
		now:         o.Now,
		log:         o.Logger,
		searchLimit: searchLimit,
		estimating:  make(chan struct{}, 1),
		archiving:   make(chan struct{}, 1),
		archiveWait: archiveWait,
		journal:     journal.New(),
		lastSeen:    lastseen.New(),
	}
	if db.now == nil {
		db.now = time.Now
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	if db.opts.BcryptCost == 0 {
		db.opts.BcryptCost = bcrypt.DefaultCost
	}
	db.points = points.New(points.Options{Logger: db.log, OnChange: db.noteSeries})
	participants := []sqlite.Participant{db.points.Participant(), &db.openIterations, db.journal, db.lastSeen}
	if o.Exclusive {
		participants = append(participants, &writeCount{db: db}, &db.orders)
	} else {
		participants = append(participants, search.Foreign{})
	}
	var err error
	db.kernel, err = sqlite.Open(ctx, sqlite.Options{
		Path:         o.Path,
		Schema:       schema(),
		Exclusive:    o.Exclusive,
		MustExist:    o.MustExist,
		Reserve:      o.Reserve,
		FreeSpace:    blob.FreeSpace,
		Now:          db.now,
		Logger:       db.log,
		OnCommit:     o.OnCommit,
		OnRead:       o.OnRead,
		Participants: participants,
	})
	if err != nil {
		return nil, err
	}
	if db.opts.UploadDir == "" {
		db.opts.UploadDir = db.Path() + ".uploads"
	}
	db.copies = search.NewCopies(db.kernel, db.now, db.log)
	db.artifacts = artifact.New(artifact.Options{
		Database:  db.kernel,
		Backends:  o.Backends,
		UploadDir: db.opts.UploadDir,
		Now:       db.now,
		Logger:    db.log,
	})
	if o.Exclusive { // before the first commit
		err = db.ask(ctx, db.logLostWrites)
	}
	if err == nil {
		err = db.points.Open(ctx, db.kernel)
	}
	if err == nil && o.Exclusive {
		err = db.artifacts.Recover()
	}
	if err != nil {
		return nil, errors.Join(sqlite.OpenError(db.Path(), err), db.Close())
	}
	db.kernel.Go(db.copies.Run)
	db.kernel.Go(db.artifacts.Run)
	if o.Exclusive {
		db.kernel.Go(db.purgeExpired)
	}
	return db, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrationFiles has the folder of migrations; tests replace it.
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
func (db *DB) Close() error { return db.kernel.Close() }

// Path returns the absolute path of the database file.
func (db *DB) Path() string { return db.kernel.Path() }

// Ping fails unless the database answers a query.
func (db *DB) Ping(ctx context.Context) error { return db.kernel.Ping(ctx) }

// QueueLength returns how many writes wait for the writer.
func (db *DB) QueueLength() int { return db.kernel.QueueLength() }

// Size returns the size in bytes of the database file and its write-ahead log.
func (db *DB) Size() (file, wal int64, err error) { return db.kernel.Size() }

// Backup writes a copy of the database as it is at one moment to path, while
// others go on writing. The copy is verified and on disk when it returns. It
// refuses to overwrite a file.
func (db *DB) Backup(ctx context.Context, path string) error { return db.kernel.Backup(ctx, path) }

// Verify fails unless the file at path is a sound database of tracker that this
// program can open. It does not change it.
func Verify(ctx context.Context, path string) error { return schema().Verify(ctx, path) }

// Restore puts the backup src in the place of the database dst and returns
// where the former one was put, "" when there was none. It refuses while a
// server has dst, and over a database unless force is set.
func Restore(ctx context.Context, src, dst string, force bool, now time.Time) (aside string, err error) {
	return schema().Restore(ctx, src, dst, force, now)
}
