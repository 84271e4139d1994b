// Package transfer brings runs in from the files of other tools. It reads them,
// gives them ids that follow from the source's own, and hands them over in
// batches to a Sink, which is the store.
//
// A Source is what was found at a path: the folder of an event file, a database
// of MLflow, a table. It calls Import.Run for each run, and the writer that it
// gets for each parameter, tag, point and artifact. Import collects these into
// batches. A batch is written as a whole with how far each source file was read,
// so an import that ends in the middle continues where it was, and a second one
// reads only what is new.
//
// A part that can't be imported is a Loss: it is counted and reported, and the import
// continues. The formats are in packages of their own below this one.
package transfer

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"

	"tracker/store/scalar"
)

// The values that runs are made of.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// Status is the status of a run, as the store names it.
type Status string

// The statuses. A source that has none gives RUNNING: such a run is shown as lost
// until somebody sets its status.
const (
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Killed    Status = "KILLED"
)

// Run is a run as its source describes it.
type Run struct {
	ID         uuid.UUID  // the same at each import
	Project    string     // name
	Experiment string     // name
	Name       string     // "" for a made-up one
	Notes      string     //
	Parent     *uuid.UUID // nil for none
	Created    Time       //
	Status     Status     //
	Error      string     // error message
	Ended      *Time      // nil while it is RUNNING
}

// Parameter is a setting of a run.
type Parameter struct{ Key, Value string }

// Dataset is data that a run has read.
type Dataset struct {
	Name, Digest, SourceType, Source, Schema, Profile string
	Context                                           *string // what it was read for; nil when that is not known
}

// Code is the code and the environment of a run. What is "" is not known.
type Code struct{ GitSHA, GitRemote, GitDiff, Entrypoint, Command, Hostname, Runtime, Dependencies string }

// Series holds points of one metric in the order of the source.
type Series struct {
	Key string
	// DropFrom is the step from which the points that were imported before are
	// replaced; nil for none.
	DropFrom *Step
	Steps    []Step
	Values   []Value
	Times    []Time
}

// File is how far a source file was read. What a file is, its reader decides: a
// file of events, or the rows of one run in a database.
type File struct {
	ID          uuid.UUID // of what is the same when the file is moved
	Path        string    // where it was seen last
	Size        int64     // bytes or rows
	Fingerprint string    // another one means that it was changed
	Position    int64     // up to where it was read
	State       string    // the reader's own
	// RunID is the run that it belongs to; uuid.Nil when that was deleted. Write
	// takes it from the batch.
	RunID uuid.UUID
}

// Batch is what is written of a run at once.
type Batch struct {
	Run        Run // inserted when there is none with its id
	Parameters []Parameter
	Tags       []string
	Properties []Parameter // texts with names that are no settings
	Datasets   []Dataset
	Code       *Code
	Series     []*Series
	Files      []File
	// End sets status, error and end of the run if it is RUNNING.
	End bool
	// points counts those in Series.
	points int
}

// Outcome is what became of a batch.
type Outcome struct {
	Created    bool   // the run is new
	Refused    string // why nothing was written, a sentence; "" when it was
	Parameters int    // those that the run did not have
	Tags       int    // likewise, with properties
	Points     int
	Dropped    int    // points that others replace
	OrphanOf   string // id of a parent that does not exist; "" when it does
}

// Artifact is a file of a run.
type Artifact struct {
	ID          uuid.UUID // the same at each import
	RunID       uuid.UUID
	LoggedModel string // id of the logged model whose file it is; "" for one of a run
	Name        string
	ContentType string
	Size        int64 // -1 when it is not known
	Modified    Time
	Open        func() (io.ReadCloser, error)
}

// Sink is where runs go.
type Sink interface {
	// Files returns what is known of source files, by id. Unknown ones are left out.
	Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]File, error)
	// Write writes the batches in one transaction, each of them as a whole. An
	// error means that none was written.
	Write(ctx context.Context, batches []*Batch) ([]Outcome, error)
	// Put stores an artifact of a run that was written before. It reports whether
	// the run did not have it, or with other bytes.
	Put(ctx context.Context, a Artifact) (stored bool, err error)
	// LoggedModel makes a logged model that does not exist. It reports whether it did
	// not.
	LoggedModel(ctx context.Context, m LoggedModel) (made bool, err error)
	// RegisteredModel makes a registered model that does not exist, and the versions that
	// it does not have. It returns how many those are, and the numbers that other versions
	// have.
	RegisteredModel(ctx context.Context, m RegisteredModel) (made int, taken []int64, err error)
}

// namespace is the one of the ids that follow from a source's own.
var namespace = uuid.MustParse("7d3b6f0e-94b1-5a57-8f0e-2f1c5b6f4a11")

// ID returns the id that follows from what a source calls something. The parts are
// kept apart.
func ID(parts ...string) uuid.UUID {
	var text []byte
	for _, p := range parts {
		text = append(text, p...)
		text = append(text, 0)
	}
	return uuid.NewSHA1(namespace, text)
}

// Nowhere is the sink of a dry run without a database: it knows nothing.
type Nowhere struct{}

// Files returns nothing.
func (Nowhere) Files(context.Context, []uuid.UUID) (map[uuid.UUID]File, error) { return nil, nil }

// Write fails.
func (Nowhere) Write(context.Context, []*Batch) ([]Outcome, error) { return nil, errors.ErrUnsupported }

// Put fails.
func (Nowhere) Put(context.Context, Artifact) (bool, error) { return false, errors.ErrUnsupported }

// LoggedModel fails.
func (Nowhere) LoggedModel(context.Context, LoggedModel) (bool, error) {
	return false, errors.ErrUnsupported
}

// RegisteredModel fails.
func (Nowhere) RegisteredModel(context.Context, RegisteredModel) (int, []int64, error) {
	return 0, nil, errors.ErrUnsupported
}
