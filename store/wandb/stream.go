package wandb

import (
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"

	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/transfer"
	"tracker/store/wandb/format"
)

// Stream is a part of the data that a client sends during its run.
type Stream struct {
	Writer       string       // id of the client if several clients write to the run; "" if not
	Rows         []format.Row // history rows
	HistoryLines int64        // number of history lines that the client has sent
	EventLines   int64
	LogLines     int64
	Output       []string     // printed lines; LogLines is the number of the line that follows them
	Events       []format.Row // rows of system metrics
	LastEvent    string       // last line of Events; "" if none
	Summary      *string      // whole summary; nil keeps the stored summary
	Preempting   bool
	Complete     bool
	ExitCode     int      // valid if Complete is set
	Lost         []string // messages about data that can't be read
}

// Append writes the rows of s and updates r from the other fields of s. It returns the number of
// replaced points. The caller must store the output, the summary and the end of the run. w is the
// writer of s if the run has several writers, and nil otherwise.
func (tx Tx) Append(num int64, r *Run, w *writer, s Stream) (replaced int, err error) {
	if r.Shared {
		if err := tx.number(num, r, w, &s); err != nil {
			return 0, err
		}
	}
	if replaced, err = tx.Put(num, tx.samples(r, s)); err != nil {
		return 0, err
	}
	for step, rest := range restOf(s.Rows) {
		if err := tx.keepRest(num, r, step, rest); err != nil {
			return 0, err
		}
		r.addCaptions(rest)
	}
	if err := tx.setCaptions(num, r); err != nil {
		return 0, err
	}
	r.HistoryLines, r.EventLines = max(r.HistoryLines, s.HistoryLines), max(r.EventLines, s.EventLines)
	r.LogLines = max(r.LogLines, s.LogLines)
	r.Preempting = r.Preempting || s.Preempting
	for _, text := range s.Lost {
		r.Lose("%s", text)
	}
	if s.LastEvent != "" && len(s.LastEvent) < maxEvent {
		last := s.LastEvent
		if r.Shared {
			last = merged(r.Events, last) // the names of the metrics contain the labels of the writers
		}
		if len(last) < maxEvent {
			r.Events = last
		}
	}
	return replaced, nil
}

// samples returns the points in a part of a stream. A row without a step gets the next step
// after r.LastStep.
func (tx Tx) samples(r *Run, s Stream) []points.Sample {
	names := map[string]string{}
	count := 0
	for _, rows := range [][]format.Row{s.Rows, s.Events} {
		for i := range rows {
			count += len(rows[i].Numbers)
		}
	}
	samples := make([]points.Sample, 0, count)
	add := func(n *format.RowNumber, step *Step, at *Time) {
		key, ok := names[n.Key]
		if !ok {
			key = r.FitName("metric", n.Key)
			names[n.Key] = key
			if len(n.Path) > 1 && len(r.Paths) < maxPaths && len(n.Key) <= maxPath {
				if r.Paths == nil {
					r.Paths = map[string][]string{}
				}
				r.Paths[key] = n.Path
			}
		}
		samples = append(samples, points.Sample{Key: key, Value: n.Value, Step: step, RecordedAt: at})
	}
	for i := range s.Rows {
		row := &s.Rows[i]
		if !row.HasStep {
			row.Step = r.LastStep + 1
		}
		if row.At == 0 {
			row.At = tx.Now
		}
		r.begin(row)
		r.LastStep, r.Last = max(r.LastStep, row.Step), max(r.Last, row.At)
		for j := range row.Numbers {
			add(&row.Numbers[j], &row.Step, &row.At)
		}
	}
	for i := range s.Events {
		e := &s.Events[i]
		if e.At == 0 {
			e.At = tx.Now
		}
		// The step is the runtime in seconds, so a line that is sent twice gets the same step. The
		// runtimes of several writers begin at different times.
		if r.Shared {
			r.begin(e)
		}
		if r.Shared || math.IsNaN(e.Runtime) || math.Abs(e.Runtime) > 1e15 {
			e.Runtime = float64(e.At-r.Start) / 1000
		}
		e.Step = Step(math.Round(e.Runtime))
		for j := range e.Numbers {
			add(&e.Numbers[j], &e.Step, &e.At)
		}
	}
	return samples
}

// begin sets the start of the run to the start according to a row, if it is not set yet.
func (r *Run) begin(row *format.Row) {
	if r.Start == 0 && !math.IsNaN(row.Runtime) && row.Runtime >= 0 && row.Runtime < 1e9 {
		r.Start = max(0, row.At-Time(math.Round(row.Runtime*1000)))
	}
}

// restOf returns the non-numeric values of rows by step. If a step has several values with the same
// name, restOf returns the last one.
func restOf(rows []format.Row) map[Step][]format.Member {
	all := map[Step][]format.Member{}
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

// keepRest stores the non-numeric values of a step. They replace stored values with the same names.
func (tx Tx) keepRest(num int64, r *Run, step Step, rest []format.Member) error {
	var former string
	err := tx.Row(`SELECT content FROM wandb_row WHERE iteration_num = ? AND step = ?`, num, step).Scan(&former)
	switch {
	case err == nil:
		old, err := format.Members(former)
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
	content := format.Object(rest)
	if len(content) > maxRow {
		r.Lose("Values of a step that has more than %d bytes of strings, lists and media were left out.", maxRow)
		return nil
	}
	_, err = tx.Exec(`INSERT INTO wandb_row (iteration_num, step, content) VALUES (?, ?, ?)
		ON CONFLICT (iteration_num, step) DO UPDATE SET content = excluded.content WHERE content <> excluded.content`,
		num, step, content)
	return err
}

// memberNames returns the set of the members' names.
func memberNames(members []format.Member) map[string]bool {
	names := make(map[string]bool, len(members))
	for _, m := range members {
		names[m.Key] = true
	}
	return names
}

// addCaptions adds the captions of the media in rest to a.Captions.
func (a *About) addCaptions(rest []format.Member) {
	add := func(path, caption string) {
		if path != "" && strings.TrimSpace(caption) != "" && len(a.Captions) < maxCaptions {
			if a.Captions == nil {
				a.Captions = map[string]string{}
			}
			a.Captions[transfer.FitPath(path)] = transfer.FitText(caption[:min(len(caption), maxCaption)])
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

// setCaptions stores captions as the descriptions of files. Captions of files that have not arrived
// stay in r.
func (tx Tx) setCaptions(num int64, r *Run) error {
	for name, caption := range r.Captions {
		n, err := tx.Exec(`UPDATE resource SET description = ? WHERE iteration_num = ? AND name = ?`, caption, num, name)
		if err != nil {
			return err
		}
		if n > 0 {
			delete(r.Captions, name)
		}
	}
	return nil
}
