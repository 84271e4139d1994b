package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	// MaxJobs is how many jobs share one transaction at most. With maxBatch it
	// bounds how long the first of them waits for the last.
	MaxJobs  = 512
	maxBatch = 25 * time.Millisecond
	// maxGather bounds how long a transaction is kept open for callers that were
	// answered by the last one and will be back in a moment. It is a fraction of
	// what a commit takes to reach the disk.
	maxGather = 200 * time.Microsecond
	// maxHeldBack is the maximum time for which participants hold something back.
	maxHeldBack = 5 * time.Second
)

// Kind is what a job may do.
type Kind int

const (
	// Change may change any row. The participants drop what they have cached.
	Change Kind = iota
	// Upkeep leaves valid what the participants have cached.
	Upkeep
	// Append changes nothing but what it hands to participants: all of it, or
	// none when it fails. It needs no savepoint.
	Append
)

// Freeing is added to Change or Upkeep for a job that frees space on the disk: if
// the disk is full, it is repeated with the space of the reserve.
const Freeing Kind = 1 << 8

// Marking is added to Change for a job that marks what a later Freeing job will
// delete: if the disk is full, it is repeated with a part of the reserve. Half of
// the reserve is kept for Freeing jobs.
const Marking Kind = 1 << 9

// job is one call of Write.
type job struct {
	ctx  context.Context
	kind Kind
	free bool // it is Freeing
	mark bool // it is Marking
	fn   func(*Tx) error
	err  error
	done chan struct{}
}

// Write runs fn in the writer and returns when what it did is on disk, or with
// the error that kept it from being so. ErrClosed means that it did not run.
// A job that ctx ends before its turn does not run, either; one that has begun
// is carried out.
//
// fn can run more than once, since the jobs of a transaction that fails are
// repeated: it must not keep anything but its last result.
func (db *DB) Write(ctx context.Context, kind Kind, fn func(*Tx) error) error {
	j := &job{ctx: ctx, kind: kind &^ (Freeing | Marking), free: kind&Freeing != 0, mark: kind&Marking != 0, fn: fn, done: make(chan struct{})}
	select {
	case <-db.closing.Done():
		return ErrClosed
	default:
	}
	select {
	case db.queue <- j:
	case <-db.closing.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done:
	case <-db.done:
		// The writer ended after j was queued; j may still have been served.
		select {
		case <-j.done:
		default:
			return ErrClosed
		}
	}
	return j.err
}

// run is the writer.
func (db *DB) run() {
	defer close(db.done)
	tick := time.NewTicker(maxHeldBack)
	defer tick.Stop()
	for {
		select {
		case j := <-db.queue:
			db.serve(j, BeforeCommit)
		case <-tick.C:
			db.writeOverdue()
		case <-db.closing.Done():
			for {
				select {
				case j := <-db.queue:
					db.serve(j, BeforeCommit)
				default:
					db.writeOverdue()
					return
				}
			}
		}
	}
}

// writeOverdue makes a transaction for what participants hold back. When it
// fails they still hold it.
func (db *DB) writeOverdue() {
	if db.overdue() {
		db.serve(emptyJob(), BeforeOverdue)
	}
}

func emptyJob() *job {
	nothing := func(*Tx) error { return nil }
	return &job{ctx: context.Background(), kind: Upkeep, fn: nothing, done: make(chan struct{})}
}

// wake has the writer make a transaction soon, which checks the files. It does not wait.
func (db *DB) wake() {
	select {
	case db.queue <- emptyJob():
	default: // there will be a transaction anyway
	}
}

// serve carries out first and the jobs that wait after it.
func (db *DB) serve(first *job, stage Stage) {
	ran, err := db.transaction(first, db.queue, stage)
	db.batchSize = len(ran) + len(db.queue)
	if err != nil && len(ran) > 1 {
		// One of them, or the sum of them, broke the transaction. Alone, each
		// gets the result that is its own.
		for _, j := range ran {
			if _, err := db.transaction(j, nil, stage); err != nil {
				j.err = err
			}
			db.answer(j, stage)
		}
		return
	}
	for _, j := range ran {
		if err != nil {
			j.err = err
		}
		db.answer(j, stage)
	}
}

// answer answers a job, after another attempt with the space of the reserve if the
// job frees space, or is about to, and found the disk full.
func (db *DB) answer(j *job, stage Stage) {
	if (j.free || j.mark) && IsFull(j.err) && db.reserve.release(j.free) {
		db.opts.Logger.Warn("the disk is full; the reserve was given back for a deletion", "file", db.reserve.path)
		if _, err := db.transaction(j, nil, stage); err != nil {
			j.err = err
		}
	}
	close(j.done)
}

