// Package points is the metric engine. It stores the points of series in a SQLite file and
// returns them as lists, statistics and curves.
//
// A series holds the points of one metric of one iteration. The points are ordered by step and,
// at the same step, by the order of writing (seq). Two tables hold the points. The metric table
// is clustered by series and step. The recent table is append-only.
//
// Writing: Tx.Append (append.go) assigns series, step and seq to samples. The points wait in
// the open series (open_series.go) until the commit. The commit inserts a few points of many
// series into recent, and many points of one series into metric. The head (head.go) holds the
// points of recent in memory. Compaction (compact.go) moves points to metric and writes rollups
// (rollup.go) for the curves.
//
// Reading: a row of the series table holds the statistics of a series at the time when the row
// was written. Readers add the later points of recent (Tx.seriesWhere in series.go, Tx.recent in
// head.go). Every snapshot shows each point once, even during a compaction. Where possible,
// curves (curve.go) read rollups instead of points.
//
// Iterations are identified by number. The caller is responsible for users, permissions and
// names.
package points

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// The types of a point's fields.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// ErrNotFound is returned if no point has the given id.
var ErrNotFound = errors.New("there is no such point")

// InvalidError reports an invalid field of a sample or a query.
type InvalidError struct {
	Field   string
	Message string // one-sentence message for the client
}

func (e *InvalidError) Error() string { return e.Message }

func invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Sprintf(format, args...)}
}

// Options configure an Engine.
type Options struct {
	// Logger receives the errors of background work.
	Logger *slog.Logger
	// NoRollups disables rollups. Set it for a file that is not used for curves.
	NoRollups bool
	// OnChange is called in the writer's transaction after the points of a series have changed.
	// last is the largest step, nil if the series has no points left.
	OnChange func(tx *sqlite.Tx, iteration int64, key string, last *Step) error
}

// Engine stores the points of one file. Its methods are safe for concurrent use.
type Engine struct {
	opts Options
	db   *sqlite.DB
	open *openSeries // used by the writer only
	// head is nil if this process does not hold the lock of the file. Without the lock, another
	// process can write to the recent table. Without a head, reads use the table, and the writer
	// inserts all points into the metric table.
	head     *head
	toRollUp chan int64 // ids of series that wait for rollups in the background
}

// New returns an engine. Call Open before any other use.
func New(o Options) *Engine {
	e := &Engine{opts: o, toRollUp: make(chan int64, 1024)}
	e.open = &openSeries{engine: e}
	return e
}

// Participant returns the engine's sqlite.Participant for the DB that is passed to Open.
func (e *Engine) Participant() sqlite.Participant { return e.open }

// Open attaches the engine to db. The participants of db must include Participant. Open must be
// called before the first write.
//
// If db is exclusive, Open loads the head and starts the background work, which ends when db
// closes.
func (e *Engine) Open(ctx context.Context, db *sqlite.DB) error {
	e.db = db
	if !db.Exclusive() {
		return nil
	}
	err := db.Read(ctx, func(tx *sqlite.Tx) (err error) {
		e.head, err = loadHead(tx)
		return err
	})
	if err == nil {
		db.Go(e.maintain)
	}
	return err
}

// Tx reads and writes points in one transaction of the file.
type Tx struct {
	*sqlite.Tx
	engine *Engine
	window window // visible part of the recent table, set by the first look-up
}

// In returns tx as a transaction on the engine's points.
func (e *Engine) In(tx *sqlite.Tx) *Tx { return &Tx{Tx: tx, engine: e} }

// upkeep runs fn in the writer as an Upkeep job. fn must leave the engine's caches valid.
func (e *Engine) upkeep(ctx context.Context, fn func(*Tx) error) error {
	return e.db.Write(ctx, sqlite.Upkeep, func(tx *sqlite.Tx) error { return fn(e.In(tx)) })
}

// changed calls Options.OnChange for s.
func (tx *Tx) changed(s *series) error {
	return tx.engine.opts.OnChange(tx.Tx, s.iteration, s.key, s.LastStep)
}
