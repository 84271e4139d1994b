// Package transfer imports runs from the files of other tools. It reads the files, derives the ids
// of records from ids in the source, and passes the data in batches to a Sink. The Sink writes the
// data to the store.
//
// A Source is a set of runs at a path, such as a folder of event files, an MLflow database, or
// a table. A Source calls Import.Begin for each run. It calls methods of the returned RunWriter
// for each parameter, tag, point and artifact. Import collects this data in batches. Each batch
// is written in one transaction together with the positions reached in the source files. An
// interrupted import can therefore continue, and a repeated import reads only new data.
//
// A part of the source that can't be imported is recorded as a Loss. Import counts and reports
// losses, and continues the import. The subpackages implement the formats.
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

// Types of the values in a run.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// Status is the status of a run, in the store's spelling.
type Status string

// These are the statuses of runs. A run without a status in the source gets the status Running.
// Pages show such a run as lost until a user sets its status.
const (
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Killed    Status = "KILLED"
)

// Run is a run read from a source.
type Run struct {
	ID         uuid.UUID  // the same in every import
	Project    string     // name
	Experiment string     // name
	Name       string     // "" means a generated name
	Notes      string     //
	Parent     *uuid.UUID // id of the parent run; nil if none
	Created    Time       //
	Status     Status     //
	Error      string     // error message
	Ended      *Time      // nil if Status is Running
	// Deleted and ExperimentDeleted report whether the run or its experiment was deleted in the
	// source. A deleted run is imported like any other run, and moved to the trash at the end of
	// the import.
	Deleted, ExperimentDeleted bool
}

// Parameter is a named setting of a run.
type Parameter struct{ Key, Value string }

// Dataset describes a dataset that a run used.
type Dataset struct {
	Name, Digest, SourceType, Source, Schema, Profile string
	Context                                           *string // purpose, such as training; nil if unknown
}

// Code describes the code and the environment of a run. Unknown fields are "".
type Code struct{ GitSHA, GitRemote, GitDiff, Entrypoint, Command, Hostname, Runtime, Dependencies string }

// Series holds points of one metric in the order of the source. Element i of Steps, Values and
// Times describes point i.
type Series struct {
	Key string
	// If DropFrom is not nil, Write deletes the stored points from step DropFrom on before it adds
	// the new points.
	DropFrom *Step
	Steps    []Step
	Values   []Value
	Times    []Time
}

// File records the position up to which a source file was read. A File can represent an event file,
// or a run's rows in a database.
type File struct {
	ID          uuid.UUID // stays the same if the file is moved
	Path        string    // last known path
	Size        int64     // number of bytes or rows
	Fingerprint string    // changes if the existing content changes
	Position    int64     // number of bytes or rows read so far
	State       string    // used only by the reader
	// Before is the Stamp of the file's stored state at the beginning of this import, or 0 if no
	// state was stored. Import sets Before. Write returns an error if another import has changed
	// the stored state. This check prevents two concurrent imports from importing the same points.
	Before uint64
	// RunID is the id of the file's run, or uuid.Nil if the run was deleted. Write ignores RunID
	// and uses the run of the batch.
	RunID uuid.UUID
	// ProjectID and Project are the id and the name of the run's project. Only Files sets them.
	ProjectID, Project string
}

// Stamp returns a checksum of the fields Size, Position, Fingerprint and State. The checksum
// changes when more of the file is read. It is never 0.
func (f File) Stamp() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %q %q", f.Size, f.Position, f.Fingerprint, f.State)
	return h.Sum64() | 1 // 0 means that no state is stored
}

// Batch holds data of one run that is written in one transaction.
type Batch struct {
	Run        Run // created if no run has its id
	Parameters []Parameter
	Tags       []string
	Properties []Parameter // named values that are not parameters
	Datasets   []Dataset
	Code       *Code
	Series     []*Series
	Files      []File
	// If End is set, Write also writes the status, error and end time of the run. Write ignores End
	// if the stored status is not RUNNING.
	End bool
	// points is the total number of points in Series.
	points int
}

