package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/transfer/wandb"
)

// WandbStream is what a client sends while its run goes on.
type WandbStream struct {
	Rows         []wandb.Row // of the history
	HistoryLines int64       // that were sent up to now; likewise the next two
	EventLines   int64
	LogLines     int64
	Output       []string    // lines that were printed; LogLines is the number after the last
	Events       []wandb.Row // of the metrics of the system
	LastEvent    string      // the last line of them, "" for none
	Summary      *string     // all of it; nil leaves it as it is
	Preempting   bool
	Complete     bool
	ExitCode     int      // with Complete
	Lost         []string // what the caller could not read, as sentences
}

// exitInterrupted is the exit code of a run that somebody has interrupted.
const exitInterrupted = 255

// AppendWandb writes a part of the stream of a run, all of it or, with an error,
// nothing. A row whose step is there takes the place of what it had for the same
// keys, so a part that comes again changes nothing. The run may have ended, and then
// stays ended as it was; stopped reports that it was ended here and not by its client.
// Needs create, and update where values are replaced or the run has ended.
func (db *DB) AppendWandb(ctx context.Context, actor Actor, id string, s WandbStream) (stopped bool, err error) {
	return write(ctx, db, actor, func(tx *tx) (bool, error) {
		it, err := tx.allowReopened(id)
		if err != nil {
			return false, err
		}
		w, err := tx.wandbRun(it.iterationRef)
		if err != nil {
			return false, err
		}
		samples := tx.wandbSamples(&w, s)
		replaced, err := tx.points().Put(it.num, samples)
		if err != nil {
			return false, err
		}
		if replaced > 0 {
			if err := tx.allow(actor, it.projectID, rightUpdate); err != nil {
				return false, err
			}
		}
		for step, rest := range restOf(s.Rows) {
			if err := tx.keepRest(it, step, rest); err != nil {
				return false, err
			}
			w.addCaptions(rest)
		}
		if err := tx.setCaptions(it, &w); err != nil {
			return false, err
		}
		if n := len(s.Output); n > 0 {
			// No more is kept.
			lines := s.Output[max(0, n-MaxConsoleLines):]
			from := max(0, min(s.LogLines, maxConsoleNumber)-int64(len(lines)))
			if _, err := tx.writeConsole(it.iterationRef, &from, lines); err != nil {
				return false, err
			}
		}
		w.HistoryLines, w.EventLines = max(w.HistoryLines, s.HistoryLines), max(w.EventLines, s.EventLines)
		w.LogLines = max(w.LogLines, s.LogLines)
		w.Preempting = w.Preempting || s.Preempting
		for _, text := range s.Lost {
			w.lose("%s", text)
		}
		if s.LastEvent != "" && len(s.LastEvent) < MaxText {
			w.Events = s.LastEvent
		}
		if s.Summary != nil || s.Complete {
			if err := tx.points().Flush(); err != nil {
				return false, err
			}
			text := w.Summary
			if s.Summary != nil {
				text = *s.Summary
			}
			if err := tx.setSummary(it, &w, text, s.Complete); err != nil {
				return false, err
			}
		}
		if w.Start > 0 {
			_, err := tx.Exec(`UPDATE iteration SET created_date = ? WHERE num = ? AND created_date > ?`, w.Start, it.num, w.Start)
			if err != nil {
				return false, err
			}
		}
		stopped := it.ended() && !w.Complete
		if s.Complete {
			if err := tx.completeWandb(it, &w, s.ExitCode); err != nil {
				return false, err
			}
		}
		tx.noteIteration(it.iterationRef)
		return stopped, tx.saveWandbRun(it.iterationRef, w)
	})
}

