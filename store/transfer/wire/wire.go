// Package wire decodes protocol buffer messages field by field without a schema. It does not
// copy the data of fields.
package wire

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Err reports that data is not a valid message.
var Err = errors.New("it is not a valid protocol buffers message")

// Fields calls fn for each field of a message. number is the value of a varint or a fixed-size
// field. data is the value of a length-delimited field. Fields returns the first error of fn,
// or Err if the message is not valid.
func Fields(b []byte, fn func(n protowire.Number, t protowire.Type, number uint64, data []byte) error) error {
	for len(b) > 0 {
		n, t, size := protowire.ConsumeTag(b)
		if size < 0 {
			return Err
		}
		b = b[size:]
		var number uint64
		var data []byte
		switch t {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, size = protowire.ConsumeFixed32(b)
			number = uint64(v)
		case protowire.Fixed64Type:
			number, size = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			data, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, t, b)
		}
		if size < 0 {
			return Err
		}
		b = b[size:]
		if err := fn(n, t, number, data); err != nil {
			return err
		}
	}
	return nil
}
