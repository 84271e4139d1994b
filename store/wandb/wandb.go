// Package wandb stores the data of W&B's clients. It stores a W&B run as an iteration with
// configuration, summary, history, console and state. It assigns the runs of sweeps to agents.
// Package collections stores the clients' artifacts. The id of an iteration is derived from the
// names of the W&B project and run.
//
// Numbers in a history row are stored as points, under a different name if the store does not
// accept the original one. Other values are stored as sent. The history can therefore be read back
// unchanged, and be searched and charted like the metrics of other runs. Sending a row, summary or
// setting twice has no further effect. Clients can't handle rejected values, so values that are too
// large are truncated or omitted, which Run.Lost reports.
//
// Package format encodes and decodes values. Package sweep chooses settings. The methods of DB run
// their own transactions, and the methods of View use the transaction of the view. The methods of
// Tx access the tables of this package by iteration number; their callers must check rights and
// statuses in the same transaction.
package wandb

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/transfer"
)

// Types of the values in rows.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// Tx reads and writes the tables of this package in a transaction.
type Tx struct {
	*points.Tx
	Now Time
	// Take reserves memory for a response. If it returns an error, the method that reads returns
	// this error.
	Take func(bytes int64) error
}

// Run holds the W&B data of a run that no other table stores. If the run does not come from a W&B
// client, only RunID is set.
type Run struct {
	RunID   string // W&B id of the run, any string; the iteration id if the run has no W&B id
	Config  string // JSON
	Summary string // JSON as written by Python
	About
}

// About holds the short fields of a Run.
type About struct {
	Group        string              `json:"group,omitzero"`
	JobType      string              `json:"job_type,omitzero"`
	Host         string              `json:"host,omitzero"`
	Program      string              `json:"program,omitzero"`
	Sweep        string              `json:"sweep,omitzero"`
	HistoryLines int64               `json:"history_lines,omitzero"` // number of history lines that the client has sent
	EventLines   int64               `json:"event_lines,omitzero"`
	LogLines     int64               `json:"log_lines,omitzero"`
	Start        Time                `json:"start,omitzero"` // start of the run by the client's clock
	Last         Time                `json:"last,omitzero"`  // time of the last row by the client's clock
	LastStep     Step                `json:"last_step,omitzero"`
	Events       string              `json:"events,omitzero"`     // last line of the system metrics
	Paths        map[string][]string `json:"paths,omitzero"`      // names of nested objects by the key that was joined from them
	Complete     bool                `json:"complete,omitzero"`   // the client has announced the end of the run
	Preempting   bool                `json:"preempting,omitzero"` // the client has announced a preemption
	Captions     map[string]string   `json:"captions,omitzero"`   // by file name; only for files that have not arrived
	Lost         []string            `json:"lost,omitzero"`       // messages about truncated or omitted data
	Ended        Ended               `json:"ended,omitzero"`
	Shared       bool                `json:"shared,omitzero"` // several clients write to the run
}

// Ended holds the counts that LogsOn needs.
type Ended struct {
	At      Time `json:"at"` // time when the run was ended
	History More `json:"history"`
	Events  More `json:"events"`
}

// More counts the calls of LogsOn at which the number of lines had grown.
type More struct {
	Lines int64 `json:"lines"` // number of lines at the last call
	Times int   `json:"times"`
}

// grew records the number of lines. It reports whether the number has grown since the last call,
// for at least the nth time.
func (m *More) grew(lines int64, n int) bool {
	if lines <= m.Lines {
		return false
	}
	m.Lines = lines
	m.Times++
	return m.Times >= n
}

// LogsOn reports whether a run still logs after it was ended on the server. It compares the numbers
// of lines with the numbers at the last call, and returns true if the history has grown for at
// least the second time or the system metrics have grown for at least the fourth time.
//
// Some growth is no proof: the first new lines may have been logged before the end, and a client
// that is finishing its run sends the last system metrics in several parts.
func (a *About) LogsOn(ended Time) bool {
	if a.Ended.At != ended {
		a.Ended = Ended{At: ended, History: More{Lines: a.HistoryLines}, Events: More{Lines: a.EventLines}}
	}
	history, events := a.Ended.History.grew(a.HistoryLines, 2), a.Ended.Events.grew(a.EventLines, 4)
	return history || events
}

const (
	// maxText is the maximum size in bytes of a run's configuration or summary.
	maxText       = 16 << 20
	maxTextValues = 200_000  // maximum number of values in a configuration or summary
	maxParameters = 20_000   // maximum number of parameters that a transaction sets for a configuration
	maxPoints     = 20_000   // maximum number of points that a transaction adds for a summary
	maxRow        = 16 << 20 // maximum size of a step's non-numeric values, in bytes
	maxTags       = 1000
	maxEvent      = 1 << 20 // maximum size of the last system metrics line, in bytes
	maxPaths      = 10_000
	maxPath       = 500 // maximum size of a key in About.Paths, in bytes
	maxCaptions   = 1000
	maxCaption    = 4000 // maximum size of a caption in About.Captions, in bytes
	maxLost       = 100
)

// Prefixes of metric names.
const (
	SystemPrefix  = "system/"           // system metrics
	SummaryPrefix = runs.SummaryMetrics // summary values that differ from the last value of a metric
)

// Lose adds a message about truncated or omitted data to a.Lost.
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

// FitName returns a name that the store accepts. If the name had to be changed, a.Lost reports it.
// what is the kind of object with this name, such as "metric".
func (a *About) FitName(what, name string) string {
	fits := transfer.FitName(name)
	if fits != name {
		a.Lose("The name of a %s, %s, was changed to \"%s\".", what, scalar.Quote(name), fits)
	}
	return fits
}

// Run returns the W&B data of the iteration with the given row number and id.
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

// LostProperty is the key of the iteration property that holds Run.Lost, one message per line. The
// property makes the messages visible on pages, in searches and in all APIs.
const LostProperty = "wandb.left_out"

// Save writes the W&B data of an iteration.
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
	return domain.PutProperty(tx.Tx.Tx, "iteration_num", num, domain.Property{Key: LostProperty, Value: transfer.FitText(strings.Join(r.Lost, "\n"))})
}
