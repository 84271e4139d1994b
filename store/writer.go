package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

var errClosing = Errorf(CodeUnavailable, "The server is shutting down; try again when it is back.")

const (
	// maxPieces and maxBatch bound one transaction of the writer, and with it
	// how long the first request in it waits for the last.
	maxPieces = 512
	maxBatch  = 25 * time.Millisecond
	// maxGather bounds how long a transaction is kept open for the callers
	// that were served last and will be back in a moment. It is a fraction of
	// what a commit takes to reach the disk.
	maxGather = 200 * time.Microsecond
)

// piece is one write that waits for the writer.
type piece struct {
	ctx    context.Context
	actor  Actor
	points bool // it only adds points, by way of the ledger
	keeps  bool // what the ledger remembers stays true
	fn     func(*tx) error
	err    error
	done   chan struct{}
}

// write runs fn in the writer and returns when what it did is on disk. fn can
// run more than once, since a transaction whose end fails is repeated piece by
// piece: it must not keep anything but its result.
//
// When ctx carries an idempotency key, the result is kept with the write, and
// a second call with that key returns it without running fn.
func write[T any](ctx context.Context, db *DB, actor Actor, fn func(*tx) (T, error)) (T, error) {
	return enqueueFor(ctx, db, &piece{ctx: ctx, actor: actor}, fn)
}

// writePoints is write for an fn that changes nothing but what it adds to the
// ledger.
func writePoints[T any](ctx context.Context, db *DB, actor Actor, fn func(*tx) (T, error)) (T, error) {
	return enqueueFor(ctx, db, &piece{ctx: ctx, actor: actor, points: true}, fn)
}

func enqueueFor[T any](ctx context.Context, db *DB, p *piece, fn func(*tx) (T, error)) (T, error) {
	var out T
	p.fn = func(tx *tx) error {
		var err error
		out, err = once(tx, keyFrom(ctx), fn)
		return err
	}
	if err := db.enqueue(p); err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// change is write for what has no result.
func change(ctx context.Context, db *DB, actor Actor, fn func(*tx) error) error {
	return db.enqueue(&piece{ctx: ctx, actor: actor, fn: fn})
}

func (db *DB) enqueue(p *piece) error {
	p.done = make(chan struct{})
	select {
	case <-db.closing:
		return errClosing
	default:
	}
	select {
	case db.queue <- p:
	case <-db.closing:
		return errClosing
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	select {
	case <-p.done:
	case <-db.done:
		// The writer ended after p was queued; it may still have been served.
		select {
		case <-p.done:
		default:
			return errClosing
		}
	}
	return p.err
}

// run is the writer: it takes what is queued, commits it together, then
// answers. It never waits for more: an idle server commits at once.
func (db *DB) run() {
	defer close(db.done)
	tick := time.NewTicker(seenDelay)
	defer tick.Stop()
	for {
		select {
		case p := <-db.queue:
			db.serve(p)
		case <-tick.C:
			db.writeSeen()
		case <-db.closing:
			for {
				select {
				case p := <-db.queue:
					db.serve(p)
				default:
					db.writeSeen()
					return
				}
			}
		}
	}
}

// serve carries out first and what is queued behind it.
func (db *DB) serve(first *piece) {
	ran, err := db.transaction(first, db.queue)
	db.crowd = len(ran) + len(db.queue)
	if err != nil && len(ran) > 1 {
		// One of them, or the sum of them, broke the transaction. Alone, each
		// gets the answer that is its own.
		for _, p := range ran {
			if _, err := db.transaction(p, nil); err != nil {
				p.err = err
			}
			close(p.done)
		}
		return
	}
	for _, p := range ran {
		if err != nil {
			p.err = err
		}
		close(p.done)
	}
}

// transaction runs first, and what more holds, each in a savepoint of one
// transaction, and commits. It returns the pieces that it took; their err is
// set when they failed alone. A returned error means that none took effect.
func (db *DB) transaction(first *piece, more <-chan *piece) (ran []*piece, err error) {
	start := time.Now()
	ran = []*piece{first}
	defer func() {
		if err != nil {
			db.stale = true // what is held in memory may not be on disk
		}
		if db.opts.OnCommit != nil {
			db.opts.OnCommit(CommitStats{Pieces: len(ran), Duration: time.Since(start), Err: err})
		}
	}()
	t := &tx{conn: db.writer, ctx: context.Background(), db: db}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return ran, err
	}
	err = db.refresh(t)
	before := db.ledger.seq
	if err == nil {
		err = db.runPiece(t, first)
	}
	for err == nil && len(ran) < maxPieces && time.Since(start) < maxBatch {
		p := db.next(more, len(ran), start)
		if p == nil {
			break
		}
		ran = append(ran, p)
		err = db.runPiece(t, p)
	}
	if err == nil {
		err = db.flush(t)
	}
	if err == nil {
		_, err = t.exec(`COMMIT`)
	}
	db.seen.end(err)
	if err == nil {
		db.journal.add(t.noted)
	} else {
		db.recents.retract(before)
		// SQLite has rolled back by itself after some errors and not after
		// others; the next BEGIN fails loudly if this one should have worked.
		_, _ = t.exec(`ROLLBACK`)
	}
	return ran, err
}

// next takes the next piece for a transaction that has ran of them since
// start; nil when it should commit. Clients that wait for each answer before
// they send again come in two halves, one in the commit and one behind it.
// While there are as many callers as last time, it waits a moment for the
// other half, which halves the commits; a single caller never waits.
func (db *DB) next(more <-chan *piece, ran int, start time.Time) *piece {
	select {
	case p := <-more:
		return p
	default:
	}
	left := maxGather - time.Since(start)
	if more == nil || ran >= db.crowd || left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case p := <-more:
		return p
	case <-timer.C:
		return nil
	}
}

