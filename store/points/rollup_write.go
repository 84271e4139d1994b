package points

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"tracker/store/sqlite"
)

// maxRollUp is the maximum number of points that a transaction reads for rollups, in addition
// to points that it has written.
const maxRollUp = 8192

// openRow is the incomplete row of level 1 at the end of the rollups. The series has no point
// after this row.
type openRow struct {
	block int64
	cells [rowCells]cell
	// late is set if a point was added to a cell that already had a point with a later step.
	// The times of such a cell are uncertain.
	late bool
}

// rollUp updates the rollups of s. The caller has inserted rows into the metric table. The rows
// must be in order. If a transaction can't process all points, the next transaction or
// rollUpLater continues.
func (tx *Tx) rollUp(s *series, rows []row) error {
	if tx.engine.opts.NoRollups || s.rollups.end == nil && s.Count < minRolledUp || s.id >= maxRolledUpID {
		return nil
	}
	if s.first != nil {
		s.first = new(min(*s.first, Step(rows[0].step)))
	}
	if err := tx.fitCells(s); err != nil {
		return err
	}
	if s.rollups.end == nil && s.Count == int64(len(rows)) {
		s.first = new(Step(rows[0].step)) // rows are all points of the series
		if err := tx.beginRollups(s); err != nil {
			return err
		}
		s.open = &openRow{block: int64(*s.rollups.end) >> (s.rollups.shift + rowShift)}
	}
	if s.rollups.end != nil {
		late := 0
		for late < len(rows) && Step(rows[late].step) < *s.rollups.end {
			late++
		}
		if err := tx.addLate(s, rows[:late]); err != nil || late == len(rows) {
			return err
		}
		rows = rows[late:]
	}
	if s.open != nil {
		return tx.extendOpenRow(s, rows)
	}
	done, err := tx.rollUpMissing(s, maxRollUp+2*len(rows))
	if err == nil && !done {
		tx.engine.rollUpLater(s.id)
	}
	return err
}

// extendOpenRow merges rows into the open row of s. All rows must be after the end of the
// rollups. When a row belongs to the next block, extendOpenRow first saves the open row.
func (tx *Tx) extendOpenRow(s *series, rows []row) error {
	shift, from := s.rollups.shift+rowShift, *s.rollups.end
	for _, r := range rows {
		block := r.step >> shift
		if block != s.open.block {
			if err := tx.saveOpenRow(s); err != nil {
				return err
			}
			*s.open = openRow{block: block}
		}
		c, p := &s.open.cells[s.rollups.cellIndex(1, Step(r.step))], r.point()
		s.open.late = s.open.late || c.count > 0 && byStep(p, c.last) < 0
		c.add(p)
	}
	if to := Step(s.open.block << shift); to > from {
		s.rollups.end = &to
		return tx.writeHigherLevels(s, from)
	}
	return nil
}

// saveOpenRow stores the open row of a series in the rollup table.
func (tx *Tx) saveOpenRow(s *series) error {
	if s.open.late {
		return tx.rewriteBlock(s, s.open.block)
	}
	return tx.saveRow(s, 1, s.open.block, &s.open.cells)
}

// rollUpLater queues a series for rollups in the background. If the queue is full, it does
// nothing. The next chart of the series calls rollUpLater again.
func (e *Engine) rollUpLater(seriesID int64) {
	select {
	case e.toRollUp <- seriesID:
	default:
	}
}

// rollUpNext writes missing rollups of a series in one transaction. If rollups are still
// missing, it queues the series again.
func (e *Engine) rollUpNext(ctx context.Context, seriesID int64) error {
	done := true
	err := e.upkeep(ctx, func(tx *Tx) error {
		s, err := tx.openByID(seriesID)
		if err != nil || s == nil || s.Count < minRolledUp || s.id >= maxRolledUpID {
			return err
		}
		if done, err = tx.rollUpMissing(s, 2*maxRollUp); err != nil {
			return err
		}
		return tx.saveSeries(s)
	})
	if err == nil && !done {
		e.rollUpLater(seriesID)
	}
	return err
}

