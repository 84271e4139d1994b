package store

import (
	"context"
	"io/fs"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
)

// WriterPragma runs a pragma on the writer's connection and returns its result.
func (db *DB) WriterPragma(pragma string) (n int64, err error) {
	err = domain.Change(context.Background(), db.base, domain.System, func(tx *domain.Tx) error {
		return tx.Row(`PRAGMA ` + pragma).Scan(&n)
	})
	return n, err
}

// Read runs fn in a read transaction.
func (db *DB) Read(ctx context.Context, fn func() error) error {
	return db.base.Ask(ctx, func(*domain.Tx) error { return fn() })
}

// SetMigrations replaces the migrations of the program until restore is called.
func SetMigrations(files fs.FS) (restore func()) {
	own := migrationFiles
	migrationFiles = files
	return func() { migrationFiles = own }
}

// ReadMigrations returns the SQL of every migration.
func ReadMigrations() ([]string, error) { return schema().Scripts() }

// Compact moves all points of the head to the metric table, as the server does regularly. Without
// the lock, it does nothing.
func (db *DB) Compact() error { return db.base.Points.Compact(context.Background()) }

// MetricsWhile takes a snapshot, calls fn, and then lists the points of an iteration in the
// snapshot.
func (db *DB) MetricsWhile(iterationID string, fn func() error) (l domain.List[runs.Metric], err error) {
	return l, db.base.Ask(context.Background(), func(tx *domain.Tx) error {
		it, err := tx.AllowIteration(domain.System, iterationID, domain.RightRead)
		if err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
		l, err = runs.Metrics(tx, it.IterationRef, runs.MetricQuery{Page: domain.Page{Limit: domain.MaxLimit}})
		return err
	})
}

// StatisticsOf returns the statistics of every metric of an iteration.
func (db *DB) StatisticsOf(iterationID string) (all []points.Statistics, err error) {
	return all, db.base.Ask(context.Background(), func(tx *domain.Tx) error {
		it, err := tx.AllowIteration(domain.System, iterationID, domain.RightRead)
		if err == nil {
			all, err = tx.Points().Statistics(it.Num)
		}
		return err
	})
}
