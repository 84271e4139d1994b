package record

var iterationKind = &Kind{
	Name: "iteration",
	Home: `SELECT project_id, experiment_id, iteration.name,
			coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM iteration JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
		WHERE iteration.id = ?`,
	Parts: []Part{{
		Name: "iteration",
		From: `FROM iteration WHERE id = :record`,
		Columns: []Column{
			{"experiment_id", ID}, {"name", Name}, {"notes", Text}, {"status", Any}, {"error_message", Text},
			{"created_date", Any}, {"end_date", Any}, {"last_seen", Any}, {"created_by", Short}, {"created_key", Short},
		},
		Content: 7,
		Write: `INSERT INTO iteration (id, experiment_id, name, notes, status, error_message, created_date, end_date, last_seen,
				created_by, created_key)
			VALUES (:record, :experiment_id, :name, :notes, :status, :error_message, :created_date, :end_date, :last_seen,
				:created_by, :created_key)
			ON CONFLICT (id) DO UPDATE SET
				name              = excluded.name,
				notes             = excluded.notes,
				status            = excluded.status,
				error_message     = excluded.error_message,
				created_date      = excluded.created_date,
				end_date          = excluded.end_date,
				last_seen         = max(last_seen, excluded.last_seen),
				stop_requested    = iif(excluded.status = 'RUNNING', stop_requested, NULL),
				stop_requested_by = iif(excluded.status = 'RUNNING', stop_requested_by, NULL)`,
	}, tagPart("iteration_num", iterationNum), propertyPart("iteration_num", iterationNum), {
		Name:    "parameter",
		From:    `FROM parameter WHERE iteration_num = ` + iterationNum + ` ORDER BY key`,
		Columns: []Column{{"key", Key}, {"id", ID}, {"value", Text}},
		Content: 3,
		Clear:   `DELETE FROM parameter WHERE iteration_num = ` + iterationNum,
		Write:   `INSERT INTO parameter (iteration_num, key, id, value) VALUES (` + iterationNum + `, :key, :id, :value)`,
	}, {
		Name: "snapshot",
		From: `FROM snapshot WHERE iteration_num = ` + iterationNum,
		Columns: []Column{
			{"id", ID}, {"git_sha", Text}, {"git_dirty", Any}, {"git_remote", Text}, {"git_diff", Text},
			{"entrypoint", Text}, {"command", Text}, {"hostname", Text}, {"runtime", Text},
			{"dependencies", Text}, {"created_date", Any},
		},
		Content: 11,
		Clear:   `DELETE FROM snapshot WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO snapshot (iteration_num, id, git_sha, git_dirty, git_remote, git_diff, entrypoint, command, hostname,
				runtime, dependencies, created_date)
			VALUES (` + iterationNum + `, :id, :git_sha, :git_dirty, :git_remote, :git_diff, :entrypoint, :command, :hostname,
				:runtime, :dependencies, :created_date)`,
	}, {
		Name: "dataset",
		From: `FROM iteration_dataset JOIN dataset ON dataset.id = dataset_id
			WHERE iteration_num = ` + iterationNum + ` ORDER BY dataset.id`,
		Columns: []Column{
			{"name", Text}, {"digest", Text}, {"source_type", Text}, {"source", Text}, {"schema", Text},
			{"profile", Long},
		},
		Content: 6,
		Write: `INSERT INTO dataset (experiment_id, name, digest, source_type, source, schema, profile)
			SELECT experiment_id, :name, :digest, :source_type, :source, :schema, :profile FROM iteration WHERE id = :record
			ON CONFLICT DO NOTHING`,
	}, {
		Name: "iteration_dataset",
		From: `FROM iteration_dataset JOIN dataset ON dataset.id = dataset_id
			WHERE iteration_num = ` + iterationNum + ` ORDER BY dataset.id`,
		Columns: []Column{{"name", Text}, {"digest", Text}, {"context", Text}, {"tags", JSON}},
		Content: 4,
		Clear:   `DELETE FROM iteration_dataset WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO iteration_dataset (iteration_num, dataset_id, context, tags)
			SELECT iteration.num, dataset.id, :context, :tags
			FROM iteration JOIN dataset ON dataset.experiment_id = iteration.experiment_id
			WHERE iteration.id = :record AND dataset.name = :name AND dataset.digest = :digest`,
	}, {
		Name:    "console_line",
		From:    `FROM console_line WHERE iteration_num = ` + iterationNum + ` ORDER BY number`,
		Columns: []Column{{"number", Any}, {"text", Text}, {"written_date", Any}},
		Content: 3,
		Clear:   `DELETE FROM console_line WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO console_line (iteration_num, number, text, written_date)
			VALUES (` + iterationNum + `, :number, :text, :written_date)`,
	}, {
		Name:    "wandb_run",
		From:    `FROM wandb_run WHERE iteration_num = ` + iterationNum,
		Columns: []Column{{"name", Text}, {"config", Long}, {"summary", Long}, {"about", Long}},
		Content: 4,
		Clear:   `DELETE FROM wandb_run WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO wandb_run (iteration_num, name, config, summary, about)
			VALUES (` + iterationNum + `, :name, :config, :summary, :about)`,
	}, {
		Name:    "wandb_row",
		From:    `FROM wandb_row WHERE iteration_num = ` + iterationNum + ` ORDER BY step`,
		Columns: []Column{{"step", Any}, {"content", Long}},
		Content: 2,
		Clear:   `DELETE FROM wandb_row WHERE iteration_num = ` + iterationNum,
		Write:   `INSERT INTO wandb_row (iteration_num, step, content) VALUES (` + iterationNum + `, :step, :content)`,
	}, {
		Name:    "wandb_writer",
		From:    `FROM wandb_writer WHERE iteration_num = ` + iterationNum + ` ORDER BY client`,
		Columns: []Column{{"client", Text}, {"history_lines", Any}, {"event_lines", Any}, {"complete", Any}, {"console", Long}},
		Content: 5,
		Clear:   `DELETE FROM wandb_writer WHERE iteration_num = ` + iterationNum,
		Write: `INSERT INTO wandb_writer (iteration_num, client, history_lines, event_lines, complete, console)
			VALUES (` + iterationNum + `, :client, :history_lines, :event_lines, :complete, :console)`,
		Optional: true,
	}, {
		Name:     "wandb_row_sum",
		From:     `FROM wandb_row_sum WHERE iteration_num = ` + iterationNum + ` ORDER BY sum`,
		Columns:  []Column{{"sum", Any}},
		Content:  1,
		Clear:    `DELETE FROM wandb_row_sum WHERE iteration_num = ` + iterationNum,
		Write:    `INSERT INTO wandb_row_sum (iteration_num, sum) VALUES (` + iterationNum + `, :sum)`,
		Optional: true,
	}, {
		Name: "source",
		From: `FROM source
			WHERE iteration_num = ` + iterationNum + ` AND state NOT IN ('` + copied + `', '` + copying + `') ORDER BY id`,
		Columns: []Column{
			{"id", ID}, {"path", Text}, {"size", Any}, {"fingerprint", Text}, {"position", Any}, {"state", Text},
			{"updated_date", Any},
		},
		Content: 0, // the origin of an imported run is not part of its content
		Write: `INSERT INTO source (iteration_num, id, path, size, fingerprint, position, state, updated_date)
			VALUES (` + iterationNum + `, :id, :path, :size, :fingerprint, :position, :state, :updated_date)
			ON CONFLICT (id) DO UPDATE SET
				size         = excluded.size,
				fingerprint  = excluded.fingerprint,
				position     = excluded.position,
				state        = excluded.state,
				updated_date = excluded.updated_date
			WHERE iteration_num IS NULL OR iteration_num = excluded.iteration_num`,
	}, {
		Name: parentPart,
		From: `FROM iteration JOIN iteration AS parent ON parent.num = iteration.parent_num
			WHERE iteration.id = :record AND parent.deleted_date IS NULL`,
		Columns: []Column{{"parent.id AS parent_id", ID}},
		Content: 1,
		Write: `UPDATE iteration SET parent_num = parent.num
			FROM iteration AS parent
			WHERE iteration.id = :record AND parent.id = :parent_id AND parent.experiment_id = iteration.experiment_id
			AND iteration.num NOT IN (
				WITH RECURSIVE above(num) AS (
					SELECT parent.num UNION SELECT parent_num FROM iteration JOIN above USING (num) WHERE parent_num IS NOT NULL)
				SELECT num FROM above)`,
		Late:       true,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Unlink:     `UPDATE iteration SET parent_num = NULL WHERE id = :record`,
	}},
	Artifacts: `resource.iteration_num = ` + iterationNum,
}

