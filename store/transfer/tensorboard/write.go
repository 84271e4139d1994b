package tensorboard

import (
	"encoding/binary"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/transfer"
)

// Writer writes an event file.
type Writer struct {
	w      io.Writer
	record []byte
	event  []byte
	value  []byte
}

// NewWriter returns a Writer that writes to w. It writes the header of the event file with the
// given time.
func NewWriter(w io.Writer, at transfer.Time) (*Writer, error) {
	wr := &Writer{w: w}
	wr.begin(at, 0)
	wr.event = protowire.AppendTag(wr.event, 3, protowire.BytesType)
	wr.event = protowire.AppendString(wr.event, "brain.Event:2")
	return wr, wr.end()
}

// begin starts a new Event message.
func (w *Writer) begin(at transfer.Time, step transfer.Step) {
	w.event = protowire.AppendTag(w.event[:0], 1, protowire.Fixed64Type)
	w.event = protowire.AppendFixed64(w.event, math.Float64bits(float64(at)/1000))
	if step != 0 {
		w.event = protowire.AppendTag(w.event, 2, protowire.VarintType)
		w.event = protowire.AppendVarint(w.event, uint64(step))
	}
}

// end writes the current Event message as a record.
func (w *Writer) end() error {
	w.record = AppendRecord(w.record[:0], w.event)
	_, err := w.w.Write(w.record)
	return err
}

// AppendRecord appends a record that contains data to b.
func AppendRecord(b, data []byte) []byte {
	header := binary.LittleEndian.AppendUint64(make([]byte, 0, headerSize), uint64(len(data)))
	b = append(b, binary.LittleEndian.AppendUint32(header, masked(header))...)
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, masked(data))
}

// Scalar writes a point. The value is rounded to 32 bits, as in TensorBoard.
func (w *Writer) Scalar(tag string, step transfer.Step, value float64, at transfer.Time) error {
	w.value = protowire.AppendTag(w.value[:0], 1, protowire.BytesType)
	w.value = protowire.AppendString(w.value, tag)
	w.value = protowire.AppendTag(w.value, 2, protowire.Fixed32Type)
	w.value = protowire.AppendFixed32(w.value, math.Float32bits(float32(value)))
	w.begin(at, step)
	w.event = protowire.AppendTag(w.event, 5, protowire.BytesType)
	w.event = protowire.AppendVarint(w.event, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(w.value))))
	w.event = protowire.AppendTag(w.event, 1, protowire.BytesType)
	w.event = protowire.AppendBytes(w.event, w.value)
	return w.end()
}
