-- The bytes of artifacts, one row for each content in each backend. Identical
-- bytes are stored once, and go with the last resource that has them. While
-- deleting is 1 the bytes are being removed and the resources that have them
-- are hidden; deleting_until is when the process that does it will have ended
-- it, NULL for the server, which is known to have gone when the next one starts.
CREATE TABLE blob (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    backend        TEXT    NOT NULL CHECK (backend IN ('inline', 'filesystem', 's3')),
    hash           TEXT    NOT NULL,
    size_bytes     INTEGER NOT NULL,
    deleting       INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1)),
    deleting_until INTEGER,
    UNIQUE (backend, hash)
) STRICT;

-- The writes under way that rely on the bytes of a blob before a resource says
-- so. expires_date is NULL for a pin of the server.
CREATE TABLE blob_pin (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    blob_id      INTEGER NOT NULL REFERENCES blob (id) ON DELETE CASCADE,
    expires_date INTEGER
) STRICT;

CREATE INDEX blob_pin_by_blob ON blob_pin (blob_id);

-- What the backend inline has. hash is NULL while bytes come in, and when they
-- are being removed.
CREATE TABLE blob_inline (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    hash          TEXT    UNIQUE,
    size_bytes    INTEGER NOT NULL,
    modified_date INTEGER NOT NULL
) STRICT;

-- The bytes of the backend inline, in pieces of 256 KiB; the last is shorter.
CREATE TABLE blob_piece (
    inline_id INTEGER NOT NULL REFERENCES blob_inline (id) ON DELETE CASCADE,
    part      INTEGER NOT NULL,
    data      BLOB    NOT NULL,
    PRIMARY KEY (inline_id, part)
) STRICT;

CREATE TABLE resource (
    num           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_num INTEGER REFERENCES iteration (num) ON DELETE CASCADE,
    blob_id       INTEGER NOT NULL REFERENCES blob (id),
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL DEFAULT '',
    content_type  TEXT    NOT NULL,
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL
) STRICT;

CREATE INDEX resource_by_experiment ON resource (experiment_id, num);
CREATE INDEX resource_by_iteration ON resource (iteration_num, num) WHERE iteration_num IS NOT NULL;
CREATE INDEX resource_by_blob ON resource (blob_id);

-- Artifacts that come in several requests. received bytes are durable in the
-- upload's file; resource_id is NULL until all are, and the resource is made.
CREATE TABLE upload (
    id            TEXT    NOT NULL PRIMARY KEY,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_id  TEXT,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    content_type  TEXT    NOT NULL,
    hash          TEXT    NOT NULL,
    metadata      TEXT    NOT NULL,
    size_bytes    INTEGER NOT NULL,
    received      INTEGER NOT NULL DEFAULT 0,
    resource_id   TEXT,
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL
) STRICT;

CREATE INDEX upload_by_date ON upload (updated_date);
