// Package console stores the lines that runs print, numbered from 0. Lines that are sent
// again with the same numbers replace the former ones, so a client can repeat a request
// if it has not received the answer. Only the newest lines of a run are kept; if lines
// were dropped, the first remaining line is replaced by a notice. Long lines are cut.
//
// The package identifies runs by the numbers of iterations. It does not deal with
// users or rights.
package console

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// The limits of the console of a run.
const (
	// MaxLines is the maximum number of lines that are kept. The lines with the largest
	// numbers are kept, and the first of them is replaced by a notice if lines before
	// it were dropped.
	MaxLines = 50_000
	// MaxLine is the maximum length of a line in bytes. A longer line is cut.
	MaxLine = 8 << 10
	// MaxNumber is the largest number of a line.
	MaxNumber = 1 << 40
)

// Line is a line that a run has printed, including its terminal escape sequences.
type Line struct {
	Number      int64       `json:"number" db:"number"`
	Text        string      `json:"text" db:"text"`
	WrittenDate scalar.Time `json:"written_date" db:"written_date"`
}

// Part is a part of the console of a run.
type Part struct {
	Lines []Line `json:"lines"`
	First int64  `json:"first"` // the number of the oldest line that is kept
	Next  int64  `json:"next"`  // the number of the newest line plus 1
}

// Query selects lines of a console.
type Query struct {
	From   *int64 // the smallest number of a line; nil for the last lines
	Limit  int    // the maximum number of lines
	Search string // text that a line contains, in any case; "" for all lines
}

// Write writes lines with consecutive numbers, beginning at *from, or after the last line
// if from is nil. Existing lines with the same numbers are replaced. Write returns the
// number of the newest line plus 1.
func Write(tx *sqlite.Tx, iteration int64, from *int64, lines []string, now scalar.Time) (next int64, err error) {
	first, next, err := bounds(tx, iteration)
	if err != nil || len(lines) == 0 {
		return next, err
	}
	var cropped bool
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM console_line WHERE iteration_num = ? AND number = ? AND text = ?)`,
		iteration, first, notice(first)).Scan(&cropped)
	if err != nil {
		return 0, err
	}
	at := next
	if from != nil {
		at = *from
	}
	for i, line := range lines {
		_, err := tx.Exec(`INSERT INTO console_line (iteration_num, number, text, written_date) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET text = excluded.text, written_date = excluded.written_date`,
			iteration, at+int64(i), cut(line), now)
		if err != nil {
			return 0, err
		}
	}
	next = max(next, at+int64(len(lines)))
	first = max(first, next-MaxLines)
	n, err := tx.Exec(`DELETE FROM console_line WHERE iteration_num = ? AND number < ?`, iteration, next-MaxLines)
	if err == nil && (n > 0 || cropped) {
		_, err = tx.Exec(`DELETE FROM console_line WHERE iteration_num = ? AND number <= ?`, iteration, first)
		if err == nil {
			_, err = tx.Exec(`INSERT INTO console_line (iteration_num, number, text, written_date) VALUES (?, ?, ?, ?)`,
				iteration, first, notice(first), now)
		}
	}
	return next, err
}

// notice returns the text that replaces the line with the given number after it and all
// lines before it were dropped.
func notice(number int64) string {
	return fmt.Sprintf("… earlier lines, up to number %d, were dropped", number)
}

// cut returns at most MaxLine bytes of a line, with a mark if it was longer.
func cut(s string) string {
	if len(s) <= MaxLine {
		return s
	}
	const mark = "…"
	end := MaxLine - len(mark)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// bounds returns the number of the first line, and the number of the last line plus 1.
func bounds(tx *sqlite.Tx, iteration int64) (first, next int64, err error) {
	err = tx.Row(`SELECT
			coalesce((SELECT min(number) FROM console_line WHERE iteration_num = ?), 0),
			coalesce((SELECT max(number) + 1 FROM console_line WHERE iteration_num = ?), 0)`,
		iteration, iteration).Scan(&first, &next)
	return first, next, err
}

// Read returns the lines that q selects, in their order. It stops early if the lines have
// more than the given number of bytes together.
func Read(tx *sqlite.Tx, iteration int64, q Query, bytes int) (Part, error) {
	p := Part{Lines: []Line{}}
	var err error
	if p.First, p.Next, err = bounds(tx, iteration); err != nil {
		return p, err
	}
	from, order := p.First, ``
	if q.From != nil {
		from = *q.From
	} else {
		order = ` DESC`
	}
	rows, err := tx.Rows(`SELECT number, text, written_date FROM console_line
		WHERE iteration_num = ? AND number >= ? AND (? = '' OR `+search.Contains(`text`)+`)
		ORDER BY number`+order+` LIMIT ?`, iteration, from, q.Search, q.Search, q.Limit)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		var line Line
		if err := rows.StructScan(&line); err != nil {
			return p, err
		}
		if size += len(line.Text); size > bytes {
			break
		}
		p.Lines = append(p.Lines, line)
	}
	if q.From == nil {
		slices.Reverse(p.Lines)
	}
	return p, rows.Err()
}
