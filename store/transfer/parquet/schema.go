package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxFooter is the maximum size of the file metadata in bytes. maxColumns is the maximum
	// number of columns.
	maxFooter  = 16 << 20
	maxColumns = 100_000
)

// Column describes a column of a file. A column is a leaf of the schema.
type Column struct {
	Name string // path of the column in the schema, separated by slashes
	// List reports whether a row can have several values.
	List bool
	// Unreadable is the reason why the values can't be read; "" if they can be read.
	Unreadable string

	physical       int
	length         int // size of a value in bytes, for physicalFixed
	scale          int // number of decimal places, for decimal
	meaning        meaning
	maxDef, maxRep int // maximum definition and repetition levels
}

// File is an open Parquet file.
type File struct {
	Columns []Column
	in      io.ReaderAt
	size    int64
	groups  []group
	held    int64 // size of all pages and dictionaries in memory, in bytes
	zstd    *zstd.Decoder
}

// group describes a row group.
type group struct {
	rows   int64
	chunks []chunk
}

// chunk describes the values of a column in a row group.
type chunk struct {
	codec    int
	values   int64
	from, to int64 // byte range in the file
	data     int64 // offset of the first page after the dictionary page
}

const magic = "PAR1"

// Is reports whether a file begins and ends like a Parquet file.
func Is(r io.ReaderAt, size int64) bool {
	var b [4]byte
	for _, at := range []int64{0, size - 4} {
		if _, err := r.ReadAt(b[:], max(at, 0)); err != nil && !errors.Is(err, io.EOF) || string(b[:]) != magic {
			return false
		}
	}
	return size >= 12
}

// Open reads the metadata of a Parquet file. size is the size of the file in bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if !Is(r, size) {
		return nil, errors.New("it is not a complete Parquet file")
	}
	var b [4]byte
	if _, err := r.ReadAt(b[:], size-8); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(b[:]))
	if n > size-12 {
		return nil, errShort
	}
	if n > maxFooter {
		return nil, fmt.Errorf("its metadata has %d bytes, but at most %d are allowed", n, maxFooter)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil {
		return nil, err
	}
	f := &File{in: r, size: size}
	var elements []element
	d := &decoder{b: footer}
	d.fields(func(id int16, v *field) {
		switch id {
		case 2:
			v.list(func(v *field) { elements = append(elements, parseElement(v)) })
		case 4:
			v.list(func(v *field) { f.groups = append(f.groups, f.parseGroup(v)) })
		}
	})
	if d.err != nil {
		return nil, d.err
	}
	if len(elements) == 0 {
		return nil, errThrift
	}
	s := schema{elements: elements, file: f}
	if err := s.children(nil, 0, 0, ""); err != nil {
		return nil, err
	}
	for _, g := range f.groups {
		if len(g.chunks) != len(f.Columns) {
			return nil, errors.New("a group of rows lacks a column")
		}
		for _, c := range g.chunks {
			if c.values < 0 || c.from < 4 || c.to < c.from || c.to > size || c.data < c.from || c.data > c.to {
				return nil, errShort
			}
		}
	}
	return f, nil
}

func (f *File) parseGroup(v *field) (g group) {
	v.fields(func(id int16, v *field) {
		switch id {
		case 1:
			v.list(func(v *field) {
				var c chunk
				v.fields(func(id int16, v *field) {
					if id == 3 {
						c = parseChunk(v)
					}
				})
				g.chunks = append(g.chunks, c)
			})
		case 3:
			g.rows = v.int()
		}
	})
	return g
}

func parseChunk(v *field) (c chunk) {
	var size, dictionary int64
	v.fields(func(id int16, v *field) {
		switch id {
		case 4:
			c.codec = int(v.int())
		case 5:
			c.values = v.int()
		case 7:
			size = v.int()
		case 9:
			c.data = v.int()
		case 11:
			dictionary = v.int()
		}
	})
	c.from = c.data
	if dictionary > 0 && dictionary < c.data {
		c.from = dictionary
	}
	c.to = c.from + size
	return c
}

// element is a node of the schema. The schema is a tree, stored in depth-first order.
type element struct {
	name       string
	physical   int
	length     int
	repetition int // 0 for required, 1 for optional, 2 for repeated
	children   int
	scale      int
	meaning    meaning
	isGroup    bool
	problem    string
}

