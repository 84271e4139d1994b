package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tracker/blob"
	"tracker/store/domain"
	"tracker/store/record"
	"tracker/store/sqlite"
	"tracker/store/transfer"
	format "tracker/store/transfer/archive"
)

// ImportOptions holds the options of Import.
type ImportOptions struct {
	DryRun      bool
	NoArtifacts bool
	// Base maps records, each in the form "kind/id", to fingerprints. A fingerprint is the checksum
	// of a record when it was last equal in this database and in the archive's source. If Base is
	// nil, Manifest.Base of the archive is used.
	Base map[string]string
	// Peer reports whether the given record (kind/id) exists in the archive's source. The
	// record need not be in the archive. Peer can be nil.
	Peer func(record string) bool
	// Progress is called with the number of records read and the total number of records.
	// Progress can be nil.
	Progress func(done, all int)
}

// Result is the result of an import.
type Result struct {
	transfer.Result
	// Conflicts holds the records that were not written, each as kind/id. The reasons are in
	// Losses.
	Conflicts []string `json:"conflicts"`
}

// Import imports the records of the archive at path and keeps their ids. It skips records that are
// equal in both databases. If a record has changed in both databases since the last import, Import
// does not write the record but reports a conflict. Calling Import again continues an interrupted
// import. Import requires the create right in existing projects, and the update right for records
// that change.
func (db *DB) Import(ctx context.Context, actor domain.Actor, path string, o ImportOptions) (r *Result, err error) {
	done, err := place(ctx, db.importing)
	if err != nil {
		return nil, err
	}
	defer done()
	a, err := format.Open(path)
	if err != nil {
		return nil, importError(err)
	}
	defer a.Close()
	dir, err := db.scratchDir()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	from, err := db.openArchived(ctx, a, dir)
	if err != nil {
		return nil, importError(err)
	}
	defer func() { err = errors.Join(err, from.Kernel.Close()) }()
	r = &Result{Result: transfer.Result{Kind: "archive", Path: path, Losses: []transfer.Loss{}}, Conflicts: []string{}}
	err = from.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		inside := records(from.Reading(snapshot))
		refs, err := inside.All(a.Manifest.Context)
		if err != nil {
			return err
		}
		to := target{base: db.base, files: db.files, actor: actor}
		to.claim = func(ctx context.Context, hash string, size int64) (func(record.Tx) (int64, error), func(), error) {
			content, err := a.Blob(format.Blob{Hash: hash, Size: size})
			if err != nil {
				return nil, nil, err
			}
			defer content.Close()
			return db.received(ctx, content, hash)
		}
		c := record.Copier{From: inside, To: to, DryRun: o.DryRun, NoArtifacts: o.NoArtifacts, Peer: o.Peer, Result: &r.Result}
		defer func() { r.Conflicts = append(r.Conflicts, c.Conflicts...) }()
		base := o.Base
		if base == nil {
			base = a.Manifest.Base
		}
		if base != nil {
			c.Base = func(ref record.Ref) string { return base[ref.String()] }
		}
		if o.Progress != nil {
			done := 0
			c.Progress = func() { done++; o.Progress(done, len(refs)) }
		}
		return c.Copy(ctx, refs)
	})
	if err == nil && !o.DryRun {
		detail := fmt.Sprintf("%d runs, %d new", r.Found, r.Created)
		db.audit.Note(ctx, actor, domain.Event{Action: domain.ActionImport, Name: "an archive of " + archiveWords[a.Manifest.Scope], Detail: detail})
	}
	return r, importError(err)
}

// archiveWords maps the scope of an archive to its name in the audit trail.
var archiveWords = map[string]string{"project": "a project", "experiment": "an experiment", "runs": "runs"}

// importError returns INVALID_PAYLOAD if err describes a defect of the archive. Otherwise it
// returns err.
func importError(err error) error {
	var bad *format.Error
	var file *sqlite.FileError
	switch {
	case errors.As(err, &bad):
		return domain.Invalid("archive", "The archive can't be imported: %s.", bad.Message)
	case errors.As(err, &file) && file.Problem != sqlite.NoRoom:
		// The user knows only the name of the file in the archive, and not where it was extracted.
		text := strings.ReplaceAll(file.Error(), filepath.Dir(file.Path)+string(filepath.Separator), "")
		return domain.Invalid("archive", "The database in the archive can't be imported: %s.", text)
	}
	return err
}

// openArchived extracts the database of an archive into dir, checks it, and opens it.
func (db *DB) openArchived(ctx context.Context, a *format.Archive, dir string) (*domain.DB, error) {
	path := filepath.Join(dir, format.DatabaseName)
	if err := checkRoom(dir, a.Manifest.Files); err != nil {
		return nil, err
	}
	if err := a.Extract(path); err != nil {
		return nil, err
	}
	if err := db.schema().Unchanged(ctx, path, db.schemas); err != nil {
		return nil, err
	}
	if err := db.schema().Verify(ctx, path); err != nil {
		return nil, err
	}
	return db.open(ctx, domain.Options{Path: path, MustExist: true, Scratch: true})
}

// checkRoom returns STORAGE_FULL if the disk has too little space for the database of an
// archive.
func checkRoom(dir string, files []format.File) error {
	free, err := blob.FreeSpace(dir)
	if err != nil {
		return nil // the write will report a full disk
	}
	for _, f := range files {
		if f.Name == format.DatabaseName && f.Size > free {
			return domain.Errorf(domain.CodeStorageFull, "The database in the archive has %d bytes, but only %d are free; free some space.", f.Size, free)
		}
	}
	return nil
}
