package files

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"

	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/registry"
)

// Tree identifies a file tree by its iteration or logged model. The name of an artifact is its
// path in the tree. A folder exists if it contains files. If several artifacts have the same
// name, the tree contains the newest artifact.
type Tree struct {
	IterationID   string
	LoggedModelID string // ignored if IterationID is set
}

// TreePlace selects the artifacts of a Tree by an SQL condition and a name prefix.
type TreePlace struct {
	experimentID string
	condition    string
	owner        any // argument of condition
	prefix       string
	iteration    *domain.IterationState // state of the tree's iteration; nil for a logged model
}

// AllowTree checks that actor has the wanted right in the project of the iteration or logged
// model. It returns NOT_FOUND if the iteration or logged model does not exist.
func AllowTree(tx *domain.Tx, actor domain.Actor, t Tree, want domain.Right) (TreePlace, error) {
	if t.IterationID == "" {
		m, _, err := registry.AllowLoggedModel(tx, actor, t.LoggedModelID, want)
		return TreePlace{experimentID: m.ExperimentID, condition: `resource.experiment_id = ? AND resource.iteration_num IS NULL`,
			owner: m.ExperimentID, prefix: registry.LoggedModelFolder(m.ID)}, err
	}
	it, err := tx.AllowIteration(actor, t.IterationID, want)
	return TreePlace{experimentID: it.ExperimentID, condition: `resource.iteration_num = ?`, owner: it.Num, iteration: &it}, err
}

// below returns the range of artifact names in a folder. from is inclusive and to is exclusive;
// "" means unbounded.
func (t TreePlace) below(folder string) (from, to string) {
	folder = strings.TrimSuffix(t.prefix+folder, "/")
	if folder == "" {
		return "", ""
	}
	return folder + "/", folder + "0" // '0' is the character after '/'
}

// File describes a file or a folder in a Tree.
type File struct {
	Name   string `db:"name"` // last element of the path
	Folder bool   `db:"folder"`
	Size   int64  `db:"size"` // in bytes; 0 for a folder
}

// MaxFiles is the maximum number of entries that Files returns. Files returns INVALID_PAYLOAD
// for a folder with more entries.
const MaxFiles = 100_000

// Files returns the direct entries of a folder, sorted by name. The folder "" is the root of
// the tree. If the folder does not exist, Files returns an empty list. It requires the right to
// read.
func (db *DB) Files(ctx context.Context, actor domain.Actor, t Tree, folder string) ([]File, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]File, error) {
		at, err := AllowTree(tx, actor, t, domain.RightRead)
		if err != nil {
			return nil, err
		}
		from, to := at.below(folder)
		all := []File{}
		err = tx.Select(&all, `SELECT
				iif(slash, substr(rest, 1, slash - 1), rest) AS name,
				slash > 0 AS folder,
				iif(slash, 0, size_bytes) AS size
			FROM (SELECT rest, instr(rest, '/') AS slash, size_bytes, max(num)
				FROM (SELECT substr(resource.name, ?) AS rest, blob.size_bytes, resource.num `+domain.ResourceFrom+`
					WHERE `+at.condition+` AND resource.name >= ? AND (? = '' OR resource.name < ?)
					AND resource.deleted_date IS NULL)
				GROUP BY iif(instr(rest, '/'), substr(rest, 1, instr(rest, '/')), rest))
			ORDER BY name, folder LIMIT ?`, len([]rune(from))+1, at.owner, from, to, to, MaxFiles+1)
		if err == nil && len(all) > MaxFiles {
			err = domain.Invalid("path", "The folder has more than %d entries; list one of its subfolders.", MaxFiles)
		}
		return all, err
	})
}

// FileNamed returns the artifact id of a file in a tree. It returns sql.ErrNoRows if the file
// does not exist.
func FileNamed(tx *domain.Tx, at TreePlace, name string) (id string, err error) {
	err = tx.Row(`SELECT resource.id `+domain.ResourceFrom+`WHERE `+at.condition+` AND resource.name = ? AND resource.deleted_date IS NULL
		ORDER BY resource.num DESC LIMIT 1`, at.owner, at.prefix+name).Scan(&id)
	return id, err
}

// OpenFile is like OpenArtifact, but for a file in a tree.
func (db *DB) OpenFile(ctx context.Context, actor domain.Actor, t Tree, name string) (Artifact, io.ReadSeekCloser, error) {
	id, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (string, error) {
		at, err := AllowTree(tx, actor, t, domain.RightRead)
		if err != nil {
			return "", err
		}
		id, err := FileNamed(tx, at, name)
		return id, domain.OrNotFound(err, "file")
	})
	if err != nil {
		return Artifact{}, nil, err
	}
	return db.OpenArtifact(ctx, actor, id)
}

// AllowFile checks that actor may create the named file. Handlers call AllowFile before they
// receive the bytes, to avoid useless large uploads.
func (db *DB) AllowFile(ctx context.Context, actor domain.Actor, t Tree, name string) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		at, err := AllowTree(tx, actor, t, domain.RightCreate)
		if err == nil {
			err = CheckArtifactName(at.prefix + name)
		}
		if err != nil {
			return err
		}
		_, err = tx.AllowOpenExperiment(actor, at.experimentID, domain.RightCreate)
		return err
	})
}

// WriteFile writes received bytes to a file in a tree. If the file exists, WriteFile replaces
// its bytes. The experiment must be in progress, but the iteration can have ended. WriteFile
// requires the right to create. For an existing file, it also requires the right to update.
func (db *DB) WriteFile(ctx context.Context, actor domain.Actor, t Tree, name, contentType string, b *artifact.Received) error {
	if contentType == "" {
		contentType = DefaultContentType
	}
	if err := CheckContentType(contentType); err != nil {
		return err
	}
	former, err := put(ctx, db, actor, b, func(tx *domain.Tx, blobID int64) (int64, error) {
		at, err := AllowTree(tx, actor, t, domain.RightCreate)
		if err != nil {
			return 0, err
		}
		if err := CheckArtifactName(at.prefix + name); err != nil {
			return 0, err
		}
		id, err := FileNamed(tx, at, name)
		if errors.Is(err, sql.ErrNoRows) {
			_, err := InsertArtifact(tx, actor, at.experimentID,
				NewArtifact{Name: at.prefix + name, IterationID: t.IterationID, ContentType: contentType}, blobID)
			return 0, err
		}
		if err != nil {
			return 0, err
		}
		return updateArtifact(tx, actor, id, ArtifactPatch{ContentType: &contentType}, &blobID)
	})
	if err != nil || former == 0 {
		return err
	}
	db.removeFormer(ctx, former)
	return nil
}
