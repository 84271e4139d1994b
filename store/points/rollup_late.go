package points

// addLate adds late points to complete rows of level 1. It stores the changed rows and all rows
// above them. The points must be in order.
func (tx *Tx) addLate(s *series, late []row) error {
	shift := s.rollups.shift + rowShift
	blocks := map[int64]bool{}
	for len(late) > 0 {
		block, n := late[0].step>>shift, 1
		for n < len(late) && late[n].step>>shift == block {
			n++
		}
		if err := tx.addToBlock(s, block, late[:n]); err != nil {
			return err
		}
		blocks[block] = true
		late = late[n:]
	}
	return tx.rewriteParents(s, blocks)
}

// addToBlock adds late points to one row of level 1. The points must be in order. It reads the
// stored points of a cell only if cell.addLate returns false, because clients can write the
// same steps many times.
func (tx *Tx) addToBlock(s *series, block int64, late []row) error {
	var cells [rowCells]cell
	if err := tx.eachRow(s, 1, block, block, func(_ int64, found *[rowCells]cell) { cells = *found }); err != nil {
		return err
	}
	for len(late) > 0 {
		i, n := s.rollups.cellIndex(1, Step(late[0].step)), 1
		for n < len(late) && s.rollups.cellIndex(1, Step(late[n].step)) == i {
			n++
		}
		c := &cells[i]
		for _, r := range late[:n] {
			if c.addLate(r.point()) {
				continue
			}
			first := block<<(s.rollups.shift+rowShift) | i<<s.rollups.shift
			*c = cell{}
			if err := tx.eachPoint(s.id, first, first|(1<<s.rollups.shift-1), c.add); err != nil {
				return err
			}
			break
		}
		late = late[n:]
	}
	return tx.saveRow(s, 1, block, &cells)
}

// rewriteBlocks recomputes the rows of level 1 with the block numbers in late, and all rows
// above them.
func (tx *Tx) rewriteBlocks(s *series, late map[int64]bool) error {
	for block := range late {
		if err := tx.rewriteBlock(s, block); err != nil {
			return err
		}
	}
	return tx.rewriteParents(s, late)
}

// rewriteParents recomputes all rows above the level 1 rows whose block numbers are in late.
func (tx *Tx) rewriteParents(s *series, late map[int64]bool) error {
	for level := 2; len(late) > 0; level++ {
		shift := s.rollups.cellShift(level + 1)
		above := map[int64]bool{}
		for block := range late {
			if parent := block >> rowShift; shift < 63 && parent < int64(*s.rollups.end)>>shift {
				above[parent] = true
			}
		}
		for parent := range above {
			if err := tx.writeParents(s, level, parent, parent); err != nil {
				return err
			}
		}
		late = above
	}
	return nil
}

// rewriteBlock recomputes one row of level 1 from the points in its range.
func (tx *Tx) rewriteBlock(s *series, block int64) error {
	shift := s.rollups.shift + rowShift
	first := block << shift
	var cells [rowCells]cell
	err := tx.eachPoint(s.id, first, first|(1<<shift-1), func(p point) {
		cells[s.rollups.cellIndex(1, p.step)].add(p)
	})
	if err != nil {
		return err
	}
	return tx.saveRow(s, 1, block, &cells)
}
