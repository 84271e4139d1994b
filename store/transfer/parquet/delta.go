package parquet

import "encoding/binary"

// delta decodes integers in the DELTA_BINARY_PACKED encoding.
type delta struct {
	b       []byte
	at      int
	perMini int
	minis   int
	left    uint64
	begun   bool
	last    int64
	least   int64
	widths  []byte // bit widths of the block's remaining miniblocks
	width   int
	bit     int
	inMini  int
}

func (d *delta) uint() uint64 {
	x, n := binary.Uvarint(d.b[min(d.at, len(d.b)):])
	if n <= 0 {
		d.at = len(d.b) + 1
		return 0
	}
	d.at += n
	return x
}

func (d *delta) int() int64 {
	x := d.uint()
	return int64(x>>1) ^ -int64(x&1)
}

func newDelta(b []byte) (delta, error) {
	d := delta{b: b}
	block, minis := d.uint(), d.uint()
	d.left, d.last = d.uint(), d.int()
	if d.at > len(b) || minis < 1 || minis > 1<<16 || block%minis != 0 || block/minis < 8 || block/minis > 1<<20 || block/minis%8 != 0 {
		return d, errShort
	}
	d.minis, d.perMini = int(minis), int(block/minis)
	return d, nil
}

func (d *delta) next() (int64, error) {
	if d.left == 0 {
		return 0, errShort
	}
	d.left--
	if !d.begun {
		d.begun = true
		return d.last, nil
	}
	if d.inMini == 0 {
		if len(d.widths) == 0 {
			d.least = d.int()
			if d.at+d.minis > len(d.b) {
				return 0, errShort
			}
			d.widths = d.b[d.at : d.at+d.minis]
			d.at += d.minis
		}
		d.width, d.widths = int(d.widths[0]), d.widths[1:]
		size := d.perMini / 8 * d.width
		if d.width > 64 || d.at > len(d.b) || d.at == len(d.b) && size > 0 {
			return 0, errShort
		}
		d.bit, d.inMini = 8*d.at, d.perMini
		d.at = min(d.at+size, len(d.b)) // the last miniblock can be truncated
	}
	d.inMini--
	d.last += d.least + int64(bits(d.b, d.bit, d.width))
	d.bit += d.width
	return d.last, nil
}

type deltaNumbers struct {
	c *Column
	d delta
}

func (d *deltaNumbers) next() (Value, error) {
	n, err := d.d.next()
	if d.c.physical == physicalInt32 {
		n = int64(int32(n))
		if d.c.meaning == unsigned {
			n = int64(uint32(n))
		}
	}
	return d.c.number(n), err
}

// deltaTexts decodes strings in the encodings DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY. In
// DELTA_BYTE_ARRAY, a string shares a prefix with the previous string.
type deltaTexts struct {
	c        *Column
	prefixes *delta // prefix lengths; nil for DELTA_LENGTH_BYTE_ARRAY
	lengths  delta
	b        []byte
	last     []byte
}

func newDeltaTexts(c *Column, b []byte, prefixed bool) (*deltaTexts, error) {
	t := &deltaTexts{c: c}
	if prefixed {
		d, rest, err := lengths(b)
		if err != nil {
			return nil, err
		}
		t.prefixes, b = &d, rest
	}
	var err error
	t.lengths, t.b, err = lengths(b)
	return t, err
}

// lengths returns a decoder for the integers at the beginning of b, and the bytes after these
// integers.
func lengths(b []byte) (d delta, rest []byte, err error) {
	if d, err = newDelta(b); err != nil {
		return d, nil, err
	}
	if d.left > maxValues {
		return d, nil, errShort
	}
	skipped := d
	for skipped.left > 0 {
		if _, err := skipped.next(); err != nil {
			return d, nil, err
		}
	}
	return d, b[skipped.at:], nil
}

func (t *deltaTexts) next() (Value, error) {
	n, err := t.lengths.next()
	if err != nil || n < 0 || n > int64(len(t.b)) {
		return Value{}, errShort
	}
	text := t.b[:n]
	t.b = t.b[n:]
	if t.prefixes != nil {
		p, err := t.prefixes.next()
		if err != nil || p < 0 || p > int64(len(t.last)) || p+n > maxPrefixed {
			return Value{}, errShort
		}
		if p > 0 {
			text = append(append(make([]byte, 0, int(p)+len(text)), t.last[:p]...), text...)
		}
		t.last = text
	}
	if t.c.physical == physicalFixed && len(text) != t.c.length {
		return Value{}, errShort
	}
	return t.c.bytes(text), nil
}

// maxPrefixed is the maximum size of a string with a prefix, in bytes.
const maxPrefixed = 1 << 20
