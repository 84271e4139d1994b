package sacred

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// metric is a metric of metrics.json.
type metric struct {
	Steps      []any    `json:"steps"`
	Timestamps []string `json:"timestamps"`
	Values     []any    `json:"values"`
}

// fingerprint returns a text that changes when one of the files of a run does.
func fingerprint(folder string) string {
	var text strings.Builder
	for _, name := range []string{"run.json", "config.json", "metrics.json"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
			fmt.Fprintf(&text, "%d-%x ", info.Size(), info.ModTime().UnixNano())
		}
	}
	return strings.TrimSpace(text.String())
}

// importRun imports what is new in a run. The file of metrics is written as a whole
// each time and only grows, so the number of points that were read of each metric is
// kept.
func importRun(ctx context.Context, im *transfer.Import, folder string, a about) error {
	id := a.uuid(folder)
	file := transfer.ID("sacred", "file", id.String())
	known, err := im.Files(ctx, []uuid.UUID{file})
	if err != nil {
		return err
	}
	k, isKnown := known[file]
	if isKnown && k.RunID == uuid.Nil {
		im.LeaveOut(id, folder, "The run was imported before and then deleted here; it is not imported again.")
		return nil
	}
	now := fingerprint(folder)
	w := im.Begin(a.run(im, folder), folder, isKnown)
	if k.Fingerprint != now {
		count := map[string]int{}
		if k.State != "" {
			if err := json.Unmarshal([]byte(k.State), &count); err != nil {
				return fmt.Errorf("the state of the source %s: %w", folder, err)
			}
		}
		describe(im, w, folder, a)
		mark := func(fingerprint string) {
			text, err := json.Marshal(count, json.Deterministic(true), json.AllowInvalidUTF8(true))
			if err == nil { // numbers can't fail
				w.Mark(transfer.File{ID: file, Path: folder, Fingerprint: fingerprint, State: string(text)})
			}
		}
		if err := addMetrics(ctx, im, w, folder, count, mark); err != nil {
			return err
		}
		mark(now)
		if err := w.End(ctx); err != nil {
			return err
		}
	}
	return addFiles(ctx, im, w, folder, a)
}

// describe adds all but the metrics and files of a run.
func describe(im *transfer.Import, w *transfer.RunWriter, folder string, a about) {
	text, err := os.ReadFile(filepath.Join(folder, "config.json"))
	if err == nil {
		var members []format.Member
		if members, err = format.Members(string(text)); err == nil {
			for _, m := range members {
				format.Parameters(m.Key, m.Value, w.Parameter)
			}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		im.Lose(folder, "Its config.json can't be read: %v.", err)
	}
	if a.Result != nil {
		text, err := json.Marshal(a.Result, json.Deterministic(true), json.AllowInvalidUTF8(true))
		if err == nil {
			w.Property("result", string(text))
		}
	}
	c := transfer.Code{Entrypoint: a.Experiment.MainFile, Command: a.Command, Hostname: a.Host.Hostname, Runtime: a.Host.Python,
		Dependencies: strings.Join(a.Experiment.Dependencies, "\n")}
	for _, r := range a.Experiment.Repositories[:min(1, len(a.Experiment.Repositories))] {
		c.GitRemote, c.GitSHA = r.URL, r.Commit
	}
	w.Code(c)
}

// addMetrics adds the points of each metric after the first count of them.
func addMetrics(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, folder string, count map[string]int, mark func(string)) error {
	path := filepath.Join(folder, "metrics.json")
	metrics := map[string]metric{}
	if err := read(path, &metrics); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			im.Lose(path, "It can't be read: %v.", err)
		}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[key]
		if len(m.Steps) != len(m.Values) || len(m.Timestamps) != len(m.Values) {
			im.Lose(path, "The metric %q has %d steps, %d times and %d values; it is left out.", key, len(m.Steps), len(m.Timestamps), len(m.Values))
			continue
		}
		if count[key] > len(m.Values) {
			im.Lose(path, "The metric %q has fewer points than when it was read, and was read again.", key)
			w.Rewind(key, math.MinInt64)
			count[key] = 0
		}
		for i := count[key]; i < len(m.Values); i++ {
			step, isStep := m.Steps[i].(float64)
			value, isValue := numberOf(m.Values[i])
			at, isTime := timeOf(m.Timestamps[i])
			if !isStep || step != math.Trunc(step) || math.Abs(step) >= 1<<62 || !isValue || !isTime {
				im.Lose(path, "Some points of %q do not have a number, a step and a time; they are left out.", key)
			} else {
				w.Point(key, transfer.Step(step), value, at)
			}
			count[key] = i + 1
			if w.Full() {
				mark("")
				if err := w.Flush(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// numberOf returns a number, also one that JSON can't express and has as a word.
func numberOf(v any) (transfer.Value, bool) {
	switch v := v.(type) {
	case float64:
		return transfer.Value(v), true
	case string:
		x, ok := format.Number(v)
		return x, ok && !x.Finite()
	}
	return 0, false
}

// addFiles stores the files of a run, and the sources that it shares with others.
func addFiles(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, folder string, a about) error {
	err := w.Folder(ctx, folder, "run.json", "config.json", "metrics.json")
	if err != nil || im.NoArtifacts {
		return err
	}
	for _, s := range a.Experiment.Sources {
		if len(s) == 2 && filepath.IsLocal(s[1]) {
			if err := w.FileIn(ctx, filepath.Dir(folder), s[1], "sources/"+s[0]); err != nil {
				return err
			}
		}
	}
	return nil
}
