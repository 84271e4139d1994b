package neptune

import (
	"bytes"
	"context"
	"math"
	"strings"

	"tracker/store/transfer"
	"tracker/store/transfer/parquet"
)

// about holds a run's attributes in the namespace sys.
type about struct {
	project, run   string
	name, notes    string
	created, ended transfer.Time
	status         transfer.Status
}

// about reads the run's attributes in the namespace sys.
func (r *run) about(ctx context.Context) (a about, err error) {
	a.status = transfer.Running
	failed, inactive := false, false
	err = r.each(ctx, aboutColumns, func(v row) error {
		if a.run == "" {
			a.project, a.run = v.text("project_id"), v.text("run_id")
		}
		switch v.text("attribute_path") {
		case "sys/name":
			a.name = v.text("string_value")
		case "sys/description":
			a.notes = v.text("string_value")
		case "sys/creation_time":
			a.created = max(transfer.Time(v["datetime_value"].Int), 0)
		case "sys/ping_time":
			a.ended = transfer.Time(v["datetime_value"].Int)
		case "sys/failed":
			failed = v["bool_value"].Int == 1
		case "sys/state":
			inactive = strings.EqualFold(v.text("string_value"), "inactive")
		}
		return nil
	})
	if a.run == "" && err == nil {
		err = errColumns
	}
	if a.name == "" {
		a.name = a.run
	}
	switch {
	case failed:
		a.status = transfer.Failed
	case inactive:
		a.status = transfer.Succeeded
	}
	if a.ended > 0 {
		a.ended = max(a.ended, a.created)
	}
	return a, err
}

// importing is the state of importing one run.
type importing struct {
	im    *transfer.Import
	w     *transfer.RunWriter
	path  string
	files string          // folder that contains the exported files
	begun map[string]bool // metrics whose earlier points were dropped
	texts map[string]*text
	held  int // total size of the lines in texts, in bytes
}

// text collects the lines of a text series.
type text struct {
	lines bytes.Buffer
	at    transfer.Time
}

// maxTexts is the maximum total size of the text series of a run, in bytes.
const maxTexts = 64 << 20

// add imports one row.
func (b *importing) add(ctx context.Context, v row) error {
	key := v.text("attribute_path")
	switch kind := v.text("attribute_type"); kind {
	case "float", "int", "string", "bool", "datetime":
		value := v[kind+"_value"]
		switch {
		case value.Kind == parquet.Null || key == "sys/name" || key == "sys/description":
		case strings.HasPrefix(key, "sys/"):
			b.w.Property(key, value.String())
		default:
			b.w.Parameter(key, value.String())
		}
	case "string_set":
		b.set(key, v["string_set_value"].List)
	case "float_series":
		return b.point(ctx, key, v)
	case "string_series":
		b.line(key, v)
	case "file", "artifact":
		return b.file(ctx, key, v)
	case "file_series":
		return b.file(ctx, key+"/"+v["step"].String(), v)
	default:
		b.im.Lose(b.path, "The values of %q have Neptune's type %q, which is not imported.", key, kind)
	}
	return nil
}

// set imports a set of strings as tags or as one parameter.
func (b *importing) set(key string, list []parquet.Value) {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = t.String()
	}
	if key != "sys/tags" && key != "sys/group_tags" {
		b.w.Parameter(key, strings.Join(texts, ", "))
		return
	}
	for _, t := range texts {
		b.w.Tag(t)
	}
}

// point adds the point in row v to the metric named key.
func (b *importing) point(ctx context.Context, key string, v row) error {
	step, at := v["step"], v["timestamp"]
	switch {
	case v["float_value"].Kind != parquet.Float || at.Kind != parquet.Time || at.Int < 0:
		b.im.Lose(b.path, "Points of %q have no value or no time; they are left out.", key)
		return nil
	case step.Kind != parquet.Int:
		b.im.Lose(b.path, "Points of %q have steps that are not whole numbers; they are left out.", key)
		return nil
	}
	if !b.begun[key] {
		b.begun[key] = true
		b.w.Rewind(key, math.MinInt64)
	}
	b.w.Point(key, transfer.Step(step.Int), transfer.Value(v["float_value"].Float), transfer.Time(at.Int))
	if b.w.Full() {
		return b.w.Flush(ctx)
	}
	return nil
}

// line adds the line in row v to the text series named key.
func (b *importing) line(key string, v row) {
	line := v["string_value"].Text
	if b.held += len(line) + 1; b.held > maxTexts {
		b.im.Lose(b.path, "The text series of the run have more than %d MiB; the rest is left out.", maxTexts>>20)
		return
	}
	t := b.texts[key]
	if t == nil {
		t = &text{}
		b.texts[strings.Clone(key)] = t
	}
	t.lines.Write(line)
	t.lines.WriteByte('\n')
	t.at = max(t.at, transfer.Time(v["timestamp"].Int))
}

// saveTexts stores each text series as a text file.
func (b *importing) saveTexts(ctx context.Context) error {
	for key, t := range b.texts {
		if err := b.w.Made(ctx, key+".txt", "text/plain; charset=utf-8", t.lines.Bytes(), t.at); err != nil {
			return err
		}
	}
	return nil
}

// file stores an exported file as an artifact with the given name. If the row's path is a folder,
// file stores all files below it.
func (b *importing) file(ctx context.Context, as string, v row) error {
	path := v.text("file_value/path")
	if path == "" {
		b.im.Lose(b.path, "The file %q has no path; it was not exported.", as)
		return nil
	}
	return b.w.FileIn(ctx, b.files, path, as)
}
