package points

import (
	"database/sql"
	"fmt"
	"math"
	"math/bits"
)

// A chart shows about a thousand points, but a series can have millions. Rollups make a chart
// of many points fast. A rollup cell summarizes the points in a range of 2^n steps.
//
// Cells of level 1 are 2^shift steps wide. With evenly spaced points, a cell of level 1 has about
// cellPoints points. A cell of any higher level covers 16 cells of the level below. A row of the
// rollup table holds 16 adjacent cells, so a chart reads few rows.
//
// A row is complete as soon as the series has a point after the range of the row. Complete rows
// are stored. A row is stored again when a point in its range arrives late, is changed or is
// deleted.

const (
	cellPoints = 16
	// rowShift is the binary logarithm of the number of cells in a row.
	rowShift = 4
	rowCells = 1 << rowShift
	// minRolledUp is the minimum number of points of a series with rollups.
	minRolledUp = 512
	// maxShift is the maximum of extent.shift.
	maxShift = 56
	// refit is the difference between the current and the best shift at which the cells are
	// recomputed. A difference of 3 means that the points are now eight times as far apart, or as
	// close together, as the cells assume.
	refit = 3

	// The id of a row in the rollup table consists of three parts: the series id in the bits from
	// seriesBit on, the level, and the lower blockBits bits of the block number.
	seriesBit = 36
	blockBits = 32
	// maxRolledUpID is the first series id that does not fit into a row id. Series with an id
	// of at least maxRolledUpID have no rollups.
	maxRolledUpID = 1 << (63 - seriesBit)
)

// extent describes the stored rollups of a series. All rows that end before the step end are
// stored.
type extent struct {
	shift int   // binary logarithm of the number of steps in a level 1 cell
	end   *Step // end of the rollups, a multiple of the row width at level 1; nil without rollups
}

// cellShift returns the binary logarithm of the cell width at the given level.
func (e extent) cellShift(level int) int { return e.shift + rowShift*(level-1) }

// cellIndex returns the index of the cell that contains step, counted within the cell's row at
// the given level.
func (e extent) cellIndex(level int, step Step) int64 {
	return int64(step) >> e.cellShift(level) & (rowCells - 1)
}

// endOf returns the first step after the last complete row of the given level. Without a
// complete row, it returns the smallest possible step.
func (e extent) endOf(level int) Step {
	shift := e.cellShift(level) + rowShift
	if e.end == nil || shift >= 63 {
		return math.MinInt64
	}
	return *e.end >> shift << shift
}

// rowID returns the id in the rollup table of the row with the given level and block number.
func (s *series) rowID(level int, block int64) int64 {
	return s.id<<seriesBit | int64(level)<<blockBits | block&(1<<blockBits-1)
}

// fitCells drops the rollups of s if the current cell width no longer suits the distance
// between the points.
func (tx *Tx) fitCells(s *series) error {
	if s.rollups.end == nil {
		return nil
	}
	_, shift, err := tx.bestShift(s)
	if off := shift - s.rollups.shift; err != nil || off < refit && off > -refit {
		return err
	}
	s.rollups, s.open = extent{}, nil
	return tx.dropRollups(s.id)
}

// bestShift returns the smallest step of s and the best value of extent.shift for its points.
func (tx *Tx) bestShift(s *series) (first Step, shift int, err error) {
	if s.first == nil {
		err := tx.Row(`SELECT step FROM metric WHERE series_id = ? ORDER BY step LIMIT 1`, s.id).Scan(&s.first)
		if err != nil {
			return 0, 0, err
		}
	}
	first = *s.first
	span := uint64(*s.LastStep) - uint64(first)
	distance := max(1, span/uint64(max(1, s.Count-1)))
	shift = bits.Len64(distance) - 1 + bits.Len(cellPoints) - 1
	// The lower bound prevents two rows with the same id. The bound includes refit, because
	// fitCells keeps a shift that differs from the best shift by less than refit.
	return first, min(max(shift, bits.Len64(span)-blockBits-rowShift+refit), maxShift), nil
}

// saveRow stores the cells as a row of the rollup table, or deletes the row if no cell has
// points.
func (tx *Tx) saveRow(s *series, level int, block int64, cells *[rowCells]cell) (err error) {
	shift := s.rollups.cellShift(level)
	row := encodeCells(cells, Step(block<<(shift+rowShift)), shift)
	if len(row) == maskBytes {
		_, err = tx.Exec(`DELETE FROM rollup WHERE id = ?`, s.rowID(level, block))
	} else {
		_, err = tx.Exec(`INSERT OR REPLACE INTO rollup (id, cells) VALUES (?, ?)`, s.rowID(level, block), row)
	}
	return err
}

// dropRollups removes all rollups of a series.
func (tx *Tx) dropRollups(seriesID int64) error {
	if seriesID >= maxRolledUpID {
		return nil
	}
	_, err := tx.Exec(`DELETE FROM rollup WHERE id >= ? AND id <= ?`, seriesID<<seriesBit, seriesID<<seriesBit|(1<<seriesBit-1))
	return err
}

// eachRow calls fn with each row of the given level from block first to block last, in order.
// fn must not retain cells.
func (tx *Tx) eachRow(s *series, level int, first, last int64, fn func(block int64, cells *[rowCells]cell)) error {
	if end := first | (1<<blockBits - 1); last > end {
		// The lower bits of the block number wrap to 0 after end. Read the two parts
		// separately.
		if err := tx.eachRow(s, level, first, end, fn); err != nil {
			return err
		}
		first = end + 1
	}
	rows, err := tx.Rows(`SELECT id, cells FROM rollup WHERE id BETWEEN ? AND ? ORDER BY id`,
		s.rowID(level, first), s.rowID(level, last))
	if err != nil {
		return err
	}
	defer rows.Close()
	shift := s.rollups.cellShift(level)
	var cells [rowCells]cell
	var row sql.RawBytes
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id, &row); err != nil {
			return err
		}
		block := first&^(1<<blockBits-1) | id&(1<<blockBits-1)
		if err := decodeCells(row, Step(block<<(shift+rowShift)), shift, &cells); err != nil {
			return fmt.Errorf("series %d, level %d, block %d: %w", s.id, level, block, err)
		}
		fn(block, &cells)
	}
	return rows.Err()
}
