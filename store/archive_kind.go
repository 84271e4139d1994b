package store

import (
	"encoding/hex"

	"github.com/google/uuid"

	"tracker/store/json"
)

// recordKind is a kind of record that is copied from one database to another, with
// all that belongs to it. It has the name of its table.
type recordKind struct {
	name string
	// home finds the id of the project, the id of what holds the record, its name,
	// and whether it is in the trash.
	home  string
	parts []recordPart // the first one is the row of the record
	// artifacts is the SQL condition for its artifacts, "" when it has none.
	artifacts string
}

// recordPart is what a record has in one table. Its columns name other records by
// their ids, since numbers differ from one database to another.
type recordPart struct {
	name    string
	read    string  // ?1 is the id of the record
	columns []check // of each column of read
	content int     // how many of the columns, the first ones, count in a fingerprint
	clear   string  // deletes what write writes; ?1 is the id of the record
	write   string  // ?1 is the id of the record, ?2 and so on are the columns
	late    bool    // write needs records that are copied later
}

// check accepts a value of a column, or says what is wrong with it.
type check func(v any) error

func anything(any) error { return nil }

func isText(check func(field, s string) error, field string) check {
	return func(v any) error {
		if s, ok := v.(string); ok {
			return check(field, s)
		}
		return nil // the columns are STRICT
	}
}

var (
	aName  = isText(checkName, "name")
	aKey   = isText(func(_, s string) error { return checkKey(s) }, "key")
	aShort = isText(checkShort, "type")
	aText  = isText(checkText, "text")
	aLong  = isText(func(field, s string) error {
		if len(s) > maxProfile {
			return Invalid(field, "%s must have at most %d bytes, not %d.", field, maxProfile, len(s))
		}
		return nil
	}, "text")
	anID = isText(func(field, s string) error {
		if id, err := uuid.Parse(s); err != nil || id.String() != s {
			return Invalid(field, "%q is not a UUID.", truncate(s))
		}
		return nil
	}, "id")
	aJSON = isText(func(field, s string) error {
		var any any
		if len(s) > maxProfile || json.Unmarshal([]byte(s), &any) != nil {
			return Invalid(field, "%s must be JSON.", field)
		}
		return nil
	}, "json")
	aMedium = isText(func(_, s string) error { return checkContentType(s) }, "content_type")
	aFile   = isText(func(_, s string) error { return checkArtifactName(s) }, "name")
	aModel  = isText(checkModelID, "id")
)

func truncate(s string) string {
	if len(s) > 80 {
		return s[:80]
	}
	return s
}

func checkModelID(field, s string) error {
	if hexed, err := hex.DecodeString(s[min(len(s), 2):]); len(s) != 34 || s[:2] != "m-" || err != nil || len(hexed) != 16 {
		return Invalid(field, "%q is not the id of a logged model.", truncate(s))
	}
	return nil
}

// checkRecordID accepts the id of a record of a kind.
func (k *recordKind) checkID(id string) error {
	if k.name == "logged_model" {
		return aModel(id)
	}
	return anID(id)
}

func tagPart(column, owner string) recordPart {
	return recordPart{
		name:    "tag",
		read:    `SELECT id, value, created_date FROM tag WHERE ` + column + ` = ` + owner + ` ORDER BY created_date, id`,
		columns: []check{anID, aName, anything},
		content: 3,
		clear:   `DELETE FROM tag WHERE ` + column + ` = ` + owner,
		write:   `INSERT INTO tag (` + column + `, id, value, created_date) VALUES (` + owner + `, ?2, ?3, ?4)`,
	}
}

func propertyPart(column, owner string) recordPart {
	return recordPart{
		name:    "property",
		read:    `SELECT key, value FROM property WHERE ` + column + ` = ` + owner + ` ORDER BY key`,
		columns: []check{aKey, aText},
		content: 2,
		clear:   `DELETE FROM property WHERE ` + column + ` = ` + owner,
		write:   `INSERT INTO property (` + column + `, key, value) VALUES (` + owner + `, ?2, ?3)`,
	}
}