// rollUpWithout writes the rollups of some series that have none, for example because a migration
// has dropped rollups in an older encoding.
//
// rollUpWithout processes series with an id above after, in order, until it has read about
// maxRollUp points. It returns the id of the last processed series, or the given id if there
// was none.
func (e *Engine) rollUpWithout(ctx context.Context, after int64) (last int64, err error) {
	last = after
	found := false
	err = e.db.Read(ctx, func(tx *sqlite.Tx) error {
		return tx.Row(`SELECT EXISTS (`+withoutRollups+`)`, after, maxRolledUpID).Scan(&found)
	})
	if err != nil || !found {
		return after, err
	}
	var unfinished []int64
	err = e.upkeep(ctx, func(tx *Tx) error {
		var ids []int64
		err := tx.Select(&ids, withoutRollups, after, maxRolledUpID)
		for read := int64(0); err == nil && len(ids) > 0 && read < maxRollUp; ids = ids[1:] {
			var s *series
			var done bool
			if s, err = tx.openByID(ids[0]); err != nil || s == nil {
				continue
			}
			if done, err = tx.rollUpMissing(s, 2*maxRollUp); err != nil {
				break
			}
			if !done {
				unfinished = append(unfinished, s.id)
			}
			last, read = s.id, read+s.Count
			err = tx.saveSeries(s)
		}
		return err
	})
	if err != nil {
		return after, err
	}
	for _, id := range unfinished {
		e.rollUpLater(id)
	}
	return last, nil
}

// withoutRollups selects ids of series that have enough points in the metric table but no
// rollups. The number 512 is minRolledUp. The index series_without_rollups uses the same number.
const withoutRollups = `SELECT id
	FROM series
	WHERE rolled_to IS NULL
	AND count >= 512
	AND id > ?
	AND id < ?
	AND EXISTS (SELECT 1 FROM metric WHERE series_id = series.id)
	ORDER BY id
	LIMIT 100`

// rollUpMissing writes the missing rollups of a series. When it has read more than limit
// points, it stops at the end of the current row. It reports whether all rollups are written.
func (tx *Tx) rollUpMissing(s *series, limit int) (done bool, err error) {
	s.open = nil
	if s.rollups.end == nil {
		if err := tx.beginRollups(s); err != nil {
			return true, err
		}
	}
	shift := s.rollups.shift + rowShift
	from := *s.rollups.end
	end := int64(from) >> shift // last block that was read
	rows, err := tx.Rows(`SELECT step, seq, value, recorded_at FROM metric
		WHERE series_id = ? AND step >= ? ORDER BY step, seq`, s.id, from)
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
		blocks[end][s.rollups.cellIndex(1, p.step)].add(p)
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
		if err := tx.saveRow(s, 1, block, blocks[block]); err != nil {
			return false, err
		}
	}
	s.rollups.end = new(Step(end) << shift)
	return done, tx.writeHigherLevels(s, from)
}

// beginRollups sets the cell width of a series without rollups. It sets the end of the rollups
// to the beginning of the first row.
func (tx *Tx) beginRollups(s *series) error {
	first, best, err := tx.bestShift(s)
	if err == nil {
		s.rollups = extent{best, new(first >> (best + rowShift) << (best + rowShift))}
	}
	return err
}

// writeHigherLevels writes the complete rows of level 2 and above between the former and the
// current end of the rollups. from is the former end.
func (tx *Tx) writeHigherLevels(s *series, from Step) error {
	for level := 2; ; level++ {
		shift := s.rollups.cellShift(level + 1)
		if shift >= 63 {
			return nil
		}
		first, end := int64(from)>>shift, int64(*s.rollups.end)>>shift
		if first == end {
			return nil
		}
		if err := tx.writeParents(s, level, first, end-1); err != nil {
			return err
		}
	}
}

// writeParents writes the rows first..last of a level. It computes each row from rows of the
// level below.
func (tx *Tx) writeParents(s *series, level int, first, last int64) error {
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
		return tx.saveRow(s, level, first, new([rowCells]cell))
	}
	for _, block := range slices.Sorted(maps.Keys(parents)) {
		if err := tx.saveRow(s, level, block, parents[block]); err != nil {
			return err
		}
	}
	return nil
}

// rollUpAgain updates the rollups after a point at p was changed, removed or inserted. The
// stored statistics of the series must be up to date.
func (tx *Tx) rollUpAgain(p place) error {
	s, err := tx.seriesByID(p.series)
	if err != nil || s == nil || s.rollups.end == nil {
		return err
	}
	if err := tx.fitCells(s); err != nil {
		return err
	}
	switch {
	case s.rollups.end == nil:
		tx.engine.rollUpLater(s.id)
		return tx.saveSeries(s)
	case Step(p.step) >= *s.rollups.end:
		return nil
	}
	return tx.rewriteBlocks(s, map[int64]bool{p.step >> (s.rollups.shift + rowShift): true})
}

// rebuildRollups drops the rollups of a series and computes them from the points.
func (tx *Tx) rebuildRollups(id int64) error {
	s, err := tx.seriesByID(id)
	if err != nil || s == nil {
		return err
	}
	if err := tx.dropRollups(id); err != nil {
		return err
	}
	s.rollups = extent{}
	if s.Count >= minRolledUp {
		if _, err := tx.rollUpMissing(s, math.MaxInt); err != nil {
			return err
		}
	}
	return tx.saveSeries(s)
}
