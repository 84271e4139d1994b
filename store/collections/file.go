package collections

import (
	"context"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/json"
)

// Manifest is the name of the file in which W&B's clients list the files of a version.
const Manifest = "wandb_manifest.json"

// File is a file of a version.
type File struct {
	ID          string `json:"resource_id" db:"id"` // id of the artifact that holds the bytes
	Name        string `json:"name" db:"name"`      // path in the version
	Size        int64  `json:"size_bytes" db:"size_bytes"`
	Hash        string `json:"content_hash" db:"hash"` // SHA-256
	ContentType string `json:"content_type" db:"content_type"`
}

// filesFrom is the FROM clause of the files of a version. The manifests of W&B's clients are
// omitted.
const filesFrom = domain.ResourceFrom + `WHERE resource.iteration_num = (SELECT iteration_num FROM artifact_version WHERE num = ?)
	AND resource.name >= ? AND resource.name < ? AND resource.deleted_date IS NULL
	AND resource.name <> ? AND resource.name NOT LIKE ?`

// fileArgs returns the parameters of filesFrom.
func (a *Version) fileArgs() []any {
	folder := a.Folder()
	return []any{a.Num, folder + "/", folder + "0", folder + "/" + Manifest, folder + "/" + Parts + "/%"}
}

// Files returns a page of the stored files of a version, sorted by name. Files that W&B's clients
// logged by address are not stored, and are omitted. The actor needs the right to read.
func (v *View) Files(id string, p domain.Page) (domain.List[File], error) {
	a, err := allowVersion(v.tx, v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return domain.List[File]{}, err
	}
	return v.files(&a, p)
}

// Files calls View.Files on a new snapshot.
func (db *DB) Files(ctx context.Context, actor domain.Actor, id string, p domain.Page) (domain.List[File], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[File], error) { return v.Files(id, p) })
}

func (v *View) files(a *Version, p domain.Page) (domain.List[File], error) {
	l, err := domain.PageOf[File](v.tx, p, `resource.id, resource.name, blob.size_bytes, blob.hash, resource.content_type`, filesFrom, `resource.name, resource.num`, a.fileArgs()...)
	for i := range l.Data {
		l.Data[i].Name = l.Data[i].Name[len(a.Folder())+1:]
	}
	return l, err
}

// SummedFile is a file of a version with its MD5.
type SummedFile struct {
	File
	MD5 string `db:"md5"` // in base64; "" if it was not computed yet
	Num int64  `db:"num"` // row number of the artifact that holds the bytes
}

// SummedFiles returns the stored files of a version with their MD5s, sorted by name, at most
// MaxLogged. The actor needs the right to read.
func (db *DB) SummedFiles(ctx context.Context, actor domain.Actor, id string) ([]SummedFile, error) {
	return view(ctx, db, actor, func(v *View) ([]SummedFile, error) {
		a, err := allowVersion(v.tx, v.tx.Actor, id, domain.RightRead)
		if err != nil {
			return nil, err
		}
		if err := domain.Take(v.tx.Context(), a.Files*versionBytes); err != nil {
			return nil, err
		}
		all := []SummedFile{}
		start := len(a.Folder()) + 2 // SQL counts from 1
		err = v.tx.Select(&all, `SELECT max(resource.num) AS num, resource.id, substr(resource.name, ?) AS name, blob.size_bytes, blob.hash,
				resource.content_type, coalesce((SELECT md5 FROM artifact_file WHERE artifact_num = ? AND name = substr(resource.name, ?)), '') AS md5
			`+filesFrom+` GROUP BY resource.name ORDER BY resource.name LIMIT ?`, append(append([]any{start, a.Num, start}, a.fileArgs()...), MaxLogged)...)
		return all, err
	})
}

// SetSums stores the MD5s of files of a version, by file name. The content of a version never
// changes, so a stored MD5 is kept. The actor needs the right to read.
func (db *DB) SetSums(ctx context.Context, actor domain.Actor, id string, sums map[string]string) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		a, err := allowVersion(tx, actor, id, domain.RightRead)
		if err != nil || a.State != Committed {
			return err
		}
		for name, md5 := range sums {
			if _, err := tx.Exec(`INSERT INTO artifact_file (artifact_num, name, md5) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, a.Num, name, md5); err != nil {
				return err
			}
		}
		return nil
	})
}

// Difference describes how a version differs from another version.
type Difference struct {
	Added, Removed, Changed []string // names of files, sorted
	Cut                     bool     // only the first MaxCompared files of each version were compared
	Metadata                []Change // changed members of the metadata, sorted by key
}

// Change is a changed member of the metadata. The values are JSON; "" means that the member does
// not exist.
type Change struct{ Key, Before, After string }

// IsZero reports whether the versions are equal.
func (d *Difference) IsZero() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Metadata) == 0
}

// MaxCompared is the maximum number of files of each version that Difference compares.
const MaxCompared = 5000

// Difference compares the files, by hash, and the metadata of two versions. The actor needs the
// right to read.
func (v *View) Difference(before, after Version) (d Difference, err error) {
	hashes := [2]map[string]string{{}, {}}
	for i, a := range []*Version{&before, &after} {
		if err := a.allow(v.tx, v.tx.Actor, domain.RightRead); err != nil {
			return d, err
		}
		var rows []File
		err := v.tx.Select(&rows, `SELECT resource.name, blob.hash `+filesFrom+` ORDER BY resource.name, resource.num LIMIT ?`, append(a.fileArgs(), MaxCompared+1)...)
		if err != nil {
			return d, err
		}
		if len(rows) > MaxCompared {
			d.Cut, rows = true, rows[:MaxCompared]
		}
		for _, f := range rows {
			hashes[i][f.Name[len(a.Folder())+1:]] = f.Hash
		}
	}
	for name, hash := range hashes[1] {
		switch former, ok := hashes[0][name]; {
		case !ok:
			d.Added = append(d.Added, name)
		case former != hash:
			d.Changed = append(d.Changed, name)
		}
	}
	for name := range hashes[0] {
		if _, ok := hashes[1][name]; !ok {
			d.Removed = append(d.Removed, name)
		}
	}
	for _, list := range [][]string{d.Added, d.Removed, d.Changed} {
		slices.Sort(list)
	}
	d.Metadata = changes(before.Metadata, after.Metadata)
	return d, nil
}

// changes compares the members of two JSON objects. Text that is not a JSON object has no members.
func changes(before, after string) (all []Change) {
	var from, to map[string]json.Value
	_ = json.Unmarshal([]byte(before), &from)
	_ = json.Unmarshal([]byte(after), &to)
	for key, value := range to {
		if string(from[key]) != string(value) {
			all = append(all, Change{key, string(from[key]), string(value)})
		}
	}
	for key, value := range from {
		if _, ok := to[key]; !ok {
			all = append(all, Change{key, string(value), ""})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return all
}
