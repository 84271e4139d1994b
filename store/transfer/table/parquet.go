package table

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracker/store/transfer/parquet"
)

// These patterns match the names of the files in which W&B stores the history of a run. The
// artifact run-ID-history is a folder with numbered files. W&B's client downloads files named
// ID_N.runhistory.parquet.
var (
	historyPart   = regexp.MustCompile(`^(\d{1,9})\.parquet$`)
	historyFolder = regexp.MustCompile(`^run-(.+)-history(?:[-:_]v\d+)?$`)
	historyFile   = regexp.MustCompile(`^(?:.*_)?([^_]+)_(\d{1,9})\.runhistory\.parquet$`)
)

// historyOf returns the run id in the path of a run history file. It returns "" for any other
// file.
func historyOf(path string) string {
	if m := historyFile.FindStringSubmatch(filepath.Base(path)); m != nil {
		return m[1]
	}
	m := historyFolder.FindStringSubmatch(filepath.Base(filepath.Dir(path)))
	if m == nil || !historyPart.MatchString(filepath.Base(path)) {
		return ""
	}
	return m[1]
}

// partOf returns the number of a run history file.
func partOf(path string) int {
	m := historyFile.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		m = historyPart.FindStringSubmatch(filepath.Base(path))
	}
	n, _ := strconv.Atoi(m[len(m)-1]) // can't fail, because the number has at most nine digits
	return n
}

// joined combines the files of each run history into one file with parts. It returns all other
// files unchanged.
func joined(files []file) []file {
	key := func(f file) string { // key of a run history or of any other file
		if run := historyOf(f.path); run != "" {
			return filepath.Join(filepath.Dir(f.path), run) + " history"
		}
		return f.path
	}
	slices.SortFunc(files, func(a, b file) int {
		if by := strings.Compare(key(a), key(b)); by != 0 || a.path == b.path {
			return by
		}
		return partOf(a.path) - partOf(b.path)
	})
	first := map[string]int{}
	all := files[:0:0]
	for _, f := range files {
		if at, ok := first[key(f)]; ok {
			all[at].more = append(all[at].more, f.path)
			continue
		}
		first[key(f)] = len(all)
		all = append(all, f)
	}
	return all
}

// parquetTable reads a Parquet file or a W&B run history in Parquet files.
type parquetTable struct {
	r     *reader
	more  []string // paths of the remaining parts
	part  *os.File // current part; nil while the first part is read
	names []string
	rows  *parquet.Rows
	err   error
	cells []cell
}

func parquetRows(r *reader) rows {
	t := &parquetTable{r: r, more: r.file.more}
	t.open(r.opened, r.file.path, r.file.info.Size())
	return t
}

// open prepares to read the rows of a part. On failure, it sets t.err.
func (t *parquetTable) open(in io.ReaderAt, path string, size int64) {
	f, err := parquet.Open(in, size)
	if err != nil {
		t.err = err
		return
	}
	t.names = nil
	var columns []int
	for i, c := range f.Columns {
		switch {
		case c.Unreadable != "":
			t.r.im.Lose(path, "The column %q contains %s, which are not imported.", c.Name, c.Unreadable)
		case c.List:
			t.r.im.Lose(path, "The column %q contains lists, which are not imported.", c.Name)
		default:
			t.names, columns = append(t.names, c.Name), append(columns, i)
		}
	}
	t.rows = f.Rows(columns...)
}

// nextPart opens the next part. It returns io.EOF if no parts remain.
func (t *parquetTable) nextPart() error {
	t.close()
	if len(t.more) == 0 {
		return io.EOF
	}
	path := t.more[0]
	t.more = t.more[1:]
	var err error
	if t.part, err = os.Open(path); err != nil {
		return err
	}
	info, err := t.part.Stat()
	if err != nil {
		return err
	}
	t.open(t.part, path, info.Size())
	return t.err
}

func (t *parquetTable) close() {
	if t.part != nil {
		_ = t.part.Close() // an error does not matter, because the file was only read
		t.part = nil
	}
}

func (t *parquetTable) next() ([]cell, error) {
	if t.err != nil {
		return nil, t.err
	}
	row, err := t.rows.Next()
	for errors.Is(err, io.EOF) {
		if t.err = t.nextPart(); t.err != nil {
			return nil, t.err
		}
		row, err = t.rows.Next()
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.cells = t.cells[:0]
	for i, v := range row {
		switch v.Kind {
		case parquet.Null:
		case parquet.Bool:
			t.cells = append(t.cells, cell{key: t.names[i], text: strconv.FormatInt(v.Int, 10)})
		case parquet.Text:
			t.cells = append(t.cells, cell{key: t.names[i], text: string(v.Text[:min(len(v.Text), maxText)])})
		default:
			t.cells = append(t.cells, cell{key: t.names[i], text: v.String()})
		}
	}
	return t.cells, nil
}

func (t *parquetTable) columns() []string  { return t.names }
func (t *parquetTable) parameters() []cell { return nil }

// maxText is the maximum number of bytes of a text cell that are read. Numbers are never longer.
const maxText = 1000
