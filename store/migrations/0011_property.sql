-- Texts with a name that a record has beside its tags, which are words.
CREATE TABLE property (
    experiment_id    TEXT    REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_num    INTEGER REFERENCES iteration (num) ON DELETE CASCADE,
    model_id         TEXT    REFERENCES model (id) ON DELETE CASCADE,
    model_version_id TEXT    REFERENCES model_version (id) ON DELETE CASCADE,
    key              TEXT    NOT NULL,
    value            TEXT    NOT NULL,
    CHECK ((experiment_id IS NOT NULL) + (iteration_num IS NOT NULL)
        + (model_id IS NOT NULL) + (model_version_id IS NOT NULL) = 1)
) STRICT;

CREATE UNIQUE INDEX property_by_experiment ON property (experiment_id, key) WHERE experiment_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_iteration ON property (iteration_num, key) WHERE iteration_num IS NOT NULL;

CREATE UNIQUE INDEX property_by_model ON property (model_id, key) WHERE model_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_model_version ON property (model_version_id, key) WHERE model_version_id IS NOT NULL;

-- Data that runs have read. A dataset is described once in an experiment.
CREATE TABLE dataset (
    id            INTEGER PRIMARY KEY,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    digest        TEXT    NOT NULL,
    source_type   TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    schema        TEXT    NOT NULL DEFAULT '',
    profile       TEXT    NOT NULL DEFAULT '',
    UNIQUE (experiment_id, name, digest)
) STRICT;

-- Which runs have read it, and what for: training, for example. Tags are a JSON object
-- with what else the client said of it.
CREATE TABLE iteration_dataset (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    dataset_id    INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE,
    context       TEXT,
    tags          TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, dataset_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX iteration_dataset_by_dataset ON iteration_dataset (dataset_id);

-- When name, description, status or properties were last changed; 0 for never, or
-- before this column was there.
ALTER TABLE experiment ADD COLUMN updated_date INTEGER NOT NULL DEFAULT 0;
