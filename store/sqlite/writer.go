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
	// MaxJobs is the maximum number of jobs in one transaction. With maxBatch it
	// bounds how long the first of them waits for the last.
	MaxJobs  = 512
	maxBatch = 25 * time.Millisecond
	// maxGather is the maximum time that a transaction is kept open for callers that
	// got results from the last one and will probably write again at once. It is a
	// fraction of the time of a commit to disk.
	maxGather = 200 * time.Microsecond
	// maxHeldBack is the maximum time for which participants hold something back.
	maxHeldBack = 5 * time.Second
)

// Kind is the kind of a job.
type Kind int

const (
	// Change may change any row. The participants drop their caches.
	Change Kind = iota
	// Upkeep leaves the caches of the participants valid.
	Upkeep
	// Append only adds to the participants: everything or, with an error, nothing. It
	// needs no savepoint.
	Append
)

// Freeing is added to Change or Upkeep for a job that frees space on the disk. If
// the disk is full, the job is repeated with the space of the reserve.
const Freeing Kind = 1 << 8

// Marking is added to Change for a job that marks rows that a later Freeing job will
// delete. If the disk is full, the job is repeated with a part of the reserve. Half of
// the reserve is kept for Freeing jobs.
const Marking Kind = 1 << 9

// job is one call of Write.
type job struct {
	ctx  context.Context
	kind Kind
	free bool // its kind includes Freeing
	mark bool // its kind includes Marking
	fn   func(*Tx) error
	err  error
	done chan struct{}
}

// Write runs fn in the writer. It returns nil after the changes of fn are on disk, and
// otherwise the error of fn or of its transaction. ErrClosed means that fn did not run.
// fn does not run either if ctx ends before its turn; once started, it is completed.
//
// fn can run more than once, because the jobs of a failed transaction are repeated. Only
// the result of its last run counts.
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
		// The writer ended after j was queued; j may still have run.
		select {
		case <-j.done:
		default:
			return ErrClosed
		}
	}
	return j.err
}

// run is the goroutine of the writer.
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

// writeOverdue runs a transaction for changes that participants hold back. If it
// fails, they still hold them.
func (db *DB) writeOverdue() {
	if db.overdue() {
		db.serve(emptyJob(), BeforeOverdue)
	}
}

func emptyJob() *job {
	nothing := func(*Tx) error { return nil }
	return &job{ctx: context.Background(), kind: Upkeep, fn: nothing, done: make(chan struct{})}
}

// wake makes the writer run a transaction soon, which checks the files. It does not wait.
func (db *DB) wake() {
	select {
	case db.queue <- emptyJob():
	default: // a transaction will run anyway
	}
}

// serve runs first and the jobs that wait after it.
func (db *DB) serve(first *job, stage Stage) {
	ran, err := db.transaction(first, db.queue, stage)
	db.batchSize = len(ran) + len(db.queue)
	if err != nil && len(ran) > 1 {
		// One of the jobs, or all together, caused the transaction to fail. Each runs
		// alone and gets its own result.
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

// answer sends the result of a job. If the job is Freeing or Marking and found the disk
// full, it is first repeated with the space of the reserve.
func (db *DB) answer(j *job, stage Stage) {
	if (j.free || j.mark) && IsFull(j.err) && db.reserve.release(j.free) {
		db.opts.Logger.Warn("the disk is full; released the reserve for a deletion", "file", db.reserve.path)
		if _, err := db.transaction(j, nil, stage); err != nil {
			j.err = err
		}
	}
	close(j.done)
}

// transaction runs the job first, and jobs from more, in one transaction and
// commits it. It returns the jobs that it ran. The err of a job is set if only
// that job failed. If transaction returns an error, no job took effect.
func (db *DB) transaction(first *job, more <-chan *job, stage Stage) (ran []*job, err error) {
	start := time.Now()
	ran = []*job{first}
	tx := &Tx{conn: db.writer, ctx: context.Background(), writer: true}
	defer func() {
		if isIOError(err) || IsDamaged(err) { // overwritten pages were read
			err = cmp.Or(db.checkFiles(tx), err)
		}
		if err != nil {
			db.stale = true // the state of the participants may not be on disk
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
	// SQLite rolls back by itself after some errors. If this ROLLBACK was needed and
	// failed, the next BEGIN returns an error.
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

// noteIOError stores the error of a transaction for Ping if the disk has failed. A
// successful transaction clears it.
func (db *DB) noteIOError(err error) {
	switch {
	case err == nil:
		db.ioError.Store(nil)
	case isIOError(err):
		db.ioError.Store(&err)
	}
}

// noteLoss logs, once, that this process must not write any more. Overwritten files stay
// overwritten, so nothing is retried, and the lock file informs the next start.
func (db *DB) noteLoss(err error) {
	overwritten := errors.Is(err, ErrOverwritten)
	if overwritten && db.lost.CompareAndSwap(nil, &err) {
		if e := db.SetNote(overwrittenNote); e != nil {
			db.opts.Logger.Warn("the lock file could not be written", "error", e)
		}
	}
	if !db.lossLogged && (overwritten || errors.Is(err, ErrTaken) || errors.Is(err, ErrMoved)) {
		db.lossLogged = true
		db.opts.Logger.Error("no more writes are accepted: the database was taken over by another server, moved or overwritten",
			"database", db.path, "error", err)
	}
}

// next returns the next job for a transaction that has run ran jobs since start, or nil
// if it should commit. Clients that send the next job after each answer would split into
// two halves: one in this commit, one waiting for it. So while the transaction has fewer
// jobs than callers at the end of the last transaction, next waits up to maxGather for the
// others, which halves the number of commits. A single caller never waits.
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

// runJob runs j. It stores an error that concerns only j in j.err. If it returns an error,
// the whole transaction is lost.
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
		return j.err // an Append job has no savepoint
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
// and a panic in a read must not leak a connection.
func call(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(tx)
}
