// Package console stores the lines that runs print. The lines of a run are numbered from 0. A
// line replaces an older line with the same number, so a client that got no response can safely
// repeat its request. The package stores only the newest lines of a run. If older lines were
// dropped, a notice replaces the first stored line. Long lines are truncated.
//
// The package identifies a run by its iteration number. It does not check users or rights.
package console

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Limits of a run's console.
const (
	// MaxLines is the maximum number of stored lines. The lines with the largest numbers are
	// stored. If older lines were dropped, a notice replaces the first stored line.
	MaxLines = 50_000
	// MaxLine is the maximum length of a line in bytes. Longer lines are truncated.
	MaxLine = 8 << 10
	// MaxNumber is the maximum line number.
	MaxNumber = 1 << 40
)

// Line is a line that a run printed. Its text includes terminal escape sequences.
type Line struct {
	Number      int64       `json:"number" db:"number"`
	Text        string      `json:"text" db:"text"`
	WrittenDate scalar.Time `json:"written_date" db:"written_date"`
}

// Part holds the console lines that a Query selected.
type Part struct {
	Lines []Line `json:"lines"`
	First int64  `json:"first"` // number of the oldest stored line
	Next  int64  `json:"next"`  // number of the newest stored line plus 1
}

// Query selects lines of a run's console.
type Query struct {
	From   *int64 // smallest line number; nil for the last lines
	Limit  int    // maximum number of lines
	Search string // text that each line must contain, ignoring case; "" for all lines
}

// Write stores lines with consecutive numbers. The first line gets the number *from. If from is
// nil, the first line gets the number after the last stored line. Write replaces stored lines
// with the same numbers. It returns the number of the newest line plus 1.
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

// notice returns the text that replaces the first stored line if older lines were dropped.
// number is the number of the replaced line.
func notice(number int64) string {
	return fmt.Sprintf("… earlier lines, up to number %d, were dropped", number)
}

// cut truncates s to MaxLine bytes. A truncated line ends with an ellipsis.
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

// bounds returns the number of the first stored line, and the number of the last stored line
// plus 1.
func bounds(tx *sqlite.Tx, iteration int64) (first, next int64, err error) {
	err = tx.Row(`SELECT
			coalesce((SELECT min(number) FROM console_line WHERE iteration_num = ?), 0),
			coalesce((SELECT max(number) + 1 FROM console_line WHERE iteration_num = ?), 0)`,
		iteration, iteration).Scan(&first, &next)
	return first, next, err
}

// Read returns the lines that q selects, ordered by number. It stops before the total text
// length exceeds the given number of bytes.
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
