// Package points is the metric engine: it keeps the points of series in a SQLite
// file and reads them back as lists, statistics and curves.
//
// A series is the points of one metric of one iteration, ordered by step and,
// among equal steps, by the time of writing (seq). Points live in two tables:
// metric is clustered by series and step; recent is appended to.
//
// Writing: Tx.Append (append.go) gives samples their series, step and seq. They
// wait in the open series (open_series.go) until the commit, which inserts a few
// points of many series into recent and many points of one series into metric.
// The head (head.go) has the points of recent in memory. Compaction (compact.go)
// moves them to metric and writes rollups (rollup.go) for the curves.
//
// Reading: a series is its row in table series, with the statistics of what was
// there when the row was written, and the points of recent that came later
// (Tx.seriesWhere in series.go, Tx.recent in head.go). Every snapshot shows each
// point once, whatever compaction does meanwhile. Curves (curve.go) read rollups
// instead of points where those will do.
//
// An iteration is a number here. The engine knows no users, rights or names.
package points

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// The values that points are made of.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// ErrNotFound is returned for the id of a point that does not exist.
var ErrNotFound = errors.New("there is no such point")

// InvalidError reports what is wrong with one field of a sample or a query.
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
	// Logger gets failures that no caller can be given.
	Logger *slog.Logger
	// NoRollups is set for a file from which no curves are drawn.
	NoRollups bool
	// OnChange is called in the writer's transaction when the points of a series
	// have changed. last is its largest step, nil when it has no point any more.
	OnChange func(tx *sqlite.Tx, iteration int64, key string, last *Step) error
}

// Engine keeps the points of one file. Its methods are safe for concurrent use.
type Engine struct {
	opts Options
	db   *sqlite.DB
	open *openSeries // the writer's own
	// head is nil without the lock of the file: another process may write to
	// table recent then, and reads take its points from the table. The writer
	// puts all points into table metric.
	head     *head
	toRollUp chan int64 // ids of series that are rolled up in the background
}

// New returns an engine that must be opened.
func New(o Options) *Engine {
	e := &Engine{opts: o, toRollUp: make(chan int64, 1024)}
	e.open = &openSeries{engine: e}
	return e
}

// Participant returns the part that the engine has in each commit of its file.
func (e *Engine) Participant() sqlite.Participant { return e.open }

// Open begins to use db, of which Participant must be one: it loads the head and
// compacts it in the background until db closes. It must be called before the
// first write.
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
	window window // of table recent, once it was looked up
}

// In returns the points as tx sees them.
func (e *Engine) In(tx *sqlite.Tx) *Tx { return &Tx{Tx: tx, engine: e} }

// upkeep runs fn in the writer. fn must leave the caches of the engine valid.
func (e *Engine) upkeep(ctx context.Context, fn func(*Tx) error) error {
	return e.db.Write(ctx, sqlite.Upkeep, func(tx *sqlite.Tx) error { return fn(e.In(tx)) })
}

// changed reports a change of the points of s.
func (tx *Tx) changed(s *series) error {
	return tx.engine.opts.OnChange(tx.Tx, s.iteration, s.key, s.LastStep)
}
