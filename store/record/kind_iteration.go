package record

var iterationKind = &Kind{
	Name: "iteration",
	Home: `SELECT project_id, experiment_id, iteration.name,
			coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM iteration JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
		WHERE iteration.id = ?`,
	Parts: []Part{{
		Name: "iteration",
		Read: `SELECT experiment_id, name, notes, status, error_message, created_date, end_date, last_seen
			FROM iteration WHERE id = ?1`,
		Columns: []Column{ID, Name, Text, Any, Text, Any, Any, Any},
		Content: 7,
		Write: `INSERT INTO iteration (id, experiment_id, name, notes, status, error_message, created_date, end_date, last_seen)
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
		Name:    "parameter",
		Read:    `SELECT key, id, value FROM parameter WHERE iteration_num = ` + iterationNum + ` ORDER BY key`,
		Columns: []Column{Key, ID, Text},
		Content: 3,
		Clear:   `DELETE FROM parameter WHERE iteration_num = ` + iterationNum,
		Write:   `INSERT INTO parameter (iteration_num, key, id, value) VALUES (` + iterationNum + `, ?2, ?3, ?4)`,
	}, {
		Name: "snapshot",
		Read: `SELECT id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname, runtime, dependencies, created_date
			FROM snapshot WHERE iteration_num = ` + iterationNum,
		Columns: []Column{ID, Text, Any, Text, Text, Text, Text, Text, Text, Text, Any},
		Content: 11,
		Clear:   `DELETE FROM snapshot WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO snapshot (iteration_num, id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname,
				runtime, dependencies, created_date)
			VALUES (` + iterationNum + `, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
	}, {
		Name: "dataset",
		Read: `SELECT name, digest, source_type, source, schema, profile
			FROM iteration_dataset JOIN dataset ON dataset.id = dataset_id
			WHERE iteration_num = ` + iterationNum + ` ORDER BY dataset.id`,
		Columns: []Column{Text, Text, Text, Text, Text, Long},
		Content: 6,
		Write: `INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
			SELECT experiment_id, ?2, ?3, ?4, ?5, ?6, ?7 FROM iteration WHERE id = ?1
			ON CONFLICT DO NOTHING`,
	}, {
		Name: "iteration_dataset",
		Read: `SELECT name, digest, context, tags
			FROM iteration_dataset JOIN dataset ON dataset.id = dataset_id
			WHERE iteration_num = ` + iterationNum + ` ORDER BY dataset.id`,
		Columns: []Column{Text, Text, Text, JSON},
		Content: 4,
		Clear:   `DELETE FROM iteration_dataset WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO iteration_dataset (iteration_num, dataset_id, context, tags)
			SELECT iteration.num, dataset.id, ?4, ?5
			FROM iteration JOIN dataset ON dataset.experiment_id = iteration.experiment_id
			WHERE iteration.id = ?1 AND dataset.name = ?2 AND dataset.digest = ?3`,
	}, {
		Name:    "console_line",
		Read:    `SELECT number, text, written_date FROM console_line WHERE iteration_num = ` + iterationNum + ` ORDER BY number`,
		Columns: []Column{Any, Text, Any},
		Content: 3,
		Clear:   `DELETE FROM console_line WHERE iteration_num = ` + iterationNum,
		Write:   `INSERT INTO console_line (iteration_num, number, text, written_date) VALUES (` + iterationNum + `, ?2, ?3, ?4)`,
	}, {
		Name:    "wandb_run",
		Read:    `SELECT name, config, summary, about FROM wandb_run WHERE iteration_num = ` + iterationNum,
		Columns: []Column{Text, Long, Long, Long},
		Content: 4,
		Clear:   `DELETE FROM wandb_run WHERE iteration_num = ` + iterationNum,
		Write:   `INSERT INTO wandb_run (iteration_num, name, config, summary, about) VALUES (` + iterationNum + `, ?2, ?3, ?4, ?5)`,
	}, {
		Name:    "wandb_row",
		Read:    `SELECT step, content FROM wandb_row WHERE iteration_num = ` + iterationNum + ` ORDER BY step`,
		Columns: []Column{Any, Long},
		Content: 2,
		Clear:   `DELETE FROM wandb_row WHERE iteration_num = ` + iterationNum,
		Write:   `INSERT INTO wandb_row (iteration_num, step, content) VALUES (` + iterationNum + `, ?2, ?3)`,
	}, {
		Name: "source",
		Read: `SELECT id, path, size, fingerprint, position, state, updated_date FROM source
			WHERE iteration_num = ` + iterationNum + ` AND state NOT IN ('` + copied + `', '` + copying + `') ORDER BY id`,
		Columns: []Column{ID, Text, Any, Text, Any, Text, Any},
		Content: 0, // the origin of an import is not part of the content
		Write: `INSERT INTO source (iteration_num, id, path, size, fingerprint, position, state, updated_date)
			VALUES (` + iterationNum + `, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (id) DO UPDATE SET
				size         = excluded.size,
				fingerprint  = excluded.fingerprint,
				position     = excluded.position,
				state        = excluded.state,
				updated_date = excluded.updated_date
			WHERE iteration_num IS NULL OR iteration_num = excluded.iteration_num`,
	}, {
		Name: parentPart,
		Read: `SELECT parent.id FROM iteration JOIN iteration AS parent ON parent.num = iteration.parent_num
			WHERE iteration.id = ?1 AND parent.deleted_date IS NULL`,
		Columns: []Column{ID},
		Content: 1,
		Write: `UPDATE iteration SET parent_num = parent.num
			FROM iteration AS parent
			WHERE iteration.id = ?1 AND parent.id = ?2 AND parent.experiment_id = iteration.experiment_id
			AND iteration.num NOT IN (
				WITH RECURSIVE above(num) AS (
					SELECT parent.num UNION SELECT parent_num FROM iteration JOIN above USING (num) WHERE parent_num IS NOT NULL)
				SELECT num FROM above)`,
		Late:       true,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Unlink:     `UPDATE iteration SET parent_num = NULL WHERE id = ?1`,
	}},
	Artifacts: `resource.iteration_num = ` + iterationNum,
}

var wandbArtifactKind = &Kind{
	Name: "wandb_artifact",
	Home: `SELECT project_id, wandb_artifact.experiment_id, collection || ':v' || version,
			coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM wandb_artifact JOIN iteration ON iteration.num = iteration_num
		JOIN experiment ON experiment.id = wandb_artifact.experiment_id JOIN project ON project.id = project_id
		WHERE wandb_artifact.id = ?`,
	Parts: []Part{{
		Name: "wandb_artifact",
		Read: `SELECT wandb_artifact.experiment_id, iteration.id, collection, version, type, digest, client_id, aliases, description,
				metadata, state, size, files, wandb_artifact.created_date, updated_date
			FROM wandb_artifact JOIN iteration ON iteration.num = iteration_num
			WHERE wandb_artifact.id = ?1`,
		Columns:    []Column{ID, ID, Text, Any, Text, Text, Text, Long, Text, Long, Any, Any, Any, Any, Any},
		Content:    14,
		References: []Reference{{Column: 1, Kind: "iteration", Owner: true}},
		Write: `INSERT INTO wandb_artifact (id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases,
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
		Name:    "wandb_alias",
		Read:    `SELECT alias FROM wandb_alias WHERE artifact_num = ` + wandbArtifactNum + ` ORDER BY alias`,
		Columns: []Column{Text},
		Content: 1,
		Clear:   `DELETE FROM wandb_alias WHERE artifact_num = ` + wandbArtifactNum,
		Write: `INSERT INTO wandb_alias (experiment_id, collection, alias, artifact_num)
			SELECT experiment_id, collection, ?2, num FROM wandb_artifact WHERE id = ?1
			ON CONFLICT (experiment_id, collection, alias) DO UPDATE SET artifact_num = excluded.artifact_num`,
		Late: true,
	}, {
		Name: "wandb_artifact_use",
		Read: `SELECT iteration.id FROM wandb_artifact_use JOIN iteration ON iteration.num = iteration_num
			WHERE artifact_num = ` + wandbArtifactNum + ` AND iteration.deleted_date IS NULL ORDER BY iteration.num`,
		Columns:    []Column{ID},
		Content:    1,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Write: `INSERT INTO wandb_artifact_use (artifact_num, iteration_num)
			SELECT ` + wandbArtifactNum + `, iteration.num FROM iteration JOIN experiment ON experiment.id = experiment_id
			WHERE iteration.id = ?2 AND project_id = (SELECT project_id FROM experiment JOIN wandb_artifact
				ON wandb_artifact.experiment_id = experiment.id WHERE wandb_artifact.id = ?1)
			ON CONFLICT DO NOTHING`,
	}, {
		Name:    "wandb_file",
		Read:    `SELECT name, md5 FROM wandb_file WHERE artifact_num = ` + wandbArtifactNum + ` ORDER BY name`,
		Columns: []Column{Text, Text},
		Content: 2,
		Clear:   `DELETE FROM wandb_file WHERE artifact_num = ` + wandbArtifactNum,
		Write:   `INSERT INTO wandb_file (artifact_num, name, md5) VALUES (` + wandbArtifactNum + `, ?2, ?3)`,
	}},
}