// artifactVersionKind and its parts have the names that their tables had when archives began to
// contain them. Archives, notes and other servers identify records by these names.
var artifactVersionKind = &Kind{
	Name: "wandb_artifact",
	Home: `SELECT project_id, artifact_version.experiment_id, collection || ':v' || version,
			coalesce(iteration.deleted_date, experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM artifact_version JOIN iteration ON iteration.num = iteration_num
		JOIN experiment ON experiment.id = artifact_version.experiment_id JOIN project ON project.id = project_id
		WHERE artifact_version.id = ?`,
	Parts: []Part{{
		Name: "wandb_artifact",
		From: `FROM artifact_version JOIN iteration ON iteration.num = iteration_num
			WHERE artifact_version.id = :record`,
		Columns: []Column{
			{"artifact_version.experiment_id", ID}, {"iteration.id AS iteration_id", ID}, {"collection", Text},
			{"version", Any}, {"type", Text}, {"digest", Text}, {"client_id", Text}, {"aliases", Long},
			{"description", Text}, {"metadata", Long}, {"state", Any}, {"size", Any}, {"files", Any},
			{"artifact_version.created_date", Any}, {"updated_date", Any}, {"artifact_version.created_by", Short},
			{"artifact_version.created_key", Short},
		},
		Content:    14,
		References: []Reference{{Column: 1, Kind: "iteration", Owner: true}},
		Write: `INSERT INTO artifact_version (id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases,
				description, metadata, state, size, files, created_date, updated_date, created_by, created_key)
			VALUES (:record, :experiment_id, (SELECT num FROM iteration WHERE id = :iteration_id AND experiment_id = :experiment_id),
				:collection, :version, :type, :digest, :client_id, :aliases, :description, :metadata, :state, :size,
				:files, :created_date, :updated_date, :created_by, :created_key)
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
		From:    `FROM artifact_alias WHERE artifact_num = ` + artifactVersionNum + ` ORDER BY alias`,
		Columns: []Column{{"alias", Text}},
		Content: 1,
		Clear:   `DELETE FROM artifact_alias WHERE artifact_num = ` + artifactVersionNum,
		Write: `INSERT INTO artifact_alias (experiment_id, collection, alias, artifact_num)
			SELECT experiment_id, collection, :alias, num FROM artifact_version WHERE id = :record
			ON CONFLICT (experiment_id, collection, alias) DO UPDATE SET artifact_num = excluded.artifact_num`,
		Late: true,
	}, {
		Name: "wandb_artifact_use",
		From: `FROM artifact_use JOIN iteration ON iteration.num = iteration_num
			WHERE artifact_num = ` + artifactVersionNum + ` AND iteration.deleted_date IS NULL ORDER BY iteration.num`,
		Columns:    []Column{{"iteration.id AS iteration_id", ID}},
		Content:    1,
		References: []Reference{{Kind: "iteration"}},
		Link:       true,
		Write: `INSERT INTO artifact_use (artifact_num, iteration_num)
			SELECT ` + artifactVersionNum + `, iteration.num FROM iteration JOIN experiment ON experiment.id = experiment_id
			WHERE iteration.id = :iteration_id AND project_id = (SELECT project_id FROM experiment JOIN artifact_version
				ON artifact_version.experiment_id = experiment.id WHERE artifact_version.id = :record)
			ON CONFLICT DO NOTHING`,
	}, {
		Name:    "wandb_file",
		From:    `FROM artifact_file WHERE artifact_num = ` + artifactVersionNum + ` ORDER BY name`,
		Columns: []Column{{"name", Text}, {"md5", Text}},
		Content: 2,
		Clear:   `DELETE FROM artifact_file WHERE artifact_num = ` + artifactVersionNum,
		Write:   `INSERT INTO artifact_file (artifact_num, name, md5) VALUES (` + artifactVersionNum + `, :name, :md5)`,
	}, {
		Name:     "artifact_life",
		From:     `FROM artifact_version WHERE id = :record AND (history_step IS NOT NULL OR ttl IS NOT NULL)`,
		Columns:  []Column{{"history_step", Any}, {"ttl", Any}},
		Content:  2,
		Optional: true,
		Clear:    `UPDATE artifact_version SET history_step = NULL, ttl = NULL WHERE id = :record`,
		Write:    `UPDATE artifact_version SET history_step = :history_step, ttl = :ttl WHERE id = :record`,
	}, {
		Name:     "artifact_tag",
		From:     `FROM artifact_tag WHERE artifact_num = ` + artifactVersionNum + ` ORDER BY tag`,
		Columns:  []Column{{"tag", Name}},
		Content:  1,
		Optional: true,
		Clear:    `DELETE FROM artifact_tag WHERE artifact_num = ` + artifactVersionNum,
		Write:    `INSERT INTO artifact_tag (artifact_num, tag) VALUES (` + artifactVersionNum + `, :tag)`,
	}},
}
