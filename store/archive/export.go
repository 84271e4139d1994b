package archive

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tracker/blob"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/export"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/record"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/sqlite"
	"tracker/store/transfer"
	format "tracker/store/transfer/archive"
)

// Query selects the contents of an archive: a project, an experiment, or some of its runs.
type Query struct {
	ProjectID    string // with all its contents
	ExperimentID string // with all its contents
	// Filter selects runs of the experiment, in the language of searches; "" for all.
	Filter string
	// IterationIDs holds the ids of runs of one project, in any order.
	IterationIDs []string
	// Records limits a project to some of its records, as kind/id; nil for all.
	Records []string
	// Context holds records, as kind/id, that are exported besides Records so that the receiver
	// learns that they exist. Records that Records refers to are always exported.
	Context []string
}

// Options are the options of Export.
type Options struct {
	// Base is written as Manifest.Base.
	Base map[string]string
	// Report reports whether the archive has an HTML report.
	Report bool
	// Progress is called with the number of bytes that were written; nil is fine.
	Progress func(n int64)
}

// Extract is a database that holds only the records that a query selects, from one snapshot.
type Extract struct {
	DB    *domain.DB
	Scope string // project, experiment or runs
	// Context holds the records, as kind/id, that are included only because others need them.
	Context []string
	Counts  map[string]int64 // of records, by kind
	// Blobs holds the contents of all artifacts, each once, sorted by hash.
	Blobs []format.Blob

	from     *domain.DB
	ctx      context.Context
	backends map[string]artifact.Backend // of the blobs in from
}

// Open returns the content of an artifact. The reader returns an error at the end of the content
// if its hash is not b.Hash.
func (e *Extract) Open(b format.Blob) (io.ReadCloser, error) {
	content, err := e.from.Artifacts.Open(e.ctx, e.backends[b.Hash], blob.Blob{Hash: b.Hash, Size: b.Size})
	return content, files.AsError(err)
}

// Read calls fn with a view of all records of the extract.
func (e *Extract) Read(ctx context.Context, fn func(*export.View) error) error {
	return e.DB.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		tx := e.DB.Reading(snapshot)
		tx.Actor = domain.System
		return fn(&export.View{Projects: projects.In(tx), Runs: runs.In(tx), Files: files.In(tx), Models: registry.In(tx)})
	})
}

// Curves returns the curves of runs of the extract.
func (e *Extract) Curves(ctx context.Context, iterationIDs []string, q points.CurveQuery) ([]runs.Curve, error) {
	return runs.New(e.DB).Curves(ctx, domain.System, iterationIDs, q)
}

// Count returns the number of records of a kind of package record.
func (e *Extract) Count(kind string) int64 { return e.Counts[kind] }

// readme is the content of README.txt in an archive.
const readme = `This is an archive of tracker, an experiment tracker.

report.html     a report for any browser, without a network
tracker.db      the records as a SQLite database; the view metric_points has all
                points by name:
                  sqlite3 tracker.db 'SELECT * FROM metric_points LIMIT 10'
artifacts/      the files of the runs under their SHA-256; the tables resource and
                blob have their names
manifest.json   what is in the archive, with sizes and hashes

To bring it into a database of tracker, with the same ids:

  tracker import ARCHIVE.zip

To look at it without importing it, unpack it and run there:

  tracker serve --db-file tracker.db --artifact-root artifacts
`

// notCarried lists the data that an archive never contains.
var notCarried = []string{
	"Accounts and permissions are not in it, nor who made a saved view.",
	"Records in the trash are not in it.",
	"The ids of single points are not kept; ids of all else are.",
}

// Export writes an archive of the records that q selects to w. The same records result in the
// same bytes if q.Records is nil. Needs read. After an error, w holds an incomplete archive, which
// no program accepts.
func (db *DB) Export(ctx context.Context, actor domain.Actor, q Query, o Options, w io.Writer) error {
	return db.Extract(ctx, actor, q, func(e *Extract) (err error) {
		c := format.Content{Readme: []byte(readme), Progress: o.Progress, Blobs: e.Blobs, Open: e.Open, Fast: q.Records != nil}
		c.Manifest = format.Manifest{Scope: e.Scope, Context: e.Context, Base: o.Base, Counts: e.Counts, NotCarried: notCarried}
		if o.Report {
			if c.Report, err = export.Report(ctx, e); err != nil {
				return err
			}
		}
		if c.Database, err = e.file(ctx, c.Fast); err != nil {
			return err
		}
		return format.Write(untilDone{ctx, w}, c)
	})
}

// file returns the path of the database file of an archive, for which no more records are read.
// A fast one is the file that the records were copied to, which is not compacted.
func (e *Extract) file(ctx context.Context, fast bool) (path string, err error) {
	if fast {
		return e.DB.Kernel.Path(), e.DB.Kernel.Close()
	}
	path = filepath.Join(filepath.Dir(e.DB.Kernel.Path()), format.DatabaseName)
	return path, e.DB.Kernel.Backup(ctx, path)
}

// untilDone writes to w until ctx is done.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}

// maxWait is how long an export waits for other exports.
const maxWait = 10 * time.Second

var errArchiving = &domain.Error{Code: domain.CodeUnavailable, RetryAfter: maxWait,
	Message: "Two other archives are being processed, which is the maximum; try again in a moment."}

