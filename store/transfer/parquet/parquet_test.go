package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

// written returns a file that has values of each kind in its rows.
func written(t testing.TB, rows int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Field{Name: "run", Kind: Text}, Field{Name: "step", Kind: Int}, Field{Name: "value", Kind: Float},
		Field{Name: "at", Kind: Time}, Field{Name: "good", Kind: Bool, Optional: true}, Field{Name: "note", Kind: Text, Optional: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(row(i)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// row returns the values of a row.
func row(i int) []Value {
	note, good := Value{Kind: Text, Text: fmt.Appendf(nil, "note %d – ü", i)}, Value{Kind: Bool, Int: int64(i / 7 % 2)}
	if i%3 == 0 {
		note, good = Value{}, Value{}
	}
	x := float64(i) / 3
	switch i % 100 {
	case 1:
		x = math.NaN()
	case 2:
		x = math.Inf(-1)
	}
	return []Value{{Kind: Text, Text: fmt.Appendf(nil, "run-%d", i/500)}, {Kind: Int, Int: int64(i) - 5}, {Kind: Float, Float: x},
		{Kind: Time, Int: 1_700_000_000_000 + int64(i)}, good, note}
}

func TestRoundTrip(t *testing.T) {
	for _, rows := range []int{0, 1, 7, 8, 1000, groupRows, groupRows + 1, 2*groupRows + 12345} {
		text := written(t, rows)
		f, err := Open(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var columns []int
		for i, c := range f.Columns {
			names, columns = append(names, c.Name), append(columns, i)
		}
		if got := strings.Join(names, " "); got != "run step value at good note" {
			t.Fatalf("the columns are %s", got)
		}
		r := f.Rows(columns...)
		for i := range rows {
			got, err := r.Next()
			if want := row(i); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("row %d of %d: %v, %v; want %v", i, rows, got, err, want)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("%d rows: %v at the end", rows, err)
		}
		if f.held != 0 {
			t.Errorf("%d rows: %d bytes are held at the end", rows, f.held)
		}
	}
}

// TestGroupsAreBounded checks that long strings in many rows do not fill the memory, because the
// row group ends early.
func TestGroupsAreBounded(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Field{Name: "a", Kind: Text})
	if err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("x"), 1<<20)
	for range 50 {
		if err := w.Write(Value{Kind: Text, Text: long}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || len(w.groups) < 3 {
		t.Errorf("%v, %d groups", err, len(w.groups))
	}
}

// TestEncodings decodes the examples in the format specification, and edge cases.
func TestEncodings(t *testing.T) {
	for _, test := range []struct {
		name string
		c    Column
		kind int64
		b    []byte
		want string
	}{
		{"delta", Column{physical: physicalInt64}, encodingDelta,
			// 7, 5, 3, 1, 2, 3, 4, 5: the least difference is -2
			append([]byte{128, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0x00 | 0xC0, 0x3F, 0, 0, 0, 0, 0, 0}, make([]byte, 0)...), "7 5 3 1 2 3 4 5"},
		{"plain texts", Column{physical: physicalBytes}, encodingPlain, []byte("\x01\x00\x00\x00a\x00\x00\x00\x00\x02\x00\x00\x00bc"), "a  bc"},
		{"split", Column{physical: physicalFloat}, encodingSplit, []byte{0, 0, 0, 0, 0x80, 0x00, 0x3f, 0x40}, "1 2"},
		{"decimal", Column{physical: physicalFixed, length: 3, meaning: decimal, scale: 2}, encodingPlain, []byte{0, 0, 150, 0xff, 0xff, 0x9c}, "1.5 -1"},
		{"microseconds", Column{physical: physicalInt64, meaning: microseconds}, encodingPlain, binary.LittleEndian.AppendUint64(nil, 1500), "1970-01-01T00:00:00.001Z"},
		{"half floats", Column{physical: physicalFixed, length: 2, meaning: halfFloat}, encodingPlain, []byte{0, 0x3c, 0, 0xfc}, "1 -Inf"},
		{"unsigned", Column{physical: physicalInt32, meaning: unsigned}, encodingPlain, []byte{255, 255, 255, 255}, "4294967295"},
		{"booleans", Column{physical: physicalBool}, encodingRLE, []byte{2, 0, 0, 0, 6, 1}, "true true true"},
	} {
		n := len(strings.Split(test.want, " "))
		v, err := newValues(&test.c, test.kind, test.b, n, nil)
		var got []string
		for range n {
			var x Value
			if err == nil {
				x, err = v.next()
			}
			got = append(got, x.String())
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, %v; want %s", test.name, got, err, test.want)
		}
	}
}

// TestHostile checks that reading a truncated or malicious file returns an error.
func TestHostile(t *testing.T) {
	text := written(t, 1000)
	read := func(text []byte) error {
		f, err := Open(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return err
		}
		return readAll(f)
	}
	if err := read(text); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"cut":              text[:len(text)/2],
		"footer of 4 GiB":  append(append(bytes.Clone(text[:len(text)-8]), 255, 255, 255, 255), magic...),
		"footer of 16 MiB": append(append(append([]byte(magic), make([]byte, maxFooter+9)...), 1, 0, 0, 1), magic...),
		"nothing":          []byte("PAR1\x00\x00\x00\x00PAR1"),
	} {
		if err := read(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// The page decompresses to 128 MiB, although its header states a smaller size.
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	bomb := w.zstd.EncodeAll(make([]byte, 128<<20), nil)
	f := &File{}
	for _, size := range []int64{1 << 10, maxPage} {
		c := cursor{file: f, chunk: chunk{codec: codecZstd}}
		if _, err := c.unpack(bomb, size); !errors.Is(err, errPacked) {
			t.Errorf("a bomb of %d bytes: %v", size, err)
		}
	}
}

// TestLiesAboutRows checks that reading returns an error after the last value if a group claims to
// have more rows.
func TestLiesAboutRows(t *testing.T) {
	text := written(t, 10)
	f, err := Open(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	f.groups[0].rows = math.MaxInt64
	if _, err := f.Rows().Next(); !errors.Is(err, io.EOF) {
		t.Errorf("no columns: %v", err)
	}
	r := f.Rows(0)
	for range 10 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "fewer values than rows") {
		t.Errorf("after the last value: %v", err)
	}
}

// readAll reads all readable columns of a file.
func readAll(f *File) error {
	var columns []int
	for i, c := range f.Columns {
		if c.Unreadable == "" {
			columns = append(columns, i)
		}
	}
	r := f.Rows(columns...)
	for range 1_000_000 {
		if _, err := r.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
	return nil
}

// FuzzOpen reads arbitrary files. Reading must terminate and must not hold more than maxHeld bytes.
func FuzzOpen(f *testing.F) {
	f.Add(written(f, 20), uint32(0), byte(0))
	f.Add(written(f, 20), uint32(700), byte(255))
	f.Add([]byte("PAR1\x15\x00\x15\x00PAR1"), uint32(3), byte(0x19))
	f.Fuzz(func(t *testing.T, text []byte, at uint32, change byte) {
		if len(text) > 0 {
			text = bytes.Clone(text)
			text[int(at)%len(text)] ^= change
		}
		file, err := Open(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		_ = readAll(file) // an error is allowed
		if file.held > maxHeld {
			t.Errorf("%d bytes are held", file.held)
		}
	})
}

// FuzzValues decodes arbitrary bytes in each encoding. Decoding must terminate.
func FuzzValues(f *testing.F) {
	for kind := range int64(10) {
		f.Add([]byte{128, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0xC0, 0x3F}, kind, physicalInt64)
		f.Add([]byte("\x01\x00\x00\x00a\x00\x00\x00\x00"), kind, physicalBytes)
	}
	f.Fuzz(func(_ *testing.T, b []byte, kind int64, physical int) {
		c := &Column{physical: physical & 7, length: 3}
		dict, err := newDictionary(c, b, len(b)/8)
		if err != nil {
			dict = nil
		}
		v, err := newValues(c, kind, b, 1000, dict)
		for i := 0; i < 1000 && err == nil; i++ {
			_, err = v.next()
		}
	})
}
