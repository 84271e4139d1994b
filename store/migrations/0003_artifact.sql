-- The bytes of artifacts. Identical bytes are stored once per backend, and are removed with the
-- last resource that refers to them. While deleting is 1, the bytes are being removed, and
-- resources that refer to them are hidden. deleting_until is the time by which the removing
-- process will have finished. It is NULL for the server, which has certainly ended when the next
-- server starts.
CREATE TABLE blob (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    backend        TEXT    NOT NULL CHECK (backend IN ('inline', 'filesystem', 's3')),
    hash           TEXT    NOT NULL,
    size_bytes     INTEGER NOT NULL,
    deleting       INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1)),
    deleting_until INTEGER,
    UNIQUE (backend, hash)
) STRICT;

-- Running writes that need the bytes of a blob, although no resource refers to the blob yet.
-- expires_date is NULL for a pin of the server.
CREATE TABLE blob_pin (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    blob_id      INTEGER NOT NULL REFERENCES blob (id) ON DELETE CASCADE,
    expires_date INTEGER
) STRICT;

CREATE INDEX blob_pin_by_blob ON blob_pin (blob_id);

-- The blobs in the inline backend. hash is NULL while bytes are being received or removed.
CREATE TABLE blob_inline (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    hash          TEXT    UNIQUE,
    size_bytes    INTEGER NOT NULL,
    modified_date INTEGER NOT NULL
) STRICT;

-- The bytes of the inline backend, in pieces of 256 KiB. The last piece is shorter.
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

-- Artifacts that are uploaded in several requests. received is the number of bytes that are
-- durable in the upload's file. resource_id is NULL until all bytes are received and the resource
-- is created.
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
