package store

import (
	"context"
	"io/fs"

	"tracker/blob"
)

// Piece queues fn for the writer, as every write does.
func (db *DB) Piece(ctx context.Context, fn func() error) error {
	return change(ctx, db, System, func(*tx) error { return fn() })
}

// WriterPragma runs a pragma on the writer's connection and returns its answer.
func (db *DB) WriterPragma(pragma string) (n int64, err error) {
	err = change(context.Background(), db, System, func(tx *tx) error {
		return tx.row(`PRAGMA ` + pragma).Scan(&n)
	})
	return n, err
}

// Read runs fn on one snapshot, as every read does.
func (db *DB) Read(ctx context.Context, fn func() error) error {
	return db.ask(ctx, func(*tx) error { return fn() })
}

// SetMigrations puts other migrations in the place of the program's own until
// restore is called.
func SetMigrations(files fs.FS) (restore func()) {
	own := migrationFiles
	migrationFiles = files
	return func() { migrationFiles = own }
}

// ReadMigrations returns the SQL of every migration.
func ReadMigrations() ([]string, error) { return migrations() }

// RemoveUnknown removes bytes that a collection has found to have no row.
func (db *DB) RemoveUnknown(ctx context.Context, name Backend, b blob.Blob) (bool, error) {
	return db.removeUnknown(ctx, name, b)
}

// PageSize is that of a new file.
const PageSize = pageSize

// MaxPieces is the limit of one transaction.
const MaxPieces = maxPieces

// DSN and LockPath say where the files of a database are.
var (
	DSN      = dsn
	LockPath = lockPath
)

// Adjectives and Nouns are what made-up names consist of.
var (
	Adjectives = adjectives
	Nouns      = nouns
)

// MoveRecent moves all points that are in table recent now, as it is done from
// time to time; without the lock there is nothing to do.
func (db *DB) MoveRecent() error {
	if db.recents == nil {
		return nil
	}
	return db.moveRecent(context.Background())
}

// MetricsWhile lists the points of an iteration on a snapshot that is older than
// what fn does.
func (db *DB) MetricsWhile(iterationID string, fn func() error) (l List[Metric], err error) {
	return l, db.ask(context.Background(), func(tx *tx) error {
		it, err := tx.allowIteration(System, iterationID, rightRead)
		if err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
		all, err := tx.seriesOfIteration(it.num, nil)
		if err != nil {
			return err
		}
		l = List[Metric]{Limit: MaxLimit}
		for _, s := range all {
			l.Total += int(s.Count)
		}
		return tx.listMetrics(&l, all)
	})
}

// Statistics are what the store knows of the points of a metric, wherever they
// are.
type Statistics struct {
	Stats stats
	Key   string
}

// StatisticsOf returns those of every metric of an iteration.
func (db *DB) StatisticsOf(iterationID string) (all []Statistics, err error) {
	return all, db.ask(context.Background(), func(tx *tx) error {
		it, err := tx.allowIteration(System, iterationID, rightRead)
		if err != nil {
			return err
		}
		series, err := tx.seriesOfIteration(it.num, nil)
		for _, s := range series {
			all = append(all, Statistics{s.stats, s.key})
		}
		return err
	})
}

// QueueSize is how many writes can wait.
func (db *DB) QueueSize() int { return cap(db.queue) }

// MaxReaders is how many reads can run at once.
func (db *DB) MaxReaders() int { return cap(db.readers) }

// CopyForSearch copies the statistics of a metric in every iteration, as
// searches have it done.
func (db *DB) CopyForSearch(key string) error {
	return change(context.Background(), db, System, func(tx *tx) error {
		var nums []int64
		if err := tx.all(&nums, `SELECT num FROM iteration`); err != nil {
			return err
		}
		return tx.copyStats(key, nums)
	})
}
