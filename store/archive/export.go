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

// Query selects the records of an archive: a project, an experiment, or individual runs.
type Query struct {
	ProjectID    string // id of a record to export with everything it contains
	ExperimentID string // id of a record to export with everything it contains
	// Filter selects runs of the experiment. Filter is a search expression; "" selects all
	// runs.
	Filter string
	// IterationIDs holds the ids of runs. All runs must be in the same project. Their order does
	// not matter.
	IterationIDs []string
	// Records limits the export of a project to the given records, each in the form "kind/id".
	// If Records is nil, all records are exported.
	Records []string
	// Context holds additional records, each in the form "kind/id". Export includes these records
	// only to inform the receiver that they exist. Export always includes every record to which an
	// element of Records refers.
	Context []string
}

// Options holds the options of Export.
type Options struct {
	// Base is stored in Manifest.Base.
	Base map[string]string
	// Report requests an HTML report in the archive.
	Report bool
	// State is called for each exported record that is not in Manifest.Context, with the record's
	// name (kind/id) and its state. State can be nil.
	State func(name string, s record.State)
	// Progress is called after each write with the number of bytes just written. Progress can
	// be nil.
	Progress func(n int64)
}

// Extract is a database that contains only the records selected by a query, all from one
// snapshot.
type Extract struct {
	DB    *domain.DB
	Scope string // project, experiment or runs
	// Context holds the records, each in the form "kind/id", that are included only because
	// other records refer to them.
	Context []string
	Counts  map[string]int64 // number of records, by kind
	// Blobs lists the blobs of all artifacts, sorted by hash. A blob that several artifacts share
	// is listed once.
	Blobs []format.Blob

	from     *domain.DB
	ctx      context.Context
	backends map[string]artifact.Backend // backend of each blob in the database from, by hash
}

// Open returns a reader of a blob's bytes. If the bytes do not match b.Hash, the reader returns an
// error at the end.
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

// Curves returns the curves of the given runs.
func (e *Extract) Curves(ctx context.Context, iterationIDs []string, q points.CurveQuery) ([]runs.Curve, error) {
	return runs.New(e.DB).Curves(ctx, domain.System, iterationIDs, q)
}

// Count returns the number of records of the given kind. Package record defines the kinds.
func (e *Extract) Count(kind string) int64 { return e.Counts[kind] }

// readme is the content of README.txt in an archive.
const readme = `This is an archive of tracker, an experiment tracker.

report.html     a report that any browser shows without a network
tracker.db      the records as a SQLite database; the view metric_points has all
                points with their names:
                  sqlite3 tracker.db 'SELECT * FROM metric_points LIMIT 10'
artifacts/      the files of the runs, named by SHA-256; the tables resource and
                blob map them to their original names
manifest.json   a list of everything in the archive, with sizes and hashes

To import it into a tracker database, with the same ids:

  tracker import ARCHIVE.zip

To look at it without importing it, unpack it and run there:

  tracker serve --db-file tracker.db --artifact-root artifacts
`

// notCarried lists the data that an archive never contains.
var notCarried = []string{
	"Accounts, permissions and the creators of saved views are not included.",
	"Records in the trash are not included.",
	"The ids of individual points are not included. All other ids are.",
}

