-- The description and the tags of a collection of artifact versions. A collection without a row
-- has none.
CREATE TABLE artifact_collection (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL DEFAULT '',
    tags          TEXT    NOT NULL DEFAULT '[]',
    updated_date  INTEGER NOT NULL,
    PRIMARY KEY (experiment_id, name)
) STRICT, WITHOUT ROWID;

-- The step of the run at which the version was logged, and the number of seconds after which the
-- version is deleted.
ALTER TABLE artifact_version ADD COLUMN history_step INTEGER;
ALTER TABLE artifact_version ADD COLUMN ttl INTEGER;

CREATE INDEX artifact_version_by_ttl ON artifact_version (num) WHERE ttl IS NOT NULL;
