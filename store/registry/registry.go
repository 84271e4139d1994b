package registry

import (
	"context"
	"slices"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// RegisteredModel is a model with its aliases and the latest version in each stage.
type RegisteredModel struct {
	Model
	Properties []domain.Property
	Latest     []RegisteredVersion // newest version in each stage, sorted by version number
	Aliases    []ModelAlias        // sorted by name
}

// ModelAlias is an alias of a model and the number of the version with the alias.
type ModelAlias struct {
	ModelID string `db:"model_id"`
	Alias   string `db:"alias"`
	Version int64  `db:"version"`
}

// RegisteredVersion is a model version with the name of the model and the properties of the
// version.
type RegisteredVersion struct {
	ModelVersion
	ModelName    string `db:"model_name"`
	ExperimentID string `db:"experiment_id"` // experiment of the version's iteration; "" if the version has no iteration
	ArtifactName string `db:"artifact_name"` // name of the version's artifact; "" unless the artifact belongs to the version's iteration
	Properties   []domain.Property
	Linked
}

// Linked is the location of the files of a model version that was made from an artifact version. Its
// fields are "" for other model versions.
type Linked struct {
	LinkedFolder       string `db:"linked_folder"`     // folder in the artifacts of the run
	LinkedIterationID  string `db:"linked_iteration"`  // run that logged the artifact version
	LinkedExperimentID string `db:"linked_experiment"` // experiment of the run
}

// RegisteredModels returns the project's models with the given ids, in the order of ids. It
// omits ids without a model in the project. The actor needs the right to read.
func (v *View) RegisteredModels(projectID string, ids []string) ([]RegisteredModel, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	list := sqlite.JSON(ids)
	const these = `SELECT id FROM model WHERE project_id = ? AND deleted_date IS NULL AND id IN (SELECT value FROM json_each(?))`
	var models []Model
	err := v.tx.Select(&models, `SELECT `+modelColumns+` FROM model WHERE id IN (`+these+`)`, projectID, list)
	if err != nil {
		return nil, err
	}
	var latest []string
	err = v.tx.Select(&latest, `SELECT id FROM (
			SELECT id, model_id, version, row_number() OVER (PARTITION BY model_id, stage ORDER BY version DESC) AS place
			FROM model_version WHERE deleted_date IS NULL AND model_id IN (`+these+`))
		WHERE place = 1 ORDER BY model_id, version`, projectID, list)
	if err != nil {
		return nil, err
	}
	versions, err := v.RegisteredVersions(projectID, latest)
	if err != nil {
		return nil, err
	}
	var aliases []ModelAlias
	err = v.tx.Select(&aliases, `SELECT model_alias.model_id, model_alias.alias, model_version.version
		FROM model_alias
		JOIN model_version ON model_version.id = model_alias.version_id
		WHERE model_version.deleted_date IS NULL AND model_alias.model_id IN (`+these+`)
		ORDER BY model_alias.model_id, model_alias.alias`, projectID, list)
	if err != nil {
		return nil, err
	}
	all := map[string]*RegisteredModel{}
	for _, m := range models {
		all[m.ID] = &RegisteredModel{Model: m}
	}
	for _, version := range versions {
		m := all[version.ModelID]
		m.Latest = append(m.Latest, version)
	}
	for _, a := range aliases {
		m := all[a.ModelID]
		m.Aliases = append(m.Aliases, a)
	}
	err = domain.PropertiesOf(v.tx, "model_id", ids, func(id string, p domain.Property) {
		if m := all[id]; m != nil {
			m.Properties = append(m.Properties, p)
		}
	})
	return inOrder(ids, all), err
}

// RegisteredVersions returns the model versions with the given ids, in the order of ids. It
// omits ids without a version in the project. The actor needs the right to read.
func (v *View) RegisteredVersions(projectID string, ids []string) ([]RegisteredVersion, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	var rows []RegisteredVersion
	err := v.tx.Select(&rows, `SELECT `+modelVersionColumns+`,
			model.name AS model_name,
			coalesce(iteration.experiment_id, '') AS experiment_id,
			CASE WHEN resource.iteration_num = model_version.iteration_num THEN resource.name ELSE '' END AS artifact_name,
			coalesce(artifact_version.collection || ':v' || artifact_version.version, '') AS linked_folder,
			coalesce(logger.id, '') AS linked_iteration,
			coalesce(artifact_version.experiment_id, '') AS linked_experiment
		`+modelVersionFrom+`
		JOIN model ON model.id = model_version.model_id
		LEFT JOIN artifact_version ON model_version.source LIKE '`+ArtifactSource+`%' AND artifact_version.id = `+LinkedID("model_version")+`
		LEFT JOIN iteration AS logger ON logger.num = artifact_version.iteration_num
		WHERE model_version.id IN (SELECT value FROM json_each(?)) AND model.project_id = ?
		AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL`, sqlite.JSON(ids), projectID)
	if err != nil {
		return nil, err
	}
	all := map[string]*RegisteredVersion{}
	for i := range rows {
		all[rows[i].ID] = &rows[i]
	}
	err = domain.PropertiesOf(v.tx, "model_version_id", ids, func(id string, p domain.Property) {
		if version := all[id]; version != nil {
			version.Properties = append(version.Properties, p)
		}
	})
	return inOrder(ids, all), err
}

// inOrder returns the records with the given ids, in the order of ids. It omits ids without a
// record.
func inOrder[T any](ids []string, all map[string]*T) []T {
	out := make([]T, 0, len(ids))
	for _, id := range ids {
		if record := all[id]; record != nil {
			out = append(out, *record)
		}
	}
	return out
}

// PropertyMatch is a condition on a property of a record.
type PropertyMatch struct {
	Key   string
	Match func(value string) bool
	// Missing reports whether a record without the property matches.
	Missing bool
}

// ModelHead holds the fields of a model that a search can compare or sort by.
type ModelHead struct {
	ID          string      `db:"id"`
	Name        string      `db:"name"`
	CreatedDate scalar.Time `db:"created_date"`
	UpdatedDate scalar.Time `db:"updated_date"` // time of the last change to the model or to one of its versions
}

// FindModels returns the models of a project that have matching properties and for which match
// returns true. The result is sorted by name. The actor needs the right to read.
func (v *View) FindModels(projectID string, properties []PropertyMatch, match func(ModelHead) bool) ([]ModelHead, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	var all []ModelHead
	err := v.tx.Select(&all, `SELECT
			id,
			name,
			created_date,
			max(updated_date, coalesce((SELECT max(updated_date) FROM model_version WHERE model_id = model.id), 0)) AS updated_date
		FROM model WHERE project_id = ? AND deleted_date IS NULL ORDER BY name`, projectID)
	if err != nil {
		return nil, err
	}
	return domain.ListLimited(v.tx, func() ([]ModelHead, error) {
		passes, err := v.withProperties("model_id", `SELECT id FROM model WHERE project_id = ?`, projectID, properties)
		if err != nil {
			return nil, err
		}
		return keepMatching(v.tx.Context(), all, func(h ModelHead) bool { return match(h) && passes(h.ID) })
	})
}

// VersionHead holds the fields of a model version that a search can compare or sort by.
type VersionHead struct {
	ID          string      `db:"id"`
	ModelName   string      `db:"model_name"`
	Version     int64       `db:"version"`
	IterationID string      `db:"iteration_id"` // id of the iteration, or of the run that the client named, or ""
	Source      string      `db:"source"`
	CreatedDate scalar.Time `db:"created_date"`
	UpdatedDate scalar.Time `db:"updated_date"`
}

// FindVersions returns the model versions of a project that have matching properties and for
// which match returns true. If name is not nil, it returns only versions of the model with the
// given name. The actor needs the right to read.
func (v *View) FindVersions(projectID string, name *string, properties []PropertyMatch, match func(VersionHead) bool) ([]VersionHead, error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return nil, err
	}
	var all []VersionHead
	err := v.tx.Select(&all, `SELECT
			model_version.id,
			model.name AS model_name,
			model_version.version,
			coalesce(iteration.id, model_version.run_id) AS iteration_id,
			model_version.source,
			model_version.created_date,
			model_version.updated_date
		FROM model
		JOIN model_version ON model_version.model_id = model.id
		LEFT JOIN iteration ON iteration.num = model_version.iteration_num
		WHERE model.project_id = ? AND (? IS NULL OR model.name = ?)
		AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL
		ORDER BY model.name, model_version.version DESC`, projectID, name, name)
	if err != nil {
		return nil, err
	}
	return domain.ListLimited(v.tx, func() ([]VersionHead, error) {
		passes, err := v.withProperties("model_version_id",
			`SELECT model_version.id FROM model_version JOIN model ON model.id = model_id WHERE project_id = ?`, projectID, properties)
		if err != nil {
			return nil, err
		}
		return keepMatching(v.tx.Context(), all, func(h VersionHead) bool { return match(h) && passes(h.ID) })
	})
}

