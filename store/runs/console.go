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

// MaxConsoleWrite is the maximum number of lines in one write.
const MaxConsoleWrite = 5_000

// ConsoleWritten is the answer to WriteConsole.
type ConsoleWritten struct {
	Next int64 `json:"next"` // the number of the line after the newest one
}

// ConsoleGrowth reports the length of a console.
type ConsoleGrowth struct {
	IterationID string `json:"iteration_id"`
	Next        int64  `json:"next"` // the number of the line after the newest one
}

// WriteConsole writes lines with the numbers from *from on, and replaces existing lines with
// these numbers. If from is nil, it appends. Only the newest console.MaxLines are kept.
// Needs create, and update for an iteration that has ended.
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

// WriteConsole writes checked lines, as DB.WriteConsole does, to an iteration that the actor
// may write to. It returns the number of the line after the newest one.
func WriteConsole(tx *domain.Tx, it domain.IterationRef, from *int64, lines []string) (next int64, err error) {
	next, err = console.Write(tx.Tx, it.Num, from, lines, tx.Now)
	if err == nil && len(lines) > 0 {
		tx.DB.Journal.Note(journal.Entry{Key: journal.Key{Iteration: it.Noted(), Console: true}, Step: scalar.Step(next)})
	}
	return next, err
}

// Console returns lines of the console of a run in order, up to MaxLimit. Needs
// read.
func (v *View) Console(iterationID string, q console.Query) (console.Part, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return console.Part{Lines: []console.Line{}}, err
	}
	q.Limit = max(0, min(q.Limit, domain.MaxLimit))
	return console.Read(v.tx.Tx, it.Num, q, domain.MaxPageBytes)
}

// Console is View.Console.
func (db *DB) Console(ctx context.Context, actor domain.Actor, iterationID string, q console.Query) (console.Part, error) {
	return view(ctx, db, actor, func(v *View) (console.Part, error) { return v.Console(iterationID, q) })
}
