// Package domain holds the common parts of the packages of the store: transactions with an
// acting user and a time, the rights of that user, and the records on which rights depend.
//
// Read, Write and their variants run a function on a snapshot or in the writer. There
// Tx.AllowProject, Tx.AllowExperiment, Tx.AllowIteration and Tx.AllowArtifact find a record
// and return an *Error if the actor does not have the right in its project. Tx.Discard moves
// a record to the trash, and Tx.Found leaves out the records in the trash. Changes of rows are
// announced to event streams and searches without a call (announce.go). A Write whose context
// has an idempotency key is carried out once.
//
// The package handles the existence and the rights of records. The packages on top of it
// handle the contents of records and the operations on them.
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
	Points    *points.Engine // points of the metrics
	Artifacts *artifact.Store
	Copies    *search.Copies // copies of the statistics that searches use
	Orders    search.Orders  // cached orders of former searches
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
	db.Points = points.New(points.Options{Logger: db.Log, NoRollups: o.NoRollups, OnChange: db.announceSeries})
	return db
}

// Participants returns the participants of every commit, in their order. Package store
// adds more.
func (db *DB) Participants() []sqlite.Participant {
	return []sqlite.Participant{db.Points.Participant(), &db.openIterations, &announcer{db: db}, db.Journal, db.LastSeen}
}

// Options are the options of Open.
type Options struct {
	// Path is the path of the SQLite file. The file and its folder are created if they
	// do not exist.
	Path string
	// Exclusive locks the lock file beside the database, as a server does. Open
	// returns an error if another process holds the lock.
	Exclusive bool
	// Reserve is the size in bytes of a file beside the database whose space deletions
	// may use when the disk is full; 0 for no file. It requires Exclusive.
	Reserve int64
	// MustExist makes Open return an error if the file is missing or empty.
	MustExist bool
	// Scratch is set for a temporary file that is not used after a crash. Commits do
	// not wait for the disk.
	Scratch bool
	// NoRollups is set for a file whose curves are not drawn. No rollups are written.
	NoRollups bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives failures that can't be returned to a caller; nil discards them.
	Logger *slog.Logger
	// OnCommit is called by the writer after each transaction; it may be nil.
	OnCommit func(sqlite.CommitStats)
	// OnRead is called before each snapshot is taken, with the context of the
	// caller; it may be nil.
	OnRead func(context.Context)
	// BcryptCost is the bcrypt cost of new passwords; 0 means bcrypt.DefaultCost.
	BcryptCost int
	// Backends hold the bytes of artifacts; the zero value is only the database.
	Backends artifact.Backends
	// UploadDir is the folder that holds the received bytes of incomplete resumable
	// uploads. It is created when it is needed; "" means a folder beside the database.
	UploadDir string
	// MaxUpload is the size in bytes of the largest artifact; 0 for no limit.
	MaxUpload int64
	// TrashAge is the time that deleted records stay in the trash; 0 deletes them
	// permanently at once.
	TrashAge time.Duration
}
