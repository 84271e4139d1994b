package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Encodings of pages.
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

// values decodes the values of a page.
type values interface {
	next() (Value, error)
}

// newValues returns a decoder for n values of column c in the given encoding. It returns an error
// if the column's type does not allow the encoding.
func newValues(c *Column, encoding int64, b []byte, n int, dict *dictionary) (values, error) {
	switch encoding {
	case encodingPlain:
		return &plain{c: c, b: b}, nil
	case encodingPlainDictionary, encodingDictionary:
		if dict == nil {
			return nil, errors.New("a page needs a dictionary, but there is none")
		}
		if len(b) == 0 {
			return &plain{c: c}, nil // all values of the page are null
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

// plain decodes values in the PLAIN encoding, which stores one value after another.
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

// dictionary holds the values of a dictionary page. Data pages refer to the values by index.
type dictionary struct {
	c       *Column
	b       []byte
	offsets []uint32 // start of each value; nil for values of fixed size
	n       int
}

func newDictionary(c *Column, b []byte, n int) (*dictionary, error) {
	d := &dictionary{c: c, b: b, n: n}
	switch width := c.width(); {
	case c.physical == physicalBool:
		return d, errors.New("a dictionary contains booleans")
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

// held returns the size of the dictionary in memory, in bytes.
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

// hybrid decodes integers in the RLE/bit-packing hybrid encoding. The encoding stores runs of equal
// integers, and groups of eight integers that have width bits each.
type hybrid struct {
	b      []byte
	width  int
	left   uint64 // remaining integers of the current run
	value  uint32 // repeated integer, if packed is nil
	packed []byte // bit-packed integers; nil in a run of equal integers
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
		size := min(h.left*uint64(h.width), uint64(len(h.b))) // the last group can be truncated
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

// bits returns width bits of b, starting at the given bit offset. The first bit is the least
// significant bit. Bits beyond the end of b are 0.
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

// levels returns a decoder for the levels at the beginning of b, and the bytes after the
// levels. The first four bytes of b are the length of the levels.
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

// split decodes values in the BYTE_STREAM_SPLIT encoding. The encoding stores the first bytes
// of all values, followed by the second bytes of all values, and so on.
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
