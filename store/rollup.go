package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// A chart shows a thousand points of a series that may have millions. Rollups
// let it be drawn without reading them all: for every stretch of 2^n steps, a
// cell with what a chart needs of its points.
//
// Level 1 has the finest cells, of 2^shift steps, so chosen that one has about
// cellPoints points of a series that logs at even distances; a cell of each
// further level is 16 of the one below. 16 neighbouring cells are a row of table
// rollup, so a chart reads few rows. A row is written once its stretch is
// complete, that is when the series has gone on behind it, and again when a
// point in it comes late, is changed or deleted.

const (
	cellPoints = 16
	// rowShift says that a row has 2^rowShift cells.
	rowShift = 4
	rowCells = 1 << rowShift
	// minRolled is from how many points on a series has rollups.
	minRolled = 512
	// maxRoll bounds the points that one transaction reads to roll them up,
	// beside those it has written.
	maxRoll = 8192
	// maxShift is the width of the widest cells of level 1.
	maxShift = 56
	// refit is by how many powers of two the cells must be too wide or too
	// narrow to be made anew. The distances of the points have changed eightfold
	// by then, so it happens rarely.
	refit = 3

	// The id of a row has the series above seriesBit, then the level, then the
	// lower blockBits of the block.
	seriesBit = 36
	blockBits = 32
	// maxRolledID is behind the last series whose number fits: later ones have
	// no rollups.
	maxRolledID = 1 << (63 - seriesBit)
)

// rolled says which rollups a series has: all of those that end before to.
type rolled struct {
	shift int   // a cell of level 1 has 2^shift steps
	to    *Step // a multiple of a row of level 1; nil for none
}

// openRow is the row of level 1 that begins where the rollups end, as far as it
// has points. No point lies behind it.
type openRow struct {
	block int64
	cells [rowCells]cell
	// late says that a point came after one of a later step of its cell, which
	// leaves open what the cell says of times.
	late bool
}

// cellShift is the width of a cell of a level, as a power of two.
func (r rolled) cellShift(level int) int { return r.shift + rowShift*(level-1) }

// end is the step behind the last complete row of a level; the smallest there
// is without one.
func (r rolled) end(level int) Step {
	shift := r.cellShift(level) + rowShift
	if r.to == nil || shift >= 63 {
		return math.MinInt64
	}
	return *r.to >> shift << shift
}

// rowID is the id of a row.
func (s *series) rowID(level int, block int64) int64 {
	return s.ID<<seriesBit | int64(level)<<blockBits | block&(1<<blockBits-1)
}

// rollUp brings the rollups of a series up to date after rows of it, in order,
// were put into table metric. What is too much for one transaction is left to
// the next, or to db.rollLater.
func (tx *tx) rollUp(s *series, rows []pointRow) error {
	if s.roll.to == nil && s.Count < minRolled || s.ID >= maxRolledID {
		return nil
	}
	if s.first != nil {
		s.first = new(min(*s.first, Step(rows[0].step)))
	}
	if err := tx.fitCells(s); err != nil {
		return err
	}
	if s.roll.to != nil {
		late := map[int64]bool{}
		for len(rows) > 0 && Step(rows[0].step) < *s.roll.to {
			late[rows[0].step>>(s.roll.shift+rowShift)] = true
			rows = rows[1:]
		}
		if err := tx.rollBlocks(s, late); err != nil || len(rows) == 0 {
			return err
		}
	}
	if s.open != nil {
		return tx.rollOn(s, rows)
	}
	done, err := tx.roll(s, maxRoll+2*len(rows))
	if err == nil && !done {
		tx.db.rollLater(s.ID)
	}
	return err
}

// rollOn adds rows behind the rollups to the open row of a series, and writes
// it when they go beyond it.
func (tx *tx) rollOn(s *series, rows []pointRow) error {
	shift, from := s.roll.shift+rowShift, *s.roll.to
	for _, r := range rows {
		block := r.step >> shift
		if block != s.open.block {
			if err := tx.saveOpen(s); err != nil {
				return err
			}
			*s.open = openRow{block: block}
		}
		c, p := &s.open.cells[s.roll.numberOf(1, Step(r.step))], point{Step(r.step), r.seq, r.value, r.at}
		s.open.late = s.open.late || c.count > 0 && byStep(p, c.last) < 0
		c.add(p)
	}
	if to := Step(s.open.block << shift); to > from {
		s.roll.to = &to
		return tx.rollHigher(s, from)
	}
	return nil
}

// saveOpen writes the open row of a series.
func (tx *tx) saveOpen(s *series) error {
	if s.open.late {
		return tx.rollBlock(s, s.open.block)
	}
	return tx.saveCells(s, 1, s.open.block, &s.open.cells)
}

