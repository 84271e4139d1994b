package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/scalar"
)

// RunWriter collects the data of a run in a batch. Flush, End and Artifact write the batch. A
// reader should call Full regularly and call Flush if Full returns true.
type RunWriter struct {
	im     *Import
	path   string // location of the run, for messages about losses
	batch  *Batch
	series map[string]*Series
	names  map[string]string             // maps keys of the source to keys that the store accepts
	texts  map[string]scalar.SummaryText // last texts by key; End adds them
	queued bool
	known  bool // whether the run exists in the sink
	failed bool // whether the sink has rejected the run
}

// Begin returns a writer for a run. path is the location of the run, for messages about losses.
// known reports whether an earlier import created the run.
func (im *Import) Begin(r Run, path string, known bool) *RunWriter {
	im.note(r.ID, unchanged)
	if im.Options.Project != "" {
		r.Project = im.Options.Project
	}
	if im.Options.Experiment != "" {
		r.Experiment = im.Options.Experiment
		r.Deleted, r.ExperimentDeleted = r.Deleted || r.ExperimentDeleted, false // the chosen experiment is not deleted
	}
	if im.Options.Name != "" {
		if im.named != uuid.Nil && im.named != r.ID {
			im.Lose(path, "The given name applies to only one run; this run keeps its own name.")
		} else {
			r.Name, im.named = im.Options.Name, r.ID
		}
	}
	w := &RunWriter{im: im, path: path, known: known, names: map[string]string{}}
	for _, name := range []*string{&r.Project, &r.Experiment, &r.Name} {
		if *name == "" {
			continue
		}
		if fits := FitName(*name); fits != *name {
			im.Lose(path, "The name %q was changed to %q.", short(*name), short(fits))
			*name = fits
		}
	}
	if fits := FitText(r.Notes); fits != r.Notes {
		im.Lose(path, "The notes were cut to 1 MiB of UTF-8.")
		r.Notes = fits
	}
	r.Error = FitText(r.Error)
	im.seekHome(&r)
	w.reset(r)
	return w
}

func (w *RunWriter) reset(r Run) {
	w.batch, w.series, w.queued = &Batch{Run: r}, map[string]*Series{}, false
}

// Known reports whether the run exists in the sink.
func (w *RunWriter) Known() bool { return w.known }

// Run returns the run that w writes.
func (w *RunWriter) Run() *Run { return &w.batch.Run }

// key converts key to a key that the store accepts. If the key changes, key records a loss.
func (w *RunWriter) key(key string) string {
	if fits, ok := w.names[key]; ok {
		return fits
	}
	fits := FitName(key)
	if fits != key {
		w.im.Lose(w.path, "The name %q was changed to %q.", short(key), short(fits))
	}
	w.names[strings.Clone(key)] = fits
	return fits
}

// short returns s for use in messages. If s is long, it replaces the middle with an ellipsis.
func short(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:60]) + "…" + string(r[len(r)-12:])
	}
	return s
}

// Parameter adds a parameter. It cuts a value that is too long and records a loss.
func (w *RunWriter) Parameter(key, value string) {
	key = w.key(key)
	if fits := FitText(value); fits != value {
		w.im.Lose(w.path, "The value of the parameter %q was cut to 1 MiB of UTF-8.", key)
		value = fits
	}
	w.batch.Parameters = append(w.batch.Parameters, Parameter{key, value})
	w.add(0, len(key)+len(value))
}

// Tag adds a tag. An empty tag is ignored.
func (w *RunWriter) Tag(tag string) {
	if strings.TrimSpace(tag) == "" {
		return
	}
	fits := FitName(tag)
	if fits != tag {
		w.im.Lose(w.path, "The tag %q was changed to %q.", short(tag), short(fits))
	}
	w.batch.Tags = append(w.batch.Tags, fits)
	w.add(0, len(fits))
}

// Property adds a property, which is a named value that is not a parameter.
func (w *RunWriter) Property(key, value string) {
	key = w.key(key)
	if fits := FitText(value); fits != value {
		w.im.Lose(w.path, "The value of %q was cut to 1 MiB of UTF-8.", key)
		value = fits
	}
	w.batch.Properties = append(w.batch.Properties, Parameter{key, value})
	w.add(0, len(key)+len(value))
}

