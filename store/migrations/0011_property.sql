-- Properties of records. A property has a key and a text value.
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

-- Datasets that runs have read. A dataset has one row per experiment.
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

-- The datasets that each run has read. context is the purpose, for example training. tags is a
-- JSON object with further data from the client.
CREATE TABLE iteration_dataset (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    dataset_id    INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE,
    context       TEXT,
    tags          TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, dataset_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX iteration_dataset_by_dataset ON iteration_dataset (dataset_id);

-- The time when the name, description, status or properties were last changed. 0 means that they
-- were not changed since this column was added.
ALTER TABLE experiment ADD COLUMN updated_date INTEGER NOT NULL DEFAULT 0;