// rollLater has a series rolled up in the background. When too many wait, the
// next chart of it asks again.
func (db *DB) rollLater(seriesID int64) {
	select {
	case db.unrolled <- seriesID:
	default:
	}
}

// rollMore rolls a series up as far as one transaction may take.
func (db *DB) rollMore(ctx context.Context, seriesID int64) error {
	done := true
	err := db.maintain(ctx, func(tx *tx) error {
		s, err := tx.knownSeries(seriesID)
		if err != nil || s == nil || s.Count < minRolled || s.ID >= maxRolledID {
			return err
		}
		if done, err = tx.roll(s, 2*maxRoll); err != nil {
			return err
		}
		return tx.saveSeries(s)
	})
	if err == nil && !done {
		db.rollLater(seriesID)
	}
	return err
}

// roll writes the rollups of a series that are missing, as far as that takes no
// more than about limit points, and tells whether those were all.
func (tx *tx) roll(s *series, limit int) (done bool, err error) {
	s.open = nil
	if s.roll.to == nil {
		first, best, err := tx.bestShift(s)
		if err != nil {
			return true, err
		}
		s.roll = rolled{best, new(first >> (best + rowShift) << (best + rowShift))}
	}
	shift := s.roll.shift + rowShift
	from := *s.roll.to
	end := int64(from) >> shift // the last block that was read
	rows, err := tx.rows(`SELECT step, seq, value, recorded_at FROM metric
		WHERE series_id = ? AND step >= ? ORDER BY step, seq`, s.ID, from)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	blocks := map[int64]*[rowCells]cell{}
	done = true
	for n := 0; rows.Next(); n++ {
		var p point
		if err := rows.Scan(&p.step, &p.seq, &p.value, &p.at); err != nil {
			return false, err
		}
		if block := int64(p.step) >> shift; block != end {
			end = block
			if n > limit {
				done = false
				break
			}
		}
		if blocks[end] == nil {
			blocks[end] = new([rowCells]cell)
		}
		blocks[end][s.roll.numberOf(1, p.step)].add(p)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return false, err
	}
	if done {
		s.open = &openRow{block: end}
		if cells := blocks[end]; cells != nil {
			s.open.cells = *cells
			delete(blocks, end)
		}
	}
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		if err := tx.saveCells(s, 1, block, blocks[block]); err != nil {
			return false, err
		}
	}
	s.roll.to = new(Step(end) << shift)
	return done, tx.rollHigher(s, from)
}

// numberOf says which cell of its row of a level a step belongs to.
func (r rolled) numberOf(level int, step Step) int64 {
	return int64(step) >> r.cellShift(level) & (rowCells - 1)
}

// fitCells drops the rollups of a series whose points lie much closer or
// farther from each other by now than when the width of the cells was chosen.
func (tx *tx) fitCells(s *series) error {
	if s.roll.to == nil {
		return nil
	}
	_, shift, err := tx.bestShift(s)
	if off := shift - s.roll.shift; err != nil || off < refit && off > -refit {
		return err
	}
	s.roll, s.open = rolled{}, nil
	return tx.dropRollups(s.ID)
}

// bestShift returns the width that the cells of a series should have, and its
// first step.
func (tx *tx) bestShift(s *series) (first Step, shift int, err error) {
	if s.first == nil {
		err := tx.row(`SELECT step FROM metric WHERE series_id = ? ORDER BY step LIMIT 1`, s.ID).Scan(&s.first)
		if err != nil {
			return 0, 0, err
		}
	}
	first = *s.first
	span := uint64(*s.LastStep) - uint64(first)
	distance := max(1, span/uint64(max(1, s.Count-1)))
	shift = bits.Len64(distance) - 1 + bits.Len(cellPoints) - 1
	// Two rows must not be so far from each other that they get the same id. A
	// width is kept while it is off by less than refit.
	return first, min(max(shift, bits.Len64(span)-blockBits-rowShift+refit), maxShift), nil
}

// dropRollups removes all rollups of a series.
func (tx *tx) dropRollups(seriesID int64) error {
	if seriesID >= maxRolledID {
		return nil
	}
	_, err := tx.exec(`DELETE FROM rollup WHERE id >= ? AND id <= ?`, seriesID<<seriesBit, seriesID<<seriesBit|(1<<seriesBit-1))
	return err
}

// rollBlocks writes rows of level 1 again, and all above them.
func (tx *tx) rollBlocks(s *series, late map[int64]bool) error {
	for block := range late {
		if err := tx.rollBlock(s, block); err != nil {
			return err
		}
	}
	for level := 2; len(late) > 0; level++ {
		shift := s.roll.cellShift(level + 1)
		above := map[int64]bool{}
		for block := range late {
			if parent := block >> rowShift; shift < 63 && parent < int64(*s.roll.to)>>shift {
				above[parent] = true
			}
		}
		for parent := range above {
			if err := tx.rollParents(s, level, parent, parent); err != nil {
				return err
			}
		}
		late = above
	}
	return nil
}

