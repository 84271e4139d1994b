package domain

import (
	"context"
	"time"

	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Tx is a transaction with an actor and a time.
type Tx struct {
	*sqlite.Tx
	DB       *DB
	Actor    Actor
	Now      scalar.Time
	grants   map[grantKey]grant // cached rights in a snapshot; nil in the writer
	searched time.Duration      // total time of the searches so far
	inPoints *points.Tx         // result of Points; nil before the first call
	Seen     []int64            // numbers of iterations that were seen in the transaction
	Flushes  int64              // LastSeen.Flushes at the beginning of the transaction
	Commits  uint64             // Orders.Commits before the snapshot
	trash    bool               // reads also find records in the trash
	address  string             // network address of the client; "" if unknown
}

// Points returns the metric points that are visible in the transaction.
func (tx *Tx) Points() *points.Tx {
	if tx.inPoints == nil || tx.inPoints.Tx != tx.Tx { // WithinLimit replaces tx.Tx during a search
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

// ReadAs is Read with the given actor.
func ReadAs[T any](ctx context.Context, db *DB, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	return Read(ctx, db, func(tx *Tx) (T, error) {
		tx.Actor = actor
		return fn(tx)
	})
}

// ReadParallel runs fn for each part in parts, each call on a separate snapshot. It uses one
// goroutine for each CPU core.
func ReadParallel[P, R any](ctx context.Context, db *DB, parts []P, fn func(*Tx, P) (R, error)) ([]R, error) {
	return sqlite.ReadParallel(ctx, db.Kernel, parts, func(snapshot *sqlite.Tx, part P) (R, error) {
		return fn(db.Reading(snapshot), part)
	})
}

// ReadShort is Read for a few lookups by key. It does not wait for running searches.
func ReadShort[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (out T, err error) {
	err = db.Kernel.ReadShort(ctx, func(snapshot *sqlite.Tx) error {
		out, err = fn(db.Reading(snapshot))
		return err
	})
	return out, err
}

// Reading returns a transaction without an actor on the given snapshot.
func (db *DB) Reading(snapshot *sqlite.Tx) *Tx {
	return &Tx{Tx: snapshot, DB: db, Now: scalar.TimeOf(db.Now()), Flushes: db.LastSeen.Flushes(), Commits: db.Orders.Commits(),
		trash: trashFrom(snapshot.Context())}
}

// Ask runs check on a snapshot and returns its error. Callers use Ask before expensive work.
func (db *DB) Ask(ctx context.Context, check func(*Tx) error) error {
	_, err := Read(ctx, db, func(tx *Tx) (struct{}, error) { return struct{}{}, check(tx) })
	return err
}

// Write runs fn in the writer. It returns after the changes are on disk. The writer can call fn
// several times, so fn must have no effects other than its changes and its result.
//
// If ctx has an idempotency key, Write stores the result together with the changes. A second
// call with the same key returns the stored result and does not run fn.
func Write[T any](ctx context.Context, db *DB, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	return WriteKind(ctx, db, sqlite.Change, actor, fn)
}

// AppendPoints is Write for a function that only appends points.
func AppendPoints[T any](ctx context.Context, db *DB, actor Actor, fn func(*Tx) (T, error)) (T, error) {
	kind := sqlite.Append
	if KeyFrom(ctx).Key != "" {
		kind = sqlite.Upkeep // inserts a row for the idempotency key
	}
	return WriteKind(ctx, db, kind, actor, fn)
}

// WriteKind is Write with the given kind of change.
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

// Change is Write for a function without a result.
func Change(ctx context.Context, db *DB, actor Actor, fn func(*Tx) error) error {
	return db.write(ctx, sqlite.Change, actor, fn)
}

// Append is Change for a function that only appends points.
func Append(ctx context.Context, db *DB, actor Actor, fn func(*Tx) error) error {
	return db.write(ctx, sqlite.Append, actor, fn)
}

// Remove is Change for a function that deletes records. When the disk is full, fn can use the
// reserve.
func Remove(ctx context.Context, db *DB, actor Actor, fn func(*Tx) error) error {
	return db.write(ctx, sqlite.Change|sqlite.Freeing, actor, fn)
}

// maxPart is the maximum duration of a part of a large change.
const maxPart = 20 * time.Millisecond

// Part starts a timer for one part of a large change. full reports whether the part has taken
// maxPart. When full returns true, the caller should continue in another transaction, because
// other writers are waiting.
func Part() (full func() bool) {
	start := time.Now()
	return func() bool { return time.Since(start) >= maxPart }
}

func (db *DB) write(ctx context.Context, kind sqlite.Kind, actor Actor, fn func(*Tx) error) error {
	return db.Kernel.Write(ctx, kind, func(t *sqlite.Tx) error {
		tx := &Tx{Tx: t, DB: db, Actor: actor, Now: scalar.TimeOf(db.Now()), address: AddressFrom(ctx)}
		if err := fn(tx); err != nil {
			return err
		}
		db.LastSeen.Touch(tx.Seen, tx.Now)
		return nil
	})
}
