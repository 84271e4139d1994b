package runs

import (
	"context"
	"strings"
	"unicode/utf8"

	"tracker/store/console"
	"tracker/store/domain"
	"tracker/store/journal"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// MaxConsoleWrite is the maximum number of console lines in one write.
const MaxConsoleWrite = 5_000

// ConsoleWritten is the result of WriteConsole.
type ConsoleWritten struct {
	Next int64 `json:"next"` // number that the next line will get
}

// ConsoleGrowth describes the current length of an iteration's console.
type ConsoleGrowth struct {
	IterationID string `json:"iteration_id"`
	Next        int64  `json:"next"` // number that the next line will get
}

// WriteConsole writes lines to the console of an iteration. The first line gets the number
// *from. Existing lines with the same numbers are replaced. If from is nil, WriteConsole appends
// the lines. Only the newest console.MaxLines lines are retained. The actor needs the right to
// create, and also the right to update if the iteration has ended.
func (db *DB) WriteConsole(ctx context.Context, actor domain.Actor, iterationID string, from *int64, lines []string) (ConsoleWritten, error) {
	if len(lines) > MaxConsoleWrite {
		return ConsoleWritten{}, domain.Invalid("lines", "At most %d lines can be sent at once, not %d.", MaxConsoleWrite, len(lines))
	}
	if from != nil && (*from < 0 || *from > console.MaxNumber) {
		return ConsoleWritten{}, domain.Invalid("from", "from must be a line number from 0 to %d.", int64(console.MaxNumber))
	}
	for _, line := range lines {
		if strings.Contains(line, "\n") {
			return ConsoleWritten{}, domain.Invalid("lines", "A line must not contain a line feed; send each line separately.")
		}
		if !utf8.ValidString(line) {
			return ConsoleWritten{}, domain.Invalid("lines", "A line must be UTF-8.")
		}
	}
	return domain.WriteKind(ctx, db.base, sqlite.Upkeep, actor, func(tx *domain.Tx) (ConsoleWritten, error) {
		it, err := AllowReopened(tx, iterationID)
		if err != nil {
			return ConsoleWritten{}, err
		}
		next, err := WriteConsole(tx, it.IterationRef, from, lines)
		return ConsoleWritten{next}, err
	})
}

// WriteConsole writes lines to the console of an iteration as DB.WriteConsole does. The caller
// must have checked the lines and the rights of the actor. WriteConsole returns the number that
// the next line will get.
func WriteConsole(tx *domain.Tx, it domain.IterationRef, from *int64, lines []string) (next int64, err error) {
	next, err = console.Write(tx.Tx, it.Num, from, lines, tx.Now)
	if err == nil && len(lines) > 0 {
		tx.DB.Journal.Note(journal.Entry{Key: journal.Key{Iteration: it.Noted(), Console: true}, Step: scalar.Step(next)})
	}
	return next, err
}

// Console returns at most MaxLimit lines of a run's console, in order. The actor needs the
// right to read.
func (v *View) Console(iterationID string, q console.Query) (console.Part, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return console.Part{Lines: []console.Line{}}, err
	}
	q.Limit = max(0, min(q.Limit, domain.MaxLimit))
	return console.Read(v.tx.Tx, it.Num, q, domain.MaxPageBytes)
}

// Console calls View.Console in a new read transaction.
func (db *DB) Console(ctx context.Context, actor domain.Actor, iterationID string, q console.Query) (console.Part, error) {
	return view(ctx, db, actor, func(v *View) (console.Part, error) { return v.Console(iterationID, q) })
}
