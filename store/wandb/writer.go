package wandb

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/runs"
	"tracker/store/wandb/format"
)

const (
	maxWriters = 10_000 // maximum number of writers of a run
	// maxBlocks is the maximum number of blocks of a writer. Lines before these blocks can't be
	// replaced. A part of a stream adds one block, and clients replace only their last lines.
	maxBlocks = 1000
	// MaxWriter is the maximum size of a writer's id in bytes.
	MaxWriter = 100
)

// writer is one of several clients that write to a run at the same time. Each writer numbers its
// lines from 0, so the numbers identify the lines of one writer, and not the lines of the run.
type writer struct {
	client                   string
	historyLines, eventLines int64 // numbers of the lines that follow the applied lines
	complete                 bool  // the client has announced the end of the run
	console                  consoleMap
}

// consoleMap records which lines of a run's console a writer has printed.
type consoleMap struct {
	First  int64   `json:"first,omitzero"` // lines before First are stored, and can't be replaced
	Blocks []block `json:"blocks,omitzero"`
}

// block maps consecutive lines of a writer to consecutive lines of the console.
type block struct {
	From int64 `json:"from"` // number of the first line in the writer's output
	To   int64 `json:"to"`   // number of the first line in the console
	N    int64 `json:"n"`
}

// writer returns the writer of a run with the given id. known is false if the id is new.
func (tx Tx) writer(num int64, client string) (w writer, known bool, err error) {
	w.client = client
	var text string
	err = tx.Row(`SELECT history_lines, event_lines, complete, console FROM wandb_writer WHERE iteration_num = ? AND client = ?`,
		num, client).Scan(&w.historyLines, &w.eventLines, &w.complete, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return w, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &w.console)
	}
	return w, true, err
}

// saveWriter writes a writer. It returns INVALID_PAYLOAD if the writer is new and the run already
// has maxWriters writers.
func (tx Tx) saveWriter(num int64, w writer) error {
	text, err := json.Marshal(w.console)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`INSERT INTO wandb_writer (iteration_num, client, history_lines, event_lines, complete, console)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6
		WHERE (SELECT count(*) FROM wandb_writer WHERE iteration_num = ?1 AND client <> ?2) < ?7
		ON CONFLICT (iteration_num, client) DO UPDATE SET
			history_lines = excluded.history_lines,
			event_lines   = excluded.event_lines,
			complete      = excluded.complete,
			console       = excluded.console`, num, w.client, w.historyLines, w.eventLines, w.complete, string(text), maxWriters)
	if err == nil && n == 0 {
		err = domain.Invalid("client", "A run can have at most %d writers; start another run.", maxWriters)
	}
	return err
}

// addWriter adds a writer to a run. It reports whether the writer is new.
func (tx Tx) addWriter(num int64, client string) (isNew bool, err error) {
	w, known, err := tx.writer(num, client)
	if err != nil || known {
		return false, err
	}
	return true, tx.saveWriter(num, w)
}

// number selects the rows of s that the run r does not have yet, and assigns the next steps of the
// run to them. Clients of a run with several writers count steps independently, so their steps are
// ignored. A row is known by its line number if a writer sends it, and by its checksum if s has no
// writer, because wandb sync sends the rows of a crashed writer under no id.
func (tx Tx) number(num int64, r *Run, w *writer, s *Stream) error {
	var rows []format.Row
	for _, row := range s.Rows {
		if w != nil && row.Line < w.historyLines {
			continue
		}
		n, err := tx.Exec(`INSERT INTO wandb_row_sum (iteration_num, sum) VALUES (?, ?) ON CONFLICT DO NOTHING`, num, rowSum(row.Text))
		if err != nil {
			return err
		}
		if w == nil && n == 0 {
			continue
		}
		row.HasStep, row.Step = true, 0
		if r.HistoryLines > 0 {
			row.Step = r.LastStep + 1
		}
		if w != nil {
			w.historyLines = row.Line + 1
		}
		r.LastStep = row.Step
		r.HistoryLines++
		rows = append(rows, row)
	}
	s.Rows = rows
	if w != nil {
		w.historyLines = max(w.historyLines, s.HistoryLines)
		r.EventLines += max(0, s.EventLines-w.eventLines)
		w.eventLines = max(w.eventLines, s.EventLines)
	}
	s.HistoryLines, s.EventLines, s.LogLines = 0, 0, 0
	return nil
}

