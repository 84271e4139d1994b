package store

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
	"tracker/store/files"
	"tracker/store/record"
	"tracker/store/sqlite"
	"tracker/store/transfer"
	"tracker/store/transfer/archive"
)

// ArchiveQuery selects what goes into an archive: a project, an experiment, or some
// of its runs.
type ArchiveQuery struct {
	ProjectID    string // with all that is in it
	ExperimentID string // with all that is in it
	// Filter selects runs of the experiment, in the language of searches; "" for all.
	Filter string
	// IterationIDs are runs of one project, in any order.
	IterationIDs []string
	// Records narrows a project to some of its records, as kind/id; nil for all.
	Records []string
	// Context are records, as kind/id, that go with Records so that the other side sees
	// that they exist. Those that Records refer to go with them in any case.
	Context []string
}

// ArchiveOptions are the options of Export.
type ArchiveOptions struct {
	// Base is written as Manifest.Base.
	Base map[string]string
	// Report makes the page for people; nil for none.
	Report func(ctx context.Context, e *Extract) ([]byte, error)
	// Progress is called with the number of bytes that were written; nil is fine.
	Progress func(n int64)
}

// Extract is a database with just the records that a query selects, as they were at
// one moment.
type Extract struct {
	DB    *DB
	Scope string // project, experiment or runs
	// Context holds the records, as kind/id, that are there only since others need them.
	Context []string
	Counts  map[string]int64 // of records, by kind
	// Blobs are the bytes of all artifacts, each once, by their hashes.
	Blobs []archive.Blob

	from     *DB
	ctx      context.Context
	backends map[string]artifact.Backend // of the blobs in from
}

// Open returns the bytes of an artifact. Reading fails at the end if they are not
// those of the hash.
func (e *Extract) Open(b archive.Blob) (io.ReadCloser, error) {
	content, err := e.from.base.Artifacts.Open(e.ctx, e.backends[b.Hash], blob.Blob{Hash: b.Hash, Size: b.Size})
	return content, files.AsError(err)
}

