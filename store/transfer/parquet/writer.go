package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

const (
	// groupRows is the maximum number of rows in a row group. DuckDB uses the same number.
	groupRows = 122_880
	// groupBytes is the uncompressed size in bytes at which a row group is written.
	groupBytes = 16 << 20
	// maxDictionary is the maximum number of values in a dictionary. maxDictionaryBytes is the
	// maximum size of a dictionary in bytes.
	maxDictionary      = 1 << 15
	maxDictionaryBytes = 1 << 20
)

// Field describes a column to write.
type Field struct {
	Name     string
	Kind     Kind // Bool, Int, Float, Time or Text
	Optional bool // whether values can be Null
}

// Writer writes a Parquet file. It keeps one row group in memory.
type Writer struct {
	out    io.Writer
	at     int64
	fields []*writtenColumn
	rows   int64 // number of rows in the current row group
	total  int64
	groups []writtenGroup
	zstd   *zstd.Encoder
	err    error
}

type writtenGroup struct {
	rows   int64
	bytes  int64
	chunks []writtenChunk
}

type writtenChunk struct {
	at, dictionary int64 // offsets of the data page and the dictionary page; dictionary is 0 if there is none
	size, packed   int64
	values         int64
	encoding       int
}

// writtenColumn holds the values of one column in the current row group.
type writtenColumn struct {
	Field
	there   []bool
	plain   []byte
	indexes []uint32
	numbers map[string]uint32
	dict    []byte // dictionary values in the PLAIN encoding
	isPlain bool   // whether the values are in the field plain
	size    int    // size of all values without a dictionary, in bytes
}

// NewWriter returns a Writer that writes to w. The caller must call Close to complete the file.
func NewWriter(w io.Writer, fields ...Field) (*Writer, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	out := &Writer{out: w, zstd: e}
	for _, f := range fields {
		out.fields = append(out.fields, &writtenColumn{Field: f})
	}
	for _, c := range out.fields {
		c.reset()
	}
	out.write([]byte(magic))
	return out, out.err
}

func (c *writtenColumn) reset() {
	c.there, c.plain, c.indexes, c.dict = c.there[:0], c.plain[:0], c.indexes[:0], c.dict[:0]
	c.isPlain, c.size = c.Kind != Text, 0
	if !c.isPlain {
		c.numbers = map[string]uint32{}
	}
}

// Write writes a row. The row must have one value for each field.
func (w *Writer) Write(row ...Value) error {
	if len(row) != len(w.fields) {
		return fmt.Errorf("a row has %d values, but the file has %d columns", len(row), len(w.fields))
	}
	size := 0
	for i, v := range row {
		c := w.fields[i]
		if v.Kind != c.Kind && !(c.Optional && v.Kind == Null) {
			return fmt.Errorf("a value of the column %q has the wrong kind", c.Name)
		}
		c.add(v)
		size += c.size
	}
	if w.rows++; w.rows >= groupRows || size >= groupBytes {
		w.flush()
	}
	return w.err
}

func (c *writtenColumn) add(v Value) {
	if c.Optional {
		c.there = append(c.there, v.Kind != Null)
		if v.Kind == Null {
			return
		}
	}
	c.size += 8 + len(v.Text)
	switch v.Kind {
	case Bool, Int, Time:
		c.plain = binary.LittleEndian.AppendUint64(c.plain, uint64(v.Int))
	case Float:
		c.plain = binary.LittleEndian.AppendUint64(c.plain, math.Float64bits(v.Float))
	case Text:
		if c.isPlain {
			c.plain = appendText(c.plain, v.Text)
			return
		}
		n, known := c.numbers[string(v.Text)]
		if !known {
			n = uint32(len(c.numbers))
			c.numbers[string(v.Text)] = n
			c.dict = appendText(c.dict, v.Text)
		}
		if c.indexes = append(c.indexes, n); len(c.numbers) > maxDictionary || len(c.dict) > maxDictionaryBytes {
			c.expand()
		}
	}
}

