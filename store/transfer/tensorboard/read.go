package tensorboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/transfer/wire"
)

// state is the stored state of a partly read file. A later import continues from this state.
type state struct {
	// Plugins maps the tags of values that are not scalars to their plugins. Only the first event
	// of a tag names the plugin.
	Plugins map[string]string `json:"plugins,omitzero"`
	// Begun lists the scalar tags that have points from this file. The import drops earlier
	// points of a tag only once.
	Begun []string `json:"begun,omitzero"`
	// Restart is the step at which the program was last restarted; nil if it was not restarted.
	Restart *int64 `json:"restart,omitzero"`
}

// maxTags is the maximum number of tags in a file, and maxTagBytes is the maximum size of their
// names. maxValues is the maximum number of values in an event.
const (
	maxTags     = 1_000_000
	maxTagBytes = 64 << 20
	maxValues   = 100_000
)

// tag describes a series of values in a file.
type tag struct {
	key    string
	plugin string // plugin name; "" for scalars
	known  bool   // whether the plugin is known
	begun  bool   // whether the tag has points from this file
}

// reader imports one event file into a run.
type reader struct {
	file  *file
	in    io.ReaderAt
	im    *transfer.Import
	w     *transfer.RunWriter
	above string // folder of the run

	tags       map[string]*tag
	tagBytes   int // total size of the tag names in bytes
	state      state
	histograms map[string]*histograms
	scalars    []scalar // scalars of the current event
}

// scalar is a scalar value to import as a point.
type scalar struct {
	tag   *tag
	value value
}

// timeOf converts a wall time in seconds to a time. It returns false if the time is out of
// range.
func timeOf(seconds float64) (transfer.Time, bool) {
	ms := math.Round(seconds * 1000)
	if !(ms >= 0 && ms < 253402300800000) { // start of the year 10000
		return 0, false
	}
	return transfer.Time(ms), true
}

// read adds the new data of an event file to a run. above is the folder of the run.
func (f *file) read(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, above string) error {
	r := &reader{file: f, im: im, w: w, above: above, tags: map[string]*tag{}, histograms: map[string]*histograms{}}
	var known transfer.File
	if f.known != nil {
		known = *f.known
	}
	if f.changed {
		why := "changed"
		if f.size < known.Position {
			why = "truncated"
		}
		known.Position, known.State = 0, ""
		im.Lose(f.path, "The file was %s and was read again from the start.", why)
	}
	if known.State != "" {
		if err := json.Unmarshal([]byte(known.State), &r.state); err != nil {
			return fmt.Errorf("the state of the source %s: %w", f.path, err)
		}
	}
	for name, plugin := range r.state.Plugins {
		r.tags[name] = &tag{key: name, plugin: plugin, known: true}
	}
	for _, name := range r.state.Begun {
		r.tags[name] = &tag{key: r.key(name), begun: true, known: true}
	}
	in, err := os.Open(f.path)
	if err == nil && known.Position > 0 {
		_, err = in.Seek(known.Position, io.SeekStart)
	}
	if err != nil {
		im.Lose(f.path, "It can't be read: %v.", err)
		return nil
	}
	defer in.Close()
	r.in = in
	im.Read(known.Position)
	return r.events(ctx, newRecords(in, known.Position, f.size))
}