// transaction runs the job first, and jobs from more, in one transaction and
// commits it. It returns the jobs that it ran; the err of a job is set when
// that job alone failed. A returned error means that none took effect.
func (db *DB) transaction(first *job, more <-chan *job, stage Stage) (ran []*job, err error) {
	start := time.Now()
	ran = []*job{first}
	tx := &Tx{conn: db.writer, ctx: context.Background(), writer: true}
	defer func() {
		if isIOError(err) || IsDamaged(err) { // overwritten pages are read
			err = cmp.Or(db.checkFiles(tx), err)
		}
		if err != nil {
			db.stale = true // what participants hold may not be on disk
			db.noteLoss(err)
		}
		db.noteIOError(err)
		if db.opts.OnCommit != nil {
			db.opts.OnCommit(CommitStats{Jobs: len(ran), Duration: time.Since(start), Err: err})
		}
	}()
	if lost := db.lost.Load(); lost != nil {
		return ran, *lost
	}
	if _, err := tx.Exec(`BEGIN IMMEDIATE`); err != nil {
		return ran, err
	}
	err = db.load(tx)
	db.atBegin = db.marks(db.atBegin)
	if err == nil {
		err = db.runJob(tx, first)
	}
	for err == nil && len(ran) < MaxJobs && time.Since(start) < db.maxBatch {
		j := db.next(more, len(ran), start)
		if j == nil {
			break
		}
		ran = append(ran, j)
		err = db.runJob(tx, j)
	}
	if err == nil {
		err = db.flush(tx, stage)
	}
	if err == nil {
		err = db.checkFiles(tx)
	}
	if err == nil {
		_, err = tx.Exec(`COMMIT`)
	}
	if err == nil {
		db.committed()
		return ran, nil
	}
	db.rolledBack(db.atBegin)
	// SQLite has rolled back by itself after some errors and not after others;
	// the next BEGIN fails loudly if this one should have worked.
	_, _ = tx.Exec(`ROLLBACK`)
	return ran, err
}

// checkFiles returns an error if another program has moved or overwritten the files.
func (db *DB) checkFiles(tx *Tx) error {
	if err := db.files.check(db.path); err != nil {
		return err
	}
	return db.files.checkContents(func() error { return db.checkOwner(tx) })
}

// noteIOError keeps the error of a transaction for Ping if the disk has failed,
// until a transaction succeeds.
func (db *DB) noteIOError(err error) {
	switch {
	case err == nil:
		db.ioError.Store(nil)
	case isIOError(err):
		db.ioError.Store(&err)
	}
}

// noteLoss logs, once, that this process must not write any more. Overwritten files stay
// overwritten, so nothing is tried again, and the next start is told by the lock file.
func (db *DB) noteLoss(err error) {
	overwritten := errors.Is(err, ErrOverwritten)
	if overwritten && db.lost.CompareAndSwap(nil, &err) {
		if e := db.SetNote(overwrittenNote); e != nil {
			db.opts.Logger.Warn("the lock file could not be written", "error", e)
		}
	}
	if !db.lossLogged && (overwritten || errors.Is(err, ErrTaken) || errors.Is(err, ErrMoved)) {
		db.lossLogged = true
		db.opts.Logger.Error("no more writes are taken: the database belongs to another server, is not where it was opened, or was overwritten",
			"database", db.path, "error", err)
	}
}

// next returns the next job for a transaction that has run so many since start,
// nil when it should commit. Clients that send the next job after each answer
// would split into two halves: one in this commit, one waiting for it. So while
// there are fewer jobs than callers at the end of the last transaction, next
// waits up to maxGather for the others, which halves the number of commits. A
// single caller is never kept waiting.
func (db *DB) next(more <-chan *job, ran int, start time.Time) *job {
	select {
	case j := <-more:
		return j
	default:
	}
	left := maxGather - time.Since(start)
	if more == nil || ran >= db.batchSize || left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case j := <-more:
		return j
	case <-timer.C:
		return nil
	}
}

// runJob runs j. An error of j alone is left in j.err; a returned one means
// that the whole transaction is gone.
func (db *DB) runJob(tx *Tx, j *job) error {
	j.err = j.ctx.Err()
	if j.err != nil {
		return nil
	}
	if j.kind == Append {
		return db.runAppend(tx, j)
	}
	return db.runInSavepoint(tx, j)
}

func (db *DB) runAppend(tx *Tx, j *job) error {
	db.atJob = db.marks(db.atJob)
	j.err = call(j.fn, tx)
	if j.err != nil && db.holdMore(db.atJob) {
		return j.err // there is no savepoint to go back to
	}
	return nil
}

func (db *DB) runInSavepoint(tx *Tx, j *job) error {
	if err := db.flush(tx, AroundJob); err != nil {
		return err
	}
	if _, err := tx.Exec(`SAVEPOINT job`); err != nil {
		return err
	}
	db.atJob = db.marks(db.atJob)
	j.err = call(j.fn, tx)
	if j.err == nil {
		j.err = db.flush(tx, AroundJob)
	}
	if j.err != nil {
		db.rolledBack(db.atJob)
		if _, err := tx.Exec(`ROLLBACK TO job`); err != nil {
			return j.err // SQLite has ended the transaction by itself
		}
	} else if j.kind == Change {
		db.changed()
	}
	_, err := tx.Exec(`RELEASE job`)
	return err
}

// call turns a panic into an error: a panic in one job must not end the writer,
// and one in a read must not keep a connection.
func call(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(tx)
}
