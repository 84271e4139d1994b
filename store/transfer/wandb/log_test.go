package wandb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/transfer"
)

// newLog returns a log with the given records in W&B's format.
func newLog(records ...[]byte) []byte {
	b := append(bytes.Clone(fileHeader), 0)
	for _, data := range records {
		for begun := false; ; begun = true {
			left := blockSize - len(b)%blockSize
			if left < fragmentHeader {
				b = append(b, make([]byte, left)...)
				left = blockSize
			}
			part := data[:min(len(data), left-fragmentHeader)]
			data = data[len(part):]
			kind := byte(middle)
			switch {
			case !begun && len(data) == 0:
				kind = full
			case !begun:
				kind = first
			case len(data) == 0:
				kind = last
			}
			b = binary.LittleEndian.AppendUint32(b, crc32.Update(crc32.ChecksumIEEE([]byte{kind}), crc32.IEEETable, part))
			b = binary.LittleEndian.AppendUint16(b, uint16(len(part)))
			b = append(append(b, kind), part...)
			if len(data) == 0 {
				break
			}
		}
	}
	return b
}

func message(n protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), data)
}

// runData returns a record of a run.
func runData() []byte {
	return message(recordRun, append(message(1, []byte("id")), append(message(3, []byte("p")), message(8, []byte("name"))...)...))
}

func TestLog(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 10_000)
	var records [][]byte
	for size := range 300 { // records end at all positions of a block
		records = append(records, large[:size*30])
	}
	records = append(records, large, []byte{})
	data := newLog(records...)
	l := &log{in: bytes.NewReader(data), size: int64(len(data)), pos: fragmentHeader}
	for i, want := range records {
		got, err := l.next()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("record %d: %d bytes, %v; want %d", i, len(got), err, len(want))
		}
	}
	if _, err := l.next(); !errors.Is(err, errHalf) || l.pos != int64(len(data)) {
		t.Errorf("%v at %d of %d", err, l.pos, len(data))
	}

	// Reading a truncated log returns the records before the cut. Reading can continue there after
	// the log has grown.
	for _, end := range []int{8, 1000, 40_000, 100_000, len(data) - 1} {
		l := &log{in: bytes.NewReader(data), size: int64(end), pos: fragmentHeader}
		n := 0
		for {
			if _, err := l.next(); err != nil {
				if !errors.Is(err, errHalf) {
					t.Fatalf("cut at %d: %v", end, err)
				}
				break
			}
			n++
		}
		l.size = int64(len(data))
		for ; n < len(records); n++ {
			if got, err := l.next(); err != nil || !bytes.Equal(got, records[n]) {
				t.Fatalf("cut at %d, record %d: %d bytes, %v", end, n, len(got), err)
			}
		}
	}
}

// TestDamagedLog checks that only the records in a damaged block are lost.
func TestDamagedLog(t *testing.T) {
	var records [][]byte
	for i := range 40 {
		records = append(records, bytes.Repeat([]byte{byte(i)}, 3000))
	}
	data := newLog(records...)
	data[blockSize+500] ^= 1
	l := &log{in: bytes.NewReader(data), size: int64(len(data)), pos: fragmentHeader}
	var got []byte
	for {
		record, err := l.next()
		if errors.Is(err, errHalf) {
			break
		}
		if err == nil {
			got = append(got, record[0])
		}
	}
	if len(got) < 25 || len(got) > 30 || got[0] != 0 || got[len(got)-1] != 39 {
		t.Errorf("%d records: %v", len(got), got)
	}
}

// FuzzLog imports arbitrary logs. The import must terminate. An unreadable part is a loss, not an
// error.
func FuzzLog(f *testing.F) {
	item := append(message(2, []byte("loss")), message(16, []byte(`{"a": NaN}`))...)
	f.Add([]byte{}, message(recordHistory, message(1, item)))
	f.Add([]byte{}, message(recordExit, []byte{8, 1}))
	f.Add(newLog(runData())[7:], message(recordConfig, message(1, append(message(1, []byte("lr")), message(16, []byte(`{"x": [1]}`))...))))
	f.Fuzz(func(t *testing.T, tail, record []byte) {
		path := filepath.Join(t.TempDir(), "run-id.wandb")
		if err := os.WriteFile(path, append(newLog(runData(), record), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := find(path)
		if err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), src); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
		if im.Result.Found != 1 {
			t.Errorf("%+v", im.Result)
		}
	})
}
