package domain

import (
	"context"
	"time"

	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Tx is a transaction with the acting user and the time.
type Tx struct {
	*sqlite.Tx
	DB       *DB
	Actor    Actor
	Now      scalar.Time
	grants   map[grantKey]grant // cached rights; nil in the writer
	searched time.Duration      // total time of the searches
	inPoints *points.Tx         // nil before the first use
	Seen     []int64            // numbers of the iterations that were seen
	Flushes  int64              // LastSeen.Flushes when the transaction began
	Commits  uint64             // Orders.Commits before the snapshot was taken
	trash    bool               // reads also find records in the trash
}

// Points returns the points that are visible in the transaction.
func (tx *Tx) Points() *points.Tx {
	if tx.inPoints == nil || tx.inPoints.Tx != tx.Tx { // a search has its own context
		tx.inPoints = tx.DB.Points.In(tx.Tx)
	}
	return tx.inPoints
}

// Read runs fn on a snapshot of the database.
func Read[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (out T, err error) {
	err = db.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		out, err = fn(db.Reading(snapshot))
		return err
	})
	return out, err
}

// ReadAs is Read with an actor.
func ReadAs[T any](ctx context.Context, db *DB, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	return Read(ctx, db, func(tx *Tx) (T, error) {
		tx.Actor = actor
		return fn(tx)
	})
}

// ReadParallel runs fn for each part on a separate snapshot, with as many goroutines as
// there are cores.
func ReadParallel[P, R any](ctx context.Context, db *DB, parts []P, fn func(*Tx, P) (R, error)) ([]R, error) {
	return sqlite.ReadParallel(ctx, db.Kernel, parts, func(snapshot *sqlite.Tx, part P) (R, error) {
		return fn(db.Reading(snapshot), part)
	})
}

// ReadShort is Read for a few lookups by key, which do not wait for searches.
func ReadShort[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (out T, err error) {
	err = db.Kernel.ReadShort(ctx, func(snapshot *sqlite.Tx) error {
		out, err = fn(db.Reading(snapshot))
		return err
	})
	return out, err
}

// Reading returns the transaction of a snapshot, without an actor.
func (db *DB) Reading(snapshot *sqlite.Tx) *Tx {
	return &Tx{Tx: snapshot, DB: db, Now: scalar.TimeOf(db.Now()), Flushes: db.LastSeen.Flushes(), Commits: db.Orders.Commits(),
		trash: trashFrom(snapshot.Context())}
}

// Ask runs a check on a snapshot, for example before expensive work.
func (db *DB) Ask(ctx context.Context, check func(*Tx) error) error {
	_, err := Read(ctx, db, func(tx *Tx) (struct{}, error) { return struct{}{}, check(tx) })
	return err
}

// Write runs fn in the writer and returns when its changes are on disk. fn may be called
// more than once, so it must not have effects other than its changes and its result.
//
// If ctx has an idempotency key, the result is stored with the changes, and a second call
// with the same key returns it without running fn.
func Write[T any](ctx context.Context, db *DB, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	return WriteKind(ctx, db, sqlite.Change, actor, fn)
}

// AppendPoints is Write for an fn that only appends points.
func AppendPoints[T any](ctx context.Context, db *DB, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	kind := sqlite.Append
	if KeyFrom(ctx).Key != "" {
		kind = sqlite.Upkeep // a row is inserted for the key
	}
	return WriteKind(ctx, db, kind, actor, fn)
}

// WriteKind is Write for a kind of change.
func WriteKind[T any](ctx context.Context, db *DB, kind sqlite.Kind, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	var out T
	err := db.write(ctx, kind, actor, func(tx *Tx) error {
		var err error
		out, err = once(tx, KeyFrom(ctx), fn)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// Change is Write for an fn without a result.
func Change(ctx context.Context, db *DB, actor Actor, fn func(*Tx) error) error {
	return db.write(ctx, sqlite.Change, actor, fn)
}

// Remove is Change for an fn that deletes records, which may use the reserve when the disk
// is full.
func Remove(ctx context.Context, db *DB, actor Actor, fn func(*Tx) error) error {
	return db.write(ctx, sqlite.Change|sqlite.Freeing, actor, fn)
}

// maxPart is the time after which Part reports that a part is full.
const maxPart = 20 * time.Millisecond

// Part starts a part of a large change. The function that it returns reports whether the part
// has taken so long that the rest must be done in another transaction, so that others can
// write in between.
func Part() (full func() bool) {
	start := time.Now()
	return func() bool { return time.Since(start) >= maxPart }
}

func (db *DB) write(ctx context.Context, kind sqlite.Kind, actor Actor, fn func(*Tx) error) error {
	return db.Kernel.Write(ctx, kind, func(t *sqlite.Tx) error {
		tx := &Tx{Tx: t, DB: db, Actor: actor, Now: scalar.TimeOf(db.Now())}
		if err := fn(tx); err != nil {
			return err
		}
		db.LastSeen.Touch(tx.Seen, tx.Now)
		return nil
	})
}
