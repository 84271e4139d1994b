package sacred

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// fingerprint returns a string that changes if a JSON file of the run changes.
func fingerprint(folder string) string {
	var text strings.Builder
	for _, name := range []string{"run.json", "config.json", "metrics.json"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
			fmt.Fprintf(&text, "%d-%x ", info.Size(), info.ModTime().UnixNano())
		}
	}
	return strings.TrimSpace(text.String())
}

// importRun imports the new data of a run. Sacred rewrites metrics.json completely but only
// appends points to its lists. importRun therefore stores the number of points imported for
// each metric.
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
			if err == nil { // encoding integers can't fail
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

// describe adds all data of a run except metrics and files to w.
func describe(im *transfer.Import, w *transfer.RunWriter, folder string, a about) {
	text, err := transfer.ReadFile(filepath.Join(folder, "config.json"), maxAbout)
	if err == nil {
		var members []format.Member
		if members, err = format.Members(text); err == nil {
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

// addMetrics adds the new points of all metrics to w. count maps each metric to its number of
// imported points. addMetrics decodes the file value by value, because a decoded list needs many
// times the memory of its text.
func addMetrics(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, folder string, count map[string]int, mark func(string)) error {
	path := filepath.Join(folder, "metrics.json")
	text, err := transfer.ReadFile(path, maxMetrics)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var metrics []format.Member
	if err == nil {
		metrics, err = format.Members(text)
	}
	if err != nil {
		im.Lose(path, "It can't be read: %v.", err)
		return nil
	}
	slices.SortStableFunc(metrics, func(a, b format.Member) int { return strings.Compare(a.Key, b.Key) })
	for _, m := range metrics {
		if err := addMetric(ctx, im, w, path, m, count, mark); err != nil {
			return err
		}
	}
	return nil
}

// addMetric adds the new points of one metric to w and updates count.
func addMetric(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, path string, m format.Member, count map[string]int, mark func(string)) error {
	key := m.Key
	members, err := format.Members(m.Value)
	lists := map[string]string{}
	for _, member := range members {
		lists[member.Key] = member.Value
	}
	var n [3]int
	var list [3]*format.Elements
	for i, name := range []string{"steps", "timestamps", "values"} {
		var e error
		if n[i], e = format.Length(lists[name]); e != nil {
			err = e
		}
		list[i] = format.NewElements(lists[name])
	}
	switch {
	case err != nil:
		im.Lose(path, "The metric %q has no lists of steps, times and values; it is left out.", key)
		return nil
	case n[0] != n[2] || n[1] != n[2]:
		im.Lose(path, "The metric %q has %d steps, %d times and %d values; it is left out.", key, n[0], n[1], n[2])
		return nil
	case count[key] > n[2]:
		im.Lose(path, "The metric %q has fewer points than at the last import and was read again.", key)
		w.Rewind(key, math.MinInt64)
		count[key] = 0
	}
	for i := range n[2] {
		stepText, _ := list[0].Next()
		timeText, _ := list[1].Next()
		valueText, _ := list[2].Next()
		if i < count[key] {
			continue
		}
		step, isStep := format.Number(stepText)
		value, isValue := numberOf(valueText)
		at, isTime := timeOf(strings.Trim(timeText, `"`))
		if !isStep || float64(step) != math.Trunc(float64(step)) || math.Abs(float64(step)) >= 1<<62 || !isValue || !isTime {
			im.Lose(path, "Points of %q lack a number, a step or a time; they are left out.", key)
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
	return nil
}

// numberOf parses a JSON number. It accepts NaN and infinities with or without quotes. It does
// not accept booleans.
func numberOf(text string) (transfer.Value, bool) {
	if text == "true" || text == "false" {
		return 0, false
	}
	x, ok := format.Number(strings.Trim(text, `"`))
	return x, ok && (!strings.HasPrefix(text, `"`) || !x.Finite())
}

// addFiles stores the files in a run's folder, and the source files that several runs share.
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