// rollBlock writes a row of level 1 from the points in it.
func (tx *tx) rollBlock(s *series, block int64) error {
	shift := s.roll.shift + rowShift
	first := block << shift
	var cells [rowCells]cell
	err := tx.eachPoint(s.ID, first, first|(1<<shift-1), func(p point) {
		cells[s.roll.numberOf(1, p.step)].add(p)
	})
	if err != nil {
		return err
	}
	return tx.saveCells(s, 1, block, &cells)
}

// rollHigher writes the rows of the levels from 2 on that have become complete
// since the rollups ended at from.
func (tx *tx) rollHigher(s *series, from Step) error {
	for level := 2; ; level++ {
		shift := s.roll.cellShift(level + 1)
		if shift >= 63 {
			return nil
		}
		first, end := int64(from)>>shift, int64(*s.roll.to)>>shift
		if first == end {
			return nil
		}
		if err := tx.rollParents(s, level, first, end-1); err != nil {
			return err
		}
	}
}

// rollParents writes the rows of a level from first to last out of those of
// the level below.
func (tx *tx) rollParents(s *series, level int, first, last int64) error {
	parents := map[int64]*[rowCells]cell{}
	err := tx.eachRow(s, level-1, first<<rowShift, last<<rowShift|(rowCells-1), func(block int64, cells *[rowCells]cell) {
		above := parents[block>>rowShift]
		if above == nil {
			above = new([rowCells]cell)
			parents[block>>rowShift] = above
		}
		for _, c := range cells {
			if c.count > 0 {
				above[block&(rowCells-1)].merge(c)
			}
		}
	})
	if err != nil {
		return err
	}
	if first == last && len(parents) == 0 {
		return tx.saveCells(s, level, first, new([rowCells]cell))
	}
	for _, block := range slices.Sorted(maps.Keys(parents)) {
		if err := tx.saveCells(s, level, block, parents[block]); err != nil {
			return err
		}
	}
	return nil
}

// saveCells writes a row, or removes it when it has no points.
func (tx *tx) saveCells(s *series, level int, block int64, cells *[rowCells]cell) (err error) {
	shift := s.roll.cellShift(level)
	row := encodeCells(cells, Step(block<<(shift+rowShift)), shift)
	if len(row) == maskBytes {
		_, err = tx.exec(`DELETE FROM rollup WHERE id = ?`, s.rowID(level, block))
	} else {
		_, err = tx.exec(`INSERT OR REPLACE INTO rollup (id, cells) VALUES (?, ?)`, s.rowID(level, block), row)
	}
	return err
}

// eachRow calls fn with the rows of a level from block first to last, in
// order. fn must not keep the cells.
func (tx *tx) eachRow(s *series, level int, first, last int64, fn func(block int64, cells *[rowCells]cell)) error {
	if end := first | (1<<blockBits - 1); last > end {
		// The lower bits begin again at 0 here.
		if err := tx.eachRow(s, level, first, end, fn); err != nil {
			return err
		}
		first = end + 1
	}
	rows, err := tx.rows(`SELECT id, cells FROM rollup WHERE id BETWEEN ? AND ? ORDER BY id`,
		s.rowID(level, first), s.rowID(level, last))
	if err != nil {
		return err
	}
	defer rows.Close()
	shift := s.roll.cellShift(level)
	var cells [rowCells]cell
	var row sql.RawBytes
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id, &row); err != nil {
			return err
		}
		block := first&^(1<<blockBits-1) | id&(1<<blockBits-1)
		if err := decodeCells(row, Step(block<<(shift+rowShift)), shift, &cells); err != nil {
			return fmt.Errorf("series %d, level %d, block %d: %w", s.ID, level, block, err)
		}
		fn(block, &cells)
	}
	return rows.Err()
}

// rollAgain brings the rollups up to date after the point at p was changed or
// removed, or came there. The statistics of the series must be right.
func (tx *tx) rollAgain(p place) error {
	s, err := tx.seriesByID(p.series)
	if err != nil || s == nil || s.roll.to == nil {
		return err
	}
	if err := tx.fitCells(s); err != nil {
		return err
	}
	switch {
	case s.roll.to == nil:
		tx.db.rollLater(s.ID)
		return tx.saveSeries(s)
	case Step(p.step) >= *s.roll.to:
		return nil
	}
	return tx.rollBlocks(s, map[int64]bool{p.step >> (s.roll.shift + rowShift): true})
}
