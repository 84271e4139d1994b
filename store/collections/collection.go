package collections

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Collection describes the committed versions of an experiment that have the same name.
type Collection struct {
	ProjectID    string         `db:"project_id"`
	ExperimentID string         `db:"experiment_id"`
	Experiment   string         `db:"experiment"` // name of the experiment
	Name         string         `db:"name"`
	Type         string         `db:"type"`     // type of the newest version
	Versions     int            `db:"versions"` // number of versions
	LatestID     string         `db:"latest_id"`
	Latest       int64          `db:"latest"` // number of the newest version
	Size         int64          `db:"size"`   // size of the newest version in bytes
	Uses         int            `db:"uses"`   // number of pairs of a version and an iteration that uses it
	Description  string         `db:"description"`
	Tags         domain.Strings `db:"tags"`    // sorted
	CreatedDate  scalar.Time    `db:"created"` // time when the first version was logged
	UpdatedDate  scalar.Time    `db:"updated"` // time when the newest version was logged
}

const collectionColumns = `project_id, experiment_id, experiment, name, type, versions, latest_id, latest, size, uses,
	description, tags, created, updated`

// collectionsFrom returns the FROM clause of the collections that where selects.
func collectionsFrom(where search.SQL) string {
	// A bare column of a query with a single max() has the value of the row with the maximum. The
	// subqueries of the other columns do not change this.
	return `FROM (SELECT
			experiment.project_id,
			artifact_version.experiment_id,
			experiment.name AS experiment,
			artifact_version.collection AS name,
			artifact_version.type,
			count(*) AS versions,
			artifact_version.id AS latest_id,
			max(artifact_version.version) AS latest,
			artifact_version.size,
			artifact_version.created_date AS updated,
			(SELECT min(first.created_date) FROM artifact_version AS first WHERE first.experiment_id = artifact_version.experiment_id
				AND first.collection = artifact_version.collection AND first.state = 'COMMITTED') AS created,
			(SELECT count(*) FROM artifact_use JOIN artifact_version AS used ON used.num = artifact_use.artifact_num
				WHERE used.experiment_id = artifact_version.experiment_id AND used.collection = artifact_version.collection) AS uses,
			coalesce((SELECT description FROM artifact_collection AS facts WHERE facts.experiment_id = artifact_version.experiment_id
				AND facts.name = artifact_version.collection), '') AS description,
			coalesce((SELECT tags FROM artifact_collection AS facts WHERE facts.experiment_id = artifact_version.experiment_id
				AND facts.name = artifact_version.collection), '[]') AS tags
		` + versionFrom + `WHERE artifact_version.state = 'COMMITTED'` + where.String() + `
		GROUP BY artifact_version.experiment_id, artifact_version.collection)`
}

// Collections returns a page of the collections of an experiment or, if experimentID is "", of a
// project, sorted by type and name. The actor needs the right to read.
func (v *View) Collections(projectID, experimentID string, p domain.Page) (domain.List[Collection], error) {
	var where search.SQL
	if err := v.scope(&where, Search{ProjectID: projectID, ExperimentID: experimentID}); err != nil {
		return domain.List[Collection]{}, err
	}
	return domain.PageOf[Collection](v.tx, p, collectionColumns, collectionsFrom(where), `type, name, experiment`, where.Args...)
}

// AllCollections returns the collections of a project, at most MaxVersions, the newest first. If
// name is not "", it returns only collections with this name. The actor needs the right to read.
func (v *View) AllCollections(projectID, name string) ([]Collection, error) {
	var where search.SQL
	if err := v.scope(&where, Search{ProjectID: projectID}); err != nil {
		return nil, err
	}
	if name != "" {
		where.Add(` AND artifact_version.collection = ?`, name)
	}
	return limited[Collection](v.tx, `octet_length(description) + octet_length(tags)`, collectionColumns+` `+collectionsFrom(where),
		`created DESC, name`, where.Args)
}

