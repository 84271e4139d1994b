// Package transfer imports runs from the files of other tools. It reads them,
// gives them ids that follow from the source's own, and hands them over in
// batches to a Sink, which is the store.
//
// A Source is what was found at a path: the folder of an event file, a database
// of MLflow, a table. It calls Import.Begin for each run, and methods of the
// RunWriter that this returns for each parameter, tag, point and artifact.
// Import collects these into batches. A batch is written as a whole, together
// with the position up to which each source file was read, so an import that
// ends in the middle continues where it was, and a second one reads only what is
// new.
//
// A part that can't be imported is a Loss: it is counted and reported, and the import
// continues. The formats are in packages of their own below this one.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
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
	// Deleted and ExperimentDeleted report that the source has deleted the run, or its
	// experiment. Such a run is imported as others are, and moved to the trash at the end.
	Deleted, ExperimentDeleted bool
}

// Parameter is a setting of a run.
type Parameter struct{ Key, Value string }

// Dataset is data that a run has read.
type Dataset struct {
	Name, Digest, SourceType, Source, Schema, Profile string
	Context                                           *string // what it was read for; nil when that is not known
}

// Code is the code and the environment of a run. A field that is not known is
// "".
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

// File records how far a source file was read. Each reader decides what a file
// is: a file of events, or the rows of one run in a database.
type File struct {
	ID          uuid.UUID // stays the same when the file is moved
	Path        string    // where it was seen last
	Size        int64     // bytes or rows
	Fingerprint string    // another one means that it was changed
	Position    int64     // it was read up to here
	State       string    // for the reader's own use
	// Before is the Stamp of the file as it was recorded when this import began, 0 for
	// none. Import sets it, and Write fails when the recorded one has changed since: two
	// imports would import the same points.
	Before uint64
	// RunID is the run that it belongs to; uuid.Nil when that was deleted. Write
	// takes it from the batch.
	RunID uuid.UUID
	// ProjectID and Project are the id and the name of the project of the run. Only Files
	// sets them.
	ProjectID, Project string
}

// Stamp returns a checksum, which changes when the file is read further.
func (f File) Stamp() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %q %q", f.Size, f.Position, f.Fingerprint, f.State)
	return h.Sum64() | 1 // 0 is none
}

// Batch is a part of a run that is written in one transaction.
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

// Outcome is the result of writing a batch.
type Outcome struct {
	Created    bool   // the run is new
	Refused    string // why nothing was written, a sentence; "" when it was
	Parameters int    // those that the run did not have
	Tags       int    // likewise, with properties
	Points     int
	Dropped    int    // points that later ones replaced
	OrphanOf   string // id of the parent if it does not exist, "" if it does or there is none
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

// Sink is where an import writes to.
type Sink interface {
	// Files returns what is known of source files, by id. Unknown ones are left out.
	Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]File, error)
	// Write writes the batches in one transaction, each of them as a whole. An
	// error means that none was written.
	Write(ctx context.Context, batches []*Batch) ([]Outcome, error)
	// Put stores an artifact of a run that was written before. It returns false
	// when the run has it already with the same bytes.
	Put(ctx context.Context, a Artifact) (stored bool, err error)
	// Trash moves a run to the trash that was made by an import as a deleted one. A second
	// call does nothing. refused is a sentence that says why it can't be done, "" when it
	// was done.
	Trash(ctx context.Context, runID uuid.UUID) (refused string, err error)
	// Experiment makes an experiment that does not exist, and adds the texts that it does
	// not have. One that the source has deleted is then moved to the trash if an import
	// made it. It returns sentences about what was left out.
	Experiment(ctx context.Context, e Experiment) (changes []string, err error)
	// LoggedModel makes a logged model, and returns false when it exists already.
	LoggedModel(ctx context.Context, m LoggedModel) (made bool, err error)
	// RegisteredModel makes a registered model, or the versions that an existing one
	// lacks.
	RegisteredModel(ctx context.Context, m RegisteredModel) (ModelOutcome, error)
}

// namespace is the UUID namespace of ID.
var namespace = uuid.MustParse("7d3b6f0e-94b1-5a57-8f0e-2f1c5b6f4a11")

// ID returns the id that follows from the source's own names, the parts. "a", "bc"
// and "ab", "c" have different ids.
func ID(parts ...string) uuid.UUID {
	var text []byte
	for _, p := range parts {
		text = append(text, p...)
		text = append(text, 0)
	}
	return uuid.NewSHA1(namespace, text)
}

// Nowhere is the sink of a dry run without a database. It has no files.
type Nowhere struct{}

// Files returns nothing.
func (Nowhere) Files(context.Context, []uuid.UUID) (map[uuid.UUID]File, error) { return nil, nil }

// Write fails.
func (Nowhere) Write(context.Context, []*Batch) ([]Outcome, error) { return nil, errors.ErrUnsupported }

// Put fails.
func (Nowhere) Put(context.Context, Artifact) (bool, error) { return false, errors.ErrUnsupported }

// Trash fails.
func (Nowhere) Trash(context.Context, uuid.UUID) (string, error) { return "", errors.ErrUnsupported }

// Experiment fails.
func (Nowhere) Experiment(context.Context, Experiment) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// LoggedModel fails.
func (Nowhere) LoggedModel(context.Context, LoggedModel) (bool, error) {
	return false, errors.ErrUnsupported
}

// RegisteredModel fails.
func (Nowhere) RegisteredModel(context.Context, RegisteredModel) (ModelOutcome, error) {
	return ModelOutcome{}, errors.ErrUnsupported
}
