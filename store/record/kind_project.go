package record

var projectKind = &Kind{
	Name: "project",
	Home: `SELECT id, '', name, deleted_date IS NOT NULL FROM project WHERE id = ?`,
	Parts: []Part{{
		Name:    "project",
		From:    `FROM project WHERE id = :record`,
		Columns: []Column{{"name", Name}, {"description", Text}, {"created_date", Any}, {"created_by", Short}, {"created_key", Short}},
		Content: 3,
		Write: `INSERT INTO project (id, name, description, created_date, created_by, created_key)
			VALUES (:record, :name, :description, :created_date, :created_by, :created_key)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				description  = excluded.description,
				created_date = excluded.created_date`,
	}, tagPart("project_id", ":record")},
}

var experimentKind = &Kind{
	Name: "experiment",
	Home: `SELECT project_id, project_id, experiment.name, coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM experiment JOIN project ON project.id = project_id WHERE experiment.id = ?`,
	Parts: []Part{{
		Name: "experiment",
		From: `FROM experiment WHERE id = :record`,
		Columns: []Column{
			{"project_id", ID}, {"name", Name}, {"description", Text}, {"status", Any}, {"created_date", Any},
			{"end_date", Any}, {"objective", Text}, {"updated_date", Any}, {"created_by", Short}, {"created_key", Short},
		},
		Content: 7,
		Write: `INSERT INTO experiment (id, project_id, name, description, status, created_date, end_date, objective, updated_date,
				created_by, created_key)
			VALUES (:record, :project_id, :name, :description, :status, :created_date, :end_date, :objective, :updated_date,
				:created_by, :created_key)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				description  = excluded.description,
				status       = excluded.status,
				created_date = excluded.created_date,
				end_date     = excluded.end_date,
				objective    = excluded.objective,
				updated_date = excluded.updated_date`,
	}, tagPart("experiment_id", ":record"), propertyPart("experiment_id", ":record"), {
		Name: "dataset",
		From: `FROM dataset
			WHERE experiment_id = :record ORDER BY id`,
		Columns: []Column{
			{"name", Text}, {"digest", Text}, {"source_type", Text}, {"source", Text}, {"schema", Text},
			{"profile", Long},
		},
		Content: 0, // runs refer to the datasets that they use
		Write: `INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
			VALUES (:record, :name, :digest, :source_type, :source, :schema, :profile) ON CONFLICT DO NOTHING`,
	}, {
		Name: "experiment_view",
		From: `FROM experiment_view
			WHERE experiment_id = :record ORDER BY created_date, id`,
		Columns: []Column{
			{"id", ID}, {"name", Name}, {"query", Text}, {"created_date", Any}, {"panels", Text}, {"updated_date", Any},
			{"created_by", Short}, {"created_key", Short}, {"client", Long},
		},
		Content: 5,
		Clear:   `DELETE FROM experiment_view WHERE experiment_id = :record`,
		Write: `INSERT INTO experiment_view (experiment_id, id, name, query, created_date, panels, updated_date, created_by, created_key,
				client)
			VALUES (:record, :id, :name, :query, :created_date, :panels, :updated_date, :created_by, :created_key,
				:client)`,
	}, {
		Name:     "artifact_collection",
		From:     `FROM artifact_collection WHERE experiment_id = :record ORDER BY name`,
		Columns:  []Column{{"name", Text}, {"description", Text}, {"tags", Long}, {"updated_date", Any}},
		Content:  3,
		Optional: true,
		Clear:    `DELETE FROM artifact_collection WHERE experiment_id = :record`,
		Write: `INSERT INTO artifact_collection (experiment_id, name, description, tags, updated_date)
			VALUES (:record, :name, :description, :tags, :updated_date)`,
	}, {
		Name: "wandb_sweep",
		From: `FROM wandb_sweep
			WHERE experiment_id = :record ORDER BY id`,
		Columns: []Column{
			{"id", Short}, {"name", Text}, {"config", Long}, {"state", Any}, {"created_date", Any},
			{"updated_date", Any},
		},
		Content: 5,
		Clear:   `DELETE FROM wandb_sweep WHERE experiment_id = :record`,
		Write: `INSERT INTO wandb_sweep (experiment_id, id, name, config, state, created_date, updated_date)
			VALUES (:record, :id, :name, :config, :state, :created_date, :updated_date) ON CONFLICT (id) DO NOTHING`,
	}, {
		Name: "wandb_trial",
		From: `FROM wandb_trial JOIN wandb_sweep ON wandb_sweep.num = sweep_num
			WHERE experiment_id = :record ORDER BY wandb_sweep.id, number`,
		Columns: []Column{
			{"wandb_sweep.id AS sweep_id", Short}, {"number", Any}, {"wandb_trial.name", Text}, {"agent", Text},
			{"point", Long}, {"settings", Long}, {"wandb_trial.state", Any}, {"given_date", Any},
			{"brackets", Text}, {"value", Any},
		},
		Content: 10,
		Write: `INSERT INTO wandb_trial (sweep_num, number, name, agent, point, settings, state, given_date, brackets, value)
			SELECT num, :number, :name, :agent, :point, :settings, :state, :given_date, :brackets, :value
			FROM wandb_sweep WHERE experiment_id = :record AND id = :sweep_id`,
	}},
	Artifacts: `resource.experiment_id = :record AND resource.iteration_num IS NULL`,
}

var reportKind = &Kind{
	Name: "report",
	Home: `SELECT project_id, project_id, report.name, coalesce(report.deleted_date, project.deleted_date) IS NOT NULL
		FROM report JOIN project ON project.id = project_id WHERE report.id = ?`,
	Parts: []Part{{
		Name: "report",
		From: `FROM report WHERE id = :record`,
		Columns: []Column{
			{"project_id", ID}, {"name", Name}, {"text", Long}, {"created_date", Any}, {"updated_date", Any},
			{"created_by", Short}, {"created_key", Short}, {"client", Long},
		},
		Content: 4,
		Write: `INSERT INTO report (id, project_id, name, text, created_date, updated_date, created_by, created_key, client)
			VALUES (:record, :project_id, :name, :text, :created_date, :updated_date, :created_by, :created_key, :client)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				text         = excluded.text,
				created_date = excluded.created_date,
				updated_date = excluded.updated_date,
				client       = excluded.client`,
	}},
}
