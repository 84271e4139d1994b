// Package domain holds the common parts of the store's packages: transactions with an actor and a
// time, the rights of actors, and the records that determine these rights.
//
// Read, Write and their variants run a function in a transaction. Read uses a snapshot, and
// Write uses the writer. In the transaction, Tx.AllowProject, Tx.AllowExperiment,
// Tx.AllowIteration and Tx.AllowArtifact find a record and check the actor's right in its
// project. They return an *Error if the actor lacks the right. Tx.Discard moves a record to the
// trash. Tx.Found returns an SQL condition that omits records in the trash. Triggers announce
// changed rows to event streams and searches (announce.go). If the context of a Write has an
// idempotency key, the write runs once.
//
// The package determines whether a record exists and who may access it. The packages that import
// it define the fields of the records and the operations on them.
package domain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tracker/store/artifact"
	"tracker/store/journal"
	"tracker/store/lastseen"
	"tracker/store/points"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// DB is an open database with its in-memory state. Package store opens it.
type DB struct {
	Options   Options
	Kernel    *sqlite.DB
	Now       func() time.Time
	Log       *slog.Logger
	Points    *points.Engine // points of all metrics
	Artifacts *artifact.Store
	Copies    *search.Copies // statistics copied for searches
	Orders    search.Orders  // cached sort orders of earlier searches
	Journal   *journal.Journal
	LastSeen  *lastseen.Times
	// SearchLimit is the time limit for all searches of one read.
	SearchLimit time.Duration

	openIterations openIterations
}

// New returns a DB without Kernel and Artifacts. The caller opens Kernel and Artifacts with the
// DB's Participants and sets them.
func New(o Options) *DB {
	db := &DB{
		Options:     o,
		Now:         o.Now,
		Log:         o.Logger,
		SearchLimit: SearchLimit,
		Journal:     journal.New(),
		LastSeen:    lastseen.New(),
	}
	if db.Now == nil {
		db.Now = time.Now
	}
	if db.Log == nil {
		db.Log = slog.New(slog.DiscardHandler)
	}
	db.Points = points.New(points.Options{Logger: db.Log, NoRollups: o.NoRollups, OnChange: db.announceSeries})
	return db
}

// Participants returns the participants in commits, in the order in which they are called.
// Package store adds more participants.
func (db *DB) Participants() []sqlite.Participant {
	return []sqlite.Participant{db.Points.Participant(), &db.openIterations, &announcer{db: db}, db.Journal, db.LastSeen}
}

// Repeat calls fn immediately and then after every pause. It logs errors of fn with the given
// message. Repeat returns when the database closes.
func (db *DB) Repeat(ctx context.Context, pause time.Duration, message string, fn func() error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if err := fn(); err != nil && ctx.Err() == nil && !errors.Is(err, sqlite.ErrClosed) {
			db.Log.Warn(message, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Options configures Open.
type Options struct {
	// Path is the path of the SQLite file. Open creates the file and its folder if they do not
	// exist.
	Path string
	// Exclusive locks the lock file beside the database, as a server does. If another process
	// holds the lock, Open returns an error.
	Exclusive bool
	// Reserve is the size in bytes of a reserve file beside the database; 0 means no file.
	// Deletions can use its space when the disk is full. Reserve requires Exclusive.
	Reserve int64
	// MustExist makes Open return an error if the SQLite file is missing or empty.
	MustExist bool
	// Scratch is set for a temporary database that need not survive a crash. Its commits do not
	// wait for the disk.
	Scratch bool
	// PageSize is the page size of a new SQLite file in bytes; 0 means sqlite.PageSize.
	PageSize int
	// NoRollups turns rollups off, for a database without charts.
	NoRollups bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives errors that can't be returned to a caller; nil discards them.
	Logger *slog.Logger
	// OnCommit is called by the writer after each transaction; nil means no call.
	OnCommit func(sqlite.CommitStats)
	// OnRead is called before each snapshot is taken, with the caller's context; nil means no
	// call.
	OnRead func(context.Context)
	// BcryptCost is the bcrypt cost of new passwords; 0 means bcrypt.DefaultCost.
	BcryptCost int
	// Backends configures the storage of artifact bytes. The zero value stores them only in the
	// database.
	Backends artifact.Backends
	// UploadDir is the folder for the received bytes of incomplete resumable uploads. It is
	// created when it is first used; "" means a folder beside the database.
	UploadDir string
	// MaxUpload is the maximum size of an artifact in bytes; 0 means no limit.
	MaxUpload int64
	// TrashAge is the time that deleted records stay in the trash. If it is 0, records are
	// deleted permanently at once.
	TrashAge time.Duration
	// AuditAge is the time after which entries of the audit trail are deleted; 0 means never. It is at
	// least 30 days.
	AuditAge time.Duration
}
