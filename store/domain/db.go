// Package domain holds the common parts of the packages of the store: transactions with an
// acting user and a time, the rights of that user, and the records on which rights depend.
//
// Read, Write and their variants run a function on a snapshot or in the writer. There
// Tx.AllowProject, Tx.AllowExperiment, Tx.AllowIteration and Tx.AllowArtifact find a record,
// and fail with an *Error unless the actor has the right in its project. Tx.Discard moves a
// record to the trash, and Tx.Found leaves out what is there. Tx.NoteIteration and Tx.Touch
// announce a change to event streams and searches. A Write whose context has an idempotency
// key is carried out once.
//
// The package knows which records there are and which rights they need. The contents of
// records, and the operations on them, are in the packages on top of it.
package domain

import (
	"context"
	"log/slog"
	"time"

	"tracker/store/artifact"
	"tracker/store/journal"
	"tracker/store/lastseen"
	"tracker/store/points"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// DB is an open database with the parts that keep state in memory. Package store opens it.
type DB struct {
	Options   Options
	Kernel    *sqlite.DB
	Now       func() time.Time
	Log       *slog.Logger
	Points    *points.Engine // of the metrics
	Artifacts *artifact.Store
	Copies    *search.Copies // of the statistics that people search for
	Orders    search.Orders  // of former searches
	Journal   *journal.Journal
	LastSeen  *lastseen.Times
	// SearchLimit is the time limit of the searches of one read.
	SearchLimit time.Duration

	openIterations openIterations
}

// New returns a DB without Kernel and Artifacts, which need its Participants.
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
	db.Points = points.New(points.Options{Logger: db.Log, NoRollups: o.NoRollups, OnChange: db.noteSeries})
	return db
}

// Participants returns the parts of db that take part in every commit, in their order.
// Package store adds its own.
func (db *DB) Participants() []sqlite.Participant {
	return []sqlite.Participant{db.Points.Participant(), &db.openIterations, db.Journal, db.LastSeen}
}

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
	// Scratch is set for a file that is of no use after a crash: commits do not wait for the
	// disk.
	Scratch bool
	// NoRollups is set for a file from which no curves are drawn.
	NoRollups bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger gets failures that can't be returned to a caller; nil discards them.
	Logger *slog.Logger
	// OnCommit is called by the writer after each transaction; it may be nil.
	OnCommit func(sqlite.CommitStats)
	// OnRead is called before each snapshot is taken, with the context of the
	// caller; it may be nil.
	OnRead func(context.Context)
	// BcryptCost of new passwords; 0 means bcrypt.DefaultCost.
	BcryptCost int
	// Backends hold the bytes of artifacts; the zero value is the database alone.
	Backends artifact.Backends
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
