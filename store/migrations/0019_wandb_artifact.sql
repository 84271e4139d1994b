-- Versions of artifacts that were logged by W&B's clients. Their files are artifacts of the run,
-- named NAME:vN/FILE.
CREATE TABLE wandb_artifact (
    num           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    collection    TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    type          TEXT    NOT NULL,
    digest        TEXT    NOT NULL,
    client_id     TEXT    NOT NULL,
    aliases       TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    metadata      TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('PENDING', 'COMMITTED', 'DELETED')),
    size          INTEGER NOT NULL DEFAULT 0,
    files         INTEGER NOT NULL DEFAULT 0,
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL,
    UNIQUE (experiment_id, collection, version)
) STRICT;

CREATE INDEX wandb_artifact_by_iteration ON wandb_artifact (iteration_num);

CREATE TABLE wandb_alias (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    collection    TEXT    NOT NULL,
    alias         TEXT    NOT NULL,
    artifact_num  INTEGER NOT NULL REFERENCES wandb_artifact (num) ON DELETE CASCADE,
    PRIMARY KEY (experiment_id, collection, alias)
) STRICT, WITHOUT ROWID;

CREATE INDEX wandb_alias_by_artifact ON wandb_alias (artifact_num);

CREATE TABLE wandb_artifact_use (
    artifact_num  INTEGER NOT NULL REFERENCES wandb_artifact (num) ON DELETE CASCADE,
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    PRIMARY KEY (artifact_num, iteration_num)
) STRICT, WITHOUT ROWID;

CREATE INDEX wandb_artifact_use_by_iteration ON wandb_artifact_use (iteration_num);

-- The MD5 hashes of the files of a version, in base64 as in its manifest.
CREATE TABLE wandb_file (
    artifact_num INTEGER NOT NULL REFERENCES wandb_artifact (num) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    md5          TEXT    NOT NULL,
    PRIMARY KEY (artifact_num, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX wandb_file_by_md5 ON wandb_file (md5);
