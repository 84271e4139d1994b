package collections

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
	"tracker/store/registry"
	"tracker/store/scalar"
)

// UseVersion records that an iteration uses an artifact version. The actor needs the right to
// create for the iteration and the right to read for the version.
func (db *DB) UseVersion(ctx context.Context, actor domain.Actor, id, iterationID string) (Version, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Version, error) {
		a, err := allowVersion(tx, actor, id, domain.RightRead)
		if err != nil {
			return a, err
		}
		it, err := tx.AllowIteration(actor, iterationID, domain.RightCreate)
		if err != nil {
			return a, err
		}
		_, err = tx.Exec(`INSERT INTO artifact_use (artifact_num, iteration_num) VALUES (?, ?) ON CONFLICT DO NOTHING`, a.Num, it.Num)
		return a, err
	})
}

// Patch holds the new values for UpdateVersion. UpdateVersion does not change a field whose value
// is nil.
type Patch struct {
	Description *string
	Metadata    *string  // JSON object, or ""
	Aliases     []string // replaces all aliases of the version except Latest; nil keeps them
	Add         []string // list of aliases
	Remove      []string // list of aliases
	Tags        []string // replaces all tags of the version; nil keeps them
	AddTags     []string
	RemoveTags  []string
	TTL         *int64 // in seconds; 0 means that the version is kept
}

// UpdateVersion changes an artifact version. An alias that another version of the collection has is
// moved to this version. UpdateVersion ignores the alias Latest, which always belongs to the
// version that was logged last. The actor needs the right to update.
func (db *DB) UpdateVersion(ctx context.Context, actor domain.Actor, id string, p Patch) (Version, error) {
	err := domain.FirstError(checkAliases(p.Aliases), checkAliases(p.Add), checkTags(p.Tags), checkTags(p.AddTags),
		domain.CheckOptional("description", p.Description), domain.CheckOptional("metadata", p.Metadata), checkTTL(p.TTL))
	if err != nil {
		return Version{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (Version, error) {
		a, err := allowVersion(tx, actor, id, domain.RightUpdate)
		if err != nil {
			return a, err
		}
		if a.State == Deleted {
			return a, domain.Errorf(domain.CodeConflict, "The artifact was deleted; log it again.")
		}
		if _, err := tx.Exec(`UPDATE artifact_version SET
				description  = coalesce(?, description),
				metadata     = coalesce(?, metadata),
				ttl          = nullif(coalesce(?, ttl), 0),
				updated_date = ?
			WHERE num = ?`, p.Description, p.Metadata, p.TTL, tx.Now, a.Num); err != nil {
			return a, err
		}
		if err := patchAliases(tx, &a, p); err != nil {
			return a, err
		}
		if err := patchTags(tx, &a, p); err != nil {
			return a, err
		}
		return versionByID(tx, id)
	})
}

// patchAliases changes the aliases of version a.
func patchAliases(tx *domain.Tx, a *Version, p Patch) error {
	isLatest := func(alias string) bool { return alias == Latest }
	for _, alias := range without(a.Aliases, p.Aliases, p.Remove) {
		if alias == Latest {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM artifact_alias WHERE artifact_num = ? AND alias = ?`, a.Num, alias); err != nil {
			return err
		}
	}
	return setAliases(tx, a, slices.DeleteFunc(slices.Concat(p.Aliases, p.Add), isLatest))
}

// patchTags changes the tags of version a.
func patchTags(tx *domain.Tx, a *Version, p Patch) error {
	for _, tag := range without(a.Tags, p.Tags, p.RemoveTags) {
		if _, err := tx.Exec(`DELETE FROM artifact_tag WHERE artifact_num = ? AND tag = ?`, a.Num, tag); err != nil {
			return err
		}
		a.Tags = slices.DeleteFunc(a.Tags, func(t string) bool { return t == tag })
	}
	return addTags(tx, a, slices.Concat(p.Tags, p.AddTags))
}

// without returns the elements of old that are in remove, or that replacement lacks. If replacement
// is nil, it is ignored.
func without(old, replacement, remove []string) (gone []string) {
	for _, s := range old {
		if slices.Contains(remove, s) || replacement != nil && !slices.Contains(replacement, s) {
			gone = append(gone, s)
		}
	}
	return gone
}

// DeleteVersion deletes a version and moves its files to the trash. The number of the version is
// not reused. If the version has the alias Latest, the newest remaining version gets it. The actor
// needs the right to delete.
//
// DeleteVersion returns CONFLICT if a model version refers to one of the files, or if the version
// has an alias other than latest and withAliases is false. It uses several transactions. If it is
// interrupted, the version is deleted but some files remain; a second call moves them to the trash.
func (db *DB) DeleteVersion(ctx context.Context, actor domain.Actor, id string, withAliases bool) (a Version, err error) {
	var from, next files.FileMark
	for more := true; more && err == nil; from = next {
		err = db.base.Discard(ctx, actor, func(tx *domain.Tx) (err error) {
			if a, err = allowVersion(tx, actor, id, domain.RightDelete); err != nil {
				return err
			}
			for _, alias := range a.Aliases {
				if alias != Latest && !withAliases {
					return domain.Errorf(domain.CodeConflict, "The artifact has the alias %s; remove it first, or delete the artifact with its aliases.", scalar.Quote(alias))
				}
			}
			err = registry.RefuseIfVersioned(tx, `model_version.source = ?`,
				"The artifact is used by %s; delete those versions first.", registry.ArtifactSource+a.ID)
			if err != nil {
				return err
			}
			at, err := files.AllowTree(tx, actor, files.Tree{IterationID: a.IterationID}, domain.RightDelete)
			if err != nil {
				return err
			}
			next, more, err = files.DiscardFiles(tx, at, []files.Names{{From: a.Folder() + "/", To: a.Folder() + "0"}}, from)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`DELETE FROM artifact_alias WHERE artifact_num = ?`, a.Num); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO artifact_alias (experiment_id, collection, alias, artifact_num)
				SELECT experiment_id, collection, ?, num FROM artifact_version
				WHERE experiment_id = ? AND collection = ? AND state = 'COMMITTED' AND num <> ?
				ORDER BY version DESC LIMIT 1 ON CONFLICT DO NOTHING`, Latest, a.ExperimentID, a.Collection, a.Num); err != nil {
				return err
			}
			if a.State != Deleted {
				err = tx.Audit(domain.Event{Action: domain.ActionDelete, Kind: domain.AuditArtifactVersion, ID: a.ID, Name: a.Folder()})
				if err != nil {
					return err
				}
			}
			a.State = Deleted
			_, err = tx.Exec(`UPDATE artifact_version SET state = 'DELETED', updated_date = ? WHERE num = ?`, tx.Now, a.Num)
			return err
		})
	}
	return a, err
}

