package ui

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dustin/go-humanize"
)

const (
	// maxRows is the maximum number of rows in a table of a run's parameters or metrics.
	maxRows = 5000
	// maxCells is the maximum number of cells in a comparison of runs.
	maxCells = 80_000
	// maxShort is the maximum length in bytes of a parameter value in a table with one row per
	// run.
	maxShort = 1000
	// maxTable is the maximum total length in bytes of the texts in a table. The text of a cell
	// is cut to maxCell bytes.
	maxTable = 2 << 20
	maxCell  = 64 << 10
)

// fit returns the first rows, at most most rows with a total text length of maxTable bytes. If
// there are any rows, fit returns at least one. The function size returns the text length of a row
// in bytes; fit counts at most maxCell bytes per row.
func fit[T any](rows []T, most int, size func(T) int) []T {
	sum := 0
	for i, row := range rows {
		if sum += min(size(row), maxCell); i > 0 && (i >= most || sum > maxTable) {
			return rows[:i]
		}
	}
	return rows
}

// leftOut returns a note if rows < all, otherwise "". The note says that only the first rows
// are shown.
func leftOut(rows, all int) string {
	if rows == all {
		return ""
	}
	return fmt.Sprintf("The first %s of %s; the API returns all.", humanize.Comma(int64(rows)), humanize.Comma(int64(all)))
}

// short returns texts with each text cut to maxShort bytes. Tables of runs show the cut texts.
func short[T ~string](texts map[string]T) map[string]T {
	var cut map[string]T
	for key, text := range texts {
		if len(text) <= maxShort {
			continue
		}
		if cut == nil {
			cut = maps.Clone(texts)
		}
		cut[key] = T(strings.ToValidUTF8(string(text[:maxShort]), "") + "…")
	}
	if cut == nil {
		return texts
	}
	return cut
}

// cell returns the text of a table cell. A text longer than maxCell bytes is cut.
func cell(text string) string {
	if len(text) <= maxCell {
		return text
	}
	return strings.ToValidUTF8(text[:maxCell], "") + "… (" + humanize.IBytes(uint64(len(text))) + "; the API returns all of it)"
}
