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
	// MaxJobs is the maximum number of jobs in a transaction. maxBatch is how long a transaction
	// accepts more jobs. Together they limit how long the first job waits for its result.
	MaxJobs  = 512
	maxBatch = 25 * time.Millisecond
	// maxGather is the maximum time that a transaction waits for more jobs. It waits for callers
	// that got results from the last transaction and will probably write again at once. maxGather
	// is a fraction of the duration of a commit to disk.
	maxGather = 200 * time.Microsecond
	// maxHeldBack is the time between two calls of Participant.Overdue.
	maxHeldBack = 5 * time.Second
)

// Kind is the kind of a job.
type Kind int

const (
	// Change is the kind of a job that can change any row. The participants drop their caches
	// after the job.
	Change Kind = iota
	// Upkeep is the kind of a job that leaves the caches of the participants valid.
	Upkeep
	// Append is the kind of a job that only adds to the participants. If an Append job returns
	// an error, it must have added nothing. An Append job needs no savepoint.
	Append
)

// Freeing is added to Change or Upkeep for a job that frees disk space. If the disk is full,
// the writer releases the reserve and repeats the job.
const Freeing Kind = 1 << 8

// Marking is added to Change for a job that marks rows for deletion by a later Freeing job. If
// the disk is full, the writer releases a part of the reserve and repeats the job. Half of the
// reserve is left for Freeing jobs.
const Marking Kind = 1 << 9

// job is one call of DB.Write.
type job struct {
	ctx  context.Context
	kind Kind
	free bool // whether the kind includes Freeing
	mark bool // whether the kind includes Marking
	fn   func(*Tx) error
	err  error
	done chan struct{}
}

// Write runs fn in the writer. It returns nil after the changes of fn are on disk. Otherwise it
// returns the error of fn or of the transaction.
//
// If Write returns ErrClosed, fn did not run. If ctx ends before fn is called, fn does not run
// and Write returns ctx.Err(). The end of ctx does not interrupt fn.
//
// fn can run several times, because the writer repeats the jobs of a failed transaction. Only
// the result of the last run counts.
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
		// The writer ended after j was queued. The writer might have run j before it ended.
		select {
		case <-j.done:
		default:
			return ErrClosed
		}
	}
	return j.err
}

// run executes the jobs in the queue until the database is closed. run is the goroutine of the
// writer.
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

// writeOverdue runs a transaction if a participant has delayed changes for too long. If the
// transaction fails, the participant still has these changes.
func (db *DB) writeOverdue() {
	if db.overdue() {
		db.serve(emptyJob(), BeforeOverdue)
	}
}

func emptyJob() *job {
	nothing := func(*Tx) error { return nil }
	return &job{ctx: context.Background(), kind: Upkeep, fn: nothing, done: make(chan struct{})}
}

// wake makes the writer run a transaction soon, which checks the files. wake does not wait for
// the transaction.
func (db *DB) wake() {
	select {
	case db.queue <- emptyJob():
	default: // the queue is full, so a transaction runs anyway
	}
}

// serve runs the given job together with the jobs that wait in the queue.
func (db *DB) serve(first *job, stage Stage) {
	ran, err := db.transaction(first, db.queue, stage)
	db.batchSize = len(ran) + len(db.queue)
	if err != nil && len(ran) > 1 {
		// One job, or all jobs together, caused the transaction to fail. Repeat each job alone,
		// so that each job gets its own result.
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

// answer completes a job. If a Freeing or Marking job found the disk full, answer first releases
// space from the reserve and repeats the job.
func (db *DB) answer(j *job, stage Stage) {
	if (j.free || j.mark) && IsFull(j.err) && db.reserve.release(j.free) {
		db.opts.Logger.Warn("the disk is full; released the reserve for a deletion", "file", db.reserve.path)
		if _, err := db.transaction(j, nil, stage); err != nil {
			j.err = err
		}
	}
	close(j.done)
}

// transaction runs the given job, and further jobs from the queue more, in one transaction and
// commits it. It returns the jobs that it ran. If a job fails without affecting the others,
// transaction stores the error in the job's err. If transaction returns an error, no job took
// effect.
func (db *DB) transaction(first *job, more <-chan *job, stage Stage) (ran []*job, err error) {
	start := time.Now()
	ran = []*job{first}
	tx := &Tx{conn: db.writer, ctx: context.Background(), writer: true}
	defer func() {
		if isIOError(err) || IsDamaged(err) { // the transaction might have read overwritten pages
			err = cmp.Or(db.checkFiles(tx), err)
		}
		if err != nil {
			db.stale = true // the participants' state might not be on disk
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
	// SQLite has already rolled back after some errors. If this ROLLBACK was necessary and
	// failed, the next BEGIN returns an error.
	_, _ = tx.Exec(`ROLLBACK`)
	return ran, err
}

// checkFiles returns ErrMoved, ErrOverwritten or ErrTaken if this process must no longer write
// to the files.
func (db *DB) checkFiles(tx *Tx) error {
	if err := db.files.check(db.path); err != nil {
		return err
	}
	return db.files.checkContents(func() error { return db.checkOwner(tx) })
}

// noteIOError records an I/O error of a transaction for Ping. A successful transaction clears
// the error.
func (db *DB) noteIOError(err error) {
	switch {
	case err == nil:
		db.ioError.Store(nil)
	case isIOError(err):
		db.ioError.Store(&err)
	}
}

// noteLoss logs once that this process must no longer write. After ErrOverwritten, it makes all
// further writes fail, and leaves a note in the lock file for the next start.
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

// next returns the next job of a transaction, or nil if the transaction should commit. start is
// the time when the transaction began, and ran is the number of its jobs so far.
//
// If no job is waiting and the transaction has fewer jobs than the last batch, next waits up to
// maxGather. Many clients send their next job as soon as they get a result. Without the wait,
// such clients would form two groups with alternating commits, so the wait halves the number of
// commits. A single client never causes a wait.
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

// runJob runs j. It stores an error in j.err if the error concerns only j. If runJob returns an
// error, the whole transaction has failed.
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
		return j.err // an Append job has no savepoint to roll back to
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
			return j.err // SQLite has already rolled back the whole transaction
		}
	} else if j.kind == Change {
		db.changed()
	}
	_, err := tx.Exec(`RELEASE job`)
	return err
}

// call calls fn and returns a panic of fn as an error. A panic in a job must not end the
// writer. A panic in a read must not leak a connection.
func call(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(tx)
}
