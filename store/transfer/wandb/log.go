package wandb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A log is a header of 7 bytes followed by LevelDB's blocks of 32 KiB, counted from the start of
// the file. A block contains fragments of records: CRC-32 of type and data (4 bytes), length (2),
// type (1), data.
const (
	blockSize      = 32 << 10
	fragmentHeader = 7
	// maxRecord bounds a record; a larger one is skipped.
	maxRecord = 16 << 20
)

var fileHeader = []byte{':', 'W', '&', 'B', 0xe1, 0xbe}

// The types of fragments: a whole record, or its parts.
const (
	full   = 1
	first  = 2
	middle = 3
	last   = 4
)

var (
	// errHalf is returned at the end of the log, and for an incomplete last record.
	errHalf = errors.New("there is no complete record")
	// errDamaged is returned for a fragment with a wrong checksum. The rest of its block was
	// skipped.
	errDamaged = errors.New("a block is damaged")
	// errPart is returned for a part of a record without the other parts.
	errPart = errors.New("a record has no beginning or no end")
)

// log reads the records of a file.
type log struct {
	in   io.ReaderAt
	size int64
	pos  int64 // end of the last record or of skipped data
	data []byte
	buf  [blockSize]byte
}

// isLog reports whether a file begins like a log.
func isLog(header []byte) bool {
	return len(header) >= fragmentHeader && bytes.HasPrefix(header, fileHeader)
}

// next returns the data of the next record, valid until the following call. After errDamaged and
// errPart, next can be called again.
func (l *log) next() ([]byte, error) {
	l.data = l.data[:0]
	at, begun := l.pos, false
	for {
		kind, data, end, err := l.fragment(at)
		switch {
		case errors.Is(err, errDamaged):
			l.pos = end
			return nil, err
		case err != nil:
			return nil, err
		case begun != (kind == middle || kind == last), len(l.data)+len(data) > maxRecord:
			// A fragment that begins a record is kept for the next call.
			l.pos = end
			if begun && (kind == full || kind == first) {
				l.pos = at
			}
			return nil, errPart
		}
		at, begun = end, true
		l.data = append(l.data, data...)
		if kind == full || kind == last {
			l.pos = at
			return l.data, nil
		}
	}
}

// fragment returns the fragment at a position and its end.
func (l *log) fragment(at int64) (kind byte, data []byte, end int64, err error) {
	if left := blockSize - at%blockSize; left < fragmentHeader {
		at += left // zeros
	}
	if l.size-at < fragmentHeader {
		return 0, nil, at, errHalf
	}
	block := at - at%blockSize + blockSize
	header := l.buf[:fragmentHeader]
	if _, err := l.in.ReadAt(header, at); err != nil {
		return 0, nil, at, half(err)
	}
	sum, length := binary.LittleEndian.Uint32(header), int64(binary.LittleEndian.Uint16(header[4:]))
	kind, end = header[6], at+fragmentHeader+length
	if end > block {
		return 0, nil, min(block, l.size), damagedUnless(block <= l.size)
	}
	if end > l.size {
		return 0, nil, at, errHalf
	}
	data = l.buf[fragmentHeader : fragmentHeader+length]
	if length > 0 {
		if _, err := l.in.ReadAt(data, at+fragmentHeader); err != nil {
			return 0, nil, at, half(err)
		}
	}
	crc := crc32.Update(crc32.ChecksumIEEE(l.buf[6:7]), crc32.IEEETable, data)
	if crc != sum || kind < full || kind > last {
		return 0, nil, min(block, l.size), damagedUnless(block <= l.size)
	}
	return kind, data, end, nil
}

// damagedUnless returns errDamaged if the block is complete, and errHalf if it is still being
// written.
func damagedUnless(complete bool) error {
	if complete {
		return errDamaged
	}
	return errHalf
}

// half converts the errors at the end of a file to errHalf.
func half(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errHalf
	}
	return err
}