func appendText(b, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// expand replaces the dictionary indexes with the values and discards the dictionary.
func (c *writtenColumn) expand() {
	var offsets []int
	for at := 0; at < len(c.dict); at += 4 + int(binary.LittleEndian.Uint32(c.dict[at:])) {
		offsets = append(offsets, at)
	}
	for _, i := range c.indexes {
		at := offsets[i]
		c.plain = append(c.plain, c.dict[at:at+4+int(binary.LittleEndian.Uint32(c.dict[at:]))]...)
	}
	c.isPlain, c.numbers = true, nil
	c.dict, c.indexes = c.dict[:0], c.indexes[:0]
}

// Close writes the last row group and the file metadata. It does not close the underlying
// writer.
func (w *Writer) Close() error {
	w.flush()
	e := &encoder{}
	e.top(func() { w.metadata(e) })
	w.write(e.out)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(e.out))))
	w.write([]byte(magic))
	return w.err
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		var n int
		n, w.err = w.out.Write(b)
		w.at += int64(n)
	}
}

// flush writes the current row group.
func (w *Writer) flush() {
	if w.rows == 0 {
		return
	}
	g := writtenGroup{rows: w.rows}
	for _, c := range w.fields {
		chunk := w.chunk(c)
		g.chunks = append(g.chunks, chunk)
		g.bytes += chunk.size
		c.reset()
	}
	w.groups = append(w.groups, g)
	w.total += w.rows
	w.rows = 0
}

// chunk writes the values of a column. It first writes a dictionary page if the column has a
// dictionary, and then a data page.
func (w *Writer) chunk(c *writtenColumn) writtenChunk {
	chunk := writtenChunk{values: w.rows, encoding: encodingPlain}
	from := w.at
	var body []byte
	if c.Optional {
		levels := appendLevels(nil, c.there)
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(levels))), levels...)
	}
	switch {
	case !c.isPlain && len(c.indexes) > 0:
		chunk.dictionary, chunk.encoding = w.at, encodingDictionary
		chunk.size += w.page(pageDictionary, len(c.numbers), encodingPlain, c.dict)
		body = appendIndexes(body, c.indexes, len(c.numbers))
	case c.Kind == Bool:
		body = appendBooleans(body, c.plain)
	default:
		body = append(body, c.plain...)
	}
	chunk.at = w.at
	chunk.size += w.page(pageData, int(w.rows), chunk.encoding, body)
	chunk.packed = w.at - from
	return chunk
}

// page writes a page and returns its uncompressed size.
func (w *Writer) page(kind, values, encoding int, body []byte) int64 {
	packed := w.zstd.EncodeAll(body, nil)
	e := &encoder{}
	e.top(func() {
		e.int32(1, kind)
		e.int32(2, len(body))
		e.int32(3, len(packed))
		about := int16(5)
		if kind == pageDictionary {
			about = 7
		}
		e.structure(about, func() {
			e.int32(1, values)
			e.int32(2, encoding)
			if kind == pageData {
				e.int32(3, encodingRLE)
				e.int32(4, encodingRLE)
			}
		})
	})
	w.write(e.out)
	w.write(packed)
	return int64(len(e.out) + len(body))
}

