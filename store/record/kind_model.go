package record

var loggedModelKind = &Kind{
	Name: "logged_model",
	Home: `SELECT project_id, experiment_id, logged_model.name, coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM logged_model JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
		WHERE logged_model.id = ?`,
	Parts: []Part{{
		Name: "logged_model",
		From: `FROM logged_model LEFT JOIN iteration ON iteration.num = iteration_num AND iteration.deleted_date IS NULL
			WHERE logged_model.id = :record`,
		Columns: []Column{
			{"logged_model.experiment_id", ID}, {"iteration.id AS iteration_id", ID},
			{"logged_model.name", Name}, {"type", Short}, {"logged_model.status", Any}, {"params", JSON},
			{"logged_model.created_date", Any}, {"logged_model.updated_date", Any},
		},
		Content:    7,
		References: []Reference{{Column: 1, Kind: "iteration"}},
		Write: `INSERT INTO logged_model (id, experiment_id, iteration_num, name, type, status, params, created_date, updated_date)
			VALUES (:record, :experiment_id, (SELECT iteration.num FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id
				WHERE iteration.id = :iteration_id AND project_id = (SELECT project_id FROM experiment WHERE id = :experiment_id)),
				:name, :type, :status, :params, :created_date, :updated_date)
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
		From: `FROM logged_model_use JOIN iteration ON iteration.num = iteration_num
			WHERE logged_model_num = ` + loggedModelNum + ` AND iteration.deleted_date IS NULL
			ORDER BY iteration.num, role, step`,
		Columns:    []Column{{"iteration.id AS iteration_id", ID}, {"role", Any}, {"step", Any}},
		Content:    3,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Write: `INSERT INTO logged_model_use (logged_model_num, iteration_num, role, step)
			SELECT ` + loggedModelNum + `, num, :role, :step FROM iteration
			WHERE id = :iteration_id AND experiment_id = (SELECT experiment_id FROM logged_model WHERE id = :record)
			ON CONFLICT DO NOTHING`,
	}, {
		Name: "logged_model_metric",
		From: `FROM logged_model_metric JOIN iteration ON iteration.num = iteration_num
			WHERE logged_model_num = ` + loggedModelNum + ` AND iteration.deleted_date IS NULL
			ORDER BY key, recorded_at, step, iteration.num, dataset_name, dataset_digest`,
		Columns: []Column{
			{"iteration.id AS iteration_id", ID}, {"key", Key}, {"recorded_at", Any}, {"step", Any},
			{"dataset_name", Text}, {"dataset_digest", Text}, {"value", Any},
		},
		Content:    7,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Write: `INSERT INTO logged_model_metric
				(logged_model_num, iteration_num, key, recorded_at, step, dataset_name, dataset_digest, value)
			SELECT ` + loggedModelNum + `, num, :key, :recorded_at, :step, :dataset_name, :dataset_digest, :value FROM iteration
			WHERE id = :iteration_id AND experiment_id = (SELECT experiment_id FROM logged_model WHERE id = :record)
			ON CONFLICT DO UPDATE SET value = excluded.value`,
	}},
}

var modelKind = &Kind{
	Name: "model",
	Home: `SELECT project_id, project_id, model.name, coalesce(model.deleted_date, project.deleted_date) IS NOT NULL
		FROM model JOIN project ON project.id = project_id WHERE model.id = ?`,
	Parts: []Part{{
		Name: "model",
		From: `FROM model WHERE id = :record`,
		Columns: []Column{
			{"project_id", ID}, {"name", Name}, {"description", Text}, {"last_version", Any},
			{"created_date", Any}, {"updated_date", Any}, {"created_by", Short}, {"created_key", Short},
		},
		Content: 5,
		Write: `INSERT INTO model (id, project_id, name, description, last_version, created_date, updated_date, created_by, created_key)
			VALUES (:record, :project_id, :name, :description, :last_version, :created_date, :updated_date, :created_by, :created_key)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				description  = excluded.description,
				last_version = max(last_version, excluded.last_version),
				created_date = excluded.created_date,
				updated_date = excluded.updated_date`,
	}, propertyPart("model_id", ":record")},
}

var modelVersionKind = &Kind{
	Name: "model_version",
	Home: `SELECT project_id, model_id, model.name || ' ' || version,
			coalesce(model_version.deleted_date, model.deleted_date, project.deleted_date) IS NOT NULL
		FROM model_version JOIN model ON model.id = model_id JOIN project ON project.id = project_id
		WHERE model_version.id = ?`,
	Parts: []Part{{
		Name: "model_version",
		From: `FROM model_version
			LEFT JOIN iteration ON iteration.num = model_version.iteration_num
			LEFT JOIN resource ON resource.num = resource_num
			WHERE model_version.id = :record`,
		Columns: []Column{
			{"model_id", ID}, {"version", Any}, {"iteration.id AS iteration_id", ID},
			{"resource.id AS resource_id", ID}, {"model_version.description", Text},
			{"model_version.created_date", Any}, {"source", Text}, {"location", Text}, {"run_id", Text},
			{"run_link", Text}, {"model_version.updated_date", Any}, {"model_version.created_by", Short},
			{"model_version.created_key", Short},
		},
		Content:    10,
		References: []Reference{{Column: 2, Kind: "iteration"}, {Column: 3, Kind: "resource"}},
		Write: `INSERT INTO model_version (id, model_id, version, iteration_num, resource_num, stage, description, created_date,
				source, location, run_id, run_link, updated_date, created_by, created_key)
			VALUES (:record, :model_id, :version,
				(SELECT iteration.num FROM iteration JOIN experiment ON experiment.id = experiment_id
					WHERE iteration.id = :iteration_id AND project_id = (SELECT project_id FROM model WHERE id = :model_id)),
				(SELECT resource.num FROM resource JOIN experiment ON experiment.id = experiment_id
					WHERE resource.id = :resource_id AND project_id = (SELECT project_id FROM model WHERE id = :model_id)),
				'NONE', :description, :created_date, :source, :location, :run_id, :run_link, :updated_date,
				:created_by, :created_key)
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
	}, propertyPart("model_version_id", ":record"), {
		Name:    "stage",
		From:    `FROM model_version WHERE id = :record`,
		Columns: []Column{{"stage", Any}, {"beside", Any}},
		Content: 2,
		Clear:   `UPDATE model_version SET stage = 'NONE', beside = 0 WHERE id = :record`,
		Write:   `UPDATE model_version SET stage = :stage, beside = :beside WHERE id = :record`,
		Late:    true,
	}, {
		Name:    "model_alias",
		From:    `FROM model_alias WHERE version_id = :record ORDER BY alias`,
		Columns: []Column{{"alias", Name}},
		Content: 1,
		Clear:   `DELETE FROM model_alias WHERE version_id = :record`,
		Write: `INSERT INTO model_alias (model_id, alias, version_id)
			SELECT model_id, :alias, id FROM model_version WHERE id = :record
			ON CONFLICT (model_id, alias) DO UPDATE SET version_id = excluded.version_id`,
		Late: true,
	}},
}
