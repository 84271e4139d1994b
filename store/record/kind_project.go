package record

var projectKind = &Kind{
	Name: "project",
	Home: `SELECT id, '', name, deleted_date IS NOT NULL FROM project WHERE id = ?`,
	Parts: []Part{{
		Name:    "project",
		Read:    `SELECT name, description, created_date FROM project WHERE id = ?1`,
		Columns: []Column{Name, Text, Any},
		Content: 3,
		Write: `INSERT INTO project (id, name, description, created_date) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				description  = excluded.description,
				created_date = excluded.created_date`,
	}, tagPart("project_id", "?1")},
}

var experimentKind = &Kind{
	Name: "experiment",
	Home: `SELECT project_id, project_id, experiment.name, coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM experiment JOIN project ON project.id = project_id WHERE experiment.id = ?`,
	Parts: []Part{{
		Name: "experiment",
		Read: `SELECT project_id, name, description, status, created_date, end_date, objective, updated_date
			FROM experiment WHERE id = ?1`,
		Columns: []Column{ID, Name, Text, Any, Any, Any, Text, Any},
		Content: 7,
		Write: `INSERT INTO experiment (id, project_id, name, description, status, created_date, end_date, objective, updated_date)
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
		Name: "dataset",
		Read: `SELECT name, digest, source_type, source, schema, profile FROM dataset
			WHERE experiment_id = ?1 ORDER BY id`,
		Columns: []Column{Text, Text, Text, Text, Text, Long},
		Content: 0, // each run has the datasets that it uses
		Write: `INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`,
	}, {
		Name: "experiment_view",
		Read: `SELECT id, name, query, created_date, updated_date FROM experiment_view
			WHERE experiment_id = ?1 ORDER BY created_date, id`,
		Columns: []Column{ID, Name, Text, Any, Any},
		Content: 4,
		Clear:   `DELETE FROM experiment_view WHERE experiment_id = ?1`,
		Write: `INSERT INTO experiment_view (experiment_id, id, name, query, created_date, updated_date)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
	}, {
		Name: "wandb_sweep",
		Read: `SELECT id, name, config, state, created_date, updated_date FROM wandb_sweep
			WHERE experiment_id = ?1 ORDER BY id`,
		Columns: []Column{Short, Text, Long, Any, Any, Any},
		Content: 5,
		Clear:   `DELETE FROM wandb_sweep WHERE experiment_id = ?1`,
		Write: `INSERT INTO wandb_sweep (experiment_id, id, name, config, state, created_date, updated_date)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING`,
	}, {
		Name: "wandb_trial",
		Read: `SELECT wandb_sweep.id, number, wandb_trial.name, agent, point, settings, wandb_trial.state, given_date, brackets, value
			FROM wandb_trial JOIN wandb_sweep ON wandb_sweep.num = sweep_num
			WHERE experiment_id = ?1 ORDER BY wandb_sweep.id, number`,
		Columns: []Column{Short, Any, Text, Text, Long, Long, Any, Any, Text, Any},
		Content: 10,
		Write: `INSERT INTO wandb_trial (sweep_num, number, name, agent, point, settings, state, given_date, brackets, value)
			SELECT num, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM wandb_sweep WHERE experiment_id = ?1 AND id = ?2`,
	}},
	Artifacts: `resource.experiment_id = ?1 AND resource.iteration_num IS NULL`,
}

var reportKind = &Kind{
	Name: "report",
	Home: `SELECT project_id, project_id, report.name, coalesce(report.deleted_date, project.deleted_date) IS NOT NULL
		FROM report JOIN project ON project.id = project_id WHERE report.id = ?`,
	Parts: []Part{{
		Name:    "report",
		Read:    `SELECT project_id, name, text, created_date, updated_date FROM report WHERE id = ?1`,
		Columns: []Column{ID, Name, Long, Any, Any},
		Content: 4,
		Write: `INSERT INTO report (id, project_id, name, text, created_date, updated_date) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT (id) DO UPDATE SET
				name         = excluded.name,
				text         = excluded.text,
				created_date = excluded.created_date,
				updated_date = excluded.updated_date`,
	}},
}