// appendLevels appends definition levels to b, encoded as runs of equal levels.
func appendLevels(b []byte, there []bool) []byte {
	for from := 0; from < len(there); {
		to := from + 1
		for to < len(there) && there[to] == there[from] {
			to++
		}
		b = binary.AppendUvarint(b, uint64(to-from)<<1)
		if there[from] {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		from = to
	}
	return b
}

// appendIndexes appends dictionary indexes to b. All indexes are less than n. Eight or more equal
// indexes are encoded as a run, as are equal indexes at the end. Other indexes are bit-packed in
// groups of eight.
func appendIndexes(b []byte, indexes []uint32, n int) []byte {
	width := 1
	for 1<<width < n {
		width++
	}
	b = append(b, byte(width))
	for at := 0; at < len(indexes); {
		run := at + 1
		for run < len(indexes) && indexes[run] == indexes[at] {
			run++
		}
		if run-at >= 8 || run == len(indexes) {
			b = binary.AppendUvarint(b, uint64(run-at)<<1)
			for i := range (width + 7) / 8 {
				b = append(b, byte(indexes[at]>>(8*i)))
			}
			at = run
			continue
		}
		b = append(b, 1<<1|1) // header of one bit-packed group
		var bits uint64
		held := 0
		for i := range 8 {
			if at+i < len(indexes) {
				bits |= uint64(indexes[at+i]) << held
			}
			for held += width; held >= 8; held -= 8 {
				b = append(b, byte(bits))
				bits >>= 8
			}
		}
		at = min(at+8, len(indexes))
	}
	return b
}

// appendBooleans appends booleans to b, one bit per value. plain holds eight bytes per value.
func appendBooleans(b, plain []byte) []byte {
	bits := make([]byte, (len(plain)/8+7)/8)
	for i := range len(plain) / 8 {
		bits[i/8] |= plain[8*i] << (i % 8)
	}
	return append(b, bits...)
}

// metadata writes the file metadata.
func (w *Writer) metadata(e *encoder) {
	e.int32(1, 2) // format version
	e.list(2, typeStruct, len(w.fields)+1)
	e.top(func() {
		e.text(4, "schema")
		e.int32(5, len(w.fields))
	})
	for _, c := range w.fields {
		e.top(func() { c.schema(e) })
	}
	e.int64(3, w.total)
	e.list(4, typeStruct, len(w.groups))
	for _, g := range w.groups {
		e.top(func() {
			e.list(1, typeStruct, len(g.chunks))
			for i, chunk := range g.chunks {
				e.top(func() { w.fields[i].chunk(e, chunk) })
			}
			e.int64(2, g.bytes)
			e.int64(3, g.rows)
		})
	}
	e.text(6, "tracker")
}

// physical returns the physical type for the field's kind.
func (f Field) physical() int {
	switch f.Kind {
	case Bool:
		return physicalBool
	case Float:
		return physicalReal
	case Text:
		return physicalBytes
	}
	return physicalInt64
}

func (f Field) schema(e *encoder) {
	e.int32(1, f.physical())
	repetition := 0
	if f.Optional {
		repetition = 1
	}
	e.int32(3, repetition)
	e.text(4, f.Name)
	switch f.Kind {
	case Text:
		e.int32(6, 0) // ConvertedType UTF8
		e.structure(10, func() { e.structure(1, func() {}) })
	case Time:
		e.int32(6, 9) // ConvertedType TIMESTAMP_MILLIS
		e.structure(10, func() {
			e.structure(8, func() {
				e.field(1, typeTrue) // isAdjustedToUTC
				e.structure(2, func() { e.structure(1, func() {}) })
			})
		})
	}
}

func (f Field) chunk(e *encoder, c writtenChunk) {
	e.int64(2, 0)
	e.structure(3, func() {
		e.int32(1, f.physical())
		encodings := []int64{encodingPlain, encodingRLE}
		if c.dictionary > 0 {
			encodings = append(encodings, encodingDictionary)
		}
		e.list(2, typeInt32, len(encodings))
		for _, x := range encodings {
			e.out = binary.AppendVarint(e.out, x)
		}
		e.list(3, typeBinary, 1)
		e.element(f.Name)
		e.int32(4, codecZstd)
		e.int64(5, c.values)
		e.int64(6, c.size)
		e.int64(7, c.packed)
		e.int64(9, c.at)
		if c.dictionary > 0 {
			e.int64(11, c.dictionary)
		}
	})
}
