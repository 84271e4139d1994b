package points

import (
	"encoding/binary"
	"errors"
	"math"
)

// cell summarizes neighbouring points of a series for a chart.
type cell struct {
	count     int64
	last      point // point with the largest step, and the largest seq at that step
	finite    bool  // whether any value is finite; if so, low and high are set
	low, high Value
	// inTime reports whether the points were recorded in the order of their steps, from start
	// to last.at. If inTime is false, start has no meaning.
	inTime bool
	start  Time
}

func cellOf(p point) cell {
	return cell{count: 1, last: p, finite: p.value.Finite(), low: p.value, high: p.value, inTime: true, start: p.at}
}

// add adds a point to the cell. inTime and start stay correct only if p comes after all points
// of the cell, by step and then seq.
func (c *cell) add(p point) { c.merge(cellOf(p)) }

// addLate adds a point that might belong before some points of the cell. addLate returns false
// and adds nothing if the new inTime depends on all points of the cell.
func (c *cell) addLate(p point) bool {
	known := c.count == 0 || !c.inTime || byStep(c.last, p) < 0 ||
		p.at > c.last.at || p.at == c.start && p.at == c.last.at
	if known {
		c.add(p)
	}
	return known
}

// merge adds the points of o. The points of o must all come after the points of c, or all
// before them.
func (c *cell) merge(o cell) {
	if c.count == 0 {
		*c = o
		return
	}
	earlier, later := o, *c
	if byStep(c.last, o.last) < 0 {
		earlier, later = *c, o
	}
	c.last = later.last
	c.inTime = earlier.inTime && later.inTime && earlier.last.at <= later.start
	c.start = earlier.start
	c.count += o.count
	switch {
	case !o.finite:
	case !c.finite:
		c.finite, c.low, c.high = true, o.low, o.high
	default:
		c.low, c.high = min(c.low, o.low), max(c.high, o.high)
	}
}

// The flags of an encoded cell.
const (
	hasFinite  = 1 << iota // the cell has finite values: low and high follow, or equal the last value
	lowIsLast              // low equals the last value and is omitted
	highIsLast             // high equals the last value and is omitted
	inTime                 // start follows, as milliseconds before the last point, if the cell has several points
	flagBits   = iota
)

// maskBytes is the length in bytes of a row's mask. The mask has one bit for each cell.
const maskBytes = rowCells / 8

// encodeCells returns the encoding of a row's cells. A mask of the cells that have points comes
// first, and the encodings of these cells follow. Most numbers are stored as the difference
// from the previous cell.
func encodeCells(cells *[rowCells]cell, first Step, shift int) []byte {
	out := make([]byte, maskBytes, 600)
	var before point
	for i, c := range cells {
		if c.count == 0 {
			continue
		}
		out[i/8] |= 1 << (i % 8)
		start := uint64(first) + uint64(i)<<shift
		out = binary.AppendUvarint(out, uint64(c.last.step)-start)
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
		if c.inTime {
			flags |= inTime
		}
		out = binary.AppendUvarint(out, uint64(c.count)<<flagBits|flags)
		if flags&(hasFinite|lowIsLast) == hasFinite {
			out = appendValue(out, c.low)
		}
		if flags&(hasFinite|highIsLast) == hasFinite {
			out = appendValue(out, c.high)
		}
		if c.inTime && c.count > 1 {
			out = binary.AppendUvarint(out, uint64(c.last.at-c.start))
		}
		before = c.last
	}
	return out
}

func appendValue(b []byte, v Value) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
}

var errRollup = errors.New("a rollup is damaged: check and repair the database")

// decodeCells is the inverse of encodeCells. It returns errRollup if in is damaged.
func decodeCells(in []byte, first Step, shift int, cells *[rowCells]cell) error {
	d := decoder{in: in}
	mask := d.take(maskBytes)
	var before point
	for i := range cells {
		c := &cells[i]
		*c = cell{}
		if mask[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		start := uint64(first) + uint64(i)<<shift
		c.last.step = Step(start + d.uvarint())
		c.last.seq = before.seq + d.varint()
		c.last.at = before.at + Time(d.varint())
		c.last.value = d.value()
		n := d.uvarint()
		c.count, c.finite = int64(n>>flagBits), n&hasFinite != 0
		if c.finite {
			c.low, c.high = c.last.value, c.last.value
			if n&lowIsLast == 0 {
				c.low = d.value()
			}
			if n&highIsLast == 0 {
				c.high = d.value()
			}
		}
		if c.inTime = n&inTime != 0; c.inTime {
			c.start = c.last.at
			if c.count > 1 {
				c.start -= Time(d.uvarint())
			}
		}
		before = c.last
	}
	if d.bad || len(d.in) > 0 {
		return errRollup
	}
	return nil
}

// decoder reads numbers from the front of in. It sets bad if in is too short.
type decoder struct {
	in  []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if n <= 0 || n > len(d.in) {
		d.bad, d.in = true, nil
		return make([]byte, max(n, 1))
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b
}

func (d *decoder) value() Value {
	return Value(math.Float64frombits(binary.LittleEndian.Uint64(d.take(8))))
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.in)
	d.take(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.in)
	d.take(n)
	return v
}
