package sqlite

// Participant holds state in memory that belongs to the file, and takes part in
// every transaction of the writer. Only the writer calls its methods. It calls several
// participants in the order of Options.Participants. Embed Passive to implement only
// some of the methods.
//
// A transaction consists of:
//
//	Load                                 if the state may be stale
//	for each job in a savepoint:
//	    Flush(AroundJob)
//	    the job
//	    Flush(AroundJob)
//	    Changed, or RolledBack           neither for Upkeep that succeeded
//	Flush(BeforeCommit)
//	Committed or RolledBack
//
// An Append job runs without a savepoint and without these calls around it.
type Participant interface {
	// Load reads the state from the tables. It is called in the first transaction,
	// after a failed transaction, and after another process has changed the file.
	// foreign is true in the first transaction and after a change by another
	// process.
	Load(tx *Tx, foreign bool) error
	// Mark returns a number that changes whenever a job adds something to the
	// participant. RolledBack gets the mark to return to.
	Mark() int64
	// Flush writes the pending changes to the tables.
	Flush(tx *Tx, stage Stage) error
	// Changed is called after a Change job: any row may have changed.
	Changed()
	// Committed is called when the transaction is on disk, before its jobs return.
	Committed()
	// RolledBack is called when everything after the mark was undone. The participant
	// drops it, and everything that it has cached from the tables.
	RolledBack(mark int64)
	// Overdue reports whether changes are held back longer than the commit. The
	// writer calls it every few seconds and before it ends. If it returns true, the
	// writer runs a transaction for it.
	Overdue() bool
}

// Stage is the moment of a call of Flush.
type Stage int

const (
	// AroundJob is before and after a job in its savepoint: the statements of the job
	// must find earlier changes in the tables, and the rows of the job must be undone
	// with it.
	AroundJob Stage = iota
	// BeforeCommit is once, after all jobs.
	BeforeCommit
	// BeforeOverdue is BeforeCommit in a transaction that runs because Overdue returned
	// true.
	BeforeOverdue
)

// Passive is a Participant that does nothing.
type Passive struct{}

// Load does nothing.
func (Passive) Load(*Tx, bool) error { return nil }

// Mark returns 0.
func (Passive) Mark() int64 { return 0 }

// Flush does nothing.
func (Passive) Flush(*Tx, Stage) error { return nil }

// Changed does nothing.
func (Passive) Changed() {}

// Committed does nothing.
func (Passive) Committed() {}

// RolledBack does nothing.
func (Passive) RolledBack(int64) {}

// Overdue returns false.
func (Passive) Overdue() bool { return false }

// load calls Load of the participants if another process has changed the file,
// or a transaction has failed, since the last call.
func (db *DB) load(tx *Tx) error {
	var v int64
	if err := tx.Row(`PRAGMA data_version`).Scan(&v); err != nil {
		return err
	}
	foreign := v != db.dataVersion
	if !foreign && !db.stale {
		return nil
	}
	if err := db.checkOwner(tx); err != nil {
		return err
	}
	for _, p := range db.participants {
		if err := p.Load(tx, foreign); err != nil {
			return err
		}
	}
	db.dataVersion, db.stale = v, false
	return nil
}

// marks returns the marks of the participants. It reuses the memory of into.
func (db *DB) marks(into []int64) []int64 {
	into = into[:0]
	for _, p := range db.participants {
		into = append(into, p.Mark())
	}
	return into
}

// holdMore reports whether a job has added something to a participant since marks.
func (db *DB) holdMore(marks []int64) bool {
	for i, p := range db.participants {
		if p.Mark() != marks[i] {
			return true
		}
	}
	return false
}

func (db *DB) flush(tx *Tx, stage Stage) error {
	for _, p := range db.participants {
		if err := p.Flush(tx, stage); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) changed() {
	for _, p := range db.participants {
		p.Changed()
	}
}

func (db *DB) committed() {
	for _, p := range db.participants {
		p.Committed()
	}
}

func (db *DB) rolledBack(marks []int64) {
	for i, p := range db.participants {
		p.RolledBack(marks[i])
	}
}

func (db *DB) overdue() bool {
	for _, p := range db.participants {
		if p.Overdue() {
			return true
		}
	}
	return false
}
