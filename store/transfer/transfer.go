// Package transfer imports runs from the files of other tools. It reads them, assigns ids that
// are derived from the ids in the source, and passes them in batches to a Sink, which writes them
// to the store.
//
// A Source is a set of runs at a path, such as a folder of event files, an MLflow database, or a
// table. It calls Import.Begin for each run, and methods of the returned RunWriter for each
// parameter, tag, point and artifact. Import collects these in batches. A batch is written in one
// transaction, together with the positions in the source files that were read, so an import that
// was interrupted can continue, and another import reads only new data.
//
// A part that can't be imported is a Loss. Losses are counted and reported, and the import
// continues. The formats are in packages below this one.
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

// Types of the values in runs.
type (
	Step  = scalar.Step
	Time  = scalar.Time
	Value = scalar.Value
)

// Status is the status of a run, as the store names it.
type Status string

// The statuses. If the source has no status, Running is used: the run is shown as lost until
// somebody sets its status.
const (
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Killed    Status = "KILLED"
)

// Run is a run, as read from its source.
type Run struct {
	ID         uuid.UUID  // the same in each import
	Project    string     // name
	Experiment string     // name
	Name       string     // "" for a generated name
	Notes      string     //
	Parent     *uuid.UUID // nil for none
	Created    Time       //
	Status     Status     //
	Error      string     // error message
	Ended      *Time      // nil if Status is Running
	// Deleted and ExperimentDeleted report whether the source has deleted the run or its
	// experiment. Such a run is imported like others, and moved to the trash at the end.
	Deleted, ExperimentDeleted bool
}

// Parameter is a setting of a run.
type Parameter struct{ Key, Value string }

// Dataset is data that a run has read.
type Dataset struct {
	Name, Digest, SourceType, Source, Schema, Profile string
	Context                                           *string // what it was used for; nil if unknown
}

// Code holds the code and the environment of a run; "" for an unknown field.
type Code struct{ GitSHA, GitRemote, GitDiff, Entrypoint, Command, Hostname, Runtime, Dependencies string }

// Series holds points of one metric, in the order of the source.
type Series struct {
	Key string
	// DropFrom is a step. Points from this step on that were imported before are deleted; nil for
	// none.
	DropFrom *Step
	Steps    []Step
	Values   []Value
	Times    []Time
}

// File records how far a source file was read. A reader may use it for a file of events, or for
// the rows of one run in a database.
type File struct {
	ID          uuid.UUID // does not change if the file is moved
	Path        string    // last known path
	Size        int64     // bytes or rows
	Fingerprint string    // differs if the file was changed
	Position    int64     // end of the part that was read
	State       string    // private to the reader
	// Before is the Stamp of the recorded state of the file at the beginning of this import, 0 if
	// there was none. Import sets it. Write returns an error if the recorded state has changed
	// since, because two imports would import the same points.
	Before uint64
	// RunID is the run that the file belongs to, or uuid.Nil if the run was deleted. Write
	// ignores it and uses the run of the batch.
	RunID uuid.UUID
	// ProjectID and Project are the id and the name of the project of the run. Only Files sets
	// them.
	ProjectID, Project string
}

// Stamp returns a checksum that changes when more of the file is read.
func (f File) Stamp() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %q %q", f.Size, f.Position, f.Fingerprint, f.State)
	return h.Sum64() | 1 // 0 stands for no state
}

// Batch is a part of a run that is written in one transaction.
type Batch struct {
	Run        Run // inserted if its id does not exist
	Parameters []Parameter
	Tags       []string
	Properties []Parameter // named texts that are not settings
	Datasets   []Dataset
	Code       *Code
	Series     []*Series
	Files      []File
	// End sets status, error and end of the run if it is RUNNING.
	End bool
	// points is the number of points in Series.
	points int
}

// Outcome is the result of writing a batch.
type Outcome struct {
	Created    bool   // the run is new
	Refused    string // reason why nothing was written, a sentence; "" if it was written
	Parameters int    // number of new parameters
	Tags       int    // number of new tags and properties
	Points     int
	Dropped    int    // points that were replaced by later ones
	OrphanOf   string // id of the parent if it does not exist, else ""
}

// Artifact is a file of a run or of a logged model.
type Artifact struct {
	ID          uuid.UUID // the same in each import
	RunID       uuid.UUID
	LoggedModel string // id of the logged model that the file belongs to; "" for a file of a run
	Name        string
	ContentType string
	Size        int64 // -1 if unknown
	Modified    Time
	Open        func() (io.ReadCloser, error)
}

// Sink is the destination of an import.
type Sink interface {
	// Files returns the recorded states of source files, by id. Unknown files are omitted.
	Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]File, error)
	// Write writes the batches in one transaction. Each batch is written as a whole. With an
	// error, none is written.
	Write(ctx context.Context, batches []*Batch) ([]Outcome, error)
	// Put stores an artifact of a run that was written before. It returns false if the run has
	// the artifact with the same bytes.
	Put(ctx context.Context, a Artifact) (stored bool, err error)
	// Trash moves a run to the trash. An import must have created it as a deleted run. A second
	// call does nothing. refused is the reason why it can't be moved, a sentence, or "".
	Trash(ctx context.Context, runID uuid.UUID) (refused string, err error)
	// Experiment creates an experiment that does not exist, and adds its missing texts. If the
	// source has deleted it and an import has created it, it is then moved to the trash. changes
	// holds sentences about texts that were left out.
	Experiment(ctx context.Context, e Experiment) (changes []string, err error)
	// LoggedModel creates a logged model. It returns false if the model exists.
	LoggedModel(ctx context.Context, m LoggedModel) (made bool, err error)
	// RegisteredModel creates a registered model, or the missing versions of an existing one.
	RegisteredModel(ctx context.Context, m RegisteredModel) (ModelOutcome, error)
}

// namespace is the UUID namespace of ID.
var namespace = uuid.MustParse("7d3b6f0e-94b1-5a57-8f0e-2f1c5b6f4a11")

// ID returns an id that is derived from parts, the names in the source. ID("a", "bc") and
// ID("ab", "c") differ.
func ID(parts ...string) uuid.UUID {
	var text []byte
	for _, p := range parts {
		text = append(text, p...)
		text = append(text, 0)
	}
	return uuid.NewSHA1(namespace, text)
}

// Nowhere is a Sink for a dry run without a database. It has no recorded states of files.
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
