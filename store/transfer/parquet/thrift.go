package parquet

import (
	"encoding/binary"
	"errors"
)

// The metadata of a Parquet file is encoded in Thrift's compact protocol.

// Thrift types.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeInt16  = 4
	typeInt32  = 5
	typeInt64  = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
)

// maxDepth is the maximum nesting depth of structures and of column groups.
const maxDepth = 32

var (
	errShort  = errors.New("the file ends in the middle of a structure, or its lengths are wrong")
	errThrift = errors.New("the metadata can't be read")
)

// decoder decodes Thrift structures. After the first error, all methods of decoder return zero
// values.
type decoder struct {
	b     []byte
	at    int
	depth int
	err   error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) byte() byte {
	if d.err != nil || d.at >= len(d.b) {
		d.fail(errShort)
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	x, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.at += n
	return x
}

func (d *decoder) int() int64 {
	x := d.uint()
	return int64(x>>1) ^ -int64(x&1)
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if d.err != nil || n > uint64(len(d.b)-d.at) {
		d.fail(errShort)
		return nil
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at]
}

// field is a field of a structure or an element of a list.
type field struct {
	d    *decoder
	kind byte
	used bool
}

// fields calls fn for each field of a structure. It skips values that fn does not read.
func (d *decoder) fields(fn func(id int16, f *field)) {
	if d.depth++; d.depth > maxDepth {
		d.fail(errThrift)
	}
	id := int16(0)
	for d.err == nil {
		head := d.byte()
		if head == 0 {
			break
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			id = int16(d.int())
		}
		f := &field{d: d, kind: head & 15}
		fn(id, f)
		if !f.used {
			d.skip(f.kind, false)
		}
	}
	d.depth--
}

// is reports whether the field has one of the given types. If not, it sets the decoder's error.
func (f *field) is(kinds ...byte) bool {
	f.used = true
	for _, k := range kinds {
		if f.kind == k {
			return f.d.err == nil
		}
	}
	f.d.fail(errThrift)
	return false
}

func (f *field) int() int64 {
	if f.is(typeInt16, typeInt32, typeInt64) {
		return f.d.int()
	}
	return 0
}

func (f *field) text() string {
	if f.is(typeBinary) {
		return string(f.d.bytes())
	}
	return ""
}

func (f *field) bool() bool { return f.is(typeTrue, typeFalse) && f.kind == typeTrue }

func (f *field) fields(fn func(id int16, f *field)) {
	if f.is(typeStruct) {
		f.d.fields(fn)
	}
}

// list calls fn for each element of a list. It skips elements that fn does not read.
func (f *field) list(fn func(*field)) {
	if !f.is(typeList) {
		return
	}
	kind, n := f.d.listHead()
	for range n {
		e := &field{d: f.d, kind: kind}
		fn(e)
		if !e.used {
			f.d.skip(kind, true)
		}
		if f.d.err != nil {
			return
		}
	}
}

func (d *decoder) listHead() (kind byte, n int) {
	head := d.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = d.uint()
	}
	if size > uint64(len(d.b)-d.at) { // each element has at least one byte
		d.fail(errShort)
		return 0, 0
	}
	return head & 15, int(size)
}

// skip skips a value of type kind. A boolean takes one byte in a list, but none in a structure.
func (d *decoder) skip(kind byte, inList bool) {
	if d.depth++; d.depth > maxDepth {
		d.fail(errThrift)
	}
	defer func() { d.depth-- }()
	if d.err != nil {
		return
	}
	switch kind {
	case typeTrue, typeFalse:
		if inList {
			d.byte()
		}
	case typeByte:
		d.byte()
	case typeInt16, typeInt32, typeInt64:
		d.uint()
	case typeDouble:
		for range 8 {
			d.byte()
		}
	case typeBinary:
		d.bytes()
	case typeList, typeSet:
		kind, n := d.listHead()
		for i := 0; i < n && d.err == nil; i++ {
			d.skip(kind, true)
		}
	case typeMap:
		n := d.uint()
		if n == 0 {
			return
		}
		kinds := d.byte()
		for ; n > 0 && d.err == nil; n-- {
			d.skip(kinds>>4, true)
			d.skip(kinds&15, true)
		}
	case typeStruct:
		d.fields(func(int16, *field) {})
	default:
		d.fail(errThrift)
	}
}

// encoder encodes Thrift structures.
type encoder struct {
	out  []byte
	last []int16 // id of the last field written, for each nested structure
}

func (e *encoder) field(id int16, kind byte) {
	last := &e.last[len(e.last)-1]
	if delta := id - *last; delta > 0 && delta < 16 {
		e.out = append(e.out, byte(delta)<<4|kind)
	} else {
		e.out = binary.AppendVarint(append(e.out, kind), int64(id))
	}
	*last = id
}

func (e *encoder) int32(id int16, x int) {
	e.field(id, typeInt32)
	e.out = binary.AppendVarint(e.out, int64(x))
}

func (e *encoder) int64(id int16, x int64) {
	e.field(id, typeInt64)
	e.out = binary.AppendVarint(e.out, x)
}

func (e *encoder) text(id int16, s string) {
	e.field(id, typeBinary)
	e.element(s)
}

// element writes a string without a field header, as an element of a list.
func (e *encoder) element(s string) {
	e.out = append(binary.AppendUvarint(e.out, uint64(len(s))), s...)
}

// list writes the header of a list with n elements.
func (e *encoder) list(id int16, kind byte, n int) {
	e.field(id, typeList)
	if n < 15 {
		e.out = append(e.out, byte(n)<<4|kind)
		return
	}
	e.out = binary.AppendUvarint(append(e.out, 15<<4|kind), uint64(n))
}

// structure writes a field that is a structure. fn writes the fields of the structure.
func (e *encoder) structure(id int16, fn func()) {
	e.field(id, typeStruct)
	e.top(fn)
}

// top writes a structure without a field header. It is used for the outermost structure and for
// elements of a list.
func (e *encoder) top(fn func()) {
	e.last = append(e.last, 0)
	fn()
	e.last = e.last[:len(e.last)-1]
	e.out = append(e.out, 0)
}