// Text sets a text in the summary of the run, given as JSON. The last call for a key determines the
// text; null has no effect. Text returns false, without an effect, if the value is a number, an
// object, a long list or invalid, and if the run has too many texts.
func (w *RunWriter) Text(key, value string) bool {
	if value == "null" {
		return true
	}
	t, ok := scalar.SummaryTextOf(value)
	t = t.Cut()
	if _, known := w.texts[key]; !ok || len(t) > scalar.MaxTextBytes || !known && len(w.texts) == scalar.MaxTexts {
		return false
	}
	if w.texts == nil {
		w.texts = map[string]scalar.SummaryText{}
	}
	w.texts[strings.Clone(key)] = t
	return true
}

// Dataset adds a dataset that the run used. A dataset without a name or digest is recorded as a
// loss.
func (w *RunWriter) Dataset(d Dataset) {
	if d.Name == "" || d.Digest == "" {
		w.im.Lose(w.path, "A dataset has no name or no digest; it is left out.")
		return
	}
	for _, text := range []*string{&d.Name, &d.Digest, &d.SourceType, &d.Source, &d.Schema, &d.Profile} {
		if fits := FitText(*text); fits != *text {
			w.im.Lose(w.path, "A value of the dataset %q was cut to 1 MiB of UTF-8.", short(d.Name))
			*text = fits
		}
	}
	w.batch.Datasets = append(w.batch.Datasets, d)
	w.add(0, len(d.Name)+len(d.Source)+len(d.Schema)+len(d.Profile))
}

// Code sets the code and the environment of the run.
func (w *RunWriter) Code(c Code) {
	for _, text := range []*string{&c.GitSHA, &c.GitRemote, &c.GitDiff, &c.Entrypoint, &c.Command, &c.Hostname, &c.Runtime, &c.Dependencies} {
		*text = FitText(*text)
	}
	w.batch.Code = &c
}

// Point adds a point to the metric with the given key.
func (w *RunWriter) Point(key string, step Step, value Value, at Time) {
	s := w.seriesOf(key)
	s.Steps, s.Values, s.Times = append(s.Steps, step), append(s.Values, value), append(s.Times, at)
	w.batch.points++
	w.add(1, 0)
}

func (w *RunWriter) seriesOf(key string) *Series {
	s := w.series[key]
	if s == nil {
		s = &Series{Key: w.key(key)}
		w.series[strings.Clone(key)] = s
		w.im.series++
		w.add(0, len(key))
		w.batch.Series = append(w.batch.Series, s)
	}
	return s
}

// Rewind drops the points of a metric from the given step on. The caller adds new points for
// these steps afterwards.
func (w *RunWriter) Rewind(key string, from Step) {
	s := w.seriesOf(key)
	n := 0
	for i, step := range s.Steps {
		if step < from {
			s.Steps[n], s.Values[n], s.Times[n] = step, s.Values[i], s.Times[i]
			n++
		}
	}
	dropped := len(s.Steps) - n
	s.Steps, s.Values, s.Times = s.Steps[:n], s.Values[:n], s.Times[:n]
	w.batch.points -= dropped
	w.im.Result.Dropped += dropped
	if w.queued {
		w.im.points -= dropped
	}
	if s.DropFrom == nil || from < *s.DropFrom {
		s.DropFrom = &from
	}
}

// Mark records the position up to which a source file was read. The caller must first add all
// data before this position. A second call for the same file replaces the first position.
func (w *RunWriter) Mark(f File) {
	f.Before = w.im.stamps[f.ID]
	for i := range w.batch.Files {
		if w.batch.Files[i].ID == f.ID {
			w.batch.Files[i] = f
			return
		}
	}
	w.batch.Files = append(w.batch.Files, f)
	w.add(0, len(f.State))
}

// Full reports whether the queued batches should be written. If Full returns true, the reader
// should call Mark for its files and then call Flush.
func (w *RunWriter) Full() bool {
	enough := min(max(batchPoints, seriesPoints*w.im.series), maxBatchPoints)
	return w.im.points >= enough || w.im.series >= maxBatchSeries && w.im.points >= batchPoints || w.im.size >= batchText
}

