package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/sqlite"
	"tracker/store/transfer"
)

// RegisteredModel creates a registered model if it does not exist, and its missing versions. If
// an earlier import stored the model in another project, RegisteredModel adds the versions in
// that project. It omits a version that was imported before and then deleted. It returns
// transfer.ErrDeleted if the model was imported before and then deleted.
func (im importer) RegisteredModel(ctx context.Context, m transfer.RegisteredModel) (out transfer.ModelOutcome, err error) {
	properties := importedProperties(m.Properties)
	if err := domain.FirstError(domain.CheckName("name", m.Name), domain.CheckText("description", m.Description), checkImported(properties)); err != nil {
		return out, err
	}
	err = domain.Change(ctx, im.base, im.actor, func(tx *domain.Tx) error {
		out = transfer.ModelOutcome{} // the transaction can run again after a rollback
		to := importingModel{tx: tx, from: &m, out: &out}
		if err := to.find(); err != nil {
			return err
		}
		if err := to.describe(properties); err != nil {
			return err
		}
		for _, v := range m.Versions {
			if err := to.version(v); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// importingModel holds the state of a registered model's import.
type importingModel struct {
	tx            *domain.Tx
	from          *transfer.RegisteredModel
	out           *transfer.ModelOutcome
	projectID, id string
	isNew         bool
	own           []string // ids of the model versions from this source
}

// say appends a message to the changes of the outcome.
func (m *importingModel) say(format string, args ...any) {
	m.out.Changes = append(m.out.Changes, fmt.Sprintf(format, args...))
}

// find sets the ids of the model and its project. It creates a missing model or project.
func (m *importingModel) find() error {
	home, err := m.home()
	if err != nil {
		return err
	}
	if home != "" {
		m.projectID, err = home, m.tx.AllowProject(m.tx.Actor, home, domain.RightCreate)
	} else {
		m.projectID, err = importedProject(m.tx, m.from.Project)
	}
	if err != nil {
		return err
	}
	first := transfer.ID("model", m.projectID, m.from.Name).String()
	m.id, err = m.tx.FirstOr("model", first, func(id string) error {
		m.isNew = true
		if err := importOnce(m.tx, "model", first, ""); err != nil {
			return err
		}
		_, err := m.tx.Exec(`INSERT INTO model (id, project_id, name, description, created_date, updated_date, created_by, created_key)
			VALUES (?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`)`,
			id, m.projectID, m.from.Name, m.from.Description, m.from.Created, m.from.Created, m.tx.Actor.CreatorID(), m.tx.Actor.Key)
		return err
	}, `SELECT id FROM model WHERE deleted_date IS NULL AND project_id = ?3 AND (id = ?1 OR name = ?2) ORDER BY id <> ?1, created_date, id LIMIT 1`,
		m.from.Name, m.projectID)
	return err
}

// home returns the id of another project that already has the imported model or one of its
// versions. It sets out.Project to the project's name. It returns "" if there is no such
// project.
func (m *importingModel) home() (string, error) {
	var times []int64
	byTime := map[scalar.Time][]transfer.ModelVersion{}
	for _, v := range m.from.Versions {
		times = append(times, int64(v.Created))
		byTime[v.Created] = append(byTime[v.Created], v)
	}
	type candidate struct {
		ModelID   string      `db:"model_id"`
		VersionID string      `db:"version_id"` // id of a matching version; "" for a matching model
		Source    string      `db:"source"`
		Created   scalar.Time `db:"created_date"`
		ProjectID string      `db:"project_id"`
		Project   string      `db:"project"`
	}
	var all []candidate
	err := m.tx.Select(&all, `SELECT found.*, project.name AS project FROM (
			SELECT id AS model_id, '' AS version_id, '' AS source, created_date, project_id FROM model
			WHERE deleted_date IS NULL AND created_date = ?1
			UNION ALL
			SELECT model.id, model_version.id, model_version.source, model_version.created_date, project_id
			FROM model_version JOIN model ON model.id = model_id
			WHERE model.deleted_date IS NULL AND model_version.created_date IN (SELECT value FROM json_each(?2))
		) AS found JOIN project ON project.id = found.project_id
		WHERE project.deleted_date IS NULL
		ORDER BY project.id <> ?3 AND project.name <> ?4, model_id LIMIT ?5`,
		m.from.Created, sqlite.JSON(times), transfer.ID("project", m.from.Project), m.from.Project, domain.MaxLimit)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		mine := c.VersionID == "" && c.ModelID == transfer.ID("model", c.ProjectID, m.from.Name).String()
		for _, v := range byTime[c.Created] {
			ids := versionIDs(c.ModelID, v)
			mine = mine || c.VersionID == ids[0] && c.Source == v.Source || c.VersionID == ids[1]
		}
		if !mine {
			continue
		}
		if c.ProjectID == transfer.ID("project", m.from.Project).String() || c.Project == m.from.Project {
			return "", nil
		}
		m.out.Project = c.Project
		return c.ProjectID, nil
	}
	return "", nil
}

// describe sets the properties of a new model. For an existing model it adds missing
// properties, but only once for each source.
func (m *importingModel) describe(properties []domain.Property) error {
	owner := domain.PropertyOwner{ProjectID: m.projectID, Column: "model_id", Key: m.id}
	if m.isNew {
		return m.tx.SetProperties(m.tx.Actor, owner, properties)
	}
	var created scalar.Time
	var description string
	if err := m.tx.Row(`SELECT created_date, description FROM model WHERE id = ?`, m.id).Scan(&created, &description); err != nil {
		return err
	}
	if created == m.from.Created {
		return nil // an import from this source created the model
	}
	err := importOnce(m.tx, "model of a store", transfer.ID(m.id, strconv.FormatInt(int64(m.from.Created), 10)).String(), "")
	if errors.Is(err, transfer.ErrDeleted) {
		return nil // these properties were imported before
	}
	if err != nil {
		return err
	}
	if m.from.Description != "" && description != m.from.Description {
		m.say("The description of the registered model %.80q is not imported: the model has a different one here.", m.from.Name)
	}
	return addProperties(m.tx, "model_id", m.id, properties, func(key string) {
		m.say("The tag %.80q of the registered model %.80q is not imported: the tag has a different value here.", key, m.from.Name)
	})
}

// version creates a model version if it does not exist.
func (m *importingModel) version(v transfer.ModelVersion) error {
	properties := importedProperties(v.Properties)
	err := domain.FirstError(domain.CheckText("description", v.Description), domain.CheckText("source", v.Source), checkImported(properties),
		registry.CheckStage(registry.Stage(v.Stage)))
	if err != nil {
		return err
	}
	id, deleted, err := m.versionID(v)
	if err != nil || deleted {
		return err
	}
	m.own = append(m.own, id)
	there, err := m.tx.Has(`SELECT 1 FROM model_version WHERE id = ?`, id)
	if err != nil || there {
		return err
	}
	if err := importOnce(m.tx, "version", id, versionStamp(v)); err != nil {
		return err
	}
	number, err := m.freeNumber(v.Number)
	if err != nil {
		return err
	}
	if number != v.Number {
		properties = append(properties, domain.Property{Key: "imported.from", Value: transfer.FitText(m.from.Origin)},
			domain.Property{Key: "imported.version", Value: strconv.FormatInt(v.Number, 10)})
		m.say("Version %d of the registered model %.80q has the number %d here, because another version has the number %d.", v.Number, m.from.Name, number, v.Number)
	}
	iteration, err := importedIteration(m.tx, m.projectID, v.RunID)
	if err != nil {
		return err
	}
	runID := ""
	if iteration == nil && v.RunID != nil {
		runID = strings.ReplaceAll(v.RunID.String(), "-", "")
	}
	_, err = m.tx.Exec(`INSERT INTO model_version
		(id, model_id, version, iteration_num, source, location, run_id, run_link, stage, description, created_date, updated_date,
			created_by, created_key)
		VALUES (?, ?, ?, ?, ?, '', ?, '', ?, ?, ?, ?, `+domain.CreatorValues+`)`,
		id, m.id, number, iteration, v.Source, runID, registry.NoStage, v.Description, v.Created, v.Created,
		m.tx.Actor.CreatorID(), m.tx.Actor.Key)
	if err != nil {
		return err
	}
	m.out.Made++
	if _, err := m.tx.Exec(`UPDATE model SET last_version = max(last_version, ?) WHERE id = ?`, number, m.id); err != nil {
		return err
	}
	// A source can have several versions in PRODUCTION. All of them keep the stage.
	made := registry.ModelVersion{ID: id, ModelID: m.id}
	if stage := registry.Stage(v.Stage); stage != registry.NoStage {
		if _, err := registry.LeaveStage(m.tx, made, stage, registry.OthersKept); err != nil {
			return err
		}
		if _, err := m.tx.Exec(`UPDATE model_version SET stage = ? WHERE id = ?`, stage, id); err != nil {
			return err
		}
	}
	owner := domain.PropertyOwner{ProjectID: m.projectID, Column: "model_version_id", Key: id}
	return domain.FirstError(m.aliases(made, v), m.tx.SetProperties(m.tx.Actor, owner, properties))
}

// versionStamp returns a string that distinguishes versions with the same number from different
// stores.
func versionStamp(v transfer.ModelVersion) string {
	return transfer.ID(strconv.FormatInt(int64(v.Created), 10), v.Source).String()
}

// versionIDs returns the two possible ids of a model version. The first id depends only on the
// model and the number. Versions of the first imported store have the first id. The second id also
// depends on the version's stamp. It is used for versions of other stores. Earlier releases
// imported no versions of other stores and recorded no stamp.
func versionIDs(modelID string, v transfer.ModelVersion) [2]string {
	number := strconv.FormatInt(v.Number, 10)
	return [2]string{transfer.ID("version", modelID, number).String(), transfer.ID("version", modelID, number, versionStamp(v)).String()}
}

// versionID returns the id of a version. deleted is set if the version was imported before and
// then deleted.
func (m *importingModel) versionID(v transfer.ModelVersion) (id string, deleted bool, err error) {
	for _, id := range versionIDs(m.id, v) {
		var same, trashed bool
		err := m.tx.Row(`SELECT created_date = ? AND source = ?, deleted_date IS NOT NULL FROM model_version WHERE id = ?`,
			v.Created, v.Source, id).Scan(&same, &trashed)
		if errors.Is(err, sql.ErrNoRows) {
			var noted string
			err = m.tx.Row(`SELECT fingerprint FROM source WHERE id = ?`, transfer.ID("imported", "version", id)).Scan(&noted)
			if errors.Is(err, sql.ErrNoRows) {
				return id, false, nil
			}
			same, trashed = noted == "" || noted == versionStamp(v), true
		}
		if err != nil {
			return "", false, err
		}
		if !same {
			continue
		}
		if trashed {
			m.say("Version %d of the registered model %.80q was imported before and then deleted here; it is not imported again.", v.Number, m.from.Name)
		}
		return id, trashed, nil
	}
	return "", false, fmt.Errorf("version %d of %q has the id of another version", v.Number, m.from.Name)
}

// freeNumber returns the given number if it is free in the model. If another version has the
// number, freeNumber returns the model's next version number.
func (m *importingModel) freeNumber(number int64) (int64, error) {
	taken, err := m.tx.Has(`SELECT 1 FROM model_version WHERE model_id = ? AND version = ?`, m.id, number)
	if err == nil && taken {
		err = m.tx.Row(`SELECT max(last_version, (SELECT coalesce(max(version), 0) FROM model_version WHERE model_id = model.id)) + 1
			FROM model WHERE id = ?`, m.id).Scan(&number)
	}
	return number, err
}

// aliases sets the aliases of a version. It does not take an alias away from a version of another
// source.
func (m *importingModel) aliases(made registry.ModelVersion, v transfer.ModelVersion) error {
	for i, alias := range v.Aliases {
		if err := registry.CheckAliases([]string{alias}); err != nil || i >= registry.MaxAliases {
			m.say("The alias %.80q of version %d of the registered model %.80q is left out: it is not allowed here, or the version has too many aliases.",
				alias, v.Number, m.from.Name)
			continue
		}
		var holder string
		var number int64
		err := m.tx.Row(`SELECT id, version FROM model_alias JOIN model_version ON id = version_id WHERE model_alias.model_id = ? AND alias = ?`,
			m.id, alias).Scan(&holder, &number)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil && !slices.Contains(m.own, holder) {
			m.say("The alias %.80q of version %d of the registered model %.80q was not moved, because version %d has it here.",
				alias, v.Number, m.from.Name, number)
			continue
		}
		if err := registry.SetAlias(m.tx, made, alias); err != nil {
			return err
		}
	}
	return nil
}