// Outcome is the result of writing a batch.
type Outcome struct {
	Created    bool   // whether the run is new
	Refused    string // message with the reason why the batch was not written; "" if it was written
	Parameters int    // number of new parameters
	Tags       int    // number of new tags and properties
	Points     int
	Dropped    int    // number of points replaced by later points
	OrphanOf   string // id of the run's parent if the parent does not exist; otherwise ""
}

// Artifact is a file of a run or a logged model.
type Artifact struct {
	ID          uuid.UUID // the same in every import
	RunID       uuid.UUID
	LoggedModel string // id of the file's logged model; "" for a file of a run
	Name        string
	ContentType string
	Size        int64 // -1 if unknown
	Modified    Time
	Open        func() (io.ReadCloser, error)
}

// Sink is the destination of an import.
type Sink interface {
	// Files returns the stored states of the source files with the given ids. Unknown files are
	// omitted.
	Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]File, error)
	// Write writes all batches in one transaction. If Write returns an error, nothing is
	// written.
	Write(ctx context.Context, batches []*Batch) ([]Outcome, error)
	// Put stores an artifact. The artifact's run or logged model must exist. Put returns false if
	// the artifact already exists with the same content.
	Put(ctx context.Context, a Artifact) (stored bool, err error)
	// Trash moves a run to the trash. The run must have been created by an import of a deleted run.
	// A repeated call does nothing. If the run can't be moved, refused is a message with the
	// reason; otherwise it is "".
	Trash(ctx context.Context, runID uuid.UUID) (refused string, err error)
	// Experiment creates an experiment if it does not exist, and adds a missing description and
	// missing properties. If an experiment created by an import was deleted in the source,
	// Experiment moves it to the trash. changes holds messages about values that were omitted.
	Experiment(ctx context.Context, e Experiment) (changes []string, err error)
	// LoggedModel creates a logged model. It returns false if the model already exists.
	LoggedModel(ctx context.Context, m LoggedModel) (made bool, err error)
	// RegisteredModel creates a registered model. If the model exists, RegisteredModel adds its
	// missing versions.
	RegisteredModel(ctx context.Context, m RegisteredModel) (ModelOutcome, error)
}

// namespace is the UUID namespace that ID uses.
var namespace = uuid.MustParse("7d3b6f0e-94b1-5a57-8f0e-2f1c5b6f4a11")

// ID returns an id derived from parts, which are names in the source. ID("a", "bc") and
// ID("ab", "c") differ.
func ID(parts ...string) uuid.UUID {
	var text []byte
	for _, p := range parts {
		text = append(text, p...)
		text = append(text, 0)
	}
	return uuid.NewSHA1(namespace, text)
}

// Nowhere is a Sink for dry runs without a database. It stores no file states.
type Nowhere struct{}

// Files returns nil.
func (Nowhere) Files(context.Context, []uuid.UUID) (map[uuid.UUID]File, error) { return nil, nil }

// Write returns errors.ErrUnsupported.
func (Nowhere) Write(context.Context, []*Batch) ([]Outcome, error) { return nil, errors.ErrUnsupported }

// Put returns errors.ErrUnsupported.
func (Nowhere) Put(context.Context, Artifact) (bool, error) { return false, errors.ErrUnsupported }

// Trash returns errors.ErrUnsupported.
func (Nowhere) Trash(context.Context, uuid.UUID) (string, error) { return "", errors.ErrUnsupported }

// Experiment returns errors.ErrUnsupported.
func (Nowhere) Experiment(context.Context, Experiment) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// LoggedModel returns errors.ErrUnsupported.
func (Nowhere) LoggedModel(context.Context, LoggedModel) (bool, error) {
	return false, errors.ErrUnsupported
}

// RegisteredModel returns errors.ErrUnsupported.
func (Nowhere) RegisteredModel(context.Context, RegisteredModel) (ModelOutcome, error) {
	return ModelOutcome{}, errors.ErrUnsupported
}
