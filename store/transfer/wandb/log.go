package wandb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A log consists of a 7-byte header and 32 KiB blocks in LevelDB's format. The header is part of
// the first block. Each block contains fragments of records. A fragment consists of a CRC-32 of the
// type and the data (4 bytes), the length of the data (2 bytes), the type (1 byte), and the data.
const (
	blockSize      = 32 << 10
	fragmentHeader = 7
	// maxRecord is the maximum size of a record in bytes. Larger records are skipped.
	maxRecord = 16 << 20
)

var fileHeader = []byte{':', 'W', '&', 'B', 0xe1, 0xbe}

// Types of fragments. A fragment is a full record, or the first part, a middle part or the last
// part of a record.
const (
	full   = 1
	first  = 2
	middle = 3
	last   = 4
)

var (
	// errHalf reports the end of the log or an incomplete last record.
	errHalf = errors.New("there is no complete record")
	// errDamaged reports a fragment with a wrong checksum. The rest of the block was skipped.
	errDamaged = errors.New("a block is damaged")
	// errPart reports that parts of a record are missing.
	errPart = errors.New("a record has no beginning or no end")
)

// log reads the records of a W&B log.
type log struct {
	in   io.ReaderAt
	size int64
	pos  int64 // offset of the end of the last record or of skipped data
	data []byte
	buf  [blockSize]byte
}

// isLog reports whether header is the beginning of a W&B log.
func isLog(header []byte) bool {
	return len(header) >= fragmentHeader && bytes.HasPrefix(header, fileHeader)
}

// next returns the data of the next record. The data is valid until the next call. After
// errDamaged or errPart, the caller can call next again.
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
			// A fragment that begins a record is read by the next call.
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

// fragment returns the fragment at the given offset, and the offset of the fragment's end.
func (l *log) fragment(at int64) (kind byte, data []byte, end int64, err error) {
	if left := blockSize - at%blockSize; left < fragmentHeader {
		at += left // skip the zeros at the end of the block
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

// damagedUnless returns errDamaged if the block is complete. Otherwise it returns errHalf, because
// W&B might still be writing the block.
func damagedUnless(complete bool) error {
	if complete {
		return errDamaged
	}
	return errHalf
}

// half returns errHalf if err reports the end of the file. Otherwise it returns err.
func half(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errHalf
	}
	return err
}
