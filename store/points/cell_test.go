package points

import (
	"bytes"
	"math"
	"testing"
)

// FuzzDecodeCells checks that decodeCells does not panic on any input, and that the encoding of
// an accepted row is stable.
func FuzzDecodeCells(f *testing.F) {
	var cells [rowCells]cell
	for i, v := range []Value{1, -2.5, Value(math.NaN()), Value(math.Inf(1)), 0, 1e-300} {
		c := &cells[3*i%rowCells]
		c.add(point{Step(64*(3*i%rowCells) + i), int64(1000 - i), v, Time(1_700_000_000_000 + i)})
		c.add(point{Step(64 * (3 * i % rowCells)), int64(2000 + i), v + 1, 0})
	}
	f.Add(encodeCells(&cells, 0, 6))
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, row []byte) {
		var got, again [rowCells]cell
		if decodeCells(row, 0, 6, &got) != nil {
			return
		}
		encoded := encodeCells(&got, 0, 6)
		if err := decodeCells(encoded, 0, 6, &again); err != nil {
			t.Fatalf("%x is read and written as %x: %v", row, encoded, err)
		}
		if third := encodeCells(&again, 0, 6); !bytes.Equal(encoded, third) {
			t.Errorf("%x, then %x", encoded, third)
		}
	})
}
