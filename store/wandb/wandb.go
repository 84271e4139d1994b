// Package wandb carries out what W&B's clients ask for. It saves their runs as iterations,
// with configuration, summary, history, console and state; it keeps their artifacts with
// collections, versions and aliases; and it gives the agents of a sweep their next runs.
// A run of W&B is an iteration whose id follows from its project and name.
//
// The numbers of a row become points, under names that fit; everything else is kept as it
// was sent. So a history is read back as it was written, and is searched and drawn like
// that of any other run. A row, summary or setting that comes again changes nothing.
// Clients can't handle a refusal: a value that does not fit is cut or left out, and
// Run.Lost has a sentence about it.
//
// Package format has the values as clients send them, and package sweep chooses settings.
// Methods of DB take transactions of their own; methods of View read one snapshot; methods of
// Tx are about the records that no other table holds. They know runs by the numbers of
// iterations; their callers check rights and statuses in the same transaction.
package wandb

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/transfer"
)

// The values that rows are made of.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// Tx is a transaction on these records.
type Tx struct {
	*points.Tx
	Now Time
	// Take counts bytes that are held for an answer, and ends a read with its error.
	Take func(bytes int64) error
}

// Run holds what W&B's clients have sent about a run and no other table holds. A
// run of another client has only a RunID.
type Run struct {
	RunID   string // its id in W&B, free text; that of the iteration for a run of another client
	Config  string // JSON
	Summary string // JSON, as Python writes it
	About
}

// About holds the small fields of a Run.
type About struct {
	Group        string              `json:"group,omitzero"`
	JobType      string              `json:"job_type,omitzero"`
	Host         string              `json:"host,omitzero"`
	Program      string              `json:"program,omitzero"`
	Sweep        string              `json:"sweep,omitzero"`
	HistoryLines int64               `json:"history_lines,omitzero"` // that the client has sent
	EventLines   int64               `json:"event_lines,omitzero"`
	LogLines     int64               `json:"log_lines,omitzero"`
	Start        Time                `json:"start,omitzero"` // of the clock of the client
	Last         Time                `json:"last,omitzero"`  // likewise, of the last row
	LastStep     Step                `json:"last_step,omitzero"`
	Events       string              `json:"events,omitzero"`     // the last line of the system metrics
	Paths        map[string][]string `json:"paths,omitzero"`      // of keys that were joined with slashes
	Complete     bool                `json:"complete,omitzero"`   // the client has said that it is done
	Preempting   bool                `json:"preempting,omitzero"` // the client has said that it is about to be preempted
	Captions     map[string]string   `json:"captions,omitzero"`   // of files that have not been sent yet, by name
	Lost         []string            `json:"lost,omitzero"`       // what was cut or left out, as sentences
	Ended        Ended               `json:"ended,omitzero"`
}

// Ended holds how a client logs on after its run was ended here.
type Ended struct {
	At      Time `json:"at"` // when the run was ended
	History More `json:"history"`
	Events  More `json:"events"`
}

// More counts the calls of LogsOn that found more lines than the call before.
type More struct {
	Lines int64 `json:"lines"` // at the last call
	Times int   `json:"times"`
}

// grew records the lines that there are now, and reports whether they are more than
// before, for the nth time or a later one.
func (m *More) grew(lines int64, n int) bool {
	if lines <= m.Lines {
		return false
	}
	m.Lines = lines
	m.Times++
	return m.Times >= n
}

// LogsOn reports whether the client of a run that was ended here goes on with it. It does
// when more of its history has come since the last call, for the second time or a later
// one, or more metrics of the system, for the fourth. The first rows may be from before
// the end, and a client that finishes sends a last round of metrics of the system in
// several parts.
func (a *About) LogsOn(ended Time) bool {
	if a.Ended.At != ended {
		a.Ended = Ended{At: ended, History: More{Lines: a.HistoryLines}, Events: More{Lines: a.EventLines}}
	}
	history, events := a.Ended.History.grew(a.HistoryLines, 2), a.Ended.Events.grew(a.EventLines, 4)
	return history || events
}

const (
	// maxText bounds the configuration and the summary of a run, in bytes.
	maxText       = 16 << 20
	maxTextValues = 200_000  // in one of them
	maxParameters = 20_000   // that are made of a configuration, in one transaction
	maxPoints     = 20_000   // that are made of a summary, likewise
	maxRow        = 16 << 20 // bytes of the values of a step that are not numbers
	maxTags       = 1000
	maxEvent      = 1 << 20 // bytes of the last line of the system metrics
	maxPaths      = 10_000
	maxPath       = 500 // bytes of a key whose path is kept
	maxCaptions   = 1000
	maxCaption    = 4000 // bytes of the caption of a file that has not been sent yet
	maxLost       = 100
)

// Prefixes of the names of metrics.
const (
	SystemPrefix  = "system/"  // of the system
	SummaryPrefix = "summary/" // a value of a summary that is not the last one of a metric
)

// Lose records that something was cut or left out.
func (a *About) Lose(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(a.Lost) == maxLost || slices.Contains(a.Lost, text) {
		return
	}
	if len(a.Lost) == maxLost-1 {
		text = "More was cut or left out."
	}
	a.Lost = append(a.Lost, text)
}

// FitName returns a name as it can be stored. what is named by it; a change is recorded.
func (a *About) FitName(what, name string) string {
	fits := transfer.FitName(name)
	if fits != name {
		a.Lose("The name of a %s, %s, was changed to \"%s\".", what, scalar.Quote(name), fits)
	}
	return fits
}

// Run returns the Run of the iteration with a number and an id.
func (tx Tx) Run(num int64, id string) (r Run, err error) {
	var about string
	err = tx.Row(`SELECT name, config, summary, about FROM wandb_run WHERE iteration_num = ?`, num).
		Scan(&r.RunID, &r.Config, &r.Summary, &about)
	if errors.Is(err, sql.ErrNoRows) {
		return Run{RunID: id, Config: "{}", Summary: "{}"}, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(about), &r.About)
	}
	return r, err
}

// LostProperty is the name of the property of an iteration that has the sentences of
// Run.Lost, one a line. So pages, searches and all APIs have them.
const LostProperty = "wandb.left_out"

// Save writes the Run of an iteration.
func (tx Tx) Save(num int64, r Run) error {
	about, err := json.Marshal(r.About, json.Deterministic(true), json.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO wandb_run (iteration_num, name, config, summary, about) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (iteration_num) DO UPDATE SET
			config  = excluded.config,
			summary = excluded.summary,
			about   = excluded.about`, num, r.RunID, r.Config, r.Summary, string(about))
	if err != nil || len(r.Lost) == 0 {
		return err
	}
	_, err = tx.Exec(`INSERT INTO property (iteration_num, key, value) VALUES (?, ?, ?)
		ON CONFLICT (iteration_num, key) WHERE iteration_num IS NOT NULL DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
		num, LostProperty, transfer.FitText(strings.Join(r.Lost, "\n")))
	return err
}
