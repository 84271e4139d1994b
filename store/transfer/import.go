package transfer

import (
	"context"
	"fmt"
	"path"

	"github.com/google/uuid"
)

// Options holds the options of an import.
type Options struct {
	Project    string // project name; "" means the name in the source
	Experiment string // experiment name; "" means the name in the source
	Name       string // run name, if the source has only one run; "" means the name in the source
	// If Only is not empty, a run is imported only if one of these patterns (path.Match syntax)
	// matches the run's name or its experiment's name.
	Only        []string
	Deleted     bool // import deleted runs and move them to the trash
	NoArtifacts bool
	// ArtifactFolder is the folder in which an MLflow server stores artifacts. If ArtifactFolder is
	// "", the import looks for artifacts next to the source.
	ArtifactFolder string
	DryRun         bool // read the source without writing anything
	// KeepAll applies to steps that a restarted run logged twice. If it is true, all points are
	// kept. If it is false, the later points replace the earlier points.
	KeepAll bool
	// Step and Time are the names of the step column and the time column of a table. If a name
	// is "", the import guesses the column.
	Step, Time string
	// Progress is called with the number of bytes read since the last call. Progress can be
	// nil.
	Progress func(n int64)
}

// Source is a set of runs at a path. All runs of a source have the same format.
type Source interface {
	// Size returns the number of bytes to read, or 0 if unknown.
	Size() int64
	// Import imports all runs of the source.
	Import(ctx context.Context, im *Import) error
}

// Import is the state of one import into a Sink.
type Import struct {
	Options
	Result *Result
	sink   Sink
	named  uuid.UUID // id of the run that got the name Options.Name
	done   map[uuid.UUID]fate
	stamps map[uuid.UUID]uint64 // File.Stamp of each known source file, by file id
	homes  map[uuid.UUID]home   // projects of runs imported earlier, by run id
	away   map[home]map[uuid.UUID]bool
	queue  []*RunWriter
	read   int64 // bytes read since the last call of Progress
	points int   // number in the queue
	series int   // number in the queue
	size   int   // size of all text values in the queue, in bytes
}

// home identifies the project in which an earlier import stored a run.
type home struct{ id, name string }

// fate is the result of importing one run. Result has a counter for each fate.
type fate int

const (
	unchanged fate = iota
	leftOut
	grown
	created
)

const (
	// batchPoints is the number of points after which a batch with few series is written. Writing
	// batchPoints points takes a fraction of a second. Because the transaction is short, the
	// database stays available to a running server.
	batchPoints = 32768
	// Each series adds a fixed cost to a batch. Batches with many series are therefore larger: they
	// can have seriesPoints points per series, up to maxBatchPoints. A batch with maxBatchSeries
	// series is written once it has batchPoints points.
	seriesPoints   = 32
	maxBatchPoints = 8 * batchPoints
	maxBatchSeries = 2 * batchPoints
	// batchRuns is the maximum number of runs per transaction.
	batchRuns = 128
	// batchText is the number of bytes of text after which a batch is written.
	batchText = 4 << 20
	// progressBytes is the minimum number of bytes between two calls of Progress.
	progressBytes = 256 << 10
	// maxMade is the maximum size of an artifact created in memory, in bytes.
	maxMade = 64 << 20
)

// New returns an Import that writes to sink.
func New(sink Sink, o Options) *Import {
	return &Import{Options: o, Result: &Result{Losses: []Loss{}}, sink: sink, done: map[uuid.UUID]fate{}, stamps: map[uuid.UUID]uint64{},
		homes: map[uuid.UUID]home{}, away: map[home]map[uuid.UUID]bool{}}
}

// Run imports src. It returns after all data is written.
func (im *Import) Run(ctx context.Context, src Source) error {
	err := src.Import(ctx, im)
	if err == nil {
		err = im.flush(ctx)
	}
	for h, runs := range im.away {
		im.Lose(im.Result.Path, "%s imported before, into the project %q; new data is added there.", runsWere(len(runs)), short(h.name))
	}
	im.Result.Found, im.Result.Created, im.Result.Grown, im.Result.Unchanged, im.Result.LeftOut = len(im.done), 0, 0, 0, 0
	for _, f := range im.done {
		switch f {
		case created:
			im.Result.Created++
		case grown:
			im.Result.Grown++
		case leftOut:
			im.Result.LeftOut++
		case unchanged:
			im.Result.Unchanged++
		}
	}
	return err
}

