package tensorboard

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A record is its length (8 bytes, little endian), a masked CRC-32C of the length,
// the data, and a masked CRC-32C of the data.
const (
	headerSize = 12
	footerSize = 4
	// maxRecord bounds the data of a record; a larger one is skipped.
	maxRecord = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the masked CRC-32C of data.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// Errors of records.
var (
	// errHalf is returned at the end of the file, and for an incomplete last record.
	errHalf = errors.New("there is no complete record")
	// errData is returned for a record whose data do not match their checksum. The record was
	// skipped.
	errData = errors.New("the data of a record do not match their checksum")
	// errLarge is returned for a record that is larger than maxRecord. The record was skipped.
	errLarge = errors.New("a record is larger than 64 MiB")
	// errLength is returned for a record whose length does not match its checksum. The next record
	// can't be found.
	errLength = errors.New("the length of a record does not match its checksum")
)

// records reads the records of a file.
type records struct {
	r    *bufio.Reader
	pos  int64 // end of the last record that was read
	size int64 // of the file
	data []byte
}

func newRecords(r io.Reader, pos, size int64) *records {
	return &records{r: bufio.NewReaderSize(io.LimitReader(r, size-pos), 256<<10), pos: pos, size: size}
}

// next returns the data of the next record, valid until the following call. After errData and
// errLarge, next can be called again.
func (r *records) next() ([]byte, error) {
	if r.size-r.pos < headerSize+footerSize {
		return nil, errHalf
	}
	header, err := r.r.Peek(headerSize)
	if err != nil {
		return nil, half(err)
	}
	if masked(header[:8]) != binary.LittleEndian.Uint32(header[8:]) {
		return nil, errLength
	}
	length := binary.LittleEndian.Uint64(header)
	if length > uint64(r.size-r.pos-headerSize-footerSize) {
		return nil, errHalf
	}
	n := int(length)
	if n > maxRecord {
		if _, err := r.r.Discard(headerSize + n + footerSize); err != nil {
			return nil, half(err)
		}
		r.pos += int64(headerSize + n + footerSize)
		return nil, errLarge
	}
	if _, err := r.r.Discard(headerSize); err != nil {
		return nil, half(err)
	}
	if cap(r.data) < n+footerSize {
		r.data = make([]byte, n+footerSize)
	}
	r.data = r.data[:n+footerSize]
	if _, err := io.ReadFull(r.r, r.data); err != nil {
		return nil, half(err)
	}
	r.pos += int64(headerSize + n + footerSize)
	data := r.data[:n]
	if masked(data) != binary.LittleEndian.Uint32(r.data[n:]) {
		return nil, errData
	}
	return data, nil
}

// half converts the errors at the end of a file to errHalf.
func half(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errHalf
	}
	return err
}
