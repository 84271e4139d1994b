package sqlite

// Participant keeps state in memory that belongs to the file, and has a part in
// every transaction of the writer. The writer alone calls its methods, those of
// several participants in the order of the Options. Embed
// Passive to write only some of them.
//
// A transaction is:
//
//	Load                                 when what is held may be out of date
//	for each job in a savepoint:
//	    Flush(AroundJob)
//	    the job
//	    Flush(AroundJob)
//	    Changed, or RolledBack           unless the job is Upkeep that succeeded
//	Flush(BeforeCommit)
//	Committed or RolledBack
//
// An Append job runs without a savepoint, and so without calls around it.
type Participant interface {
	// Load reads what is held in memory from the tables. It is called in the first
	// transaction, after one that failed, and after another process has changed
	// the file. foreign is true in the first transaction and after a change by
	// another process.
	Load(tx *Tx, foreign bool) error
	// Mark returns a number that changes whenever a job hands something to the
	// participant. RolledBack gets the one to go back to.
	Mark() int64
	// Flush writes what is held back.
	Flush(tx *Tx, stage Stage) error
	// Changed is called after a Change job: any row may be another one now.
	Changed()
	// Committed is called when the transaction is on disk, before its jobs are
	// answered.
	Committed()
	// RolledBack is called when all that came after the mark was undone: the
	// participant drops it, and what it has cached of the tables.
	RolledBack(mark int64)
	// Overdue reports whether something is held back beyond the commit. The
	// writer asks every few seconds and before it ends, and then makes a
	// transaction for it.
	Overdue() bool
}

// Stage is when Flush is called.
type Stage int

const (
	// AroundJob is before and after a job in its savepoint: the statements of
	// the job must find in the tables what was handed over, and its own rows
	// must go with it when it is rolled back.
	AroundJob Stage = iota
	// BeforeCommit is once, after all jobs.
	BeforeCommit
	// BeforeOverdue is BeforeCommit of a transaction made for what Overdue
	// reported.
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
// or a transaction has failed, since the last time.
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

// marks returns the marks of the participants in the memory of into.
func (db *DB) marks(into []int64) []int64 {
	into = into[:0]
	for _, p := range db.participants {
		into = append(into, p.Mark())
	}
	return into
}

// holdMore reports whether a participant was handed something since marks.
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