// runsWere returns the beginning of a sentence about n runs, for example "2 runs were".
func runsWere(n int) string {
	if n == 1 {
		return "1 run was"
	}
	return fmt.Sprintf("%d runs were", n)
}

// seekHome records r in im.away if an earlier import stored r in a project other than the requested
// one.
func (im *Import) seekHome(r *Run) {
	h, known := im.homes[r.ID]
	if !known || h.name == r.Project || h.id == ID("project", r.Project).String() {
		return
	}
	if im.away[h] == nil {
		im.away[h] = map[uuid.UUID]bool{}
	}
	im.away[h][r.ID] = true
}

// Read adds n to the number of source bytes read. It calls Progress about every progressBytes
// bytes.
func (im *Import) Read(n int64) {
	im.read += n
	if im.Progress != nil && im.read >= progressBytes {
		im.Progress(im.read)
		im.read = 0
	}
}

// Lose records that part of the source was changed or not imported.
func (im *Import) Lose(path, format string, args ...any) { im.Result.Lose(path, format, args...) }

// Files returns the stored states of the source files with the given ids. Unknown files are
// omitted.
func (im *Import) Files(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]File, error) {
	known := map[uuid.UUID]File{}
	for len(ids) > 0 {
		n := min(len(ids), 500)
		found, err := im.sink.Files(ctx, ids[:n])
		if err != nil {
			return nil, err
		}
		for _, id := range ids[:n] {
			delete(im.stamps, id)
		}
		for id, f := range found {
			known[id], im.stamps[id] = f, f.Stamp()
			if f.RunID != uuid.Nil {
				im.homes[f.RunID] = home{f.ProjectID, f.Project}
			}
		}
		ids = ids[n:]
	}
	return known, nil
}

// Wanted reports whether a run with one of the given names is to be imported.
func (im *Import) Wanted(names ...string) bool {
	if len(im.Only) == 0 {
		return true
	}
	for _, pattern := range im.Only {
		for _, name := range names {
			if ok, err := path.Match(pattern, name); ok || err != nil && pattern == name {
				return true
			}
		}
	}
	return false
}

// Unchanged records that the run has no new data.
func (im *Import) Unchanged(id uuid.UUID) { im.note(id, unchanged) }

// LeaveOut records that the run is not imported. The reason is recorded as a loss.
func (im *Import) LeaveOut(id uuid.UUID, path, format string, args ...any) {
	im.note(id, leftOut)
	im.Lose(path, format, args...)
}

func (im *Import) note(id uuid.UUID, f fate) { im.done[id] = max(im.done[id], f) }

// ReadError is an error that occurred while reading the source. Errors from writing to the sink
// have other types.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *ReadError) Unwrap() error { return e.Err }

// flush writes all queued batches to the sink.
func (im *Import) flush(ctx context.Context) error {
	queue := im.queue
	im.queue, im.points, im.series, im.size = nil, 0, 0, 0
	if len(queue) == 0 {
		return ctx.Err()
	}
	batches := make([]*Batch, len(queue))
	for i, w := range queue {
		batches[i] = w.batch
	}
	outcomes, err := im.write(ctx, batches)
	if err != nil {
		return err
	}
	for i, w := range queue {
		w.took(outcomes[i])
	}
	return ctx.Err()
}

func (im *Import) write(ctx context.Context, batches []*Batch) ([]Outcome, error) {
	if !im.DryRun {
		return im.sink.Write(ctx, batches)
	}
	outcomes := make([]Outcome, len(batches))
	for i, b := range batches {
		outcomes[i] = Outcome{Parameters: len(b.Parameters), Tags: len(b.Tags) + len(b.Properties), Points: b.points}
	}
	return outcomes, nil
}
