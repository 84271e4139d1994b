package store

import (
	"context"
	"strings"
	"unicode/utf8"

	"tracker/store/console"
	"tracker/store/journal"
	"tracker/store/sqlite"
)

// What a run has printed.
type (
	ConsoleLine  = console.Line
	Console      = console.Part
	ConsoleQuery = console.Query
)

// Limits of the console of an iteration.
const (
	MaxConsoleLines = console.MaxLines
	MaxConsoleLine  = console.MaxLine
)

// MaxConsoleWrite is the number of lines of one write.
const MaxConsoleWrite = 5_000

// ConsoleWritten is the answer to WriteConsole.
type ConsoleWritten struct {
	Next int64 `json:"next"` // the number after that of the newest line
}

// ConsoleGrowth reports how many lines a console has.
type ConsoleGrowth struct {
	IterationID string `json:"iteration_id"`
	Next        int64  `json:"next"` // the number after that of the newest line
}

// WriteConsole writes lines under the numbers from *from on, in place of those that have
// these numbers, or after the last line when from is nil. Only the newest
// MaxConsoleLines are kept. Needs create, and update for an iteration that has ended.
func (db *DB) WriteConsole(ctx context.Context, actor Actor, iterationID string, from *int64, lines []string) (ConsoleWritten, error) {
	if len(lines) > MaxConsoleWrite {
		return ConsoleWritten{}, Invalid("lines", "Send up to %d lines at once, not %d.", MaxConsoleWrite, len(lines))
	}
	if from != nil && (*from < 0 || *from > console.MaxNumber) {
		return ConsoleWritten{}, Invalid("from", "from must be the number of a line, from 0 to %d.", int64(console.MaxNumber))
	}
	for _, line := range lines {
		if strings.Contains(line, "\n") {
			return ConsoleWritten{}, Invalid("lines", "A line must not contain a line feed; send each line by itself.")
		}
		if !utf8.ValidString(line) {
			return ConsoleWritten{}, Invalid("lines", "A line must be UTF-8.")
		}
	}
	return writeOnce(ctx, db, sqlite.Upkeep, actor, func(tx *tx) (ConsoleWritten, error) {
		it, err := tx.allowReopened(iterationID)
		if err != nil {
			return ConsoleWritten{}, err
		}
		next, err := tx.writeConsole(it.iterationRef, from, lines)
		return ConsoleWritten{next}, err
	})
}

func (tx *tx) writeConsole(it iterationRef, from *int64, lines []string) (next int64, err error) {
	next, err = console.Write(tx.Tx, it.num, from, lines, tx.now)
	if err == nil && len(lines) > 0 {
		tx.db.journal.Note(journal.Entry{Key: journal.Key{Iteration: it.noted(), Console: true}, Step: Step(next)})
	}
	return next, err
}

// Console returns lines that a run has printed, in their order, up to MaxLimit. Needs
// read.
func (v *View) Console(iterationID string, q ConsoleQuery) (Console, error) {
	it, err := v.tx.allowIteration(v.actor, iterationID, rightRead)
	if err != nil {
		return Console{Lines: []ConsoleLine{}}, err
	}
	q.Limit = max(0, min(q.Limit, MaxLimit))
	return console.Read(v.tx.Tx, it.num, q, MaxPageBytes)
}

// Console is View.Console.
func (db *DB) Console(ctx context.Context, actor Actor, iterationID string, q ConsoleQuery) (Console, error) {
	return view(ctx, db, actor, func(v *View) (Console, error) { return v.Console(iterationID, q) })
}