// maxExports is the number of archives that are made at a time. Each uses a database of its own
// with its caches, about 80 MB of memory for a run with 90,000 metrics.
const maxExports = 2

// place waits for a free slot in places, which bounds how many archives are made or read at once.
// The caller must call done.
func place(ctx context.Context, places chan struct{}) (done func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errArchiving) {
			return nil, errArchiving
		}
		return nil, ctx.Err()
	}
}

// Extract calls fn with a copy of the records that q selects, in a folder beside the database
// that is removed afterwards. Needs read. It returns UNAVAILABLE if other exports did not end in
// time.
func (db *DB) Extract(ctx context.Context, actor domain.Actor, q Query, fn func(*Extract) error) error {
	waiting, cancel := context.WithTimeoutCause(ctx, db.wait, errArchiving)
	done, err := place(waiting, db.exporting)
	cancel()
	if err != nil {
		return err
	}
	defer done()
	dir, err := db.scratchDir()
	if err != nil {
		return exportError(err)
	}
	defer os.RemoveAll(dir)
	to, err := db.open(ctx, domain.Options{Path: filepath.Join(dir, "work.db"), Scratch: true, NoRollups: q.Records != nil, Now: func() time.Time { return time.UnixMilli(0) }, Logger: db.base.Log})
	if err != nil {
		return exportError(err)
	}
	e := &Extract{DB: to, Context: []string{}, Counts: map[string]int64{}, from: db.base, ctx: ctx, backends: map[string]artifact.Backend{}}
	err = db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error { return e.fill(ctx, db.base.Reading(snapshot), actor, q) })
	if err == nil {
		err = fn(e)
	}
	return exportError(errors.Join(err, to.Kernel.Close()))
}

// exportError returns err, or STORAGE_FULL if err reports a full disk.
func exportError(err error) error {
	if err != nil && sqlite.IsFull(err) {
		return &domain.Error{Code: domain.CodeStorageFull, Err: err, Message: "Not enough disk space for the archive; free some space and try again."}
	}
	return err
}

// fill copies the records that q selects.
func (e *Extract) fill(ctx context.Context, from *domain.Tx, actor domain.Actor, q Query) error {
	from.Actor = actor
	chosen, err := archived(from, actor, q)
	if err != nil {
		return err
	}
	e.Scope = chosen.scope
	for _, ref := range chosen.refs {
		e.Counts[ref.Kind.Name]++
		if ref.Context {
			e.Context = append(e.Context, ref.String())
		}
	}
	to := target{base: e.DB, actor: domain.System}
	to.claim = func(_ context.Context, hash string, size int64) (func(record.Tx) (int64, error), func(), error) {
		if _, there := e.backends[hash]; !there {
			var backend artifact.Backend
			err := from.Row(`SELECT backend FROM blob WHERE hash = ? AND deleting = 0 ORDER BY id LIMIT 1`, hash).Scan(&backend)
			if err != nil {
				return nil, nil, err
			}
			e.backends[hash] = backend
			e.Blobs = append(e.Blobs, format.Blob{Hash: hash, Size: size})
		}
		return func(tx record.Tx) (id int64, err error) { return blobRow(tx, hash, size) }, func() {}, nil
	}
	c := record.Copier{From: records(from), To: to, Fresh: true, Bare: blobRow, Needed: chosen.needed, Result: &transfer.Result{}}
	err = c.Copy(ctx, chosen.refs)
	e.Counts["metric"] = int64(c.Result.Points)
	e.Counts["parameter"] = int64(c.Result.Parameters)
	e.Counts["resource"] = int64(c.Result.Artifacts)
	slices.SortFunc(e.Blobs, func(a, b format.Blob) int { return cmp.Compare(a.Hash, b.Hash) })
	return err
}

// blobRow inserts a row for a blob into the database of an archive.
func blobRow(tx record.Tx, hash string, size int64) (id int64, err error) {
	err = tx.Row(`INSERT INTO blob (backend, hash, size_bytes) VALUES (?, ?, ?)
		ON CONFLICT (backend, hash) DO UPDATE SET size_bytes = excluded.size_bytes RETURNING id`, artifact.Filesystem, hash, size).Scan(&id)
	return id, err
}

// scratchPrefix is the prefix of the names of temporary files and folders of archives. They are
// beside the database, since that disk has room for them.
const scratchPrefix = "tracker-archive-"

// scratchAge is the age after which a temporary file is taken for a leftover of a killed process.
const scratchAge = 48 * time.Hour

func (db *DB) scratchDir() (string, error) {
	db.removeScratch()
	return os.MkdirTemp(filepath.Dir(db.base.Kernel.Path()), scratchPrefix)
}

// ScratchFile creates a file beside the database. The caller removes it.
func (db *DB) ScratchFile() (*os.File, error) {
	db.removeScratch()
	return os.CreateTemp(filepath.Dir(db.base.Kernel.Path()), scratchPrefix+"*.zip")
}

// removeScratch removes temporary files of killed processes.
func (db *DB) removeScratch() {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(db.base.Kernel.Path()), scratchPrefix+"*"))
	for _, path := range left {
		info, e := os.Lstat(path)
		if e == nil && time.Since(info.ModTime()) > scratchAge {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		db.base.Log.Warn("files that an export or import has left behind could not be removed", "error", err)
	}
}
