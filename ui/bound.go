package ui

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dustin/go-humanize"
)

const (
	// maxRows is the maximum number of rows in a table of the records of a run.
	maxRows = 5000
	// maxCells is the maximum number of cells in a comparison.
	maxCells = 80_000
	// maxShort is the maximum length in bytes of a text in a table that has a row for each run.
	maxShort = 1000
	// maxTable is the maximum total length in bytes of the texts of such a table, and maxCell of each of them.
	maxTable = 2 << 20
	maxCell  = 64 << 10
)

// fit returns the first rows: at most most rows, whose texts have at most maxTable bytes in total,
// but at least one row. size returns the length of a row's text, which counts up to maxCell.
func fit[T any](rows []T, most int, size func(T) int) []T {
	sum := 0
	for i, row := range rows {
		if sum += min(size(row), maxCell); i > 0 && (i >= most || sum > maxTable) {
			return rows[:i]
		}
	}
	return rows
}

// leftOut returns a note if only some of the rows are shown, otherwise "".
func leftOut(rows, all int) string {
	if rows == all {
		return ""
	}
	return fmt.Sprintf("The first %s of %s; the API returns all.", humanize.Comma(int64(rows)), humanize.Comma(int64(all)))
}

// short returns texts, cut to maxShort bytes each, for tables of runs.
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

// cell returns the text of a table cell. A very long text is cut.
func cell(text string) string {
	if len(text) <= maxCell {
		return text
	}
	return strings.ToValidUTF8(text[:maxCell], "") + "… (" + humanize.IBytes(uint64(len(text))) + "; the API returns all of it)"
}