// keepMatching removes an element from the slice all if match returns false for the element. It
// returns the error of ctx if ctx is done.
func keepMatching[T any](ctx context.Context, all []T, match func(T) bool) ([]T, error) {
	all = slices.DeleteFunc(all, func(one T) bool { return ctx.Err() != nil || !match(one) })
	return all, ctx.Err()
}

// withProperties returns a function that reports whether a record's properties match all
// conditions. The argument of the returned function is a value of column. owners is an SQL query
// for the values of column to examine, and ownersArg is its parameter.
func (v *View) withProperties(column, owners string, ownersArg any, conditions []PropertyMatch) (func(id string) bool, error) {
	const maxConditions = 64
	if len(conditions) > maxConditions {
		return nil, domain.Invalid("filter", "A filter can have up to %d conditions on tags.", maxConditions)
	}
	if len(conditions) == 0 {
		return func(string) bool { return true }, nil
	}
	keys := make([]string, len(conditions))
	var missing uint64
	for i, c := range conditions {
		keys[i] = c.Key
		if c.Missing {
			missing |= 1 << i
		}
	}
	met := map[string]uint64{}
	rows, err := v.tx.Rows(`SELECT `+column+`, key, value FROM property
		WHERE `+column+` IN (`+owners+`) AND key IN (SELECT value FROM json_each(?))`, ownersArg, sqlite.JSON(keys))
	err = sqlite.Each(rows, err, func() error {
		var id, key, value string
		if err := rows.Scan(&id, &key, &value); err != nil {
			return err
		}
		bits, ok := met[id]
		if !ok {
			bits = missing
		}
		for i, c := range conditions {
			if c.Key == key {
				if err := v.tx.Context().Err(); err != nil {
					return err // stop if the context is done, because matching a long value takes milliseconds
				}
				bits &^= 1 << i
				if c.Match(value) {
					bits |= 1 << i
				}
			}
		}
		met[id] = bits
		return nil
	})
	return func(id string) bool {
		bits, ok := met[id]
		if !ok {
			bits = missing
		}
		return bits == 1<<len(conditions)-1
	}, err
}
