package points

import (
	"database/sql"
	"fmt"
	"math"
	"math/bits"
)

// A chart shows a thousand points of a series that may have millions. Rollups
// make it cheap: a cell summarizes the points in a range of 2^n steps.
//
// Cells of level 1 are 2^shift steps wide; shift is chosen so that a cell has
// about cellPoints points if they are evenly spaced. A cell of each further
// level covers 16 cells of the level below. 16 adjacent cells are a row of
// table rollup, so a chart reads few rows. A row is written when its range is
// complete, that is when a point after it is written, and again when a point in
// it arrives late, is changed or is deleted.

const (
	cellPoints = 16
	// rowShift is the binary logarithm of the number of cells in a row.
	rowShift = 4
	rowCells = 1 << rowShift
	// minRolledUp is the minimum number of points of a series with rollups.
	minRolledUp = 512
	// maxShift is the largest shift of cells of level 1.
	maxShift = 56
	// refit is the difference of shifts at which cells are computed again: the
	// distances between the points have then changed eightfold.
	refit = 3

	// The id of a row consists of the series (the bits from seriesBit on), the level,
	// and the lower blockBits of the block.
	seriesBit = 36
	blockBits = 32
	// maxRolledUpID is the first id of a series that does not fit into the id of a
	// row. Series from this id on have no rollups.
	maxRolledUpID = 1 << (63 - seriesBit)
)

// extent describes the rollups of a series. They include all rows that end before
// end.
type extent struct {
	shift int   // a cell of level 1 has 2^shift steps
	end   *Step // a multiple of the width of a row of level 1; nil without rollups
}

// cellShift returns the binary logarithm of the width of a cell of a level.
func (e extent) cellShift(level int) int { return e.shift + rowShift*(level-1) }

// cellIndex returns the index, within its row, of the cell of a level that contains a
// step.
func (e extent) cellIndex(level int, step Step) int64 {
	return int64(step) >> e.cellShift(level) & (rowCells - 1)
}

// endOf returns the step after the last complete row of a level, or the smallest
// possible step if there is none.
func (e extent) endOf(level int) Step {
	shift := e.cellShift(level) + rowShift
	if e.end == nil || shift >= 63 {
		return math.MinInt64
	}
	return *e.end >> shift << shift
}

// rowID returns the id of a row.
func (s *series) rowID(level int, block int64) int64 {
	return s.id<<seriesBit | int64(level)<<blockBits | block&(1<<blockBits-1)
}

// fitCells drops the rollups of a series if its points lie much closer together or
// farther apart than when the width of the cells was chosen.
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

// bestShift returns the best shift for the cells of a series, and its first step.
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
	// The range must not be so long that two rows get the same id. A shift is kept
	// while it differs from the best one by less than refit.
	return first, min(max(shift, bits.Len64(span)-blockBits-rowShift+refit), maxShift), nil
}

// saveRow writes a row, or removes it if it has no points.
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

// eachRow calls fn with the rows of a level from block first to last, in
// order. fn must not keep the cells.
func (tx *Tx) eachRow(s *series, level int, first, last int64, fn func(block int64, cells *[rowCells]cell)) error {
	if end := first | (1<<blockBits - 1); last > end {
		// The lower bits of the block wrap to 0 here.
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
