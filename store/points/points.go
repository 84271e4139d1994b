// Package points is the metric engine: it stores the points of series in a SQLite
// file and reads them back as lists, statistics and curves.
//
// A series holds the points of one metric of one iteration, ordered by step and,
// among equal steps, by the order of writing (seq). Points are stored in two tables:
// metric is clustered by series and step; recent is append-only.
//
// Writing: Tx.Append (append.go) assigns series, step and seq to samples. The points
// wait in the open series (open_series.go) until the commit, which inserts a few
// points of many series into recent and many points of one series into metric.
// The head (head.go) holds the points of recent in memory. Compaction (compact.go)
// moves them to metric and writes rollups (rollup.go) for the curves.
//
// Reading: a series is its row in table series, with the statistics at the time when
// the row was written, plus the later points of recent (Tx.seriesWhere in series.go,
// Tx.recent in head.go). Every snapshot shows each point once, also during a
// compaction. Curves (curve.go) read rollups instead of points where possible.
//
// Iterations are identified by numbers. Users, rights and names are the caller's
// concern.
package points

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// The types of the values of a point.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// ErrNotFound is returned for an id that no point has.
var ErrNotFound = errors.New("there is no such point")

// InvalidError reports an invalid field of a sample or a query.
type InvalidError struct {
	Field   string
	Message string // a sentence
}

func (e *InvalidError) Error() string { return e.Message }

func invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Sprintf(format, args...)}
}

// Options configure an Engine.
type Options struct {
	// Logger gets errors that can't be returned to a caller.
	Logger *slog.Logger
	// NoRollups disables rollups, for a file from which no curves are drawn.
	NoRollups bool
	// OnChange is called in the writer's transaction after the points of a series
	// have changed. last is its largest step, nil if it has no points left.
	OnChange func(tx *sqlite.Tx, iteration int64, key string, last *Step) error
}

// Engine stores the points of one file. Its methods are safe for concurrent use.
type Engine struct {
	opts Options
	db   *sqlite.DB
	open *openSeries // used by the writer only
	// head is nil without the lock of the file. Another process may then write to
	// table recent, so reads take its points from the table, and the writer puts all
	// points into table metric.
	head     *head
	toRollUp chan int64 // ids of series that are rolled up in the background
}

// New returns an engine. Open must be called before it is used.
func New(o Options) *Engine {
	e := &Engine{opts: o, toRollUp: make(chan int64, 1024)}
	e.open = &openSeries{engine: e}
	return e
}

// Participant returns the participant of the engine in the commits of its file.
func (e *Engine) Participant() sqlite.Participant { return e.open }

// Open starts the use of db, whose participants must include Participant. It loads
// the head and compacts it in the background until db closes. It must be called
// before the first write.
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
	window window // part of table recent, set by the first look-up
}

// In returns the points that tx sees.
func (e *Engine) In(tx *sqlite.Tx) *Tx { return &Tx{Tx: tx, engine: e} }

// upkeep runs fn in the writer. fn must leave the caches of the engine valid.
func (e *Engine) upkeep(ctx context.Context, fn func(*Tx) error) error {
	return e.db.Write(ctx, sqlite.Upkeep, func(tx *sqlite.Tx) error { return fn(e.In(tx)) })
}

// changed reports a change of the points of s.
func (tx *Tx) changed(s *series) error {
	return tx.engine.opts.OnChange(tx.Tx, s.iteration, s.key, s.LastStep)
}
