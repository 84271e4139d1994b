package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// wrongRollups compares the rollups of every series with its points.
func (t *tx) wrongRollups() ([]Problem, error) {
	var found []Problem
	for after := int64(0); ; {
		all, err := t.seriesAfter(after)
		if err != nil {
			return found, err
		}
		if len(all) == 0 {
			break
		}
		for _, s := range all {
			after = s.ID
			same, err := t.sameRollups(s)
			if err != nil {
				return found, err
			}
			if same {
				continue
			}
			id := s.ID
			found = append(found, Problem{
				Text:       fmt.Sprintf("The rollups of metric %q of iteration %s, which its charts are drawn from, do not fit its points.", s.key, s.iteration.id),
				Repairable: true,
				repair:     func(tx *tx) error { return tx.rollAnew(id) },
			})
		}
	}
	var n int64
	const stray = `rollup WHERE id >> 36 NOT IN (SELECT id FROM series)`
	if err := t.row(`SELECT count(*) FROM ` + stray).Scan(&n); err != nil || n == 0 {
		return found, err
	}
	return append(found, Problem{
		Text:       fmt.Sprintf("%d rollups belong to no series.", n),
		Repairable: true,
		repair: func(tx *tx) error {
			_, err := tx.exec(`DELETE FROM ` + stray)
			return err
		},
	}), nil
}

// rollAnew makes the rollups of a series from nothing.
func (tx *tx) rollAnew(id int64) error {
	s, err := tx.seriesByID(id)
	if err != nil || s == nil {
		return err
	}
	if err := tx.dropRollups(id); err != nil {
		return err
	}
	s.roll = rolled{}
	if s.Count >= minRolled {
		if _, err := tx.roll(s, math.MaxInt); err != nil {
			return err
		}
	}
	return tx.saveSeries(s)
}

// sameRollups tells whether the rollups of a series are what its points make.
func (t *tx) sameRollups(s *series) (bool, error) {
	if s.roll.to != nil {
		shift := s.roll.shift + rowShift
		if s.roll.shift < 0 || s.roll.shift > maxShift || *s.roll.to>>shift<<shift != *s.roll.to {
			return false, nil
		}
	}
	want := rollHash{series: s}
	if s.roll.to != nil && *s.roll.to > math.MinInt64 {
		err := t.eachPoint(s.ID, math.MinInt64, int64(*s.roll.to)-1, want.add)
		if err != nil {
			return false, err
		}
	}
	want.end()
	var got rollHash
	if s.ID >= maxRolledID {
		return s.roll.to == nil, nil
	}
	rows, err := t.rows(`SELECT id, cells FROM rollup WHERE id BETWEEN ? AND ? ORDER BY id`,
		s.ID<<seriesBit, s.ID<<seriesBit|(1<<seriesBit-1))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var cells []byte
		if err := rows.Scan(&id, &cells); err != nil {
			return false, err
		}
		got.row(id, cells)
	}
	return got.sum() == want.sum(), rows.Err()
}

// maxLevels is more than there can be: each has cells eight times as wide.
const maxLevels = 64 / rowShift

// rollHash makes the rollups of points, which come in order, and adds up a hash
// of each row, so that a series of any length is checked in little memory,
// whatever the order in which its rows come.
type rollHash struct {
	*series
	levels [maxLevels + 1]struct {
		open  bool
		block int64
		cells [rowCells]cell
	}
	rows int
	hash [sha256.Size / 8]uint64
}

func (h *rollHash) add(p point) {
	h.merge(1, int64(p.step)>>h.roll.cellShift(1), cellOf(p))
}

// merge takes c into the cell of a level that has a number, counted from step
// 0. When that begins another row, the one before is complete.
func (h *rollHash) merge(level int, number int64, c cell) {
	l := &h.levels[level]
	if block := number >> rowShift; !l.open || l.block != block {
		h.close(level)
		l.open, l.block = true, block
	}
	l.cells[number&(rowCells-1)].merge(c)
}

// close ends the row of a level, which belongs to the rollups if they reach
// over all of it.
func (h *rollHash) close(level int) {
	l := &h.levels[level]
	shift := h.roll.cellShift(level + 1)
	if l.open && shift < 63 && l.block < int64(*h.roll.to)>>shift {
		h.row(h.rowID(level, l.block), encodeCells(&l.cells, Step(l.block<<shift), h.roll.cellShift(level)))
		var all cell
		for _, c := range l.cells {
			if c.count > 0 {
				all.merge(c)
			}
		}
		h.merge(level+1, l.block, all)
	}
	l.open, l.cells = false, [rowCells]cell{}
}

// end closes what is open, from the finest level on.
func (h *rollHash) end() {
	for level := range h.levels {
		if level > 0 && h.levels[level].open {
			h.close(level)
		}
	}
}

func (h *rollHash) row(id int64, cells []byte) {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, uint64(id)), cells...))
	for i := range h.hash {
		h.hash[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
	h.rows++
}

// sum tells apart what is not the same set of rows.
func (h *rollHash) sum() string { return fmt.Sprint(h.rows, h.hash) }
