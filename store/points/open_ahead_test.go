package points

import (
	"fmt"
	"testing"

	"tracker/store/sqlite"
)

// Existing and new series that OpenAhead has opened get the right points. Each of many series
// that are saved together has the right statistics.
func TestOpenAhead(t *testing.T) {
	b := newBed(t, true)
	const rounds = 3
	for round := range rounds {
		wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
			var keys []string
			for i := range 100 + round {
				keys = append(keys, fmt.Sprintf("m%03d", 200-i))
			}
			if err := tx.OpenAhead(1, append(keys, keys[0])); err != nil {
				return err
			}
			for i, key := range keys {
				var all []Sample
				for step := range bulkPoints - i%2 { // into both tables
					all = append(all, sample(key, int64(100*round+step), float64(i+step)))
				}
				if err := tx.AppendAll(1, all, 0); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	b.wantClean(t)
	b.read(t, func(tx *Tx) error {
		rows, err := tx.seriesOf(1, nil)
		if err != nil || len(rows) != 100+rounds-1 {
			t.Errorf("%d series, %v", len(rows), err)
		}
		for _, s := range rows {
			var i int
			if _, err := fmt.Sscanf(s.key, "m%d", &i); err != nil {
				return err
			}
			i = 200 - i
			want := (rounds - max(i-99, 0)) * (bulkPoints - i%2)
			if s.id != int64(i+1) || s.Count != int64(want) || s.Max == nil || *s.Max != Value(i+bulkPoints-1-i%2) {
				t.Errorf("%s has id %d and %+v, want %d points", s.key, s.id, s.Stats, want)
			}
		}
		return nil
	})
}
