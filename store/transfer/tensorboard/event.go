package tensorboard

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/transfer/wire"
)

// event holds the data of one record of an event file.
type event struct {
	wallTime float64 // seconds since 1970
	step     int64
	start    bool     // whether the event is a SessionLog START, which means that the program was restarted
	values   [][]byte // encoded Summary.Value messages
	other    string   // name of a part that is not imported, such as "a graph"
}

// value holds the fields of a Summary.Value.
type value struct {
	tag       []byte
	simple    float32
	hasSimple bool
	image     []byte // encoded Image
	histogram []byte // encoded HistogramProto
	audio     []byte // encoded Audio
	tensor    []byte // encoded TensorProto
	plugin    []byte // plugin name
	content   []byte // plugin data
}

// parseEvent decodes an Event into e. The fields of e refer to b.
func parseEvent(b []byte, e *event) error {
	*e = event{values: e.values[:0]}
	return wire.Fields(b, func(n protowire.Number, t protowire.Type, number uint64, data []byte) error {
		switch {
		case n == 1 && t == protowire.Fixed64Type:
			e.wallTime = math.Float64frombits(number)
		case n == 2 && t == protowire.VarintType:
			e.step = int64(number)
		case n == 5 && t == protowire.BytesType:
			return wire.Fields(data, func(n protowire.Number, t protowire.Type, _ uint64, data []byte) error {
				if n == 1 && t == protowire.BytesType {
					e.values = append(e.values, data)
				}
				return nil
			})
		case n == 7 && t == protowire.BytesType:
			return wire.Fields(data, func(n protowire.Number, t protowire.Type, number uint64, _ []byte) error {
				e.start = e.start || n == 1 && t == protowire.VarintType && number == 1
				return nil
			})
		case n == 4 || n == 9:
			e.other = "a graph"
		case n == 8:
			e.other = "metadata of a session"
		}
		return nil
	})
}

// parseValue decodes a Summary.Value into v. The fields of v refer to b.
func parseValue(b []byte, v *value) error {
	*v = value{}
	return wire.Fields(b, func(n protowire.Number, t protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			v.tag = data
		case 2:
			v.simple, v.hasSimple = math.Float32frombits(uint32(number)), t == protowire.Fixed32Type
		case 4:
			v.image = data
		case 5:
			v.histogram = data
		case 6:
			v.audio = data
		case 8:
			v.tensor = data
		case 9:
			return wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
				if n != 1 {
					return nil
				}
				return wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
					switch n {
					case 1:
						v.plugin = data
					case 2:
						v.content = data
					}
					return nil
				})
			})
		}
		return nil
	})
}

// Element types of tensors.
const (
	dtFloat    = 1
	dtDouble   = 2
	dtInt32    = 3
	dtUint8    = 4
	dtInt16    = 5
	dtInt8     = 6
	dtString   = 7
	dtInt64    = 9
	dtBool     = 10
	dtBfloat16 = 14
	dtUint16   = 17
	dtHalf     = 19
	dtUint32   = 22
	dtUint64   = 23
)

// tensor holds the fields of a TensorProto.
type tensor struct {
	dtype   uint64
	numbers []float64
	strings [][]byte
	content []byte
}

// maxElements is the maximum number of elements of a tensor.
const maxElements = 1 << 20

var errElements = errors.New("it has too many elements")

// parseTensor decodes a TensorProto.
func parseTensor(b []byte) (*tensor, error) {
	v := &tensor{}
	err := wire.Fields(b, func(n protowire.Number, t protowire.Type, number uint64, data []byte) error {
		if len(v.numbers) > maxElements || len(v.strings) > maxElements {
			return errElements
		}
		switch n {
		case 1:
			v.dtype = number
		case 4:
			v.content = data
		case 5:
			return v.elements(t, number, data, 4, func(x uint64) float64 { return float64(math.Float32frombits(uint32(x))) })
		case 6:
			return v.elements(t, number, data, 8, math.Float64frombits)
		case 7, 10:
			return v.elements(t, number, data, 0, func(x uint64) float64 { return float64(int64(x)) })
		case 11, 16, 17:
			return v.elements(t, number, data, 0, func(x uint64) float64 { return float64(x) })
		case 13:
			return v.elements(t, number, data, 0, func(x uint64) float64 { return v.small(uint16(x)) })
		case 8:
			v.strings = append(v.strings, data)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(v.content) > 0 && len(v.numbers) == 0 {
		err = v.unpack()
	}
	return v, err
}

// elements appends the elements of a repeated field to v.numbers. The field holds one element
// or all elements in packed form. size is the size of a fixed-size element in bytes, or 0 for
// varints.
func (v *tensor) elements(t protowire.Type, number uint64, data []byte, size int, convert func(uint64) float64) error {
	if t != protowire.BytesType {
		v.numbers = append(v.numbers, convert(number))
		return nil
	}
	for len(data) > 0 {
		if len(v.numbers) > maxElements {
			return errElements
		}
		var x uint64
		var n int
		switch size {
		case 4:
			var small uint32
			small, n = protowire.ConsumeFixed32(data)
			x = uint64(small)
		case 8:
			x, n = protowire.ConsumeFixed64(data)
		default:
			x, n = protowire.ConsumeVarint(data)
		}
		if n < 0 {
			return wire.Err
		}
		v.numbers = append(v.numbers, convert(x))
		data = data[n:]
	}
	return nil
}

// unpack decodes the little-endian elements in v.content.
func (v *tensor) unpack() error {
	b := v.content
	sizes := map[uint64]int{dtFloat: 4, dtDouble: 8, dtInt32: 4, dtUint8: 1, dtInt16: 2, dtInt8: 1, dtInt64: 8, dtBool: 1,
		dtBfloat16: 2, dtUint16: 2, dtHalf: 2, dtUint32: 4, dtUint64: 8}
	size := sizes[v.dtype]
	if size == 0 || len(b)%size != 0 {
		return wire.Err
	}
	if len(b)/size > maxElements {
		return errElements
	}
	for ; len(b) > 0; b = b[size:] {
		var x float64
		switch v.dtype {
		case dtFloat:
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case dtDouble:
			x = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case dtInt32:
			x = float64(int32(binary.LittleEndian.Uint32(b)))
		case dtUint32:
			x = float64(binary.LittleEndian.Uint32(b))
		case dtInt64:
			x = float64(int64(binary.LittleEndian.Uint64(b)))
		case dtUint64:
			x = float64(binary.LittleEndian.Uint64(b))
		case dtInt16:
			x = float64(int16(binary.LittleEndian.Uint16(b)))
		case dtUint16:
			x = float64(binary.LittleEndian.Uint16(b))
		case dtHalf, dtBfloat16:
			x = v.small(binary.LittleEndian.Uint16(b))
		case dtInt8:
			x = float64(int8(b[0]))
		default:
			x = float64(b[0])
		}
		v.numbers = append(v.numbers, x)
	}
	return nil
}

// small converts a 16-bit float to a float64.
func (v *tensor) small(x uint16) float64 {
	if v.dtype == dtBfloat16 {
		return float64(math.Float32frombits(uint32(x) << 16))
	}
	sign, exponent, fraction := 1-2*float64(x>>15), int(x>>10&31), float64(x&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