// archiveReadme is README.txt of an archive.
const archiveReadme = `This is an archive of tracker, an experiment tracker.

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

// notCarried lists what an archive never has.
var notCarried = []string{
	"Accounts and permissions are not in it, nor who made a saved view.",
	"What was in the trash is not in it.",
	"The ids of single points are not kept; ids of all else are.",
}

// Export writes an archive of what q selects to w. The same records give the same
// bytes. Needs read. When it fails, w has a part of an archive that no program
// reads.
func (db *DB) Export(ctx context.Context, actor domain.Actor, q ArchiveQuery, o ArchiveOptions, w io.Writer) error {
	return db.Extract(ctx, actor, q, func(e *Extract) (err error) {
		c := archive.Content{Readme: []byte(archiveReadme), Progress: o.Progress, Blobs: e.Blobs, Open: e.Open, Fast: q.Records != nil}
		c.Manifest = archive.Manifest{Scope: e.Scope, Context: e.Context, Base: o.Base, Counts: e.Counts, NotCarried: notCarried}
		if o.Report != nil {
			if c.Report, err = o.Report(ctx, e); err != nil {
				return err
			}
		}
		c.Database = filepath.Join(filepath.Dir(e.DB.Path()), archive.DatabaseName)
		if err := e.DB.Backup(ctx, c.Database); err != nil {
			return err
		}
		return archive.Write(untilDone{ctx, w}, c)
	})
}

// untilDone writes until a context ends.
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

// archiveWait is how long an export waits for the archives of others.
const archiveWait = 10 * time.Second

var errArchiving = &domain.Error{Code: domain.CodeUnavailable, RetryAfter: archiveWait,
	Message: "Other archives are being made, and only two are at a time; try again in a moment."}

// maxExports is the number of archives that are made at a time: each takes a database of its
// own with its caches. Of a run with 90,000 metrics that is some 80 MB of memory.
const maxExports = 2

// place waits for a place in places, which bounds how many archives are made or read. done
// must be called.
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

// Extract calls fn with a copy of what q selects, in a folder beside the database
// that is removed afterwards. Needs read. UNAVAILABLE when it has waited some seconds for
// other archives.
func (db *DB) Extract(ctx context.Context, actor domain.Actor, q ArchiveQuery, fn func(*Extract) error) error {
	waiting, cancel := context.WithTimeoutCause(ctx, db.archiveWait, errArchiving)
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
	to, err := Open(ctx, Options{Path: filepath.Join(dir, "work.db"), Scratch: true, NoRollups: q.Records != nil, Now: func() time.Time { return time.UnixMilli(0) }, Logger: db.base.Log})
	if err != nil {
		return exportError(err)
	}
	e := &Extract{DB: to, Context: []string{}, Counts: map[string]int64{}, from: db, ctx: ctx, backends: map[string]artifact.Backend{}}
	err = db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error { return e.fill(ctx, db.base.Reading(snapshot), actor, q) })
	if err == nil {
		err = fn(e)
	}
	return exportError(errors.Join(err, to.Close()))
}

// exportError turns the error of a full disk into STORAGE_FULL.
func exportError(err error) error {
	if err != nil && sqlite.IsFull(err) {
		return &domain.Error{Code: domain.CodeStorageFull, Err: err, Message: "There is no room on the disk for the archive; free some and try again."}
	}
	return err
}

// fill copies what q selects.
func (e *Extract) fill(ctx context.Context, from *domain.Tx, actor domain.Actor, q ArchiveQuery) error {
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
	to := archiveTarget{db: e.DB, actor: domain.System}
	to.claim = func(_ context.Context, hash string, size int64) (func(record.Tx) (int64, error), func(), error) {
		if _, there := e.backends[hash]; !there {
			var backend artifact.Backend
			err := from.Row(`SELECT backend FROM blob WHERE hash = ? AND deleting = 0 ORDER BY id LIMIT 1`, hash).Scan(&backend)
			if err != nil {
				return nil, nil, err
			}
			e.backends[hash] = backend
			e.Blobs = append(e.Blobs, archive.Blob{Hash: hash, Size: size})
		}
		return func(tx record.Tx) (id int64, err error) { return blobRow(tx, hash, size) }, func() {}, nil
	}
	c := record.Copier{From: records(from), To: to, Fresh: true, Bare: blobRow, Needed: chosen.needed, Result: &transfer.Result{}}
	err = c.Copy(ctx, chosen.refs)
	e.Counts["metric"] = int64(c.Result.Points)
	e.Counts["parameter"] = int64(c.Result.Parameters)
	e.Counts["resource"] = int64(c.Result.Artifacts)
	slices.SortFunc(e.Blobs, func(a, b archive.Blob) int { return cmp.Compare(a.Hash, b.Hash) })
	return err
}

// blobRow inserts the row of a blob into the database of an archive.
func blobRow(tx record.Tx, hash string, size int64) (id int64, err error) {
	err = tx.Row(`INSERT INTO blob (backend, hash, size_bytes) VALUES (?, ?, ?)
		ON CONFLICT (backend, hash) DO UPDATE SET size_bytes = excluded.size_bytes RETURNING id`, artifact.Filesystem, hash, size).Scan(&id)
	return id, err
}

// scratchPrefix begins the names of temporary files and folders of archives. They are
// beside the database, where there is room.
const scratchPrefix = "tracker-archive-"

// scratchAge is the age after which a temporary file counts as left by a killed process.
const scratchAge = 48 * time.Hour

func (db *DB) scratchDir() (string, error) {
	db.removeScratch()
	return os.MkdirTemp(filepath.Dir(db.Path()), scratchPrefix)
}

// ScratchFile creates a file beside the database, which the caller removes.
func (db *DB) ScratchFile() (*os.File, error) {
	db.removeScratch()
	return os.CreateTemp(filepath.Dir(db.Path()), scratchPrefix+"*.zip")
}

// removeScratch removes temporary files of killed processes.
func (db *DB) removeScratch() {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(db.Path()), scratchPrefix+"*"))
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
