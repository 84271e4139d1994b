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
)

// Link is a model version that was made from an artifact version, together with the artifact
// version. The two can belong to different projects.
type Link struct {
	Version
	LinkID      string         `db:"link_id"` // id of the model version
	ModelID     string         `db:"model_id"`
	Model       string         `db:"model"`   // name of the model
	HomeID      string         `db:"home_id"` // id of the model's project
	Home        string         `db:"home"`    // name of the model's project
	Number      int64          `db:"number"`  // number of the model version
	LinkAliases domain.Strings `db:"link_aliases"`
	LinkedDate  scalar.Time    `db:"linked_date"`
	Newest      bool           `db:"newest"` // set if no later version of the model was made from an artifact version
}

var (
	linkColumns = versionColumns + `,
	model_version.id AS link_id,
	model.id AS model_id,
	model.name AS model,
	home.id AS home_id,
	home.name AS home,
	model_version.version AS number,
	model_version.created_date AS linked_date,
	(SELECT json_group_array(alias ORDER BY alias) FROM model_alias WHERE version_id = model_version.id) AS link_aliases,
	NOT EXISTS (SELECT 1 FROM model_version AS later WHERE later.model_id = model.id AND later.version > model_version.version
		AND later.source LIKE '` + registry.ArtifactSource + `%' AND later.deleted_date IS NULL) AS newest`

	// Either of the first two conditions implies the other. The first one finds the links of an
	// artifact version with an index, the second one the artifact versions of a model.
	linkFrom = versionFrom + `JOIN model_version ON model_version.source = '` + registry.ArtifactSource + `' || artifact_version.id
		AND artifact_version.id = ` + registry.LinkedID("model_version") + ` AND model_version.source <> '' AND model_version.deleted_date IS NULL
	JOIN model ON model.id = model_version.model_id AND model.deleted_date IS NULL
	JOIN project AS home ON home.id = model.project_id AND home.deleted_date IS NULL `
)

// LinkSearch selects links. Either ProjectID or VersionID must be set. "" matches all links.
type LinkSearch struct {
	ProjectID string // project of the models
	ModelID   string
	Model     string // name of the model
	VersionID string // artifact version
}

// Links returns the links that q selects, the newest first, at most MaxVersions. It omits links
// whose model or artifact version the actor can't read. The actor needs the right to read the
// project or the artifact version of q.
func (v *View) Links(q LinkSearch) ([]Link, error) {
	var where search.SQL
	where.Add(linkFrom + `WHERE artifact_version.state = 'COMMITTED'`)
	column := `project.id`
	if q.VersionID != "" {
		if _, err := allowVersion(v.tx, v.tx.Actor, q.VersionID, domain.RightRead); err != nil {
			return nil, err
		}
		where.Add(` AND artifact_version.id = ?`, q.VersionID)
		column = `home.id`
	} else {
		if err := v.tx.AllowProject(v.tx.Actor, q.ProjectID, domain.RightRead); err != nil {
			return nil, err
		}
		where.Add(` AND model.project_id = ?`, q.ProjectID)
	}
	if q.ModelID != "" {
		where.Add(` AND model.id = ?`, q.ModelID)
	}
	if q.Model != "" {
		where.Add(` AND model.name = ?`, q.Model)
	}
	if err := readable(v.tx, v.tx.Actor, &where, column); err != nil {
		return nil, err
	}
	return limited[Link](v.tx, versionTexts, linkColumns+` `+where.String(), `model.name, model.id, model_version.version DESC`, where.Args)
}

// Links calls View.Links on a new snapshot.
func (db *DB) Links(ctx context.Context, actor domain.Actor, q LinkSearch) ([]Link, error) {
	return view(ctx, db, actor, func(v *View) ([]Link, error) { return v.Links(q) })
}

// LinkVersion registers an artifact version as a version of the model with the given name. It
// creates the model if the project does not have it. If the model already has a version that was
// made from the artifact version, LinkVersion only adds the aliases to it. LinkVersion ignores the
// alias Latest. The actor needs the right to read the artifact version and the right to create in
// the project. To change an existing version, the actor also needs the right to update.
func (db *DB) LinkVersion(ctx context.Context, actor domain.Actor, id, projectID, model string, aliases []string) (Link, error) {
	aliases = slices.DeleteFunc(slices.Clone(aliases), func(alias string) bool { return alias == Latest })
	if err := registry.CheckAliases(aliases); err != nil {
		return Link{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (l Link, err error) {
		a, err := allowVersion(tx, actor, id, domain.RightRead)
		if err == nil && a.State != Committed {
			err = domain.Errorf(domain.CodeConflict, "The artifact is not complete or was deleted; log it again before you link it.")
		}
		if err != nil {
			return l, err
		}
		m, err := registry.EnsureModel(tx, actor, projectID, model)
		if err != nil {
			return l, err
		}
		source := registry.ArtifactSource + a.ID
		var linkID string
		err = tx.Row(`SELECT id FROM model_version WHERE model_id = ? AND source = ? AND deleted_date IS NULL`, m.ID, source).Scan(&linkID)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			n := registry.NewModelVersion{Source: source}
			if a.ProjectID == projectID {
				n.IterationID = a.IterationID
			}
			linkID, err = registry.InsertModelVersion(tx, actor, m, n)
		case err == nil && len(aliases) > 0:
			err = tx.Allow(actor, projectID, domain.RightUpdate)
		}
		if err != nil {
			return l, err
		}
		version, _, err := registry.AllowModelVersion(tx, actor, linkID, domain.RightCreate)
		if err != nil {
			return l, err
		}
		for _, alias := range aliases {
			if err := registry.SetAlias(tx, version, alias); err != nil {
				return l, err
			}
		}
		err = tx.Get(&l, `SELECT `+linkColumns+` `+linkFrom+`WHERE model_version.id = ?`, linkID)
		return l, err
	})
}
