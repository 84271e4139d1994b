-- A model is a name for the versions of a trained model. last_version is the number of the newest
-- version. It never decreases, so that no number is used twice.
CREATE TABLE model (
    id           TEXT    NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL DEFAULT '',
    last_version INTEGER NOT NULL DEFAULT 0,
    created_date INTEGER NOT NULL,
    updated_date INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

-- The references to iteration and resource have no action, so that a version prevents the
-- deletion of the records that it came from. They are deleted together only if the project is
-- deleted.
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
    UNIQUE (model_id, version)
) STRICT;

CREATE UNIQUE INDEX model_version_in_production ON model_version (model_id) WHERE stage = 'PRODUCTION';
CREATE INDEX model_version_by_iteration ON model_version (iteration_num);
CREATE INDEX model_version_by_resource ON model_version (resource_num) WHERE resource_num IS NOT NULL;
