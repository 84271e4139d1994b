// Package parquet reads and writes Apache Parquet files row by row.
//
// It reads files written by pyarrow, DuckDB, Spark and Polars. Columns can hold numbers, strings,
// booleans and times, and can be in groups and lists. The package supports all encodings of these
// columns, and compression with Snappy, gzip and zstd. Files are not trusted: maxHeld limits the
// memory for pages and dictionaries, regardless of the metadata of a file.
package parquet

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"time"
)

// Kind is the type of a value.
type Kind uint8

// Kinds of values.
const (
	Null Kind = iota
	Bool
	Int
	Float
	Time
	Text
	List
)

// Value is one value of a column.
type Value struct {
	Kind  Kind
	Int   int64   // used for Int; 0 or 1 for Bool; Unix milliseconds for Time
	Float float64 // used for Float
	Text  []byte  // used for Text; valid until the next row is read
	List  []Value // used for List
}

// String returns the value as text. It formats numbers with all digits, times according to RFC
// 3339, and Null as "".
func (v Value) String() string {
	switch v.Kind {
	case Bool:
		return strconv.FormatBool(v.Int != 0)
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case Time:
		return time.UnixMilli(v.Int).UTC().Format("2006-01-02T15:04:05.000Z")
	case Text:
		return string(v.Text)
	case List:
		return "a list"
	}
	return ""
}

// Physical types.
const (
	physicalBool  = 0
	physicalInt32 = 1
	physicalInt64 = 2
	physicalInt96 = 3
	physicalFloat = 4
	physicalReal  = 5 // double precision
	physicalBytes = 6
	physicalFixed = 7
)

// meaning describes how to interpret the numbers or bytes of a column.
type meaning uint8

const (
	plainNumber meaning = iota
	unsigned
	decimal
	date
	milliseconds
	microseconds
	nanoseconds
	halfFloat
)

// width returns the size of a value in bytes, or 0 if the size varies.
func (c *Column) width() int {
	switch c.physical {
	case physicalInt32, physicalFloat:
		return 4
	case physicalInt64, physicalReal:
		return 8
	case physicalInt96:
		return 12
	case physicalFixed:
		return c.length
	}
	return 0
}

// fixed decodes a value of fixed size.
func (c *Column) fixed(b []byte) Value {
	switch c.physical {
	case physicalInt32:
		n := binary.LittleEndian.Uint32(b)
		if c.meaning == unsigned {
			return Value{Kind: Int, Int: int64(n)}
		}
		return c.number(int64(int32(n)))
	case physicalInt64:
		return c.number(int64(binary.LittleEndian.Uint64(b)))
	case physicalInt96: // nanoseconds since midnight, followed by the Julian day
		day := int64(binary.LittleEndian.Uint32(b[8:])) - 2440588
		return Value{Kind: Time, Int: day*86_400_000 + int64(binary.LittleEndian.Uint64(b)/1_000_000)}
	case physicalFloat:
		return Value{Kind: Float, Float: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case physicalReal:
		return Value{Kind: Float, Float: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	}
	return c.bytes(b)
}

// number converts an integer to a value according to the column's meaning.
func (c *Column) number(n int64) Value {
	switch c.meaning {
	case unsigned:
		if n < 0 {
			return Value{Kind: Float, Float: float64(uint64(n))}
		}
	case decimal:
		return scaled(n, c.scale)
	case date:
		return Value{Kind: Time, Int: n * 86_400_000}
	case milliseconds:
		return Value{Kind: Time, Int: n}
	case microseconds:
		return Value{Kind: Time, Int: floor(n, 1000)}
	case nanoseconds:
		return Value{Kind: Time, Int: floor(n, 1_000_000)}
	}
	return Value{Kind: Int, Int: n}
}

func floor(n, by int64) int64 {
	if n < 0 && n%by != 0 {
		return n/by - 1
	}
	return n / by
}

// scaled returns n divided by the scale-th power of ten. The result is an Int if the division
// is exact, and otherwise a Float.
func scaled(n int64, scale int) Value {
	by := int64(1)
	for range scale {
		if by > math.MaxInt64/10 {
			return Value{Kind: Float, Float: float64(n) / math.Pow10(scale)}
		}
		by *= 10
	}
	if n%by == 0 {
		return Value{Kind: Int, Int: n / by}
	}
	return Value{Kind: Float, Float: float64(n) / float64(by)}
}

// bytes converts bytes to a value according to the column's meaning. The value is a string or a
// number.
func (c *Column) bytes(b []byte) Value {
	switch c.meaning {
	case decimal: // big-endian two's complement
		if len(b) > 32 {
			return Value{}
		}
		n := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		if n.IsInt64() {
			return scaled(n.Int64(), c.scale)
		}
		x, _ := new(big.Float).SetInt(n).Float64()
		return Value{Kind: Float, Float: x / math.Pow10(c.scale)}
	case halfFloat:
		return Value{Kind: Float, Float: half(binary.LittleEndian.Uint16(b))}
	}
	return Value{Kind: Text, Text: b}
}

// half converts a half-precision float to a float64.
func half(x uint16) float64 {
	sign, exponent, fraction := 1-2*float64(x>>15), int(x>>10&31), float64(x&1023)
	switch {
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	case exponent < 31:
		return sign * math.Ldexp(1024+fraction, exponent-25)
	case fraction != 0:
		return math.NaN()
	}
	return math.Inf(int(sign))
}
