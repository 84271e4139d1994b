package store

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"tracker/store/journal"
	"tracker/store/sqlite"
)

// Limits of the console of an iteration.
const (
	// MaxConsoleLines is the number of lines that are kept: those of the largest
	// numbers.
	MaxConsoleLines = 50_000
	// MaxConsoleWrite is the number of lines of one write.
	MaxConsoleWrite = 5_000
	// MaxConsoleLine is the length of a line in bytes. A longer one is cut.
	MaxConsoleLine = 8 << 10
	// maxConsoleNumber is the largest number of a line.
	maxConsoleNumber = 1 << 40
)

// ConsoleLine is a line that a run has printed, with the escape sequences of
// terminals that are in it.
type ConsoleLine struct {
	Number      int64  `json:"number" db:"number"`
	Text        string `json:"text" db:"text"`
	WrittenDate Time   `json:"written_date" db:"written_date"`
}

// Console is a part of what a run has printed.
type Console struct {
	Lines []ConsoleLine `json:"lines"`
	First int64         `json:"first"` // the number of the oldest line that is kept
	Next  int64         `json:"next"`  // the number after that of the newest line
}

// ConsoleQuery selects lines of a console.
type ConsoleQuery struct {
	From   *int64 // the number of the first line; nil for the last lines
	Limit  int    // up to MaxLimit
	Search string // a part of the line, in any case; "" for all
}

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
	if from != nil && (*from < 0 || *from > maxConsoleNumber) {
		return ConsoleWritten{}, Invalid("from", "from must be the number of a line, from 0 to %d.", int64(maxConsoleNumber))
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
	if _, next, err = tx.consoleRange(it.num); err != nil || len(lines) == 0 {
		return next, err
	}
	at := next
	if from != nil {
		at = *from
	}
	for i, line := range lines {
		_, err := tx.Exec(`INSERT INTO console_line (iteration_num, number, text, written_date) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET text = excluded.text, written_date = excluded.written_date`,
			it.num, at+int64(i), cutLine(line), tx.now)
		if err != nil {
			return 0, err
		}
	}
	next = max(next, at+int64(len(lines)))
	if _, err := tx.Exec(`DELETE FROM console_line WHERE iteration_num = ? AND number < ?`, it.num, next-MaxConsoleLines); err != nil {
		return 0, err
	}
	tx.db.journal.Note(journal.Entry{Key: journal.Key{Iteration: it.noted(), Console: true}, Step: Step(next)})
	return next, nil
}

// cutLine returns at most MaxConsoleLine bytes of a line, with a mark if it was longer.
func cutLine(s string) string {
	if len(s) <= MaxConsoleLine {
		return s
	}
	const mark = "…"
	end := MaxConsoleLine - len(mark)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// consoleRange returns the number of the first line, and the one after the last.
func (tx *tx) consoleRange(iteration int64) (first, next int64, err error) {
	err = tx.Row(`SELECT
			coalesce((SELECT min(number) FROM console_line WHERE iteration_num = ?), 0),
			coalesce((SELECT max(number) + 1 FROM console_line WHERE iteration_num = ?), 0)`,
		iteration, iteration).Scan(&first, &next)
	return first, next, err
}

// Console returns lines that a run has printed, in their order. Needs read.
func (v *View) Console(iterationID string, q ConsoleQuery) (Console, error) {
	c := Console{Lines: []ConsoleLine{}}
	it, err := v.tx.allowIteration(v.actor, iterationID, rightRead)
	if err != nil {
		return c, err
	}
	if c.First, c.Next, err = v.tx.consoleRange(it.num); err != nil {
		return c, err
	}
	limit := max(0, min(q.Limit, MaxLimit))
	from, order := c.First, ``
	if q.From != nil {
		from = *q.From
	} else {
		order = ` DESC`
	}
	rows, err := v.tx.Rows(`SELECT number, text, written_date FROM console_line
		WHERE iteration_num = ? AND number >= ? AND (? = '' OR `+contains(`text`)+`)
		ORDER BY number`+order+` LIMIT ?`, it.num, from, q.Search, q.Search, limit)
	if err != nil {
		return c, err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		var line ConsoleLine
		if err := rows.StructScan(&line); err != nil {
			return c, err
		}
		if size += len(line.Text); size > MaxPageBytes {
			break
		}
		c.Lines = append(c.Lines, line)
	}
	if q.From == nil {
		slices.Reverse(c.Lines)
	}
	return c, rows.Err()
}

// Console is View.Console.
func (db *DB) Console(ctx context.Context, actor Actor, iterationID string, q ConsoleQuery) (Console, error) {
	return view(ctx, db, actor, func(v *View) (Console, error) { return v.Console(iterationID, q) })
}
