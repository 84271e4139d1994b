package files

import (
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/store/registry"
)

// maxDiscarded is the maximum number of files that one transaction deletes. Other writers can
// write between the transactions.
const maxDiscarded = 1000

// Names is a range of artifact names. From is inclusive and To is exclusive; "" means
// unbounded.
type Names struct{ From, To string }

// FileMark is the progress of DiscardFiles. The zero value is the beginning.
type FileMark struct {
	part int // index in the list of name ranges
	name string
	num  int64
}

// lastName sorts after all artifact names, because names contain only printable characters.
const lastName = "\U0010FFFF"

// DiscardFiles deletes a tree's artifacts with names in the given ranges. It begins at the mark
// from and processes at most maxDiscarded artifacts. more is set if artifacts might remain; the
// caller then continues at next. DiscardFiles returns CONFLICT if a model version refers to an
// artifact in the ranges.
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
	return from, more, nil
}

func (n Names) end() string {
	if n.To == "" {
		return lastName
	}
	return n.To
}

// DeleteFiles moves a file, or a folder with all its files, to the trash. The path "" is the
// root. DeleteFiles uses several transactions for many files. After an interrupted call, the
// caller can repeat the call to delete the remaining files. DeleteFiles returns NOT_FOUND if
// path does not exist. It returns CONFLICT if a model version refers to one of the files. It
// requires the right to delete.
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
