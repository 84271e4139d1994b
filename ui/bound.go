package ui

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dustin/go-humanize"
)

const (
	// maxRows bounds the rows of a table of the records of a run.
	maxRows = 5000
	// maxCells bounds the cells of a comparison.
	maxCells = 80_000
	// maxShort bounds the texts of tables that have a row for each run, in bytes.
	maxShort = 1000
	// maxTable bounds the texts of such a table, in bytes, and maxCell each of them.
	maxTable = 2 << 20
	maxCell  = 64 << 10
)

// fit returns the rows that a table shows of rows: up to most, whose texts are
// size bytes long, and at least one.
func fit[T any](rows []T, most int, size func(T) int) []T {
	sum := 0
	for i, row := range rows {
		if sum += min(size(row), maxCell); i > 0 && (i >= most || sum > maxTable) {
			return rows[:i]
		}
	}
	return rows
}

// leftOut returns a note that only some of all rows are shown, "" if all are.
func leftOut(rows, all int) string {
	if rows == all {
		return ""
	}
	return fmt.Sprintf("The first %s of %s; the API has all.", humanize.Comma(int64(rows)), humanize.Comma(int64(all)))
}

// short returns texts as tables of runs show them, none longer than maxShort.
func short(texts map[string]string) map[string]string {
	var cut map[string]string
	for key, text := range texts {
		if len(text) <= maxShort {
			continue
		}
		if cut == nil {
			cut = maps.Clone(texts)
		}
		cut[key] = strings.ToValidUTF8(text[:maxShort], "") + "…"
	}
	if cut == nil {
		return texts
	}
	return cut
}

// cell returns a text as a table shows it: as it is, unless it is very long.
func cell(text string) string {
	if len(text) <= maxCell {
		return text
	}
	return strings.ToValidUTF8(text[:maxCell], "") + "… (" + humanize.IBytes(uint64(len(text))) + "; the API has all of it)"
}