// runPiece runs p. An error of p alone is left in p.err; a returned one means
// that the whole transaction is gone.
func (db *DB) runPiece(t *tx, p *piece) error {
	p.err = p.ctx.Err()
	if p.err != nil {
		return nil
	}
	t.actor, t.now, t.seen = p.actor, toTime(db.now()), t.seen[:0]
	var err error
	if p.points && keyFrom(p.ctx).Key == "" {
		err = db.addPoints(t, p)
	} else {
		err = db.runAlone(t, p)
	}
	if err == nil && p.err == nil {
		for _, num := range t.seen {
			db.seen.note(num, t.now)
		}
		if !p.points && !p.keeps {
			db.seen.due = true
		}
	}
	return err
}

// addPoints runs a piece that touches nothing but the ledger. It needs no
// savepoint: it either queues its points or fails before it does.
func (db *DB) addPoints(t *tx, p *piece) error {
	before := db.ledger.seq
	p.err = call(p.fn, t)
	if p.err != nil && db.ledger.seq != before {
		return p.err
	}
	return nil
}

// runAlone runs a piece in a savepoint, on tables that are up to date.
func (db *DB) runAlone(t *tx, p *piece) error {
	if err := db.ledger.flush(t); err != nil {
		return err
	}
	if _, err := t.exec(`SAVEPOINT piece`); err != nil {
		return err
	}
	noted, before := len(t.noted), db.ledger.seq
	p.err = call(p.fn, t)
	if p.err == nil {
		p.err = db.ledger.flush(t)
	}
	if p.err != nil || !p.points && !p.keeps {
		db.ledger.forget()
	}
	if p.err != nil {
		t.noted = t.noted[:noted]
		db.recents.retract(before)
		if _, err := t.exec(`ROLLBACK TO piece`); err != nil {
			return p.err // SQLite ended the transaction by itself
		}
	}
	_, err := t.exec(`RELEASE piece`)
	return err
}

// call keeps a panic in one request from ending the writer, and with it the
// service, or from keeping a connection of the readers.
func call(fn func(*tx) error, t *tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(t)
}

// refresh reads again what the writer holds in memory when another process
// has changed the file since.
func (db *DB) refresh(t *tx) error {
	var v int64
	if err := t.row(`PRAGMA data_version`).Scan(&v); err != nil {
		return err
	}
	if v == db.dataVersion && !db.stale {
		return nil
	}
	if err := db.ledger.load(t); err != nil {
		return err
	}
	if v != db.dataVersion {
		db.journal.forget()
	}
	db.dataVersion, db.stale = v, false
	return nil
}

// flush writes what pieces share, once for all of them.
func (db *DB) flush(t *tx) error {
	if err := db.ledger.flush(t); err != nil {
		return err
	}
	return db.seen.flush(t)
}