// wandbSamples returns the points of a part of a stream. It gives rows without a step
// the one after the last.
func (tx *tx) wandbSamples(w *WandbRun, s WandbStream) []NewMetric {
	names := map[string]string{}
	n := 0
	for _, rows := range [][]wandb.Row{s.Rows, s.Events} {
		for i := range rows {
			n += len(rows[i].Numbers)
		}
	}
	samples := make([]NewMetric, 0, n)
	add := func(prefix string, n *wandb.RowNumber, step *Step, at *Time) {
		key, ok := names[prefix+n.Key]
		if !ok {
			key = transfer.FitName(prefix + n.Key)
			names[prefix+n.Key] = key
			if key != prefix+n.Key {
				w.lose("The name %s was changed to %s.", quote(n.Key), quote(key))
			}
			if prefix == "" && len(n.Path) > 1 && len(w.Paths) < maxPaths {
				if w.Paths == nil {
					w.Paths = map[string][]string{}
				}
				w.Paths[key] = n.Path
			}
		}
		samples = append(samples, NewMetric{Key: key, Value: n.Value, Step: step, RecordedAt: at})
	}
	for i := range s.Rows {
		row := &s.Rows[i]
		if !row.HasStep {
			row.Step = w.LastStep + 1
		}
		if row.At == 0 {
			row.At = tx.now
		}
		if w.Start == 0 && !math.IsNaN(row.Runtime) && row.Runtime >= 0 && row.Runtime < 1e9 {
			w.Start = max(0, row.At-Time(math.Round(row.Runtime*1000)))
		}
		w.LastStep, w.Last = max(w.LastStep, row.Step), max(w.Last, row.At)
		for j := range row.Numbers {
			add("", &row.Numbers[j], &row.Step, &row.At)
		}
	}
	for i := range s.Events {
		e := &s.Events[i]
		if e.At == 0 {
			e.At = tx.now
		}
		// The second of the run: a line that comes again has the same.
		if math.IsNaN(e.Runtime) || math.Abs(e.Runtime) > 1e15 {
			e.Runtime = float64(e.At-w.Start) / 1000
		}
		e.Step = Step(math.Round(e.Runtime))
		for j := range e.Numbers {
			add("", &e.Numbers[j], &e.Step, &e.At)
		}
	}
	return samples
}

// restOf returns the values of rows that are no numbers, by step. Of several of the same
// name the last counts, where a later row is before an earlier one.
func restOf(rows []wandb.Row) map[Step][]wandb.Member {
	all := map[Step][]wandb.Member{}
	names := map[Step]map[string]bool{}
	for _, row := range slices.Backward(rows) {
		if len(row.Rest) == 0 {
			continue
		}
		if all[row.Step] == nil {
			all[row.Step], names[row.Step] = row.Rest, memberNames(row.Rest)
			continue
		}
		for _, m := range row.Rest {
			if !names[row.Step][m.Key] {
				names[row.Step][m.Key] = true
				all[row.Step] = append(all[row.Step], m)
			}
		}
	}
	return all
}