// Export writes an archive of the records selected by q to w. If q.Records is nil, equal records
// produce identical bytes. Export requires the read right. If Export returns an error, the bytes
// written to w are not a valid archive.
func (db *DB) Export(ctx context.Context, actor domain.Actor, q Query, o Options, w io.Writer) error {
	return db.extract(ctx, actor, q, o.State, func(e *Extract) (err error) {
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

// file returns the path of the archive's database file. If fast is true, file closes the database
// of e and returns its path, so the caller must not read more records from e. If fast is false,
// file writes a compacted copy.
func (e *Extract) file(ctx context.Context, fast bool) (path string, err error) {
	if fast {
		return e.DB.Kernel.Path(), e.DB.Kernel.Close()
	}
	path = filepath.Join(filepath.Dir(e.DB.Kernel.Path()), format.DatabaseName)
	return path, e.DB.Kernel.Backup(ctx, path)
}

// untilDone is a writer that writes to w. It returns an error after ctx is done.
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

// maxWait is the maximum time that an export waits for other exports.
const maxWait = 10 * time.Second

var errArchiving = &domain.Error{Code: domain.CodeUnavailable, RetryAfter: maxWait,
	Message: "Two other archives are being processed, which is the maximum; try again in a moment."}

// maxExports is the maximum number of concurrent exports. Each export opens its own database.
// The caches of that database take about 80 MB of memory for a run with 90,000 metrics.
const maxExports = 2

// place waits for a free slot in places. The capacity of places bounds the number of concurrent
// exports or imports. The caller must call done to free the slot.
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

// Extract copies the records selected by q to a temporary database and calls fn with the copy. The
// copy is in a folder next to the database. Extract removes the folder after fn returns. Extract
// requires the read right. It returns UNAVAILABLE if no export slot becomes free in time.
func (db *DB) Extract(ctx context.Context, actor domain.Actor, q Query, fn func(*Extract) error) error {
	return db.extract(ctx, actor, q, nil, fn)
}

// extract is like Extract. state is called as described for Options.State.
func (db *DB) extract(ctx context.Context, actor domain.Actor, q Query, state func(string, record.State), fn func(*Extract) error) error {
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
	open := db.open
	if q.Records != nil {
		open = db.openFast
	}
	to, err := open(ctx, domain.Options{Path: filepath.Join(dir, "work.db"), Scratch: true, Now: func() time.Time { return time.UnixMilli(0) }, Logger: db.base.Log})
	if err != nil {
		return exportError(err)
	}
	e := &Extract{DB: to, Context: []string{}, Counts: map[string]int64{}, from: db.base, ctx: ctx, backends: map[string]artifact.Backend{}}
	var event domain.Event
	err = db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		tx := db.base.Reading(snapshot)
		err := e.fill(ctx, tx, actor, q, state)
		if err == nil {
			event, err = exported(tx, q)
		}
		return err
	})
	if err == nil {
		db.audit.Note(ctx, actor, event)
		err = fn(e)
	}
	return exportError(errors.Join(err, to.Kernel.Close()))
}

// fastPageSize is the page size of a database that is sent to another server. It is not used for
// other archives: for a run with 90,000 metrics, compacting a database with such small pages takes
// 70 MB more memory.
const fastPageSize = 4096

// openFast creates and opens a database that is sent to another server. From the second call on, it
// copies the empty file of the first call and does not run the migrations again.
func (db *DB) openFast(ctx context.Context, o domain.Options) (*domain.DB, error) {
	o.NoRollups, o.PageSize = true, fastPageSize
	if empty := db.empty.Load(); empty != nil {
		if err := os.WriteFile(o.Path, *empty, 0o600); err != nil {
			return nil, err
		}
		return db.open(ctx, o)
	}
	to, err := db.open(ctx, o)
	if err != nil {
		return nil, err
	}
	empty, err := os.ReadFile(o.Path)
	if err != nil {
		return nil, errors.Join(err, to.Kernel.Close())
	}
	db.empty.Store(&empty)
	return to, nil
}

// exportError returns STORAGE_FULL if err reports a full disk. Otherwise it returns err.
func exportError(err error) error {
	if err != nil && sqlite.IsFull(err) {
		return &domain.Error{Code: domain.CodeStorageFull, Err: err, Message: "Not enough disk space for the archive; free some space and try again."}
	}
	return err
}

// fill copies the records selected by q into e. state can be nil.
func (e *Extract) fill(ctx context.Context, from *domain.Tx, actor domain.Actor, q Query, state func(string, record.State)) error {
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
	if state != nil {
		c.State = func(ref record.Ref, s record.State) { state(ref.String(), s) }
	}
	err = c.Copy(ctx, chosen.refs)
	e.Counts["metric"] = int64(c.Result.Points)
	e.Counts["parameter"] = int64(c.Result.Parameters)
	e.Counts["resource"] = int64(c.Result.Artifacts)
	slices.SortFunc(e.Blobs, func(a, b format.Blob) int { return cmp.Compare(a.Hash, b.Hash) })
	return err
}

// blobRow inserts a row for a blob into the database of an archive and returns the row's id.
func blobRow(tx record.Tx, hash string, size int64) (id int64, err error) {
	err = tx.Row(`INSERT INTO blob (backend, hash, size_bytes) VALUES (?, ?, ?)
		ON CONFLICT (backend, hash) DO UPDATE SET size_bytes = excluded.size_bytes RETURNING id`, artifact.Filesystem, hash, size).Scan(&id)
	return id, err
}

// scratchPrefix is the name prefix of temporary files and folders. Temporary files are created next
// to the database, because its disk is expected to have enough space.
const scratchPrefix = "tracker-archive-"

// scratchAge is the age at which a temporary file is removed. An older file was left behind by
// a killed process.
const scratchAge = 48 * time.Hour

func (db *DB) scratchDir() (string, error) {
	db.removeScratch()
	return os.MkdirTemp(filepath.Dir(db.base.Kernel.Path()), scratchPrefix)
}

// ScratchFile creates a temporary file next to the database. The caller must remove the file.
func (db *DB) ScratchFile() (*os.File, error) {
	db.removeScratch()
	return os.CreateTemp(filepath.Dir(db.base.Kernel.Path()), scratchPrefix+"*.zip")
}

// removeScratch removes temporary files left behind by killed processes.
func (db *DB) removeScratch() {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(db.base.Kernel.Path()), scratchPrefix+"*"))
	for _, path := range left {
		info, e := os.Lstat(path)
		if e == nil && time.Since(info.ModTime()) > scratchAge {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		db.base.Log.Warn("could not remove files left behind by an export or import", "error", err)
	}
}