func parseElement(v *field) (e element) {
	e.isGroup = true
	v.fields(func(id int16, v *field) {
		switch id {
		case 1:
			e.physical, e.isGroup = int(v.int()), false
		case 2:
			e.length = int(v.int())
		case 3:
			e.repetition = int(v.int())
		case 4:
			e.name = v.text()
		case 5:
			e.children = int(v.int())
		case 6:
			e.converted(v.int())
		case 7:
			e.scale = int(v.int())
		case 10:
			v.fields(e.logical)
		}
	})
	return e
}

// converted sets e.meaning from a ConvertedType, the older form of type annotations.
func (e *element) converted(kind int64) {
	switch kind {
	case 5:
		e.meaning = decimal
	case 6:
		e.meaning = date
	case 9:
		e.meaning = milliseconds
	case 10:
		e.meaning = microseconds
	case 11, 12, 13, 14:
		e.meaning = unsigned
	case 21:
		e.problem = "intervals"
	}
}

// logical sets e.meaning from a LogicalType, the newer form of type annotations.
func (e *element) logical(id int16, v *field) {
	switch id {
	case 5:
		e.meaning = decimal
		v.fields(func(id int16, v *field) {
			if id == 1 {
				e.scale = int(v.int())
			}
		})
	case 6:
		e.meaning = date
	case 8:
		v.fields(func(id int16, v *field) {
			if id == 2 {
				v.fields(func(id int16, _ *field) {
					e.meaning = map[int16]meaning{1: milliseconds, 2: microseconds, 3: nanoseconds}[id]
				})
			}
		})
	case 10:
		v.fields(func(id int16, v *field) {
			if id == 2 && !v.bool() {
				e.meaning = unsigned
			}
		})
	case 15:
		e.meaning = halfFloat
	}
}

// schema converts schema elements to columns.
type schema struct {
	elements []element
	at       int
	file     *File
}

// children adds the columns of the next element to s.file. path holds the names of the
// enclosing groups. If problem is not "", the columns are unreadable for that reason.
func (s *schema) children(path []string, def, rep int, problem string) error {
	if s.at >= len(s.elements) || len(path) > maxDepth {
		return errThrift
	}
	e := s.elements[s.at]
	isRoot := s.at == 0
	s.at++
	switch {
	case isRoot:
	case e.repetition == 1:
		def++
	case e.repetition == 2:
		def++
		rep++
	}
	if rep > 0 && e.isGroup && e.children != 1 {
		problem = "maps, or lists of groups"
	}
	if !isRoot && (rep == 0 || e.repetition == 2 && !e.isGroup) {
		path = append(path[:len(path):len(path)], e.name) // a list has the name of the group that contains it
	}
	if e.isGroup || isRoot {
		if e.children < 0 || e.children > len(s.elements) {
			return errThrift
		}
		for range e.children {
			if err := s.children(path, def, rep, problem); err != nil {
				return err
			}
		}
		return nil
	}
	if problem == "" {
		problem = e.problem
	}
	c := Column{Name: strings.Join(path, "/"), List: rep > 0, Unreadable: problem, physical: e.physical, length: e.length,
		scale: e.scale, meaning: e.meaning, maxDef: def, maxRep: rep}
	switch {
	case rep > 1:
		c.Unreadable = "lists of lists"
	case c.physical < physicalBool || c.physical > physicalFixed:
		c.Unreadable = "values of an unknown type"
	case c.scale < 0 || c.scale > 38:
		c.Unreadable = "decimals with an invalid scale"
	case c.physical == physicalFixed && (c.length < 1 || c.length > 1<<20):
		c.Unreadable = "bytes with an invalid length"
	case c.physical == physicalFixed && c.meaning == plainNumber:
		c.Unreadable = "bytes of a fixed length"
	case c.meaning == halfFloat && (c.physical != physicalFixed || c.length != 2):
		c.Unreadable = "numbers with an invalid length"
	}
	if s.file.Columns = append(s.file.Columns, c); len(s.file.Columns) > maxColumns {
		return fmt.Errorf("it has more than %d columns", maxColumns)
	}
	return nil
}
