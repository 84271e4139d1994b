package sqlite

// Participant holds state in memory that belongs to the file. It takes part in every transaction
// of the writer, and only the writer calls its methods. Participants are called in the order of
// Options.Participants. A type that embeds Passive needs to implement only some of the methods.
//
// A transaction consists of these calls:
//
//	Load                                 if the state might be stale
//	for each job in a savepoint:
//	    Flush(AroundJob)
//	    the job
//	    Flush(AroundJob)
//	    Changed, or RolledBack           neither for Upkeep that succeeded
//	Flush(BeforeCommit)
//	Committed or RolledBack
//
// An Append job runs without a savepoint and without the calls before and after a job.
type Participant interface {
	// Load reads the state from the tables. The writer calls Load in the first transaction,
	// after a failed transaction, and after another process has changed the file. foreign is
	// false only after a failed transaction.
	Load(tx *Tx, foreign bool) error
	// Mark returns a number that changes whenever a job adds something to the participant. The
	// writer later passes the number to RolledBack.
	Mark() int64
	// Flush writes pending changes to the tables.
	Flush(tx *Tx, stage Stage) error
	// Changed is called after a Change job, which might have changed any row.
	Changed()
	// Committed is called after the transaction is on disk and before its calls of Write
	// return.
	Committed()
	// RolledBack is called after a rollback. The participant drops everything that jobs have
	// added since the given mark, and everything that it has cached from the tables.
	RolledBack(mark int64)
	// Overdue reports whether the participant has delayed changes that it should now write. The
	// writer calls Overdue every few seconds and before it ends. If Overdue returns true, the
	// writer runs a transaction with Flush(BeforeOverdue).
	Overdue() bool
}

// Stage is the time of a call of Flush.
type Stage int

const (
	// AroundJob is the time directly before and after a job. Before the job, Flush writes earlier
	// changes to the tables, so that the job sees them. After the job, Flush writes the changes
	// of the job, so that a rollback includes them.
	AroundJob Stage = iota
	// BeforeCommit is the time between the last job of a transaction and the commit.
	BeforeCommit
	// BeforeOverdue is the time before the commit of a transaction that runs because Overdue
	// returned true.
	BeforeOverdue
)

// Passive is a Participant whose methods do nothing.
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

// load calls Load of each participant if their state might be stale. This is the case after
// another process has changed the file, and after a failed transaction.
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

// marks returns the mark of each participant. It reuses the memory of into.
func (db *DB) marks(into []int64) []int64 {
	into = into[:0]
	for _, p := range db.participants {
		into = append(into, p.Mark())
	}
	return into
}

// holdMore reports whether a participant's mark has changed since marks.
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
