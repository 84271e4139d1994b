package transfer

import (
	"context"
	"fmt"
	"path"

	"github.com/google/uuid"
)

// Options holds the options of an import.
type Options struct {
	Project    string // name of the project; "" for the project in the source
	Experiment string // name of the experiment; "" for the experiment in the source
	Name       string // name of the run, if the source has only one; "" for its name in the source
	// Only holds patterns of path.Match. A run is imported if one of them matches its name or the
	// name of its experiment. If Only is empty, all runs are imported.
	Only        []string
	Deleted     bool // import runs that the source has deleted, too, into the trash
	NoArtifacts bool
	// ArtifactFolder is the folder in which MLflow's server stores artifacts. If it is "",
	// artifacts are looked for next to the store of the source.
	ArtifactFolder string
	DryRun         bool // read the source, but write nothing
	// KeepAll keeps points that a restarted run repeats. Otherwise the later points replace the
	// earlier ones.
	KeepAll bool
	// Step and Time are the names of columns of a table. If one is "", the column is guessed.
	Step, Time string
	// Progress is called with the number of bytes that were read. It may be nil.
	Progress func(n int64)
}

// Source is a set of runs at a path, in one format.
type Source interface {
	// Size returns the number of bytes to read, 0 if unknown.
	Size() int64
	// Import imports all runs.
	Import(ctx context.Context, im *Import) error
}

// Import is one import into a sink.
type Import struct {
	Options
	Result *Result
	sink   Sink
	named  uuid.UUID // the run that was given Options.Name
	done   map[uuid.UUID]fate
	stamps map[uuid.UUID]uint64 // of the source files that were imported before
	homes  map[uuid.UUID]home   // projects of the runs that were imported before
	away   map[home]map[uuid.UUID]bool
	queue  []*RunWriter
	read   int64 // bytes that were not reported to Progress yet
	points int   // in the queue
	series int   // in the queue
	size   int   // bytes of texts in the queue
}

// home is the project of a run that was imported before.
type home struct{ id, name string }

// fate is the result for one run. Each run is counted in one field of Result.
type fate int

const (
	unchanged fate = iota
	leftOut
	grown
	created
)

const (
	// batchPoints is the number of points in a transaction. Writing them takes a fraction of a
	// second, so that a server with the same database does not wait long.
	batchPoints = 32768
	// Batches with many series are larger, since a series costs as much as some points in each
	// batch: a batch may have seriesPoints for each series, up to maxBatchPoints. A batch with
	// maxBatchSeries is written when it has batchPoints.
	seriesPoints   = 32
	maxBatchPoints = 8 * batchPoints
	maxBatchSeries = 2 * batchPoints
	// batchRuns is the largest number of runs in a transaction.
	batchRuns = 128
	// batchText is the number of bytes of parameters and texts after which a transaction is
	// written.
	batchText = 4 << 20
	// progressBytes is the number of bytes after which Progress is called.
	progressBytes = 256 << 10
	// maxMade is the size limit of an artifact that is made in memory, in bytes.
	maxMade = 64 << 20
)

// New returns an import that writes to sink.
func New(sink Sink, o Options) *Import {
	return &Import{Options: o, Result: &Result{Losses: []Loss{}}, sink: sink, done: map[uuid.UUID]fate{}, stamps: map[uuid.UUID]uint64{},
		homes: map[uuid.UUID]home{}, away: map[home]map[uuid.UUID]bool{}}
}

// Run imports src and returns when all is written.
func (im *Import) Run(ctx context.Context, src Source) error {
	err := src.Import(ctx, im)
	if err == nil {
		err = im.flush(ctx)
	}
	for h, runs := range im.away {
		im.Lose(im.Result.Path, "%s imported before, into the project %q; their new data goes there.", runsWere(len(runs)), short(h.name))
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

// runsWere returns the beginning of a sentence about n runs.
func runsWere(n int) string {
	if n == 1 {
		return "1 run was"
	}
	return fmt.Sprintf("%d runs were", n)
}

// seekHome records a run that belongs to another project than the requested one because of an
// earlier import.
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

// Read adds n to the number of bytes of the source that were read.
func (im *Import) Read(n int64) {
	im.read += n
	if im.Progress != nil && im.read >= progressBytes {
		im.Progress(im.read)
		im.read = 0
	}
}

// Lose records that something was not imported, or was changed.
func (im *Import) Lose(path, format string, args ...any) { im.Result.Lose(path, format, args...) }

// Files returns the records of source files, by id.
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

// Wanted reports whether a run with one of these names is to be imported.
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

// Unchanged records that nothing is new in a run.
func (im *Import) Unchanged(id uuid.UUID) { im.note(id, unchanged) }

// LeaveOut records that a run is not imported, and the reason.
func (im *Import) LeaveOut(id uuid.UUID, path, format string, args ...any) {
	im.note(id, leftOut)
	im.Lose(path, format, args...)
}

func (im *Import) note(id uuid.UUID, f fate) { im.done[id] = max(im.done[id], f) }

// ReadError is an error from reading the source, as opposed to writing to the sink.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *ReadError) Unwrap() error { return e.Err }

// flush writes the queue.
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
