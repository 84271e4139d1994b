-- A version that was registered by a client of another tracker can lack an iteration. source
-- refers to its files. If source refers to another record, location is the location of the files.
-- run_id is the run that the client named, if the project has no such iteration.
ALTER TABLE model_version ALTER COLUMN iteration_num DROP NOT NULL;

ALTER TABLE model_version ADD COLUMN source TEXT NOT NULL DEFAULT '';

ALTER TABLE model_version ADD COLUMN location TEXT NOT NULL DEFAULT '';

ALTER TABLE model_version ADD COLUMN run_id TEXT NOT NULL DEFAULT '';

ALTER TABLE model_version ADD COLUMN run_link TEXT NOT NULL DEFAULT '';

-- If beside is 1, the version stays in PRODUCTION together with a version that was put into
-- PRODUCTION later, because the client asked not to archive existing versions.
ALTER TABLE model_version ADD COLUMN beside INTEGER NOT NULL DEFAULT 0 CHECK (beside IN (0, 1));

DROP INDEX model_version_in_production;

CREATE UNIQUE INDEX model_version_in_production ON model_version (model_id) WHERE stage = 'PRODUCTION' AND beside = 0;

CREATE INDEX model_version_by_source ON model_version (source) WHERE source <> '';

-- A name for one version of a model.
CREATE TABLE model_alias (
    model_id   TEXT NOT NULL REFERENCES model (id) ON DELETE CASCADE,
    alias      TEXT NOT NULL,
    version_id TEXT NOT NULL REFERENCES model_version (id) ON DELETE CASCADE,
    PRIMARY KEY (model_id, alias)
) STRICT, WITHOUT ROWID;

CREATE INDEX model_alias_by_version ON model_alias (version_id, alias);

-- A logged model describes the files of a trained model in an experiment. The files are artifacts
-- of the experiment below models/{id}. params is a JSON object whose values are strings.
CREATE TABLE logged_model (
    num           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_num INTEGER REFERENCES iteration (num) ON DELETE SET NULL,
    name          TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('PENDING', 'READY', 'FAILED')),
    params        TEXT    NOT NULL,
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL
) STRICT;

CREATE INDEX logged_model_by_experiment ON logged_model (experiment_id, created_date);

CREATE INDEX logged_model_by_iteration ON logged_model (iteration_num) WHERE iteration_num IS NOT NULL;

CREATE INDEX resource_by_name ON resource (experiment_id, name) WHERE iteration_num IS NULL;

-- The logged models that an iteration has read or written.
CREATE TABLE logged_model_use (
    iteration_num    INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    role             TEXT    NOT NULL CHECK (role IN ('input', 'output')),
    logged_model_num INTEGER NOT NULL REFERENCES logged_model (num) ON DELETE CASCADE,
    step             INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, role, logged_model_num, step)
) STRICT, WITHOUT ROWID;

CREATE INDEX logged_model_use_by_model ON logged_model_use (logged_model_num);

-- The points of an iteration that measure a logged model. They are also points of the iteration.
-- The value NULL means NaN.
CREATE TABLE logged_model_metric (
    logged_model_num INTEGER NOT NULL REFERENCES logged_model (num) ON DELETE CASCADE,
    key              TEXT    NOT NULL,
    recorded_at      INTEGER NOT NULL,
    step             INTEGER NOT NULL,
    iteration_num    INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    dataset_name     TEXT    NOT NULL,
    dataset_digest   TEXT    NOT NULL,
    value            REAL,
    PRIMARY KEY (logged_model_num, key, recorded_at, step, iteration_num, dataset_name, dataset_digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX logged_model_metric_by_iteration ON logged_model_metric (iteration_num);

-- Clients call the properties of a logged model tags.
CREATE TABLE property_next (
    experiment_id    TEXT    REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_num    INTEGER REFERENCES iteration (num) ON DELETE CASCADE,
    model_id         TEXT    REFERENCES model (id) ON DELETE CASCADE,
    model_version_id TEXT    REFERENCES model_version (id) ON DELETE CASCADE,
    logged_model_num INTEGER REFERENCES logged_model (num) ON DELETE CASCADE,
    key              TEXT    NOT NULL,
    value            TEXT    NOT NULL,
    CHECK ((experiment_id IS NOT NULL) + (iteration_num IS NOT NULL) + (model_id IS NOT NULL)
        + (model_version_id IS NOT NULL) + (logged_model_num IS NOT NULL) = 1)
) STRICT;

INSERT INTO property_next (experiment_id, iteration_num, model_id, model_version_id, key, value)
SELECT experiment_id, iteration_num, model_id, model_version_id, key, value FROM property;

DROP TABLE property;

ALTER TABLE property_next RENAME TO property;

CREATE UNIQUE INDEX property_by_experiment ON property (experiment_id, key) WHERE experiment_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_iteration ON property (iteration_num, key) WHERE iteration_num IS NOT NULL;

CREATE UNIQUE INDEX property_by_model ON property (model_id, key) WHERE model_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_model_version ON property (model_version_id, key) WHERE model_version_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_logged_model ON property (logged_model_num, key) WHERE logged_model_num IS NOT NULL;