// add counts the given number of points and bytes of text, and queues the batch.
func (w *RunWriter) add(points, size int) {
	if !w.queued {
		w.queued = true
		w.im.queue = append(w.im.queue, w)
	}
	w.im.points += points
	w.im.size += size
}

// Flush writes all queued batches.
func (w *RunWriter) Flush(ctx context.Context) error { return w.im.flush(ctx) }

// End queues the last batch of the run. If the run has ended, this batch sets the run's status.
// End writes the queued batches only if there is enough data.
func (w *RunWriter) End(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(w.texts)) {
		w.Property(scalar.SummaryPrefix+key, string(w.texts[key]))
	}
	w.batch.End = w.batch.Run.Status != Running
	w.add(0, 0)
	if w.Full() || len(w.im.queue) >= batchRuns {
		return w.im.flush(ctx)
	}
	return nil
}

// Artifact stores a file of the run. It first writes the queued batches if the run does not
// exist. An unreadable file is recorded as a loss.
func (w *RunWriter) Artifact(ctx context.Context, a Artifact) error {
	if w.im.NoArtifacts {
		return nil
	}
	if !w.known && !w.failed { // the run must exist before its artifacts
		w.add(0, 0)
		if err := w.im.flush(ctx); err != nil {
			return err
		}
	}
	if w.failed {
		return nil
	}
	name := FitPath(a.Name)
	if name != a.Name {
		w.im.Lose(w.path, "The artifact %q was named %q.", short(a.Name), short(name))
	}
	if a.ID == uuid.Nil {
		a.ID = ID("artifact", w.batch.Run.ID.String(), a.Name)
	}
	a.Name, a.RunID = name, w.batch.Run.ID
	if w.im.DryRun {
		w.count(a)
		return nil
	}
	stored, err := w.im.put(ctx, a, w.path)
	if stored {
		w.count(a)
	}
	return err
}

// put stores an artifact and reports whether it is new. If the artifact is not readable, put
// records a loss and returns no error.
func (im *Import) put(ctx context.Context, a Artifact, from string) (stored bool, err error) {
	stored, err = im.sink.Put(ctx, a)
	var unreadable *ReadError
	if errors.As(err, &unreadable) {
		im.Lose(path.Join(from, a.Name), "The artifact can't be read: %v.", unreadable.Err)
		return false, nil
	}
	return stored, err
}

func (w *RunWriter) count(a Artifact) {
	w.im.Result.count(a)
	if w.known {
		w.im.note(a.RunID, grown)
	}
}

// Made stores data as an artifact with the given name. If data is larger than maxMade, Made records
// a loss instead.
func (w *RunWriter) Made(ctx context.Context, name, contentType string, data []byte, at Time) error {
	if len(data) > maxMade {
		w.im.Lose(w.path, "%q has %d bytes, but a value can have at most %d; it is left out.", short(name), len(data), maxMade)
		return nil
	}
	return w.Artifact(ctx, Artifact{Name: name, ContentType: contentType, Size: int64(len(data)), Modified: at,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }})
}

// took adds the outcome of the current batch to the result and begins the next batch.
func (w *RunWriter) took(o Outcome) {
	id := w.batch.Run.ID
	if o.Refused != "" {
		w.failed = true
		w.im.LeaveOut(id, w.path, "%s", o.Refused)
	} else {
		for _, f := range w.batch.Files {
			w.im.stamps[f.ID] = f.Stamp()
		}
		r := w.im.Result
		r.Parameters += o.Parameters
		r.Tags += o.Tags
		r.Points += o.Points
		r.Dropped += o.Dropped
		switch {
		case o.Created || w.im.DryRun && !w.known:
			w.im.note(id, created)
		case o.Points > 0 || o.Parameters > 0 || o.Tags > 0:
			w.im.note(id, grown)
		}
		if o.OrphanOf != "" {
			w.im.Lose(w.path, "The parent run %s was not imported; the run has no parent here.", o.OrphanOf)
		}
		w.known = true
	}
	w.reset(w.batch.Run)
}
