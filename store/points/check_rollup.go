package points

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"tracker/store/sqlite"
)

// strayRollups looks for rollups whose series does not exist.
func (tx *Tx) strayRollups() ([]Problem, error) {
	return tx.stray(`rollup WHERE id >> 36 NOT IN (SELECT id FROM series)`, "1 rollup belongs to no series.", "%d rollups belong to no series.")
}

// valid reports whether e is a possible extent of rollups.
func (e extent) valid() bool {
	if e.end == nil {
		return true
	}
	shift := e.shift + rowShift
	return e.shift >= 0 && e.shift <= maxShift && *e.end>>shift<<shift == *e.end
}

// sameRollups reports whether the stored rollups of s equal want. The caller has added all
// points before the end of the rollups to want.
func (tx *Tx) sameRollups(s *series, want *rollHash) (bool, error) {
	want.end()
	var got rollHash
	if s.id >= maxRolledUpID {
		return s.rollups.end == nil, nil
	}
	rows, err := tx.Rows(`SELECT id, cells FROM rollup WHERE id BETWEEN ? AND ? ORDER BY id`,
		s.id<<seriesBit, s.id<<seriesBit|(1<<seriesBit-1))
	err = sqlite.Each(rows, err, func() error {
		var id int64
		var cells []byte
		if err := rows.Scan(&id, &cells); err != nil {
			return err
		}
		got.row(id, cells)
		return nil
	})
	return got.sum() == want.sum(), err
}

// maxLevels is an upper bound for the number of levels. The cells of each level are 2^rowShift
// times as wide as the cells of the level below.
const maxLevels = 64 / rowShift

// rollHash computes the rollups of points and adds up the hashes of the rollup rows. The points
// must be added in order. A rollHash needs little memory for a series of any length. The sum of
// the hashes does not depend on the order of the rows.
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
	h.merge(1, int64(p.step)>>h.rollups.cellShift(1), cellOf(p))
}

// merge merges c into the cell with the given number at the given level. Cell 0 begins at step
// 0. When a new row begins, merge closes the row before.
func (h *rollHash) merge(level int, number int64, c cell) {
	l := &h.levels[level]
	if block := number >> rowShift; !l.open || l.block != block {
		h.close(level)
		l.open, l.block = true, block
	}
	l.cells[number&(rowCells-1)].merge(c)
}

// close ends the open row of a level. It adds the hash of the row if the rollups cover the
// whole row.
func (h *rollHash) close(level int) {
	l := &h.levels[level]
	shift := h.rollups.cellShift(level + 1)
	if l.open && shift < 63 && l.block < int64(*h.rollups.end)>>shift {
		h.row(h.rowID(level, l.block), encodeCells(&l.cells, Step(l.block<<shift), h.rollups.cellShift(level)))
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

// end closes the open rows of all levels, finest level first.
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

// sum returns a string that identifies the set of rollup rows.
func (h *rollHash) sum() string { return fmt.Sprint(h.rows, h.hash) }