func checkAliases(all []string) error {
	if len(all) > domain.MaxLimit {
		return domain.Invalid("aliases", "At most %d aliases can be given.", domain.MaxLimit)
	}
	for _, a := range all {
		if err := domain.CheckName("alias", a); err != nil {
			return err
		}
		if _, ok := versionNumber(a); ok {
			return domain.Invalid("aliases", "%s is the number of a version; choose another alias.", scalar.Quote(a))
		}
	}
	return nil
}

// maxTTL is the maximum time to live of a version, in seconds: a hundred years.
const maxTTL = 100 * 365 * 24 * 3600

func checkTTL(seconds *int64) error {
	if seconds != nil && (*seconds < 0 || *seconds > maxTTL) {
		return domain.Invalid("ttl", "The time to live of a version must be between 0 and %d seconds.", int64(maxTTL))
	}
	return nil
}

// versionNumber returns the number of a version whose name is v and the number.
func versionNumber(name string) (n int64, ok bool) {
	digits, ok := strings.CutPrefix(name, "v")
	if !ok {
		return 0, false
	}
	u, err := strconv.ParseUint(digits, 10, 63)
	return int64(u), err == nil
}

// MaxTags is the maximum number of tags of a version.
const MaxTags = 100

func checkTags(all []string) error {
	if len(all) > MaxTags {
		return errManyTags
	}
	for _, tag := range all {
		if err := domain.CheckName("tag", tag); err != nil {
			return err
		}
	}
	return nil
}

var errManyTags = domain.Invalid("tags", "A version can have at most %d tags.", MaxTags)

// CheckMetadata checks that text is "" or a JSON object. UpdateVersion and CreateVersion accept
// other text as well, because W&B's clients send NaN, which JSON does not have.
func CheckMetadata(text string) error {
	var object map[string]json.Value
	if text != "" && json.Unmarshal([]byte(text), &object) != nil {
		return domain.Invalid("metadata", "metadata must be a JSON object.")
	}
	return nil
}

// addTags adds tags to version a.
func addTags(tx *domain.Tx, a *Version, tags []string) error {
	for _, tag := range tags {
		if slices.Contains(a.Tags, tag) {
			continue
		}
		if len(a.Tags) >= MaxTags {
			return errManyTags
		}
		if _, err := tx.Exec(`INSERT INTO artifact_tag (artifact_num, tag) VALUES (?, ?) ON CONFLICT DO NOTHING`, a.Num, tag); err != nil {
			return err
		}
		a.Tags = append(a.Tags, tag)
	}
	slices.Sort(a.Tags)
	return nil
}

// setAliases adds aliases to version a. An alias that another version has is moved to a.
func setAliases(tx *domain.Tx, a *Version, aliases []string) error {
	for _, alias := range aliases {
		_, err := tx.Exec(`INSERT INTO artifact_alias (experiment_id, collection, alias, artifact_num) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET artifact_num = excluded.artifact_num`, a.ExperimentID, a.Collection, alias, a.Num)
		if err != nil {
			return err
		}
		if !slices.Contains(a.Aliases, alias) {
			a.Aliases = append(a.Aliases, alias)
		}
	}
	return nil
}
