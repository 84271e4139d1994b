package store

import (
	"context"
	"time"

	"tracker/store/points"
	"tracker/store/sqlite"
)

// tx is a transaction with the actor and the time, on which rules depend.
type tx struct {
	*sqlite.Tx
	db       *DB
	actor    Actor
	now      Time
	grants   map[grantKey]grant // of a snapshot, as far as they were looked up
	searched time.Duration      // time that searches have taken
	inPoints *points.Tx         // nil before the first use
	seen     []int64            // numbers of the iterations that were seen
	flushes  int64              // of last seen times, when the transaction began
	commits  uint64             // Orders.Commits, before a snapshot was taken
	trash    bool               // reads find records in the trash, too
}

// points returns the points as the transaction sees them.
func (tx *tx) points() *points.Tx {
	if tx.inPoints == nil || tx.inPoints.Tx != tx.Tx { // a search has a context of its own
		tx.inPoints = tx.db.points.In(tx.Tx)
	}
	return tx.inPoints
}

// read runs fn on one snapshot of the database.
func read[T any](ctx context.Context, db *DB, fn func(*tx) (T, error)) (out T, err error) {
	err = db.kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		out, err = fn(db.reading(snapshot))
		return err
	})
	return out, err
}

// readParallel runs fn for each part on a snapshot of its own, with as many
// goroutines as there are cores.
func readParallel[P, R any](ctx context.Context, db *DB, parts []P, fn func(*tx, P) (R, error)) ([]R, error) {
	return sqlite.ReadParallel(ctx, db.kernel, parts, func(snapshot *sqlite.Tx, part P) (R, error) {
		return fn(db.reading(snapshot), part)
	})
}

// readShort is read for a few look-ups by key that must not wait for searches.
func readShort[T any](ctx context.Context, db *DB, fn func(*tx) (T, error)) (out T, err error) {
	err = db.kernel.ReadShort(ctx, func(snapshot *sqlite.Tx) error {
		out, err = fn(db.reading(snapshot))
		return err
	})
	return out, err
}

func (db *DB) reading(snapshot *sqlite.Tx) *tx {
	return &tx{Tx: snapshot, db: db, now: toTime(db.now()), flushes: db.lastSeen.Flushes(), commits: db.orders.Commits(),
		trash: trashFrom(snapshot.Context())}
}

// ask runs a check on a snapshot, before work that is expensive.
func (db *DB) ask(ctx context.Context, check func(*tx) error) error {
	_, err := read(ctx, db, func(tx *tx) (struct{}, error) { return struct{}{}, check(tx) })
	return err
}

// write runs fn in the writer and returns when its changes are on disk. fn can run more
// than once: it must not keep anything but its result.
//
// When ctx carries an idempotency key, the result is kept with the write, and
// a second call with that key returns it without running fn.
func write[T any](ctx context.Context, db *DB, actor Actor, fn func(*tx) (T, error)) (T, error) {
	return writeOnce(ctx, db, sqlite.Change, actor, fn)
}

// appendPoints is write for an fn that changes nothing but the points it appends.
func appendPoints[T any](ctx context.Context, db *DB, actor Actor, fn func(*tx) (T, error)) (T, error) {
	kind := sqlite.Append
	if keyFrom(ctx).Key != "" {
		kind = sqlite.Upkeep // the key has a row
	}
	return writeOnce(ctx, db, kind, actor, fn)
}

func writeOnce[T any](ctx context.Context, db *DB, kind sqlite.Kind, actor Actor, fn func(*tx) (T, error)) (T, error) {
	var out T
	err := db.write(ctx, kind, actor, func(tx *tx) error {
		var err error
		out, err = once(tx, keyFrom(ctx), fn)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// change is write for an fn without a result.
func change(ctx context.Context, db *DB, actor Actor, fn func(*tx) error) error {
	return db.write(ctx, sqlite.Change, actor, fn)
}

// remove is change for an fn that deletes records: on a full disk it may use the
// reserve.
func remove(ctx context.Context, db *DB, actor Actor, fn func(*tx) error) error {
	return db.write(ctx, sqlite.Change|sqlite.Freeing, actor, fn)
}

// touch records that a write changes an iteration: its row, or what belongs to it alone.
func (tx *tx) touch(i iterationRef) { tx.db.orders.Touch(i.experimentID, i.num) }

// within records that a write changes nothing that searches for iterations read but the
// iterations that it touches. Without that all of them count as changed.
func (tx *tx) within() { tx.db.orders.Within() }

func (db *DB) write(ctx context.Context, kind sqlite.Kind, actor Actor, fn func(*tx) error) error {
	return db.kernel.Write(ctx, kind, func(t *sqlite.Tx) error {
		tx := &tx{Tx: t, db: db, actor: actor, now: toTime(db.now())}
		if err := fn(tx); err != nil {
			return err
		}
		db.lastSeen.Touch(tx.seen, tx.now)
		return nil
	})
}
