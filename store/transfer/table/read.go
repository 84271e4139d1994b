package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// cell is one value of a row.
type cell struct {
	key, text string
	media     string // type of a W&B object; "" for any other value
}

// rows reads the rows of a table.
type rows interface {
	// next returns the cells of the next row. It returns io.EOF after the last row. It returns
	// a *rowError if the row is skipped.
	next() ([]cell, error)
	// columns returns the column names, or nil if rows can have different columns.
	columns() []string
	// parameters returns the parameters in the table. It must be called after the last row.
	parameters() []cell
}

// rowError is the error for one unreadable row. The reader can continue with the next row.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// reader imports a table into a run.
type reader struct {
	file     file
	im       *transfer.Import
	source   uuid.UUID
	known    transfer.File
	isKnown  bool
	in       io.Reader
	opened   io.ReaderAt // the table's file, for random access
	settings settings

	w         *transfer.RunWriter
	done      int64           // number of rows imported earlier
	row       int64           // number of rows read
	step      string          // step column; "" if not yet known
	time      string          // time column; "" if not yet known
	named     bool            // whether the table has a header
	media     map[string]bool // columns of W&B objects, which are not imported
	started   map[string]bool // metrics whose earlier points were dropped
	again     bool            // whether all rows are imported again
	half      bool            // whether an incomplete last row is left for the next import
	first     string          // checksum of the first row
	firstTime transfer.Time
}

const (
	// maxLine is the maximum size of a row in bytes.
	maxLine = 16 << 20
	// maxColumns is the maximum number of columns of a table.
	maxColumns = 100_000
)

// stepNames and timeNames list the names of step columns and time columns, in order of
// preference.
var (
	stepNames = []string{"step", "global_step", "_step", "iteration", "iter", "steps", "epoch"}
	timeNames = []string{"timestamp", "_timestamp", "wall_time", "wall time", "time", "datetime", "date", "created_at"}
)

// read imports the rows after r.done. A table counts as rewritten if it has fewer rows than at the
// last import or a different first row. read imports all rows of a rewritten table again.
func (r *reader) read(ctx context.Context, run transfer.Run) (err error) {
	in, err := os.Open(r.file.path)
	if err == nil {
		defer in.Close()
		r.opened = in
		r.in, r.half, err = r.wholeRows(in)
	}
	if err != nil {
		r.im.Lose(r.file.path, "It can't be read: %v.", err)
		return nil
	}
	run.Created = transfer.Time(r.file.info.ModTime().UnixMilli())
	r.started = map[string]bool{}
	r.done = r.known.Position
	r.w = r.im.Begin(run, r.file.path, r.isKnown)
	table := r.file.rows(r)
	if names := table.columns(); names != nil {
		r.named = true
		r.step, r.time = column(r.im.Step, stepNames, names), column(r.im.Time, timeNames, names)
		r.media = r.loseMedia(names)
	}
	for {
		cells, err := table.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var own *rowError
		if errors.As(err, &own) {
			r.im.Lose(r.file.path, "Row %d was skipped: %v.", r.row+1, own.err)
		} else if err != nil {
			r.im.Lose(r.file.path, "It was read only up to row %d: %v.", r.row, err)
			break
		}
		r.row++
		if r.row == 1 {
			r.first = checksum(cells)
			if r.isKnown && !r.again && r.known.State != r.first {
				return r.readAgain(ctx, run, "Its first row has changed since it was read")
			}
		}
		if err == nil && r.row > r.done {
			r.add(cells)
		}
		if r.w.Full() {
			r.mark(false)
			if err := r.w.Flush(ctx); err != nil {
				return err
			}
		} else if r.row%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if r.row < r.done {
		return r.readAgain(ctx, run, "It has fewer rows than when it was read")
	}
	for _, p := range table.parameters() {
		r.w.Parameter(p.key, p.text)
	}
	r.settings.add(r.w)
	r.mark(true)
	r.im.Read(r.file.info.Size())
	return r.w.End(ctx)
}

// checksum returns a checksum of a row.
func checksum(cells []cell) string {
	type text struct{ key, text string } // stored checksums depend on this type
	all := make([]text, len(cells))
	for i, c := range cells {
		all[i] = text{c.key, c.text}
	}
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, all)))
}

// resting is the minimum time since the last write for a last line without a newline to count as
// complete.
const resting = time.Minute

// wholeRows returns a reader of the file's complete rows. half reports whether an incomplete last
// row is omitted, because a program is probably still writing it.
func (r *reader) wholeRows(in *os.File) (whole io.Reader, half bool, err error) {
	size := r.file.info.Size()
	whole = io.LimitReader(in, size)
	if !r.file.hasLines() || time.Since(r.file.info.ModTime()) > resting {
		return whole, false, nil
	}
	from := max(size-1<<20, 0) &^ 1
	tail, mark := make([]byte, size-from), make([]byte, min(size, 2))
	if _, err := in.ReadAt(tail, from); err != nil {
		return nil, false, err
	}
	if _, err := in.ReadAt(mark, 0); err != nil {
		return nil, false, err
	}
	end := lastLine(tail, mark)
	if end < 0 || end == len(tail) {
		return whole, false, nil
	}
	return io.LimitReader(in, from+int64(end)), true, nil
}

// readAgain imports all rows of a rewritten table. The new points replace the earlier points.
func (r *reader) readAgain(ctx context.Context, run transfer.Run, why string) error {
	r.im.Lose(r.file.path, "%s, so all of it was read again.", why)
	next := &reader{file: r.file, im: r.im, source: r.source, isKnown: r.isKnown, settings: r.settings, again: true}
	return next.read(ctx, run)
}

