package points

import (
	"context"
	"math"
	"math/bits"

	"tracker/store/sqlite"
)

// checksum returns the checksum of a point. A change to one field always changes the checksum,
// because mix is invertible.
//
// The checksum of a series is the sum of the checksums of its points, modulo 2^64. Database
// files contain checksums, so this function must never change.
func (p point) checksum() int64 {
	value := math.Float64bits(float64(p.value) + 0) // SQLite stores -0 as 0
	if math.IsNaN(float64(p.value)) {
		value = math.MaxUint64
	}
	h := mix(0, uint64(p.step))
	h = mix(h, uint64(p.seq))
	h = mix(h, value)
	h = mix(h, uint64(p.at))
	return int64(mix(mix(h, 0), 0))
}

// mix returns the checksum h extended by x.
func mix(h, x uint64) uint64 {
	return bits.RotateLeft64((h^x)*0x9e3779b97f4a7c15+0xd1b54a32d192ed03, 32)
}

// checksum returns the checksum of p.
func (p Point) checksum() int64 { return point{p.Step, p.place.seq, p.Value, p.RecordedAt}.checksum() }

// checksumBatch is the approximate number of points that one call of completeChecksums reads.
const checksumBatch = 100_000

// completeChecksums completes the checksums of some series in the checksum_due table. The
// checksum_due table lists series with points that an earlier program version has written without
// a checksum. completeChecksums reports whether the table lists any series.
//
// completeChecksums reads the points in a snapshot, so it does not block the writer while it
// reads. Changes to points after the snapshot do no harm: they do not change the difference
// between the computed and the stored checksum.
func (e *Engine) completeChecksums(ctx context.Context) (found bool, err error) {
	missing := map[int64]int64{} // checksum differences by series id
	err = e.db.Read(ctx, func(t *sqlite.Tx) error {
		tx := e.In(t)
		var ids []int64
		err := tx.Select(&ids, `SELECT series_id FROM checksum_due LIMIT 1000`)
		for read := int64(0); err == nil && len(ids) > 0 && read < checksumBatch; ids = ids[1:] {
			missing[ids[0]] = 0
			var s *series
			var now computed
			if s, err = tx.seriesByID(ids[0]); err != nil || s == nil {
				continue
			}
			now, err = tx.computeStats(s.id, s.compactedSeq, nil)
			missing[s.id] = now.checksum - s.checksum
			read += now.Count
		}
		return err
	})
	if err != nil || len(missing) == 0 {
		return false, err
	}
	return true, e.upkeep(ctx, func(tx *Tx) error {
		var changed []*series
		for id, add := range missing {
			n, err := tx.Exec(`DELETE FROM checksum_due WHERE series_id = ?`, id)
			if err != nil {
				return err
			}
			s, err := tx.openByID(id)
			if err != nil {
				return err
			}
			if s != nil && n > 0 { // skip a series that was deleted or completed since the snapshot
				s.checksum += add
				changed = append(changed, s)
			}
		}
		return tx.saveSeries(changed...)
	})
}