const (
	iterationNum   = `(SELECT num FROM iteration WHERE id = ?1)`
	loggedModelNum = `(SELECT num FROM logged_model WHERE id = ?1)`

	wandbArtifactNum = `(SELECT num FROM wandb_artifact WHERE id = ?1)`
)

// recordKinds are the kinds of records in the order in which they are copied: what
// holds others comes before them.
var recordKinds = []*recordKind{
	{
		name: "project",
		home: `SELECT id, '', name, deleted_date IS NOT NULL FROM project WHERE id = ?`,
		parts: []recordPart{{
			name:    "project",
			read:    `SELECT name, description, created_date FROM project WHERE id = ?1`,
			columns: []check{aName, aText, anything},
			content: 3,
			write: `INSERT INTO project (id, name, description, created_date) VALUES (?1, ?2, ?3, ?4)
				ON CONFLICT (id) DO UPDATE SET
					name         = excluded.name,
					description  = excluded.description,
					created_date = excluded.created_date`,
		}, tagPart("project_id", "?1")},
	},
	{
		name: "experiment",
		home: `SELECT project_id, project_id, experiment.name, coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
			FROM experiment JOIN project ON project.id = project_id WHERE experiment.id = ?`,
		parts: []recordPart{{
			name: "experiment",
			read: `SELECT project_id, name, description, status, created_date, end_date, objective, updated_date
				FROM experiment WHERE id = ?1`,
			columns: []check{anID, aName, aText, anything, anything, anything, aText, anything},
			content: 7,
			write: `INSERT INTO experiment (id, project_id, name, description, status, created_date, end_date, objective, updated_date)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
				ON CONFLICT (id) DO UPDATE SET
					name         = excluded.name,
					description  = excluded.description,
					status       = excluded.status,
					created_date = excluded.created_date,
					end_date     = excluded.end_date,
					objective    = excluded.objective,
					updated_date = excluded.updated_date`,
		}, tagPart("experiment_id", "?1"), propertyPart("experiment_id", "?1"), {
			name: "dataset",
			read: `SELECT name, digest, source_type, source, schema, profile FROM dataset
				WHERE experiment_id = ?1 ORDER BY id`,
			columns: []check{aText, aText, aText, aText, aText, aLong},
			content: 0, // each run has those that it uses
			write: `INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`,
		}, {
			name: "experiment_view",
			read: `SELECT id, name, query, created_date, updated_date FROM experiment_view
				WHERE experiment_id = ?1 ORDER BY created_date, id`,
			columns: []check{anID, aName, aText, anything, anything},
			content: 4,
			clear:   `DELETE FROM experiment_view WHERE experiment_id = ?1`,
			write: `INSERT INTO experiment_view (experiment_id, id, name, query, created_date, updated_date)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
		}},
		artifacts: `resource.experiment_id = ?1 AND resource.iteration_num IS NULL`,
	},
	{
		name: "iteration",
		home: `SELECT project_id, experiment_id, iteration.name,
				coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL
			FROM iteration JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
			WHERE iteration.id = ?`,
		parts: []recordPart{{
			name: "iteration",
			read: `SELECT experiment_id, name, notes, status, error_message, created_date, end_date, last_seen
				FROM iteration WHERE id = ?1`,
			columns: []check{anID, aName, aText, anything, aText, anything, anything, anything},
			content: 7,
			write: `INSERT INTO iteration (id, experiment_id, name, notes, status, error_message, created_date, end_date, last_seen)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
				ON CONFLICT (id) DO UPDATE SET
					name          = excluded.name,
					notes         = excluded.notes,
					status        = excluded.status,
					error_message = excluded.error_message,
					created_date  = excluded.created_date,
					end_date      = excluded.end_date,
					last_seen     = max(last_seen, excluded.last_seen)`,
		}, tagPart("iteration_num", iterationNum), propertyPart("iteration_num", iterationNum), {
			name:    "parameter",
			read:    `SELECT key, id, value FROM parameter WHERE iteration_num = ` + iterationNum + ` ORDER BY key`,
			columns: []check{aKey, anID, aText},
			content: 3,
			clear:   `DELETE FROM parameter WHERE iteration_num = ` + iterationNum,
			write:   `INSERT INTO parameter (iteration_num, key, id, value) VALUES (` + iterationNum + `, ?2, ?3, ?4)`,
		}, {
			name: "snapshot",
			read: `SELECT id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date
				FROM snapshot WHERE iteration_num = ` + iterationNum,
			columns: []check{anID, aText, anything, aText, aText, aText, aText, aText, aText, aText, anything},
			content: 11,
			clear:   `DELETE FROM snapshot WHERE iteration_num = ` + iterationNum,
			write: `INSERT INTO snapshot (iteration_num, id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname,
					runtime, dependencies, created_date)
				VALUES (` + iterationNum + `, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
		}, {
			name: "dataset",
			read: `SELECT name, digest, source_type, source, schema, profile
				FROM iteration_dataset JOIN dataset ON dataset.id = dataset_id
				WHERE iteration_num = ` + iterationNum + ` ORDER BY dataset.id`,
			columns: []check{aText, aText, aText, aText, aText, aLong},
			content: 6,
			write: `INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
				SELECT experiment_id, ?2, ?3, ?4, ?5, ?6, ?7 FROM iteration WHERE id = ?1
				ON CONFLICT DO NOTHING`,
		}, {
			name: "iteration_dataset",
			read: `SELECT name, digest, context, tags
				FROM iteration_dataset JOIN dataset ON dataset.id = dataset_id
				WHERE iteration_num = ` + iterationNum + ` ORDER BY dataset.id`,
			columns: []check{aText, aText, aText, aJSON},
			content: 4,
			clear:   `DELETE FROM iteration_dataset WHERE iteration_num = ` + iterationNum,
			write: `INSERT INTO iteration_dataset (iteration_num, dataset_id, context, tags)
				SELECT iteration.num, dataset.id, ?4, ?5
				FROM iteration JOIN dataset ON dataset.experiment_id = iteration.experiment_id
				WHERE iteration.id = ?1 AND dataset.name = ?2 AND dataset.digest = ?3`,
		}, {
			name:    "console_line",
			read:    `SELECT number, text, written_date FROM console_line WHERE iteration_num = ` + iterationNum + ` ORDER BY number`,
			columns: []check{anything, aText, anything},
			content: 3,
			clear:   `DELETE FROM console_line WHERE iteration_num = ` + iterationNum,
			write:   `INSERT INTO console_line (iteration_num, number, text, written_date) VALUES (` + iterationNum + `, ?2, ?3, ?4)`,
		}, {
			name:    "wandb_run",
			read:    `SELECT name, config, summary, about FROM wandb_run WHERE iteration_num = ` + iterationNum,
			columns: []check{aText, aLong, aLong, aLong},
			content: 4,
			clear:   `DELETE FROM wandb_run WHERE iteration_num = ` + iterationNum,
			write:   `INSERT INTO wandb_run (iteration_num, name, config, summary, about) VALUES (` + iterationNum + `, ?2, ?3, ?4, ?5)`,
		}, {
			name:    "wandb_row",
			read:    `SELECT step, content FROM wandb_row WHERE iteration_num = ` + iterationNum + ` ORDER BY step`,
			columns: []check{anything, aLong},
			content: 2,
			clear:   `DELETE FROM wandb_row WHERE iteration_num = ` + iterationNum,
			write:   `INSERT INTO wandb_row (iteration_num, step, content) VALUES (` + iterationNum + `, ?2, ?3)`,
		}, {
			name: "source",
			read: `SELECT id, path, size, fingerprint, position, state, updated_date FROM source
				WHERE iteration_num = ` + iterationNum + ` AND state NOT IN ('` + copied + `', '` + copying + `') ORDER BY id`,
			columns: []check{anID, aText, anything, aText, anything, aText, anything},
			content: 0, // not what the run is
			write: `INSERT INTO source (iteration_num, id, path, size, fingerprint, position, state, updated_date)
				VALUES (` + iterationNum + `, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
				ON CONFLICT (id) DO UPDATE SET
					size         = excluded.size,
					fingerprint  = excluded.fingerprint,
					position     = excluded.position,
					state        = excluded.state,
					updated_date = excluded.updated_date
				WHERE iteration_num IS NULL OR iteration_num = excluded.iteration_num`,
		}, {
			name: "parent",
			read: `SELECT parent.id FROM iteration JOIN iteration AS parent ON parent.num = iteration.parent_num
				WHERE iteration.id = ?1 AND parent.deleted_date IS NULL`,
			columns: []check{anID},
			content: 1,
			clear:   `UPDATE iteration SET parent_num = NULL WHERE id = ?1`,
			write: `UPDATE iteration
				SET parent_num = (SELECT num FROM iteration AS parent WHERE parent.id = ?2 AND parent.experiment_id = iteration.experiment_id)
				WHERE id = ?1`,
			late: true,
		}},
		artifacts: `resource.iteration_num = ` + iterationNum,
	},
	{
		name: "logged_model",
		home: `SELECT project_id, experiment_id, logged_model.name, coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
			FROM logged_model JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
			WHERE logged_model.id = ?`,
		parts: []recordPart{{
			name: "logged_model",
			read: `SELECT logged_model.experiment_id, iteration.id, logged_model.name, type, logged_model.status, params,
					logged_model.created_date, logged_model.updated_date
				FROM logged_model LEFT JOIN iteration ON iteration.num = iteration_num AND iteration.deleted_date IS NULL
				WHERE logged_model.id = ?1`,
			columns: []check{anID, anID, aName, aShort, anything, aJSON, anything, anything},
			content: 7,
			write: `INSERT INTO logged_model (id, experiment_id, iteration_num, name, type, status, params, created_date, updated_date)
				VALUES (?1, ?2, (SELECT iteration.num FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id
					WHERE iteration.id = ?3 AND project_id = (SELECT project_id FROM experiment WHERE id = ?2)), ?4, ?5, ?6, ?7, ?8, ?9)
				ON CONFLICT (id) DO UPDATE SET
					iteration_num = excluded.iteration_num,
					name          = excluded.name,
					type          = excluded.type,
					status        = excluded.status,
					params        = excluded.params,
					created_date  = excluded.created_date,
					updated_date  = excluded.updated_date`,
		}, propertyPart("logged_model_num", loggedModelNum), {
			name: "logged_model_use",
			read: `SELECT iteration.id, role, step FROM logged_model_use JOIN iteration ON iteration.num = iteration_num
				WHERE logged_model_num = ` + loggedModelNum + ` AND iteration.deleted_date IS NULL
				ORDER BY iteration.num, role, step`,
			columns: []check{anID, anything, anything},
			content: 3,
			clear:   `DELETE FROM logged_model_use WHERE logged_model_num = ` + loggedModelNum,
			write: `INSERT INTO logged_model_use (logged_model_num, iteration_num, role, step)
				SELECT ` + loggedModelNum + `, num, ?3, ?4 FROM iteration
				WHERE id = ?2 AND experiment_id = (SELECT experiment_id FROM logged_model WHERE id = ?1)`,
		}, {
			name: "logged_model_metric",
			read: `SELECT iteration.id, key, recorded_at, step, dataset_name, dataset_digest, value
				FROM logged_model_metric JOIN iteration ON iteration.num = iteration_num
				WHERE logged_model_num = ` + loggedModelNum + ` AND iteration.deleted_date IS NULL
				ORDER BY key, recorded_at, step, iteration.num, dataset_name, dataset_digest`,
			columns: []check{anID, aKey, anything, anything, aText, aText, anything},
			content: 7,
			clear:   `DELETE FROM logged_model_metric WHERE logged_model_num = ` + loggedModelNum,
			write: `INSERT INTO logged_model_metric
					(logged_model_num, iteration_num, key, recorded_at, step, dataset_name, dataset_digest, value)
				SELECT ` + loggedModelNum + `, num, ?3, ?4, ?5, ?6, ?7, ?8 FROM iteration
				WHERE id = ?2 AND experiment_id = (SELECT experiment_id FROM logged_model WHERE id = ?1)`,
		}},
	},
	{
		name: "wandb_artifact",
		home: `SELECT project_id, wandb_artifact.experiment_id, collection || ':v' || version,
				coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL
			FROM wandb_artifact JOIN iteration ON iteration.num = iteration_num
			JOIN experiment ON experiment.id = wandb_artifact.experiment_id JOIN project ON project.id = project_id
			WHERE wandb_artifact.id = ?`,
		parts: []recordPart{{
			name: "wandb_artifact",
			read: `SELECT wandb_artifact.experiment_id, iteration.id, collection, version, type, digest, client_id, aliases, description,
					metadata, state, size, files, wandb_artifact.created_date, updated_date
				FROM wandb_artifact JOIN iteration ON iteration.num = iteration_num
				WHERE wandb_artifact.id = ?1`,
			columns: []check{anID, anID, aText, anything, aText, aText, aText, aLong, aText, aLong, anything, anything, anything, anything, anything},
			content: 14,
			write: `INSERT INTO wandb_artifact (id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases,
					description, metadata, state, size, files, created_date, updated_date)
				VALUES (?1, ?2, (SELECT num FROM iteration WHERE id = ?3 AND experiment_id = ?2), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
					?14, ?15, ?16)
				ON CONFLICT (id) DO UPDATE SET
					type         = excluded.type,
					digest       = excluded.digest,
					client_id    = excluded.client_id,
					aliases      = excluded.aliases,
					description  = excluded.description,
					metadata     = excluded.metadata,
					state        = excluded.state,
					size         = excluded.size,
					files        = excluded.files,
					created_date = excluded.created_date,
					updated_date = excluded.updated_date`,
		}, {
			name:    "wandb_alias",
			read:    `SELECT alias FROM wandb_alias WHERE artifact_num = ` + wandbArtifactNum + ` ORDER BY alias`,
			columns: []check{aText},
			content: 1,
			clear:   `DELETE FROM wandb_alias WHERE artifact_num = ` + wandbArtifactNum,
			write: `INSERT INTO wandb_alias (experiment_id, collection, alias, artifact_num)
				SELECT experiment_id, collection, ?2, num FROM wandb_artifact WHERE id = ?1`,
			late: true,
		}, {
			name: "wandb_artifact_use",
			read: `SELECT iteration.id FROM wandb_artifact_use JOIN iteration ON iteration.num = iteration_num
				WHERE artifact_num = ` + wandbArtifactNum + ` AND iteration.deleted_date IS NULL ORDER BY iteration.num`,
			columns: []check{anID},
			content: 1,
			clear:   `DELETE FROM wandb_artifact_use WHERE artifact_num = ` + wandbArtifactNum,
			write: `INSERT INTO wandb_artifact_use (artifact_num, iteration_num)
				SELECT ` + wandbArtifactNum + `, iteration.num FROM iteration JOIN experiment ON experiment.id = experiment_id
				WHERE iteration.id = ?2 AND project_id = (SELECT project_id FROM experiment JOIN wandb_artifact
					ON wandb_artifact.experiment_id = experiment.id WHERE wandb_artifact.id = ?1)`,
		}, {
			name:    "wandb_file",
			read:    `SELECT name, md5 FROM wandb_file WHERE artifact_num = ` + wandbArtifactNum + ` ORDER BY name`,
			columns: []check{aText, aText},
			content: 2,
			clear:   `DELETE FROM wandb_file WHERE artifact_num = ` + wandbArtifactNum,
			write:   `INSERT INTO wandb_file (artifact_num, name, md5) VALUES (` + wandbArtifactNum + `, ?2, ?3)`,
		}},
	},
	{
		name: "report",
		home: `SELECT project_id, project_id, report.name, coalesce(report.deleted_date, project.deleted_date) IS NOT NULL
			FROM report JOIN project ON project.id = project_id WHERE report.id = ?`,
		parts: []recordPart{{
			name:    "report",
			read:    `SELECT project_id, name, text, created_date, updated_date FROM report WHERE id = ?1`,
			columns: []check{anID, aName, aLong, anything, anything},
			content: 4,
			write: `INSERT INTO report (id, project_id, name, text, created_date, updated_date) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
				ON CONFLICT (id) DO UPDATE SET
					name         = excluded.name,
					text         = excluded.text,
					created_date = excluded.created_date,
					updated_date = excluded.updated_date`,
		}},
	},
	{
		name: "model",
		home: `SELECT project_id, project_id, model.name, coalesce(model.deleted_date, project.deleted_date) IS NOT NULL
			FROM model JOIN project ON project.id = project_id WHERE model.id = ?`,
		parts: []recordPart{{
			name:    "model",
			read:    `SELECT project_id, name, description, last_version, created_date, updated_date FROM model WHERE id = ?1`,
			columns: []check{anID, aName, aText, anything, anything, anything},
			content: 5,
			write: `INSERT INTO model (id, project_id, name, description, last_version, created_date, updated_date)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
				ON CONFLICT (id) DO UPDATE SET
					name         = excluded.name,
					description  = excluded.description,
					last_version = max(last_version, excluded.last_version),
					created_date = excluded.created_date,
					updated_date = excluded.updated_date`,
		}, propertyPart("model_id", "?1")},
	},
	{
		name: "model_version",
		home: `SELECT project_id, model_id, model.name || ' ' || version,
				coalesce(model_version.deleted_date, model.deleted_date, project.deleted_date) IS NOT NULL
			FROM model_version JOIN model ON model.id = model_id JOIN project ON project.id = project_id
			WHERE model_version.id = ?`,
		parts: []recordPart{{
			name: "model_version",
			read: `SELECT model_id, version, iteration.id, resource.id, model_version.description, model_version.created_date,
					source, location, run_id, run_link, model_version.updated_date
				FROM model_version
				LEFT JOIN iteration ON iteration.num = model_version.iteration_num
				LEFT JOIN resource ON resource.num = resource_num
				WHERE model_version.id = ?1`,
			columns: []check{anID, anything, anID, anID, aText, anything, aText, aText, aText, aText, anything},
			content: 10,
			write: `INSERT INTO model_version (id, model_id, version, iteration_num, resource_num, stage, description, created_date,
					source, location, run_id, run_link, updated_date)
				VALUES (?1, ?2, ?3,
					(SELECT iteration.num FROM iteration JOIN experiment ON experiment.id = experiment_id
						WHERE iteration.id = ?4 AND project_id = (SELECT project_id FROM model WHERE id = ?2)),
					(SELECT resource.num FROM resource JOIN experiment ON experiment.id = experiment_id
						WHERE resource.id = ?5 AND project_id = (SELECT project_id FROM model WHERE id = ?2)),
					'NONE', ?6, ?7, ?8, ?9, ?10, ?11, ?12)
				ON CONFLICT (id) DO UPDATE SET
					iteration_num = excluded.iteration_num,
					resource_num  = excluded.resource_num,
					description   = excluded.description,
					created_date  = excluded.created_date,
					source        = excluded.source,
					location      = excluded.location,
					run_id        = excluded.run_id,
					run_link      = excluded.run_link,
					updated_date  = excluded.updated_date`,
		}, propertyPart("model_version_id", "?1"), {
			name:    "stage",
			read:    `SELECT stage, beside FROM model_version WHERE id = ?1`,
			columns: []check{anything, anything},
			content: 2,
			clear:   `UPDATE model_version SET stage = 'NONE', beside = 0 WHERE id = ?1`,
			write:   `UPDATE model_version SET stage = ?2, beside = ?3 WHERE id = ?1`,
			late:    true,
		}, {
			name:    "model_alias",
			read:    `SELECT alias FROM model_alias WHERE version_id = ?1 ORDER BY alias`,
			columns: []check{aName},
			content: 1,
			clear:   `DELETE FROM model_alias WHERE version_id = ?1`,
			write:   `INSERT INTO model_alias (model_id, alias, version_id) SELECT model_id, ?2, id FROM model_version WHERE id = ?1`,
			late:    true,
		}},
	},
}
