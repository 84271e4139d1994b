package collections

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
)

// StagingPrefix is the prefix of a folder of a run to which a client uploads the files of a
// version. LogVersion removes the files in such a folder after the version has them.
const StagingPrefix = ".version-"

// MaxLogged is the maximum number of files of a version that LogVersion creates.
const MaxLogged = 10_000

// loggedFile is a file of a run that LogVersion adds to a version.
type loggedFile struct {
	Num         int64  `db:"num"`
	Name        string `db:"name"`
	BlobID      int64  `db:"blob_id"`
	ContentType string `db:"content_type"`
	Hash        string `db:"hash"`
	Size        int64  `db:"size_bytes"`
}

// LogVersion creates a version from files that the run n.IterationID already has, and commits it.
// from is the name of a file or folder of the run. The run keeps the files, and the bytes are
// stored once. If the first part of from begins with StagingPrefix, LogVersion removes the files.
//
// If a version of the collection has the same files, LogVersion adds the aliases and tags to that
// version, and returns it as existing. LogVersion ignores the digest and the client id of n. It
// uses several transactions. If it is interrupted, a second call with the same arguments continues.
// The actor needs the rights to create and to read. The experiment must be in progress.
func (db *DB) LogVersion(ctx context.Context, actor domain.Actor, n NewVersion, from string) (domain.Created, error) {
	err := domain.FirstError(domain.CheckName("type", n.Type), files.CheckArtifactName(from), CheckMetadata(n.Metadata))
	if err != nil {
		return domain.Created{}, err
	}
	// The idempotency key belongs to the last transaction. If its result is stored, the staged
	// files do not exist any more.
	key := domain.KeyFrom(ctx)
	isAnswered, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (bool, error) { return tx.Answered(actor, key) })
	var made domain.Created
	if err == nil && !isAnswered {
		made, err = db.logFiles(domain.WithIdempotencyKey(ctx, domain.IdempotencyKey{}), actor, n, from)
	}
	if err != nil || key.Key == "" {
		return made, err
	}
	return domain.Write(ctx, db.base, actor, func(*domain.Tx) (domain.Created, error) { return made, nil })
}

func (db *DB) logFiles(ctx context.Context, actor domain.Actor, n NewVersion, from string) (made domain.Created, err error) {
	all, err := domain.Read(ctx, db.base, func(tx *domain.Tx) ([]loggedFile, error) { return filesToLog(tx, actor, n.IterationID, from) })
	if err != nil {
		return made, err
	}
	n.Digest = filesDigest(all)
	n.ClientID = "files/" + n.Digest // a second call then finds the pending version of the run
	a, err := db.CreateVersion(ctx, actor, n)
	if err != nil {
		return made, err
	}
	made = domain.Created{ID: a.ID, Existing: a.State == Committed}
	if a.State == Pending {
		if err := db.addFiles(ctx, actor, a.ID, all); err != nil {
			return made, err
		}
		entries := make([]Entry, len(all))
		for i, f := range all {
			entries[i] = Entry{Name: f.Name, Size: f.Size}
		}
		if _, err = db.CommitVersion(ctx, actor, a.ID, entries); err != nil {
			return made, err
		}
	}
	if strings.HasPrefix(from, StagingPrefix) {
		err = db.removeStaged(ctx, actor, n.IterationID, all)
	}
	return made, err
}

// filesToLog returns the files of a run that have the name from or are in the folder from, sorted
// by name. The names in the result are relative to the folder.
func filesToLog(tx *domain.Tx, actor domain.Actor, iterationID, from string) (all []loggedFile, err error) {
	it, err := tx.AllowIteration(actor, iterationID, domain.RightCreate)
	if err == nil {
		err = tx.AllowRun(actor, it.ProjectID, it.Num, domain.RightRead)
	}
	if err != nil {
		return nil, err
	}
	// If several artifacts have the same name, max() selects the row of the newest.
	err = tx.Select(&all, `SELECT max(resource.num) AS num, resource.name, resource.blob_id, resource.content_type, blob.hash, blob.size_bytes `+domain.ResourceFrom+`
		WHERE resource.iteration_num = ? AND (resource.name = ? OR resource.name >= ? AND resource.name < ?) AND resource.deleted_date IS NULL
		GROUP BY resource.name ORDER BY resource.name LIMIT ?`, it.Num, from, from+"/", from+"0", MaxLogged+1)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, domain.Invalid("path", "The run has no file or folder %s; upload the files first.", scalar.Quote(from))
	case len(all) > MaxLogged:
		return nil, domain.Invalid("path", "The folder has more than %d files; put them into an archive file, or log several artifacts.", MaxLogged)
	}
	for i := range all {
		if name, ok := strings.CutPrefix(all[i].Name, from+"/"); ok {
			all[i].Name = name
		} else {
			all[i].Name = path.Base(from)
		}
	}
	return all, nil
}

// filesDigest returns a hash of the names and hashes of files.
func filesDigest(all []loggedFile) string {
	h := sha256.New()
	for _, f := range all {
		fmt.Fprintf(h, "%d:%s:%s\n", len(f.Name), f.Name, f.Hash)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// addFiles adds files to a pending version. It skips files that the version has.
func (db *DB) addFiles(ctx context.Context, actor domain.Actor, id string, all []loggedFile) error {
	for len(all) > 0 {
		var n int
		err := domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
			a, at, err := allowCommit(tx, actor, id)
			if err != nil || a.State == Committed {
				n = len(all)
				return err
			}
			full := domain.Part()
			for n = 0; n < min(len(all), maxCommitted) && (n == 0 || !full()); n++ {
				if err := addFile(tx, actor, &a, at, all[n]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// addFile adds the bytes of an artifact to version a under the name f.Name.
func addFile(tx *domain.Tx, actor domain.Actor, a *Version, at files.TreePlace, f loggedFile) error {
	name := a.File(f.Name)
	if err := files.CheckArtifactName(name); err != nil {
		return err
	}
	if _, err := files.FileNamed(tx, at, name); err == nil || !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	same, err := tx.Has(`SELECT 1 FROM resource JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
		WHERE resource.num = ? AND resource.blob_id = ? AND resource.deleted_date IS NULL`, f.Num, f.BlobID)
	if err == nil && !same {
		err = domain.Errorf(domain.CodeConflict, "The file %s was changed or deleted in the meantime; try again.", scalar.Quote(f.Name))
	}
	if err != nil {
		return err
	}
	_, err = files.InsertArtifact(tx, actor, a.ExperimentID, files.NewArtifact{Name: name, IterationID: a.IterationID, ContentType: f.ContentType}, f.BlobID)
	return err
}

// removeStaged deletes the records of staged files. A file that was replaced in the meantime, or
// that a model version refers to, is kept.
func (db *DB) removeStaged(ctx context.Context, actor domain.Actor, iterationID string, all []loggedFile) error {
	for len(all) > 0 {
		var n int
		err := domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
			if _, err := tx.AllowIteration(actor, iterationID, domain.RightCreate); err != nil {
				return err
			}
			full := domain.Part()
			for n = 0; n < min(len(all), maxCommitted) && (n == 0 || !full()); n++ {
				_, err := tx.Exec(`DELETE FROM resource WHERE num = ? AND blob_id = ?
					AND NOT EXISTS (SELECT 1 FROM model_version WHERE resource_num = resource.num)`, all[n].Num, all[n].BlobID)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}
