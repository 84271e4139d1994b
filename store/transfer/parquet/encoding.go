package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The encodings of pages.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingDictionary      = 8
	encodingSplit           = 9
)

// values reads the values of a page.
type values interface {
	next() (Value, error)
}

// newValues returns a reader of n values of a column in an encoding.
func newValues(c *Column, encoding int64, b []byte, n int, dict *dictionary) (values, error) {
	switch encoding {
	case encodingPlain:
		return &plain{c: c, b: b}, nil
	case encodingPlainDictionary, encodingDictionary:
		if dict == nil {
			return nil, errors.New("a page needs a dictionary, and there is none")
		}
		if len(b) == 0 {
			return &plain{c: c}, nil // all values are missing
		}
		return &indexed{dict, hybrid{b: b[1:], width: int(b[0])}}, checkWidth(b[0])
	case encodingRLE:
		if c.physical == physicalBool {
			level, _, err := levels(b, 1)
			return &booleans{level}, err
		}
	case encodingDelta:
		if c.physical == physicalInt32 || c.physical == physicalInt64 {
			d, err := newDelta(b)
			return &deltaNumbers{c, d}, err
		}
	case encodingDeltaLength, encodingDeltaBytes:
		if c.physical == physicalBytes || c.physical == physicalFixed && encoding == encodingDeltaBytes {
			return newDeltaTexts(c, b, encoding == encodingDeltaBytes)
		}
	case encodingSplit:
		if w := c.width(); w > 0 && len(b)%w == 0 {
			return &split{c: c, b: b, n: len(b) / w, value: make([]byte, w)}, nil
		}
		if n == 0 {
			return &plain{c: c}, nil
		}
	}
	return nil, fmt.Errorf("a page has the encoding %d, which can't be read for this column", encoding)
}

// plain reads values one after the other.
type plain struct {
	c   *Column
	b   []byte
	bit int
}

func (p *plain) next() (Value, error) {
	switch width := p.c.width(); {
	case p.c.physical == physicalBool:
		if p.bit/8 >= len(p.b) {
			return Value{}, errShort
		}
		p.bit++
		return Value{Kind: Bool, Int: int64(p.b[(p.bit-1)/8] >> ((p.bit - 1) % 8) & 1)}, nil
	case width > 0:
		if len(p.b) < width {
			return Value{}, errShort
		}
		v := p.c.fixed(p.b[:width])
		p.b = p.b[width:]
		return v, nil
	}
	if len(p.b) < 4 {
		return Value{}, errShort
	}
	n := uint64(binary.LittleEndian.Uint32(p.b))
	if n > uint64(len(p.b)-4) {
		return Value{}, errShort
	}
	v := p.c.bytes(p.b[4 : 4+n])
	p.b = p.b[4+n:]
	return v, nil
}

// dictionary holds the values that pages refer to by number.
type dictionary struct {
	c       *Column
	b       []byte
	offsets []uint32 // of values that have any length
	n       int
}

func newDictionary(c *Column, b []byte, n int) (*dictionary, error) {
	d := &dictionary{c: c, b: b, n: n}
	switch width := c.width(); {
	case c.physical == physicalBool:
		return d, errors.New("a dictionary has booleans")
	case width > 0 && n > len(b)/width, n > len(b)/4 && width == 0:
		return d, errShort
	case width > 0:
		return d, nil
	}
	d.offsets = make([]uint32, n)
	at := uint64(0)
	for i := range n {
		if at+4 > uint64(len(b)) {
			return d, errShort
		}
		d.offsets[i] = uint32(at)
		if at += 4 + uint64(binary.LittleEndian.Uint32(b[at:])); at > uint64(len(b)) {
			return d, errShort
		}
	}
	return d, nil
}

// held returns the bytes that the dictionary takes.
func (d *dictionary) held() int64 { return int64(len(d.b) + 4*len(d.offsets)) }

func (d *dictionary) value(i uint32) (Value, error) {
	if uint64(i) >= uint64(d.n) {
		return Value{}, errors.New("a value is not in the dictionary of its column")
	}
	if width := d.c.width(); width > 0 {
		return d.c.fixed(d.b[int(i)*width : (int(i)+1)*width]), nil
	}
	p := plain{c: d.c, b: d.b[d.offsets[i]:]}
	return p.next()
}

