package points

import (
	"context"
	"math"
	"math/bits"

	"tracker/store/sqlite"
)

// checksum returns the checksum of a point. If one of its fields changes, the checksum
// changes, because each call of mix can be undone. The checksum of a series is the sum of
// the checksums of its points, modulo 2^64, in any order. Files contain it, so it must
// not be computed in another way.
func (p point) checksum() int64 {
	value := math.Float64bits(float64(p.value) + 0) // SQLite drops the sign of a zero
	if math.IsNaN(float64(p.value)) {
		value = math.MaxUint64
	}
	h := mix(0, uint64(p.step))
	h = mix(h, uint64(p.seq))
	h = mix(h, value)
	h = mix(h, uint64(p.at))
	return int64(mix(mix(h, 0), 0))
}

// mix adds x to a checksum.
func mix(h, x uint64) uint64 {
	return bits.RotateLeft64((h^x)*0x9e3779b97f4a7c15+0xd1b54a32d192ed03, 32)
}

// checksum returns the checksum of p.
func (p Point) checksum() int64 { return point{p.Step, p.place.seq, p.Value, p.RecordedAt}.checksum() }

// checksumBatch is the approximate number of points that completeChecksums reads.
const checksumBatch = 100_000

// completeChecksums adds the points of files of earlier versions to the checksums of some
// series. It reports whether it found any. It reads the points in a snapshot, so that the
// writer does not wait. The difference between the checksum of the points and the stored
// one stays the same while others add, change and remove points.
func (e *Engine) completeChecksums(ctx context.Context) (found bool, err error) {
	missing := map[int64]int64{} // by series
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
			if s != nil && n > 0 { // otherwise the series or its due checksum is gone
				s.checksum += add
				changed = append(changed, s)
			}
		}
		return tx.saveSeries(changed...)
	})
}
