package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxPage is the maximum size of a page in bytes. maxValues is the maximum number of values
	// of a page.
	maxPage   = 64 << 20
	maxValues = 1 << 25
	// maxHeld is the maximum total size of pages and dictionaries in memory, in bytes.
	maxHeld = 256 << 20
	// maxHeader is the maximum size of a page header in bytes.
	maxHeader = 1 << 20
)

// Page types.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// header holds the fields of a page header.
type header struct {
	kind, size, packed   int64 // size and packed are the uncompressed and the compressed size in bytes
	sum                  *int64
	values, encoding     int64
	defEncoding          int64
	defLength, repLength int64
	packedValues         bool
}

func parseHeader(b []byte) (h header, size int, err error) {
	h.packedValues, h.defEncoding = true, encodingRLE
	d := &decoder{b: b}
	d.fields(func(id int16, v *field) {
		switch id {
		case 1:
			h.kind = v.int()
		case 2:
			h.size = v.int()
		case 3:
			h.packed = v.int()
		case 4:
			h.sum = new(v.int())
		case 5, 7:
			v.fields(func(id int16, v *field) {
				switch id {
				case 1:
					h.values = v.int()
				case 2:
					h.encoding = v.int()
				case 3:
					if h.kind == pageData {
						h.defEncoding = v.int()
					}
				}
			})
		case 8:
			v.fields(func(id int16, v *field) {
				switch id {
				case 1:
					h.values = v.int()
				case 4:
					h.encoding = v.int()
				case 5:
					h.defLength = v.int()
				case 6:
					h.repLength = v.int()
				case 7:
					h.packedValues = v.bool()
				}
			})
		}
	})
	return h, d.at, d.err
}

// cursor reads the values of one column in one row group.
type cursor struct {
	file   *File
	column *Column
	chunk  chunk
	at     int64 // offset of the next page in the file
	left   int64 // number of values after the current page
	dict   *dictionary
	held   int64 // size of the current page in memory
	inPage int64 // number of unread values of the current page
	defs   hybrid
	reps   hybrid
	values values
}

func (f *File) cursor(group, column int) *cursor {
	c := f.groups[group].chunks[column]
	return &cursor{file: f, column: &f.Columns[column], chunk: c, at: c.from, left: c.values}
}

// next returns the next value and its repetition level. A value with level 0 begins a new row.
// After the last value, next returns io.EOF.
func (c *cursor) next() (v Value, rep uint32, err error) {
	for c.inPage == 0 {
		if c.left == 0 {
			return v, 0, io.EOF
		}
		if err := c.page(); err != nil {
			return v, 0, err
		}
	}
	c.inPage--
	def := uint32(c.column.maxDef)
	if c.column.maxRep > 0 {
		if rep, err = c.reps.next(); err != nil {
			return v, 0, err
		}
	}
	if c.column.maxDef > 0 {
		if def, err = c.defs.next(); err != nil {
			return v, 0, err
		}
	}
	if def == uint32(c.column.maxDef) {
		v, err = c.values.next()
	}
	return v, rep, err
}

// hold records that the current page uses n bytes of memory. It returns an error if the total of
// the file exceeds maxHeld.
func (c *cursor) hold(n int64) error {
	c.file.held += n - c.held
	c.held = n
	if c.file.held > maxHeld {
		return fmt.Errorf("its columns need more than %d MiB at a time; write it with smaller groups of rows", maxHeld>>20)
	}
	return nil
}

// end releases the memory of the current page and of the dictionary.
func (c *cursor) end() {
	c.file.held -= c.held
	if c.dict != nil {
		c.file.held -= c.dict.held()
	}
	c.held, c.dict, c.values = 0, nil, nil
}