// rowSum returns a checksum of a history row without its step. It does not depend on the order of
// the members.
func rowSum(text string) int64 {
	members, err := format.Members(text)
	if err != nil {
		return 0 // the row was parsed before
	}
	slices.SortFunc(members, func(a, b format.Member) int { return strings.Compare(a.Key, b.Key) })
	members = slices.DeleteFunc(members, func(m format.Member) bool { return m.Key == "_step" })
	sum := sha256.Sum256([]byte(format.Object(members)))
	return int64(binary.BigEndian.Uint64(sum[:])) // #nosec G115 -- any 64 bits are a checksum
}

// print writes lines that a writer has printed to the console of a run. The first line has the number
// from in the output of the writer. Lines that were printed before keep their place in the console,
// and new lines are appended.
func (w *writer) print(tx *domain.Tx, it domain.IterationRef, from int64, lines []string) (next int64, err error) {
	if skip := min(max(0, w.console.First-from), int64(len(lines))); skip > 0 {
		from, lines = from+skip, lines[skip:]
	}
	for len(lines) > 0 && err == nil {
		n, to := w.console.find(from, int64(len(lines)))
		if to != nil {
			_, err = runs.WriteConsole(tx, it, to, lines[:n])
		} else if next, err = runs.WriteConsole(tx, it, nil, lines[:n]); err == nil {
			w.console.add(block{From: from, To: next - n, N: n})
		}
		from, lines = from+n, lines[n:]
	}
	return next, err
}

// find returns the number in the console of the writer's line from, or nil if the line is new. n is
// the number of lines, at most limit, to which the result applies.
func (m *consoleMap) find(from, limit int64) (n int64, to *int64) {
	n = limit
	for _, b := range m.Blocks {
		switch {
		case from >= b.From && from < b.From+b.N:
			return min(limit, b.From+b.N-from), new(b.To + from - b.From)
		case b.From > from:
			n = min(n, b.From-from)
		}
	}
	return n, nil
}

// add adds a block. It joins the block with the last block if possible, and drops the first block
// if there are more than maxBlocks.
func (m *consoleMap) add(b block) {
	if i := len(m.Blocks) - 1; i >= 0 && m.Blocks[i].From+m.Blocks[i].N == b.From && m.Blocks[i].To+m.Blocks[i].N == b.To {
		m.Blocks[i].N += b.N
		return
	}
	m.Blocks = append(m.Blocks, b)
	if len(m.Blocks) > maxBlocks {
		m.First = max(m.First, m.Blocks[0].From+m.Blocks[0].N)
		m.Blocks = m.Blocks[1:]
	}
}

// merged returns the JSON object a with the members of the JSON object b, which replace members with
// the same names. Members with names in deep are merged in the same way if both are objects, at all
// depths. merged returns b if one of the texts is not an object.
func merged(a, b string, deep ...string) string {
	all, err := format.Members(a)
	if err != nil {
		return b
	}
	more, err := format.Members(b)
	if err != nil {
		return b
	}
	return format.Object(mergedMembers(all, more, func(key string) bool { return slices.Contains(deep, key) }, maxDepth))
}

// maxDepth is the depth to which merged merges objects.
const maxDepth = 5

func mergedMembers(all, more []format.Member, deep func(key string) bool, depth int) []format.Member {
	at := make(map[string]int, len(all))
	for i, m := range all {
		at[m.Key] = i
	}
	for _, m := range more {
		i, there := at[m.Key]
		if !there {
			at[m.Key] = len(all)
			all = append(all, m)
			continue
		}
		if depth > 0 && deep(m.Key) {
			a, errA := format.Members(all[i].Value)
			b, errB := format.Members(m.Value)
			if errA == nil && errB == nil {
				m.Value = format.Object(mergedMembers(a, b, func(string) bool { return true }, depth-1))
			}
		}
		all[i] = m
	}
	return all
}
