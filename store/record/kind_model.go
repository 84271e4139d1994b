package record

var loggedModelKind = &Kind{
	Name: "logged_model",
	Home: `SELECT project_id, experiment_id, logged_model.name, coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM logged_model JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
		WHERE logged_model.id = ?`,
	Parts: []Part{{
		Name: "logged_model",
		Read: `SELECT logged_model.experiment_id, iteration.id, logged_model.name, type, logged_model.status, params,
				logged_model.created_date, logged_model.updated_date
			FROM logged_model LEFT JOIN iteration ON iteration.num = iteration_num AND iteration.deleted_date IS NULL
			WHERE logged_model.id = ?1`,
		Columns:    []Column{ID, ID, Name, Short, Any, JSON, Any, Any},
		Content:    7,
		References: []Reference{{Column: 1, Kind: "iteration"}},
		Write: `INSERT INTO logged_model (id, experiment_id, iteration_num, name, type, status, params, created_date, updated_date)
			VALUES (?1, ?2, (SELECT iteration.num FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id
				WHERE iteration.id = ?3 AND project_id = (SELECT project_id FROM experiment WHERE id = ?2)), ?4, ?5, ?6, ?7, ?8, ?9)
			ON CONFLICT (id) DO UPDATE SET
				iteration_num = coalesce(excluded.iteration_num, iteration_num),
				name          = excluded.name,
				type          = excluded.type,
				status        = excluded.status,
				params        = excluded.params,
				created_date  = excluded.created_date,
				updated_date  = excluded.updated_date`,
	}, propertyPart("logged_model_num", loggedModelNum), {
		Name: "logged_model_use",
		Read: `SELECT iteration.id, role, step FROM logged_model_use JOIN iteration ON iteration.num = iteration_num
			WHERE logged_model_num = ` + loggedModelNum + ` AND iteration.deleted_date IS NULL
			ORDER BY iteration.num, role, step`,
		Columns:    []Column{ID, Any, Any},
		Content:    3,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Write: `INSERT INTO logged_model_use (logged_model_num, iteration_num, role, step)
			SELECT ` + loggedModelNum + `, num, ?3, ?4 FROM iteration
			WHERE id = ?2 AND experiment_id = (SELECT experiment_id FROM logged_model WHERE id = ?1)
			ON CONFLICT DO NOTHING`,
	}, {
		Name: "logged_model_metric",
		Read: `SELECT iteration.id, key, recorded_at, step, dataset_name, dataset_digest, value
			FROM logged_model_metric JOIN iteration ON iteration.num = iteration_num
			WHERE logged_model_num = ` + loggedModelNum + ` AND iteration.deleted_date IS NULL
			ORDER BY key, recorded_at, step, iteration.num, dataset_name, dataset_digest`,
		Columns:    []Column{ID, Key, Any, Any, Text, Text, Any},
		Content:    7,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Write: `INSERT INTO logged_model_metric
				(logged_model_num, iteration_num, key, recorded_at, step, dataset_name, dataset_digest, value)
			SELECT ` + loggedModelNum + `, num, ?3, ?4, ?5, ?6, ?7, ?8 FROM iteration
			WHERE id = ?2 AND experiment_id = (SELECT experiment_id FROM logged_model WHERE id = ?1)
			ON CONFLICT DO UPDATE SET value = excluded.value`,
	}},
}

var modelKind = &Kind{
	Name: "model",
	Home: `SELECT project_id, project_id, model.name, coalesce(model.deleted_date, project.deleted_date) IS NOT NULL
		FROM model JOIN project ON project.id = project_id WHERE model.id = ?`,
	Parts: []Part{{
		Name:    "model",
		Read:    `SELECT project_id, name, description, last_version, created_date, updated_date FROM model WHERE id = ?1`,
		Columns: []Column{ID, Name, Text, Any, Any, Any},
		Content: 5,
		Write: `INSERT INTO model (id, project_id, name, description, last_version, created_date, updated_date)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				description  = excluded.description,
				last_version = max(last_version, excluded.last_version),
				created_date = excluded.created_date,
				updated_date = excluded.updated_date`,
	}, propertyPart("model_id", "?1")},
}

var modelVersionKind = &Kind{
	Name: "model_version",
	Home: `SELECT project_id, model_id, model.name || ' ' || version,
			coalesce(model_version.deleted_date, model.deleted_date, project.deleted_date) IS NOT NULL
		FROM model_version JOIN model ON model.id = model_id JOIN project ON project.id = project_id
		WHERE model_version.id = ?`,
	Parts: []Part{{
		Name: "model_version",
		Read: `SELECT model_id, version, iteration.id, resource.id, model_version.description, model_version.created_date,
				source, location, run_id, run_link, model_version.updated_date
			FROM model_version
			LEFT JOIN iteration ON iteration.num = model_version.iteration_num
			LEFT JOIN resource ON resource.num = resource_num
			WHERE model_version.id = ?1`,
		Columns:    []Column{ID, Any, ID, ID, Text, Any, Text, Text, Text, Text, Any},
		Content:    10,
		References: []Reference{{Column: 2, Kind: "iteration"}, {Column: 3, Kind: "resource"}},
		Write: `INSERT INTO model_version (id, model_id, version, iteration_num, resource_num, stage, description, created_date,
				source, location, run_id, run_link, updated_date)
			VALUES (?1, ?2, ?3,
				(SELECT iteration.num FROM iteration JOIN experiment ON experiment.id = experiment_id
					WHERE iteration.id = ?4 AND project_id = (SELECT project_id FROM model WHERE id = ?2)),
				(SELECT resource.num FROM resource JOIN experiment ON experiment.id = experiment_id
					WHERE resource.id = ?5 AND project_id = (SELECT project_id FROM model WHERE id = ?2)),
				'NONE', ?6, ?7, ?8, ?9, ?10, ?11, ?12)
			ON CONFLICT (id) DO UPDATE SET
				iteration_num = coalesce(excluded.iteration_num, iteration_num),
				resource_num  = coalesce(excluded.resource_num, resource_num),
				description   = excluded.description,
				created_date  = excluded.created_date,
				source        = excluded.source,
				location      = excluded.location,
				run_id        = excluded.run_id,
				run_link      = excluded.run_link,
				updated_date  = excluded.updated_date`,
	}, propertyPart("model_version_id", "?1"), {
		Name:    "stage",
		Read:    `SELECT stage, beside FROM model_version WHERE id = ?1`,
		Columns: []Column{Any, Any},
		Content: 2,
		Clear:   `UPDATE model_version SET stage = 'NONE', beside = 0 WHERE id = ?1`,
		Write:   `UPDATE model_version SET stage = ?2, beside = ?3 WHERE id = ?1`,
		Late:    true,
	}, {
		Name:    "model_alias",
		Read:    `SELECT alias FROM model_alias WHERE version_id = ?1 ORDER BY alias`,
		Columns: []Column{Name},
		Content: 1,
		Clear:   `DELETE FROM model_alias WHERE version_id = ?1`,
		Write: `INSERT INTO model_alias (model_id, alias, version_id) SELECT model_id, ?2, id FROM model_version WHERE id = ?1
			ON CONFLICT (model_id, alias) DO UPDATE SET version_id = excluded.version_id`,
		Late: true,
	}},
}
