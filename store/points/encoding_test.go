package points

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"tracker/store/sqlite"
)

// TestRollupEncoding fails if the encoding of rollups changes. If you change the encoding, add a
// migration that drops existing rollups, as 0009_rollup_encoding.sql does, and change the bytes
// here.
func TestRollupEncoding(t *testing.T) {
	const first, shift = -64, 2
	var cells [rowCells]cell
	for i, v := range []Value{1, 3, 2, Value(math.NaN()), Value(math.Inf(1)), -1, -1} {
		at := []Time{1000, 1001, 1004, 900, 901, 902, 903}[i]
		cells[i*5/2].add(point{Step(first + i*10), int64(50 + i), v, at})
		if i < 3 {
			cells[i*5/2].add(point{Step(first + i*10 + 1), int64(70 - i), v / 2, at + Time(10*(i-1))})
		}
	}
	const want = "a594018c01bc0f000000000000e03f23000000000000f03f030116000000000000f83f2b00000000" +
		"000008400001011a000000000000f03f2b00000000000000400a021de301010000000000f87f1800" +
		"0202000000000000f07f18020202000000000000f0bf1f000202000000000000f0bf1f"
	if got := hex.EncodeToString(encodeCells(&cells, first, shift)); got != want {
		t.Errorf("rollups are encoded as %s, were %s", got, want)
	}
}

// encodeOldCells is encodeCells as it was before cells had a fourth flag and times.
func encodeOldCells(cells *[rowCells]cell, first Step, shift int) []byte {
	out := make([]byte, maskBytes)
	var before point
	for i, c := range cells {
		if c.count == 0 {
			continue
		}
		out[i/8] |= 1 << (i % 8)
		out = binary.AppendUvarint(out, uint64(c.last.step)-(uint64(first)+uint64(i)<<shift))
		out = binary.AppendVarint(out, c.last.seq-before.seq)
		out = binary.AppendVarint(out, int64(c.last.at-before.at))
		out = appendValue(out, c.last.value)
		flags := uint64(0)
		if c.finite {
			flags |= hasFinite
			if c.low == c.last.value {
				flags |= lowIsLast
			}
			if c.high == c.last.value {
				flags |= highIsLast
			}
		}
		out = binary.AppendUvarint(out, uint64(c.count)<<3|flags)
		if flags&(hasFinite|lowIsLast) == hasFinite {
			out = appendValue(out, c.low)
		}
		if flags&(hasFinite|highIsLast) == hasFinite {
			out = appendValue(out, c.high)
		}
		before = c.last
	}
	return out
}

// A file with rollups in an older encoding has the right curves. It gets rollups in the current
// encoding even if no chart is requested.
func TestOlderRollupsAreMadeAgain(t *testing.T) {
	b := newBed(t, true)
	const series, steps = 120, 1000
	for i := range series {
		var all []Sample
		for step := range int64(steps) {
			all = append(all, sample(fmt.Sprintf("key %03d", i), step, math.Sin(float64(step*int64(i+1)))))
		}
		b.append(t, all...)
	}
	var long []Sample // more points than one transaction rolls up
	for step := range int64(3 * maxRollUp) {
		long = append(long, sample("long", step, float64(step%77)))
	}
	b.append(t, long...)
	curves := func(b *bed) (all []Curve) {
		b.read(t, func(tx *Tx) (err error) {
			all, err = tx.Curves(1, CurveQuery{Points: 40, X: ByStep, Scale: Linear}, new(CurveCount))
			return err
		})
		return all
	}
	want := curves(b)
	rollups := rollupRows(t, b)
	wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
		all, err := tx.seriesWhere(`TRUE`)
		if err != nil {
			return err
		}
		for _, s := range all {
			for level := 1; level <= 3; level++ {
				shift := s.rollups.cellShift(level)
				old := map[int64][]byte{}
				if err := tx.eachRow(s, level, 0, 1<<20, func(block int64, cells *[rowCells]cell) {
					old[s.rowID(level, block)] = encodeOldCells(cells, Step(block<<(shift+rowShift)), shift)
				}); err != nil {
					return err
				}
				for id, cells := range old {
					if _, err := tx.Exec(`UPDATE rollup SET cells = ? WHERE id = ?`, cells, id); err != nil {
						return err
					}
				}
			}
		}
		// Run the migration that drops rollups, as an older file would.
		script, err := os.ReadFile("../migrations/0009_rollup_encoding.sql")
		if err != nil {
			return err
		}
		for _, statement := range append([]string{`DROP INDEX series_without_rollups`}, strings.SplitAfter(string(script), ";\n")...) {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}))
	wantOK(t, b.db.Close())

	reader := openBed(t, b.path, false) // writes no rollups in the background
	if got := curves(reader); !reflect.DeepEqual(got, want) {
		t.Error("the curves differ from those before")
	}
	reader.wantClean(t)
	wantOK(t, reader.db.Close())

	b = openBed(t, b.path, true)
	for deadline := time.Now().Add(2 * time.Minute); rollupRows(t, b) != rollups; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("rollups %s, want %s", rollupRows(t, b), rollups)
		}
	}
	if got := curves(b); !reflect.DeepEqual(got, want) {
		t.Error("the curves differ after their rollups were made again")
	}
	b.wantClean(t)
}

// rollupRows returns the number and the total size of the rollups in a file.
func rollupRows(t *testing.T, b *bed) (text string) {
	b.read(t, func(tx *Tx) error {
		return tx.Row(`SELECT count(*) || ' rows, ' || coalesce(sum(length(cells)), 0) || ' bytes' FROM rollup`).Scan(&text)
	})
	return text
}

// The search for series without rollups reads only these series, however many others exist.
func TestSeriesWithoutRollupsHaveAnIndex(t *testing.T) {
	newBed(t, true).read(t, func(tx *Tx) error {
		var plan []struct {
			ID, Parent, Notused int
			Detail              string
		}
		if err := tx.Select(&plan, `EXPLAIN QUERY PLAN `+withoutRollups, 0, maxRolledUpID); err != nil {
			return err
		}
		if want := "SEARCH series USING INDEX series_without_rollups (id>? AND id<?)"; len(plan) == 0 || plan[0].Detail != want {
			t.Errorf("plan %+v, want %s", plan, want)
		}
		return nil
	})
}
