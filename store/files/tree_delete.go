package files

import (
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/store/registry"
)

// maxDiscarded is the number of files that one transaction deletes at most: others write
// between two of them.
const maxDiscarded = 1000

// Names are the names of artifacts from the first one on and before the second, "" for no
// bound.
type Names struct{ From, To string }

// FileMark is how far a deletion of files has come. The zero value is its beginning.
type FileMark struct {
	part int // of the names
	name string
	num  int64
}

// lastName is after all names: it can't be printed.
const lastName = "\U0010FFFF"

// DiscardFiles deletes artifacts of a tree by their names, from a mark on and up to
// maxDiscarded. It returns the next mark, and whether there may be more. CONFLICT when a
// model version refers to one of all these artifacts.
func DiscardFiles(tx *domain.Tx, at TreePlace, all []Names, from FileMark) (next FileMark, more bool, err error) {
	for _, n := range all {
		err := registry.RefuseIfVersioned(tx, `EXISTS (SELECT 1 FROM resource
				WHERE resource.num = model_version.resource_num AND resource.deleted_date IS NULL
				AND `+at.condition+` AND resource.name >= ? AND resource.name < ?)`,
			"One of these files is used by %s; delete those versions first.", at.owner, n.From, n.end())
		if err != nil {
			return from, false, err
		}
	}
	discarded, full := false, domain.Part()
	for left := maxDiscarded; from.part < len(all); from = (FileMark{part: from.part + 1}) {
		n := all[from.part]
		var page []struct {
			Num     int64  `db:"num"`
			ID      string `db:"id"`
			Name    string `db:"name"`
			Trashed bool   `db:"trashed"`
		}
		err := tx.Select(&page, `SELECT num, id, name, deleted_date IS NOT NULL AS trashed
			FROM resource
			WHERE `+at.condition+` AND (resource.name, resource.num) > (?, ?) AND resource.name < ?
			ORDER BY resource.name, resource.num LIMIT ?`, at.owner, max(from.name, n.From), from.num, n.end(), left)
		if err != nil {
			return from, false, err
		}
		for _, f := range page {
			if discarded && full() {
				more = true
				break
			}
			from.name, from.num = f.Name, f.Num
			if f.Trashed {
				continue
			}
			if err := tx.Discard(domain.TrashedArtifact, f.ID); err != nil {
				return from, false, err
			}
			discarded = true
		}
		if left -= len(page); left == 0 || more {
			more = true
			break
		}
	}
	if discarded && at.iteration != nil {
		tx.NoteIteration(at.iteration.IterationRef)
	}
	return from, more, nil
}

func (n Names) end() string {
	if n.To == "" {
		return lastName
	}
	return n.To
}

// DeleteFiles moves a file of a tree to the trash, or a folder with all that is in it, ""
// for all; NOT_FOUND when there is neither. Many files go in several transactions: a call
// that is broken off leaves some of them, and another one continues. CONFLICT when a model
// version refers to one of them. Needs delete.
func (db *DB) DeleteFiles(ctx context.Context, actor domain.Actor, t Tree, path string) (err error) {
	path = strings.Trim(path, "/")
	var from, next FileMark
	for more := true; more && err == nil; from = next {
		err = db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
			at, err := AllowTree(tx, actor, t, domain.RightDelete)
			if err != nil {
				return err
			}
			file, folder := at.prefix+path, Names{}
			folder.From, folder.To = at.below(path)
			if from == (FileMark{}) && path != "" {
				var found bool
				err := tx.Row(`SELECT EXISTS (SELECT 1 FROM resource WHERE `+at.condition+` AND name = ? AND deleted_date IS NULL)
						OR EXISTS (SELECT 1 FROM resource WHERE `+at.condition+` AND name >= ? AND name < ? AND deleted_date IS NULL)`,
					at.owner, file, at.owner, folder.From, folder.end()).Scan(&found)
				if err == nil && !found {
					err = domain.NotFound("file or folder")
				}
				if err != nil {
					return err
				}
			}
			next, more, err = DiscardFiles(tx, at, []Names{{file, file + "\x00"}, folder}, from)
			return err
		})
	}
	return err
}