type indexed struct {
	dict *dictionary
	at   hybrid
}

func (x *indexed) next() (Value, error) {
	i, err := x.at.next()
	if err != nil {
		return Value{}, err
	}
	return x.dict.value(i)
}

type booleans struct{ level hybrid }

func (t *booleans) next() (Value, error) {
	x, err := t.level.next()
	return Value{Kind: Bool, Int: int64(x)}, err
}

// hybrid reads small numbers: runs of equal ones, and groups of eight in as few bits
// as they need.
type hybrid struct {
	b      []byte
	width  int
	left   uint64 // numbers of the run
	value  uint32 // of a run of equal numbers
	packed []byte // of a run of groups
	bit    int
}

func checkWidth(width byte) error {
	if width > 32 {
		return errShort
	}
	return nil
}

func (h *hybrid) next() (uint32, error) {
	for h.left == 0 {
		head, n := binary.Uvarint(h.b)
		if n <= 0 {
			return 0, errShort
		}
		h.b = h.b[n:]
		if h.left = head >> 1; head&1 == 0 {
			size := (h.width + 7) / 8
			if len(h.b) < size {
				return 0, errShort
			}
			h.value, h.packed = uint32(bits(h.b[:size], 0, 8*size)), nil
			h.b = h.b[size:]
			continue
		}
		if h.left > 1<<32 {
			return 0, errShort
		}
		size := min(h.left*uint64(h.width), uint64(len(h.b))) // the last group may be cut
		h.packed, h.bit, h.left = h.b[:size:size], 0, h.left*8
		h.b = h.b[size:]
	}
	h.left--
	if h.packed == nil {
		return h.value, nil
	}
	if h.bit+h.width > 8*len(h.packed) {
		return 0, errShort
	}
	h.bit += h.width
	return uint32(bits(h.packed, h.bit-h.width, h.width)), nil
}

// bits returns width bits from a place on, the lowest first. What lies beyond b is 0.
func bits(b []byte, at, width int) (x uint64) {
	b = b[min(at/8, len(b)):]
	shift := at % 8
	for i := 0; i < 9 && i < len(b) && 8*i < width+shift; i++ {
		if n := 8*i - shift; n < 0 {
			x = uint64(b[0]) >> shift
		} else {
			x |= uint64(b[i]) << n
		}
	}
	if width < 64 {
		x &= 1<<width - 1
	}
	return x
}

// levels returns a reader of the levels at the beginning of b, which follow their
// length, and the rest of b.
func levels(b []byte, highest int) (h hybrid, rest []byte, err error) {
	if len(b) < 4 {
		return h, nil, errShort
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n > uint64(len(b)-4) {
		return h, nil, errShort
	}
	return newLevels(b[4:4+n], highest), b[4+n:], nil
}

func newLevels(b []byte, highest int) hybrid {
	width := 0
	for ; highest > 0; highest >>= 1 {
		width++
	}
	return hybrid{b: b, width: width}
}

// delta reads whole numbers as differences.
type delta struct {
	b       []byte
	at      int
	perMini int
	minis   int
	left    uint64
	begun   bool
	last    int64
	least   int64
	widths  []byte // of the parts of the block that were not begun
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
		d.at = min(d.at+size, len(d.b)) // the last part may be cut
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

// deltaTexts reads texts whose lengths are stored as differences. With prefixes, each
// text begins with some bytes of the text before it.
type deltaTexts struct {
	c        *Column
	prefixes *delta // nil for none
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

// lengths returns a reader of the numbers at the beginning of b, and the rest of b.
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

// maxPrefixed bounds a text that is stored with a prefix, in bytes.
const maxPrefixed = 1 << 20

// split reads values of which all first bytes are stored together, then all
// second bytes, and so on.
type split struct {
	c     *Column
	b     []byte
	n, at int
	value []byte
}

func (s *split) next() (Value, error) {
	if s.at >= s.n {
		return Value{}, errShort
	}
	for i := range s.value {
		s.value[i] = s.b[i*s.n+s.at]
	}
	s.at++
	return s.c.fixed(s.value), nil
}