func (r *reader) mark(complete bool) {
	f := transfer.File{ID: r.source, Path: r.file.path, Size: -1, Fingerprint: fingerprint(r.file), Position: max(r.row, r.done), State: r.first}
	if r.row < r.done {
		return // no new rows were read
	}
	if complete && !r.half {
		f.Size = r.file.info.Size()
	}
	r.w.Mark(f)
}

// add adds the points of a row to r.w.
func (r *reader) add(cells []cell) {
	if !r.named && (r.step == "" || r.time == "") {
		names := keys(cells)
		r.step, r.time = cmp.Or(r.step, column(r.im.Step, stepNames, names)), cmp.Or(r.time, column(r.im.Time, timeNames, names))
	}
	step, at, hasStep, hasTime := transfer.Step(r.row-1), transfer.Time(r.file.info.ModTime().UnixMilli()), false, false
	for _, c := range cells {
		switch c.key {
		case r.step:
			x, err := strconv.ParseFloat(strings.TrimSpace(c.text), 64)
			if err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<63 {
				r.im.Lose(r.file.path, "Row %d has no whole number in the step column %q; it was skipped.", r.row, r.step)
				return
			}
			step, hasStep = transfer.Step(x), true
			if n, err := strconv.ParseInt(strings.TrimSpace(c.text), 10, 64); err == nil {
				step = transfer.Step(n)
			}
		case r.time:
			at, hasTime = timeOf(c.text)
			if !hasTime {
				at = transfer.Time(r.file.info.ModTime().UnixMilli())
			}
		}
	}
	if r.step != "" && !hasStep && len(cells) > 0 {
		r.im.Lose(r.file.path, "Row %d has no value in the step column %q; it was skipped.", r.row, r.step)
		return
	}
	if hasTime && (r.firstTime == 0 || at < r.firstTime) && !r.isKnown {
		r.firstTime = at
		r.w.Run().Created = at
	}
	for _, c := range cells {
		if c.key == r.step || c.key == r.time && hasTime || r.step == "_step" && strings.HasPrefix(c.key, "_") || r.media[c.key] {
			continue // not a metric; W&B's own columns begin with an underscore
		}
		if c.media != "" {
			r.im.Lose(r.file.path, "The column %q contains values of W&B's type %q, which are not imported.", c.key, c.media)
			continue
		}
		value, ok := valueOf(c.text)
		if !ok {
			if !missing(c.text) {
				r.im.Lose(r.file.path, "The column %q contains text, which is not imported.", c.key)
			}
			continue
		}
		if r.again && !r.started[c.key] {
			r.started[c.key] = true
			r.w.Rewind(c.key, math.MinInt64)
		}
		r.w.Point(c.key, step, value, at)
	}
}

// column returns the name of the step column or the time column. If chosen is not "", column
// returns chosen. Otherwise it tries names in order, ignoring case, and returns the first column
// that matches, or "" if no column matches.
func column(chosen string, names, columns []string) string {
	if chosen != "" {
		return chosen
	}
	for _, name := range names {
		i := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), name) })
		if i >= 0 {
			return columns[i]
		}
	}
	return ""
}

func keys(cells []cell) []string {
	all := make([]string, len(cells))
	for i, c := range cells {
		all[i] = c.key
	}
	return all
}

// loseMedia returns the columns that hold the parts of W&B objects, such as img/_type and
// img/width. It records each object as a loss.
func (r *reader) loseMedia(columns []string) map[string]bool {
	parts := mediaColumns(columns)
	for name := range parts {
		if object, ok := strings.CutSuffix(name, "_type"); ok {
			r.im.Lose(r.file.path, "The columns %q are parts of a W&B object, such as an image; they are not imported.", object+"…")
		}
	}
	return parts
}

// mediaColumns returns the columns that hold the parts of W&B objects.
func mediaColumns(columns []string) map[string]bool {
	objects := map[string]bool{}
	for _, name := range columns {
		if object, ok := strings.CutSuffix(name, "_type"); ok && len(object) > 1 && strings.ContainsAny(object[len(object)-1:], "/.") {
			objects[object] = true
		}
	}
	if len(objects) == 0 {
		return nil
	}
	parts := map[string]bool{}
	for _, name := range columns {
		for i := range len(name) {
			if (name[i] == '/' || name[i] == '.') && objects[name[:i+1]] {
				parts[name] = true
			}
		}
	}
	return parts
}

// missing reports whether text stands for a missing value.
func missing(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "na", "n/a", "none", "null", "-":
		return true
	}
	return false
}

// valueOf parses a number. It returns false if text is not a number.
func valueOf(text string) (transfer.Value, bool) {
	text = strings.TrimSpace(text)
	if missing(text) || len(text) > 400 || strings.ContainsAny(text, "xX_pP") {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return transfer.Value(x), true
}

// timeLayouts lists the supported date formats. Dates without a zone are in UTC.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700",
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z0700",
	"2006-01-02 15:04:05.999999999 Z07:00", "2006-01-02 15:04:05.999999999 Z0700", "2006-01-02 15:04:05.999999999 UTC",
}

// timeOf parses a date, or a number of seconds or milliseconds since 1970. It returns false for
// small numbers, because these are durations.
func timeOf(text string) (transfer.Time, bool) {
	text = strings.TrimSpace(text)
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case x >= 5e8 && x < 1e11: // years 1985 to 5138
			return transfer.Time(math.Round(x * 1000)), true
		case x >= 5e11 && x < 1e14:
			return transfer.Time(math.Round(x)), true
		}
		return 0, false
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return transfer.Time(t.UnixMilli()), true
		}
	}
	return 0, false
}