// keepRest keeps the values of a row that are no numbers.
func (tx *tx) keepRest(it iterationState, step Step, rest []wandb.Member) error {
	var former string
	err := tx.Row(`SELECT content FROM wandb_row WHERE iteration_num = ? AND step = ?`, it.num, step).Scan(&former)
	switch {
	case err == nil:
		old, err := wandb.Members(former)
		if err != nil {
			return err
		}
		named := memberNames(rest)
		for _, m := range old {
			if !named[m.Key] {
				rest = append(rest, m)
			}
		}
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	_, err = tx.Exec(`INSERT INTO wandb_row (iteration_num, step, content) VALUES (?, ?, ?)
		ON CONFLICT (iteration_num, step) DO UPDATE SET content = excluded.content WHERE content <> excluded.content`,
		it.num, step, wandb.Object(rest))
	return err
}

// addCaptions adds the captions of the media among the values of a step to those that are to be written.
func (a *WandbAbout) addCaptions(rest []wandb.Member) {
	add := func(path, caption string) {
		if path != "" && strings.TrimSpace(caption) != "" && len(a.Captions) < maxCaptions {
			if a.Captions == nil {
				a.Captions = map[string]string{}
			}
			a.Captions[transfer.FitPath(path)] = transfer.FitText(caption)
		}
	}
	for _, m := range rest {
		if !strings.Contains(m.Value, `"caption`) {
			continue
		}
		var of struct {
			Path      string `json:"path"`
			Caption   any    `json:"caption"`
			Filenames []any  `json:"filenames"`
			Captions  any    `json:"captions"`
		}
		if json.Unmarshal([]byte(m.Value), &of, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) != nil {
			continue
		}
		caption, _ := of.Caption.(string)
		add(of.Path, caption)
		captions, _ := of.Captions.([]any)
		for i, name := range of.Filenames {
			if path, ok := name.(string); ok && i < len(captions) {
				caption, _ := captions[i].(string)
				add(path, caption)
			}
		}
	}
}

// setCaptions makes captions the descriptions of those files that are there.
func (tx *tx) setCaptions(it iterationState, w *WandbRun) error {
	for name, caption := range w.Captions {
		n, err := tx.Exec(`UPDATE resource SET description = ? WHERE iteration_num = ? AND name = ?`, caption, it.num, name)
		if err != nil {
			return err
		}
		if n > 0 {
			delete(w.Captions, name)
		}
	}
	return nil
}

// summaryPrefix begins the name of a metric that has a value of a summary.
const summaryPrefix = "summary/"

// setSummary keeps a summary. Its numbers become points where they are not the last
// value of a metric of the same name: once the run has ended, since before that a summary may
// be older than the metrics, and at once for one that is no metric.
func (tx *tx) setSummary(it iterationState, w *WandbRun, summary string, final bool) error {
	if len(summary) > maxWandbText {
		w.lose("A summary of %d bytes was left out: it may have %d.", len(summary), maxWandbText)
		return nil
	}
	members, err := wandb.Members(summary)
	if err != nil {
		w.lose("A summary that is not a JSON object was left out.")
		return nil
	}
	w.Summary = summary
	at := tx.now
	if w.Last > 0 {
		at = w.Last
	}
	last := map[string]*LatestMetric{}
	latest, err := tx.points().Latest([]int64{it.num})
	if err != nil {
		return err
	}
	for i := range latest {
		last[latest[i].Key] = &latest[i]
	}
	var samples []NewMetric
	step := Step(0)
	for _, m := range members {
		if wandb.Hidden(m.Key) {
			continue
		}
		wandb.Leaves(m.Key, m.Value, func(key string, _ []string, x Value) {
			metric := last[transfer.FitName(key)]
			own := transfer.FitName(summaryPrefix + key)
			if metric != nil && (!final || sameNumber(metric.Value, x)) {
				if final && last[own] != nil && err == nil {
					_, err = tx.points().DeleteFrom(it.num, own, 0)
				}
				return
			}
			if old := last[own]; old == nil || !sameNumber(old.Value, x) {
				samples = append(samples, NewMetric{Key: own, Value: x, Step: &step, RecordedAt: &at})
			}
		}, func(string, string) {})
	}
	if err == nil {
		_, err = tx.points().Put(it.num, samples)
	}
	return err
}

func sameNumber(a, b Value) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// completeWandb ends a run as its client says. One that has ended stays as it is.
func (tx *tx) completeWandb(it iterationState, w *WandbRun, code int) error {
	w.Complete = true
	if it.ended() {
		return nil
	}
	status, message := Succeeded, ""
	switch {
	case code != 0 && w.Preempting:
		status, message = Killed, preempted
	case code == exitInterrupted:
		status, message = Killed, "interrupted"
	case code != 0:
		status, message = Failed, "exit code "+strconv.Itoa(code)
	}
	end := tx.now
	if w.Last > 0 && end-w.Last > Time(LostAfter.Milliseconds()) {
		end = w.Last // it was recorded before and is sent now
	}
	_, err := tx.Exec(`UPDATE iteration SET status = ?, error_message = ?, end_date = max(?, created_date) WHERE num = ?`,
		status, message, end, it.num)
	tx.seen = append(tx.seen, it.num)
	if err != nil {
		return err
	}
	return tx.noteParent(it.num)
}
