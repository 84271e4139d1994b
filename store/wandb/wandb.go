// Package wandb stores the data of W&B's clients. It saves their runs as iterations with
// configuration, summary, history, console and state. It stores their artifacts with collections,
// versions and aliases, and gives runs to the agents of sweeps. The id of an iteration is derived
// from W&B's project and name of the run.
//
// The numbers of a row are stored as points, under names that the store accepts. All other values
// are stored as sent. So a history can be read back unchanged, and can be searched and charted
// like the metrics of any other run. Sending a row, summary or setting again changes nothing.
// Clients can't handle rejected values, so a value that is too large is cut or left out, and
// noted in Run.Lost.
//
// Package format encodes and decodes the values. Package sweep chooses settings. The methods of
// DB start their own transactions, and the methods of View read one snapshot. The methods of Tx
// access the tables of this package by the numbers of iterations; their callers check rights and
// statuses in the same transaction.
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

// Types of the values in rows.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// Tx gives access to the tables of this package in a transaction.
type Tx struct {
	*points.Tx
	Now Time
	// Take counts bytes that are held for an answer. If it returns an error, the read ends with
	// this error.
	Take func(bytes int64) error
}

// Run holds the data from W&B's clients about a run that is stored in no other table. For a run
// of another client, only RunID is set.
type Run struct {
	RunID   string // id in W&B, free text; for a run of another client the id of the iteration
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
	HistoryLines int64               `json:"history_lines,omitzero"` // number of lines that the client has sent
	EventLines   int64               `json:"event_lines,omitzero"`
	LogLines     int64               `json:"log_lines,omitzero"`
	Start        Time                `json:"start,omitzero"` // by the clock of the client
	Last         Time                `json:"last,omitzero"`  // time of the last row, by the clock of the client
	LastStep     Step                `json:"last_step,omitzero"`
	Events       string              `json:"events,omitzero"`     // the last line of the system metrics
	Paths        map[string][]string `json:"paths,omitzero"`      // names that were joined with slashes, by key
	Complete     bool                `json:"complete,omitzero"`   // the client has announced the end
	Preempting   bool                `json:"preempting,omitzero"` // the client has announced a preemption
	Captions     map[string]string   `json:"captions,omitzero"`   // for files that were not received yet, by name
	Lost         []string            `json:"lost,omitzero"`       // sentences about data that was cut or left out
	Ended        Ended               `json:"ended,omitzero"`
}

// Ended holds the counts that LogsOn uses.
type Ended struct {
	At      Time `json:"at"` // when the run was ended
	History More `json:"history"`
	Events  More `json:"events"`
}

// More counts the calls of LogsOn with more lines than in the previous call.
type More struct {
	Lines int64 `json:"lines"` // in the last call
	Times int   `json:"times"`
}

// grew records the number of lines. It reports whether it has increased, and has done so at least
// n times.
func (m *More) grew(lines int64, n int) bool {
	if lines <= m.Lines {
		return false
	}
	m.Lines = lines
	m.Times++
	return m.Times >= n
}

// LogsOn reports whether the client of a run that was ended on the server continues the run. This
// is the case if the number of history lines has increased since the last call, for at least the
// second time, or the number of system metrics lines, for at least the fourth time. The first
// lines may have been sent before the end, and a client that is finishing sends a last round of
// system metrics in several parts.
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
	maxTextValues = 200_000  // in the configuration or the summary
	maxParameters = 20_000   // from a configuration, in one transaction
	maxPoints     = 20_000   // from a summary, in one transaction
	maxRow        = 16 << 20 // bytes of the values of a step that are not numbers
	maxTags       = 1000
	maxEvent      = 1 << 20 // bytes of the last line of the system metrics
	maxPaths      = 10_000
	maxPath       = 500 // bytes of a key whose path is stored
	maxCaptions   = 1000
	maxCaption    = 4000 // bytes of the caption of a file that was not received yet
	maxLost       = 100
)

// Prefixes of the names of metrics.
const (
	SystemPrefix  = "system/"  // metrics of the system
	SummaryPrefix = "summary/" // values of a summary that differ from the last value of a metric
)

// Lose notes in a.Lost that data was cut or left out.
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

// FitName returns a name that the store accepts, and notes a change in a.Lost. what is the kind
// of thing that has the name, such as metric.
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

// LostProperty is the key of the property of an iteration that holds Run.Lost, one sentence a
// line. It makes them visible to pages, searches and all APIs.
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
