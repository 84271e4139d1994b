package tensorboard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

// header returns the beginning of a record that claims to have length bytes.
func header(length uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, length)
	return binary.LittleEndian.AppendUint32(b, masked(b))
}

func TestRecords(t *testing.T) {
	one := AppendRecord(nil, []byte("one"))
	two := AppendRecord(nil, []byte("two"))
	flipped := bytes.Clone(one)
	flipped[13] ^= 1
	for name, test := range map[string]struct {
		data []byte
		want []error // of each call
	}{
		"empty":              {nil, []error{errHalf}},
		"two":                {append(bytes.Clone(one), two...), []error{nil, nil, errHalf}},
		"half":               {append(bytes.Clone(one), two[:len(two)-1]...), []error{nil, errHalf}},
		"damaged":            {append(flipped, two...), []error{errData, nil, errHalf}},
		"length":             {append([]byte{1}, two...), []error{errLength}},
		"a length that lies": {append(header(1<<62), make([]byte, 100)...), []error{errHalf}},
	} {
		r := newRecords(bytes.NewReader(test.data), 0, int64(len(test.data)))
		for i, want := range test.want {
			if _, err := r.next(); !errors.Is(err, want) {
				t.Errorf("%s: call %d: %v, want %v", name, i, err, want)
			}
		}
	}
}

// TestLargeRecord checks that a record larger than the limit is skipped and not held in memory.
func TestLargeRecord(t *testing.T) {
	const length = maxRecord + 1
	size := int64(headerSize + length + footerSize)
	next := AppendRecord(nil, []byte("next"))
	all := io.MultiReader(bytes.NewReader(header(length)), io.LimitReader(zeros{}, length+footerSize), bytes.NewReader(next))
	r := newRecords(all, 0, size+int64(len(next)))
	if _, err := r.next(); !errors.Is(err, errLarge) {
		t.Errorf("%v", err)
	}
	if data, err := r.next(); err != nil || string(data) != "next" || cap(r.data) > 1000 {
		t.Errorf("%q, %v, %d bytes held", data, err, cap(r.data))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestSmallNumbers(t *testing.T) {
	for _, test := range []struct {
		dtype uint64
		bits  uint16
		want  float64
	}{{dtHalf, 0x3c00, 1}, {dtHalf, 0xc000, -2}, {dtHalf, 0x0001, 1.0 / (1 << 24)}, {dtHalf, 0x7bff, 65504}, {dtBfloat16, 0x3f80, 1}} {
		if got := (&tensor{dtype: test.dtype}).small(test.bits); got != test.want {
			t.Errorf("%#x of type %d is %g, want %g", test.bits, test.dtype, got, test.want)
		}
	}
}

// FuzzRead imports arbitrary event files. The import must terminate. An unreadable part is a loss,
// not an error.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	w, err := NewWriter(&b, 1_700_000_000_000)
	for step := range 3 {
		err = errors.Join(err, w.Scalar("loss", transfer.Step(step), 1, 1_700_000_000_000))
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), []byte{})
	f.Add(b.Bytes(), []byte{0x2a, 0x02, 0x0a, 0x00})
	f.Add([]byte{}, []byte{0x2a, 0x0c, 0x0a, 0x0a, 0x0a, 0x01, 'a', 0x42, 0x05, 0x08, 0x01, 0x22, 0x01, 0x00})
	f.Fuzz(func(t *testing.T, data, message []byte) {
		logs := t.TempDir()
		if err := os.WriteFile(filepath.Join(logs, "events.out.tfevents.1"), AppendRecord(data, message), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := Find(logs)
		if err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), src); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