// page reads the next page and prepares to decode its values.
func (c *cursor) page() error {
	h, b, err := c.read()
	if err != nil {
		return err
	}
	switch h.kind {
	case pageDictionary:
		if c.dict != nil {
			return errors.New("a column has two dictionaries")
		}
		if b, err = c.unpack(b, h.size); err != nil {
			return err
		}
		d, err := newDictionary(c.column, b, int(h.values))
		if err != nil {
			return err
		}
		c.dict = d
		c.file.held += d.held()
		return c.hold(0)
	case pageData, pageDataV2:
	default:
		return nil
	}
	if h.values > c.left {
		return errShort
	}
	c.inPage, c.left = h.values, c.left-h.values
	if h.kind == pageDataV2 {
		if h.repLength < 0 || h.defLength < 0 || h.repLength > int64(len(b)) || h.defLength > int64(len(b))-h.repLength {
			return errShort
		}
		c.reps = newLevels(b[:h.repLength], c.column.maxRep)
		c.defs = newLevels(b[h.repLength:h.repLength+h.defLength], c.column.maxDef)
		rest := h.repLength + h.defLength
		b, h.size = b[rest:], h.size-rest
		if h.packedValues {
			b, err = c.unpack(b, h.size)
		}
	} else {
		if b, err = c.unpack(b, h.size); err == nil && c.column.maxRep > 0 {
			c.reps, b, err = levels(b, c.column.maxRep)
		}
		if err == nil && c.column.maxDef > 0 {
			if h.defEncoding != encodingRLE {
				return errors.New("it has levels in an obsolete encoding")
			}
			c.defs, b, err = levels(b, c.column.maxDef)
		}
	}
	if err != nil {
		return err
	}
	c.values, err = newValues(c.column, h.encoding, b, int(h.values), c.dict)
	return err
}

// read returns the header and the stored bytes of the next page.
func (c *cursor) read() (h header, b []byte, err error) {
	c.values = nil
	if err := c.hold(0); err != nil {
		return h, nil, err
	}
	size := 0
	for n := int64(512); ; n *= 8 {
		n = min(n, c.chunk.to-c.at)
		head := make([]byte, n)
		if _, err := c.file.in.ReadAt(head, c.at); err != nil && !errors.Is(err, io.EOF) {
			return h, nil, err
		}
		if h, size, err = parseHeader(head); err == nil {
			break
		}
		if n == c.chunk.to-c.at || n > maxHeader {
			return h, nil, err
		}
	}
	c.at += int64(size)
	switch {
	case h.packed < 0 || h.size < 0 || h.values < 0 || h.packed > c.chunk.to-c.at:
		return h, nil, errShort
	case h.packed > maxPage || h.size > maxPage || h.values > maxValues:
		return h, nil, fmt.Errorf("a page has %d bytes and %d values, but at most %d and %d are allowed; write it with smaller pages",
			max(h.size, h.packed), h.values, maxPage, maxValues)
	}
	if err := c.hold(h.packed + h.size); err != nil {
		return h, nil, err
	}
	b = make([]byte, h.packed)
	if _, err := c.file.in.ReadAt(b, c.at); err != nil && !errors.Is(err, io.EOF) {
		return h, nil, err
	}
	c.at += h.packed
	if h.sum != nil && uint32(*h.sum) != crc32.ChecksumIEEE(b) {
		return h, nil, errors.New("a page does not match its checksum")
	}
	return h, b, nil
}

// Compression codecs.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecZstd   = 6
)

// unpack decompresses the content of a page. It returns an error if the result does not have
// size bytes.
func (c *cursor) unpack(b []byte, size int64) ([]byte, error) {
	var out []byte
	var err error
	switch c.chunk.codec {
	case codecNone:
		out = b
	case codecSnappy:
		n, e := snappy.DecodedLen(b)
		if e != nil || int64(n) != size {
			return nil, errPacked
		}
		out, err = snappy.Decode(nil, b)
	case codecGzip:
		out, err = gunzip(b, size)
	case codecZstd:
		out, err = c.file.unzstd(b, size)
	default:
		names := map[int]string{3: "LZO", 4: "Brotli", 5: "LZ4", 7: "LZ4"}
		return nil, fmt.Errorf("it is compressed with %s, which is not supported; write it with zstd, gzip or Snappy", names[c.chunk.codec])
	}
	if err != nil || int64(len(out)) != size {
		return nil, errPacked
	}
	return out, nil
}

var errPacked = errors.New("a page can't be decompressed, or its size differs from the stated size")

func gunzip(b []byte, size int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	n, err := io.ReadFull(r, out)
	if errors.Is(err, io.EOF) {
		err = nil // an empty page
	}
	if extra, _ := r.Read(make([]byte, 1)); err != nil || extra > 0 {
		return nil, errPacked
	}
	return out[:n], nil
}

// unzstd decompresses the content of a page. It returns an error if the result has more than
// maxPage bytes.
func (f *File) unzstd(b []byte, size int64) ([]byte, error) {
	if f.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		f.zstd = d
	}
	return f.zstd.DecodeAll(b, make([]byte, 0, size))
}
