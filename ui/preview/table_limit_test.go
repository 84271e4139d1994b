package preview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"tracker/store/files"
)

// maxTableAllocation is an upper bound for the bytes that the preview of any table allocates.
const maxTableAllocation = 64 << 20

// fillBounded creates the preview of a table and fails the test if it exceeds a bound.
func fillBounded(t testing.TB, name string, content []byte) Preview {
	t.Helper()
	var v Preview
	data := &countingReader{ReadSeeker: bytes.NewReader(content), then: func() {}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := v.fillTable(t.Context(), data, files.Artifact{Name: name, SizeBytes: int64(len(content))})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Errorf("%v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > maxTableAllocation {
		t.Errorf("%d bytes make it allocate %d", len(content), n)
	}
	// The table is read once, and then its beginning and end are read as text.
	if most := min(len(content), tableBytes) + headBytes + tailBytes + 64<<10; data.read > most {
		t.Errorf("%d bytes are read of %d, want at most %d", data.read, len(content), most)
	}
	if len(v.Rows) > tableRows || len(v.Columns) > tableColumns {
		t.Errorf("%d rows, %d columns", len(v.Rows), len(v.Columns))
	}
	for _, row := range append(v.Rows, v.Columns) {
		if len(row) > tableColumns {
			t.Errorf("a row has %d cells", len(row))
		}
		for _, cell := range row {
			if utf8.RuneCountInString(cell) > cellLetters+2 {
				t.Errorf("a cell has %d letters", utf8.RuneCountInString(cell))
			}
		}
	}
	// A byte that is not UTF-8 becomes a replacement character of three bytes.
	if len(v.Head)+len(v.Tail) > 3*(headBytes+tailBytes) {
		t.Errorf("%d bytes of text", len(v.Head)+len(v.Tail))
	}
	return v
}

func TestTableLimits(t *testing.T) {
	for name, c := range map[string]struct {
		content, note string
		rows          int
	}{
		"commas":           {strings.Repeat(",", 15<<20), "The first row is longer than 256 KiB, so it is shown as text.", 0},
		"commas after":     {"a,b\n1,2\n" + strings.Repeat(",", 15<<20), "The first 1 rows; row 2 is longer than 256 KiB", 1},
		"open quote":       {"a,b\n1,2\n\"" + strings.Repeat("x\n", 8<<20), "The first 1 rows; row 2 is longer than 256 KiB", 1},
		"short rows":       {strings.Repeat("a\n", 2<<20), "200 of 2,097,151 rows", 200},
		"many short rows":  {strings.Repeat("a\n", 8<<20), "The first 200 rows of 16 MiB", 200},
		"blank lines":      {strings.Repeat("\n", 15<<20), "The first row is longer than 256 KiB, so it is shown as text.", 0},
		"wide but allowed": {strings.Repeat("1.5,", 60_000) + "\n" + strings.Repeat("1.5,", 60_000) + "\n", "1 of 1 rows, the first 60 columns", 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := fillBounded(t, "table.csv", []byte(c.content))
			if v.Note != c.note || len(v.Rows) != c.rows {
				t.Errorf("%d rows, %q, want %d, %q", len(v.Rows), v.Note, c.rows, c.note)
			}
		})
	}
}

// Reading a table stops when the request ends.
func TestTableEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	content := &countingReader{ReadSeeker: bytes.NewReader(bytes.Repeat([]byte("a,b\n"), 1<<20)), then: cancel}
	var v Preview
	err := v.fillTable(ctx, content, files.Artifact{Name: "table.csv", SizeBytes: 4 << 20})
	if !errors.Is(err, context.Canceled) || content.read > 128<<10 {
		t.Errorf("%v after %d bytes", err, content.read)
	}
}

// countingReader counts bytes, and calls then at the first read.
type countingReader struct {
	io.ReadSeeker
	read int
	then func()
}

func (r *countingReader) Read(p []byte) (int, error) {
	r.then()
	n, err := r.ReadSeeker.Read(p)
	r.read += n
	return n, err
}

// FuzzTable checks that no CSV or TSV exceeds the bounds of a preview. A pattern
// is repeated, so that a small text becomes a large one.
func FuzzTable(f *testing.F) {
	for _, s := range []string{",", "\"", "a,b\n", "\n", "\"\"", "\"a\",", "\t", "\r\n", "\x00", "\xff", "ä,"} {
		f.Add("a,b\n", s, uint32(300<<10), false)
	}
	f.Add("", "\"x\n", uint32(300<<10), true)
	f.Fuzz(func(t *testing.T, head, pattern string, size uint32, tabs bool) {
		name := "table.csv"
		if tabs {
			name = "table.tsv"
		}
		if pattern == "" {
			pattern = ","
		}
		fillBounded(t, name, []byte(head+strings.Repeat(pattern, min(int(size), 1<<20)/len(pattern))))
	})
}
