-- A record with a deleted_date is in the trash, together with all records in it. The records in
-- it have no deleted_date. Deleting or restoring a record therefore changes only one row. A
-- record that was deleted separately stays deleted when its container is restored. deleted_by is
-- the id of a user; NULL for the command line. The date 0 marks a record that is being purged in
-- several transactions.
ALTER TABLE project ADD COLUMN deleted_date INTEGER;
ALTER TABLE project ADD COLUMN deleted_by TEXT;
ALTER TABLE experiment ADD COLUMN deleted_date INTEGER;
ALTER TABLE experiment ADD COLUMN deleted_by TEXT;
ALTER TABLE iteration ADD COLUMN deleted_date INTEGER;
ALTER TABLE iteration ADD COLUMN deleted_by TEXT;
ALTER TABLE resource ADD COLUMN deleted_date INTEGER;
ALTER TABLE resource ADD COLUMN deleted_by TEXT;
ALTER TABLE model_version ADD COLUMN deleted_date INTEGER;
ALTER TABLE model_version ADD COLUMN deleted_by TEXT;

-- The name of a model is unique among the models outside the trash. A constraint can't be
-- dropped, so the table is created again. Dropping a table deletes the rows that refer to it, so
-- the versions are also copied and restored.
CREATE TABLE kept_model AS SELECT * FROM model;
CREATE TABLE kept_version AS SELECT * FROM model_version;
DROP TABLE model_version;
DROP TABLE model;

CREATE TABLE model (
    id           TEXT    NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL DEFAULT '',
    last_version INTEGER NOT NULL DEFAULT 0,
    created_date INTEGER NOT NULL,
    updated_date INTEGER NOT NULL,
    deleted_date INTEGER,
    deleted_by   TEXT
) STRICT;

CREATE TABLE model_version (
    id            TEXT    NOT NULL PRIMARY KEY,
    model_id      TEXT    NOT NULL REFERENCES model (id) ON DELETE CASCADE,
    version       INTEGER NOT NULL CHECK (version > 0),
    iteration_num INTEGER NOT NULL REFERENCES iteration (num),
    resource_num  INTEGER REFERENCES resource (num),
    stage         TEXT    NOT NULL CHECK (stage IN ('NONE', 'STAGING', 'PRODUCTION', 'ARCHIVED')),
    description   TEXT    NOT NULL DEFAULT '',
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL,
    deleted_date  INTEGER,
    deleted_by    TEXT,
    UNIQUE (model_id, version)
) STRICT;

INSERT INTO model (id, project_id, name, description, last_version, created_date, updated_date)
SELECT id, project_id, name, description, last_version, created_date, updated_date FROM kept_model;
INSERT INTO model_version
    (id, model_id, version, iteration_num, resource_num, stage, description, created_date, updated_date)
SELECT id, model_id, version, iteration_num, resource_num, stage, description, created_date, updated_date FROM kept_version;
DROP TABLE kept_model;
DROP TABLE kept_version;

CREATE UNIQUE INDEX model_by_name ON model (project_id, name) WHERE deleted_date IS NULL;
CREATE INDEX model_by_project ON model (project_id, deleted_date);
CREATE INDEX model_version_by_iteration ON model_version (iteration_num);
CREATE INDEX model_version_by_resource ON model_version (resource_num) WHERE resource_num IS NOT NULL;
CREATE UNIQUE INDEX model_version_in_production ON model_version (model_id) WHERE stage = 'PRODUCTION';

-- Counts and pages of records outside the trash read only these indexes.
DROP INDEX experiment_by_project;
CREATE INDEX experiment_by_project ON experiment (project_id, created_date, id, deleted_date);
DROP INDEX iteration_by_experiment;
CREATE INDEX iteration_by_experiment ON iteration (experiment_id, num, deleted_date);

-- Indexes for listing and purging the trash.
CREATE INDEX project_deleted ON project (deleted_date) WHERE deleted_date IS NOT NULL;
CREATE INDEX experiment_deleted ON experiment (deleted_date) WHERE deleted_date IS NOT NULL;
CREATE INDEX iteration_deleted ON iteration (deleted_date) WHERE deleted_date IS NOT NULL;
CREATE INDEX model_deleted ON model (deleted_date) WHERE deleted_date IS NOT NULL;
CREATE INDEX model_version_deleted ON model_version (deleted_date) WHERE deleted_date IS NOT NULL;
CREATE INDEX resource_deleted ON resource (deleted_date) WHERE deleted_date IS NOT NULL;

-- experiment_key counts the iterations that are not in the trash.
DROP TRIGGER iteration_deleted;
DROP TRIGGER series_added;
DROP TRIGGER series_renamed;
DROP TRIGGER series_removed;
DROP TRIGGER parameter_added;
DROP TRIGGER parameter_renamed;
DROP TRIGGER parameter_removed;

CREATE TRIGGER series_added AFTER INSERT ON series BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'metric', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + NEW.iteration_num FROM search_key WHERE search_key.key = NEW.key);
END;

CREATE TRIGGER series_renamed AFTER UPDATE OF key ON series WHEN NEW.key <> OLD.key BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'metric', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'metric' AND key = OLD.key;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + OLD.iteration_num FROM search_key WHERE search_key.key = OLD.key);
END;

CREATE TRIGGER series_removed AFTER DELETE ON series BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'metric' AND key = OLD.key;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + OLD.iteration_num FROM search_key WHERE search_key.key = OLD.key);
END;

CREATE TRIGGER parameter_added AFTER INSERT ON parameter BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'param', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER parameter_renamed AFTER UPDATE OF key ON parameter WHEN NEW.key <> OLD.key BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'param', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'param' AND key = OLD.key;
END;

CREATE TRIGGER parameter_removed AFTER DELETE ON parameter BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'param' AND key = OLD.key;
END;

-- An iteration is no longer counted once it is moved to the trash or deleted.
CREATE TRIGGER iteration_discarded AFTER UPDATE OF deleted_date ON iteration
WHEN OLD.deleted_date IS NULL AND NEW.deleted_date IS NOT NULL BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
END;

CREATE TRIGGER iteration_restored AFTER UPDATE OF deleted_date ON iteration
WHEN OLD.deleted_date IS NOT NULL AND NEW.deleted_date IS NULL BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'metric', key, 1 FROM series WHERE iteration_num = NEW.num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'param', key, 1 FROM parameter WHERE iteration_num = NEW.num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER iteration_deleted BEFORE DELETE ON iteration WHEN OLD.deleted_date IS NULL BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
END;

CREATE TRIGGER iteration_copies_deleted BEFORE DELETE ON iteration BEGIN
    DELETE FROM search_value WHERE id IN (SELECT (search_key.id << 32) + OLD.num FROM search_key);
END;