// events imports all records up to the end of the file.
func (r *reader) events(ctx context.Context, records *records) error {
	var e event
	for count := 0; ; count++ {
		at := records.pos
		data, err := records.next()
		switch {
		case err == nil:
			err = parseEvent(data, &e)
			if err == nil {
				err = r.event(ctx, &e, at)
			}
			var own *valueError
			if errors.As(err, &own) || errors.Is(err, wire.Err) {
				r.im.Lose(r.file.path, "The record at byte %d was skipped: %v.", at, err)
				err = nil
			}
			if err != nil {
				return err
			}
		case errors.Is(err, errData), errors.Is(err, errLarge):
			r.im.Lose(r.file.path, "The record at byte %d was skipped: %v.", at, err)
		case errors.Is(err, errHalf):
			return r.finish(ctx, at)
		default:
			r.im.Lose(r.file.path, "It was read only up to byte %d of %d: %v.", at, r.file.size, err)
			return r.finish(ctx, at)
		}
		r.im.Read(records.pos - at)
		if r.w.Full() {
			if err := r.saveHistograms(ctx); err != nil {
				return err
			}
			r.mark(records.pos, false)
			if err := r.w.Flush(ctx); err != nil {
				return err
			}
		} else if count%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// finish records that the file was read up to its current end. at is the end of the last
// complete record.
func (r *reader) finish(ctx context.Context, at int64) error {
	r.im.Read(r.file.size - at)
	if err := r.saveHistograms(ctx); err != nil {
		return err
	}
	r.mark(at, true)
	return nil
}

// mark records the position up to which the file was read. complete reports whether the whole file
// was read. If complete is false, mark records no size, because a later import skips a file with an
// unchanged size.
func (r *reader) mark(position int64, complete bool) {
	s := state{Restart: r.state.Restart, Plugins: map[string]string{}}
	for name, t := range r.tags {
		switch {
		case t.plugin != "":
			s.Plugins[name] = t.plugin
		case t.begun:
			s.Begun = append(s.Begun, name)
		}
	}
	slices.Sort(s.Begun)
	text, err := json.Marshal(s)
	if err != nil {
		return // can't happen for valid strings and a number
	}
	sum, err := tail(r.in, position)
	if err != nil {
		return // the file was truncated; the next import continues from the last mark
	}
	f := transfer.File{ID: r.file.id, Path: r.file.path, Size: -1, Fingerprint: sum, Position: position, State: string(text)}
	if complete {
		f.Size = r.file.size
	}
	r.w.Mark(f)
}

// valueError is an error in a single value. The import skips the value.
type valueError struct{ err error }

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// event imports the values of an event. at is the offset of the event in the file. event adds
// artifacts before points, so that no artifacts are lost if the import is interrupted.
func (r *reader) event(ctx context.Context, e *event, at int64) error {
	if e.start && e.step >= 0 {
		for _, t := range r.tags {
			t.begun = false
		}
		r.state.Restart = new(e.step)
	}
	if e.other != "" {
		r.im.Lose(r.file.path, "It has %s, which is not imported.", e.other)
	}
	when, ok := timeOf(e.wallTime)
	if !ok && len(e.values) > 0 {
		return &valueError{fmt.Errorf("its time %g is not valid", e.wallTime)}
	}
	if len(e.values) > maxValues {
		return &valueError{fmt.Errorf("it has more than %d values", maxValues)}
	}
	var first error
	r.scalars = r.scalars[:0]
	for _, message := range e.values {
		var v value
		err := parseValue(message, &v)
		if err == nil {
			var t *tag
			if t, err = r.tag(&v); err == nil && t.plugin == "" {
				r.scalars = append(r.scalars, scalar{t, v})
			} else if err == nil {
				err = r.media(ctx, e.step, when, t, &v, at)
			}
		}
		var own *valueError
		if err != nil && !errors.As(err, &own) && !errors.Is(err, wire.Err) {
			return err
		}
		if err != nil && first == nil {
			first = &valueError{err}
		}
	}
	for i := range r.scalars {
		if err := r.point(e.step, when, &r.scalars[i]); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// tag returns the tag of a value. The plugin of a tag is set by its first value.
func (r *reader) tag(v *value) (*tag, error) {
	t := r.tags[string(v.tag)]
	if t == nil {
		if !utf8.Valid(v.tag) {
			return nil, &valueError{errors.New("the name of a value is not UTF-8")}
		}
		if r.tagBytes += len(v.tag); len(r.tags) >= maxTags || r.tagBytes > maxTagBytes {
			return nil, &valueError{fmt.Errorf("the file has more than %d tags, or %d bytes of their names", maxTags, maxTagBytes)}
		}
		name := string(v.tag)
		t = &tag{key: r.key(name)}
		r.tags[name] = t
	}
	if !t.known {
		t.known = true
		switch plugin := string(v.plugin); {
		case plugin != "" && plugin != "scalars":
			t.plugin = plugin
		case v.image != nil:
			t.plugin = "images"
		case v.histogram != nil:
			t.plugin = "histograms"
		case v.audio != nil:
			t.plugin = "audio"
		}
	}
	return t, nil
}

// key returns the metric name for a tag. If the file is not in the folder of the run, the
// metric name includes the name of the part or "hparam/".
func (r *reader) key(name string) string {
	if r.file.dir == r.above {
		return name
	}
	if part := r.file.partOf(r.above); part != "" {
		return part
	}
	if strings.HasPrefix(name, "hparam/") {
		return name
	}
	return "hparam/" + name
}

// point adds the point of a scalar value.
func (r *reader) point(step int64, at transfer.Time, s *scalar) error {
	t, v := s.tag, &s.value
	number := float64(v.simple)
	if !v.hasSimple {
		if v.tensor == nil {
			return nil
		}
		x, err := parseTensor(v.tensor)
		if err != nil {
			return &valueError{fmt.Errorf("the value of %q can't be read: %w", t.key, err)}
		}
		if len(x.numbers) != 1 {
			r.im.Lose(r.file.path, "The values of %q are not scalars and are not imported.", t.key)
			return nil
		}
		number = x.numbers[0]
	}
	if !t.begun {
		t.begun = true
		from := step
		if r.state.Restart != nil {
			from = min(from, *r.state.Restart)
		}
		if !r.im.KeepAll && r.file.dir == r.above {
			r.w.Rewind(t.key, transfer.Step(from))
		}
	}
	r.w.Point(t.key, transfer.Step(step), transfer.Value(number), at)
	return nil
}

// formatNumber returns the shortest representation of x.
func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
