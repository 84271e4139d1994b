package tensorboard

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A record consists of the data's length (8 bytes, little endian), a masked CRC-32C of the
// length, the data, and a masked CRC-32C of the data.
const (
	headerSize = 12
	footerSize = 4
	// maxRecord is the maximum size of a record's data in bytes. Larger records are skipped.
	maxRecord = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the masked CRC-32C of data, as defined by the TFRecord format.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// These errors are returned by records.next.
var (
	// errHalf reports the end of the file or an incomplete last record.
	errHalf = errors.New("there is no complete record")
	// errData reports that the data of a record does not match its checksum. The record was
	// skipped.
	errData = errors.New("the data of a record does not match its checksum")
	// errLarge reports that a record is larger than maxRecord. The record was skipped.
	errLarge = errors.New("a record is larger than 64 MiB")
	// errLength reports that the length of a record does not match its checksum. The next
	// record can't be found.
	errLength = errors.New("the length of a record does not match its checksum")
)

// records reads the records of an event file.
type records struct {
	r    *bufio.Reader
	pos  int64 // offset of the end of the last record read
	size int64 // size of the file in bytes
	data []byte
}

func newRecords(r io.Reader, pos, size int64) *records {
	return &records{r: bufio.NewReaderSize(io.LimitReader(r, size-pos), 256<<10), pos: pos, size: size}
}

// next returns the data of the next record. The data is valid until the next call. After
// errData or errLarge, the caller can call next again.
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

// half returns errHalf if err reports the end of the file. Otherwise it returns err.
func half(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errHalf
	}
	return err
}