// AllCollections calls View.AllCollections on a new snapshot.
func (db *DB) AllCollections(ctx context.Context, actor domain.Actor, projectID, name string) ([]Collection, error) {
	return view(ctx, db, actor, func(v *View) ([]Collection, error) { return v.AllCollections(projectID, name) })
}

// CollectionPatch holds the new values for UpdateCollection. UpdateCollection does not change a
// field whose value is nil.
type CollectionPatch struct {
	Description *string
	Type        *string // type of all versions
	AddTags     []string
	RemoveTags  []string
}

const collectionEntity domain.Entity = "artifact"

// allowCollection returns an error if the collection has no version or if actor lacks the right
// want.
func allowCollection(tx *domain.Tx, actor domain.Actor, experimentID, name string, want domain.Right) error {
	var projectID string
	err := tx.Row(`SELECT experiment.project_id `+versionFrom+`WHERE artifact_version.experiment_id = ? AND artifact_version.collection = ?
		AND artifact_version.state <> 'DELETED' LIMIT 1`, experimentID, name).Scan(&projectID)
	if err != nil {
		return domain.OrNotFound(err, collectionEntity)
	}
	return tx.Allow(actor, projectID, want)
}

// UpdateCollection changes the description, the tags and the type of a collection. The actor needs
// the right to update.
func (db *DB) UpdateCollection(ctx context.Context, actor domain.Actor, experimentID, name string, p CollectionPatch) error {
	err := domain.FirstError(domain.CheckOptional("description", p.Description), checkTags(p.AddTags))
	if err == nil && p.Type != nil {
		err = domain.CheckName("type", *p.Type)
	}
	if err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := allowCollection(tx, actor, experimentID, name, domain.RightUpdate); err != nil {
			return err
		}
		if p.Type != nil {
			_, err := tx.Exec(`UPDATE artifact_version SET type = ? WHERE experiment_id = ? AND collection = ?`, *p.Type, experimentID, name)
			if err != nil {
				return err
			}
		}
		if p.Description == nil && len(p.AddTags)+len(p.RemoveTags) == 0 {
			return nil
		}
		var description string
		var tags domain.Strings
		err := tx.Row(`SELECT description, tags FROM artifact_collection WHERE experiment_id = ? AND name = ?`, experimentID, name).
			Scan(&description, &tags)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if p.Description != nil {
			description = *p.Description
		}
		tags = slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(p.RemoveTags, tag) })
		tags = slices.Compact(slices.Sorted(slices.Values(append(tags, p.AddTags...))))
		if len(tags) > MaxTags {
			return errManyTags
		}
		_, err = tx.Exec(`INSERT INTO artifact_collection (experiment_id, name, description, tags, updated_date) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET
				description  = excluded.description,
				tags         = excluded.tags,
				updated_date = excluded.updated_date`, experimentID, name, description, sqlite.JSON([]string(tags)), tx.Now)
		return err
	})
}

// DeleteCollection deletes all versions of a collection, as DeleteVersion does, and its description
// and tags. It returns CONFLICT if a model version refers to one of the versions. It uses several
// transactions. If it is interrupted, the newest versions remain; a second call deletes them. The
// actor needs the right to delete.
func (db *DB) DeleteCollection(ctx context.Context, actor domain.Actor, experimentID, name string) error {
	ids, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (ids []string, err error) {
		if err := allowCollection(tx, actor, experimentID, name, domain.RightDelete); err != nil {
			return nil, err
		}
		err = registry.RefuseIfVersioned(tx, registry.FromArtifacts(`experiment_id = ? AND collection = ?`),
			"The artifact is used by %s; delete those versions first.", experimentID, name)
		if err != nil {
			return nil, err
		}
		return ids, tx.Select(&ids, `SELECT id FROM artifact_version WHERE experiment_id = ? AND collection = ? AND state <> 'DELETED'
			ORDER BY version LIMIT ?`, experimentID, name, MaxVersions)
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := db.DeleteVersion(ctx, actor, id, true); err != nil {
			return err
		}
	}
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		_, err := tx.Exec(`DELETE FROM artifact_collection WHERE experiment_id = ? AND name = ?`, experimentID, name)
		return err
	})
}
