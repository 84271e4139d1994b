PRAGMA application_id = 1414679378;
PRAGMA user_version = 37;

CREATE TABLE api_key (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE,
    created_date INTEGER NOT NULL
, only_use TEXT NOT NULL DEFAULT '' CHECK (only_use IN ('', 'read', 'log')), project_id TEXT REFERENCES project (id) ON DELETE CASCADE, expires INTEGER, used_date INTEGER) STRICT;

CREATE INDEX api_key_by_project ON api_key (project_id);

CREATE INDEX api_key_by_user ON api_key (user_id);

CREATE TABLE "artifact_alias" (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    collection    TEXT    NOT NULL,
    alias         TEXT    NOT NULL,
    artifact_num  INTEGER NOT NULL REFERENCES "artifact_version" (num) ON DELETE CASCADE,
    PRIMARY KEY (experiment_id, collection, alias)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_alias_by_version ON artifact_alias (artifact_num);

CREATE TABLE artifact_collection (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL DEFAULT '',
    tags          TEXT    NOT NULL DEFAULT '[]',
    updated_date  INTEGER NOT NULL,
    PRIMARY KEY (experiment_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE "artifact_file" (
    artifact_num INTEGER NOT NULL REFERENCES "artifact_version" (num) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    md5          TEXT    NOT NULL,
    PRIMARY KEY (artifact_num, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_file_by_md5 ON artifact_file (md5);

CREATE TABLE artifact_tag (
    artifact_num INTEGER NOT NULL REFERENCES artifact_version (num) ON DELETE CASCADE,
    tag          TEXT    NOT NULL,
    PRIMARY KEY (artifact_num, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_tag_by_tag ON artifact_tag (tag);

CREATE TABLE "artifact_use" (
    artifact_num  INTEGER NOT NULL REFERENCES "artifact_version" (num) ON DELETE CASCADE,
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    PRIMARY KEY (artifact_num, iteration_num)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_use_by_iteration ON artifact_use (iteration_num);

CREATE TABLE "artifact_version" (
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
    updated_date  INTEGER NOT NULL, created_by TEXT, created_key TEXT, history_step INTEGER, ttl INTEGER,
    UNIQUE (experiment_id, collection, version)
) STRICT;

CREATE INDEX artifact_version_by_iteration ON artifact_version (iteration_num);

CREATE INDEX artifact_version_by_ttl ON artifact_version (num) WHERE ttl IS NOT NULL;

CREATE TABLE audit (
    num       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    source    TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    record_id TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    detail    TEXT    NOT NULL,
    count     INTEGER NOT NULL
) STRICT;

CREATE INDEX audit_by_record ON audit (record_id, num) WHERE record_id <> '';

CREATE INDEX audit_by_time ON audit (at);

CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at > (SELECT at FROM audit ORDER BY num DESC LIMIT 1) - 30 * 86400000
BEGIN
    SELECT raise(ABORT, 'entries of the audit trail can not be deleted before 30 days have passed');
END;

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'entries of the audit trail can not be changed');
END;

CREATE TABLE blob (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    backend        TEXT    NOT NULL CHECK (backend IN ('inline', 'filesystem', 's3')),
    hash           TEXT    NOT NULL,
    size_bytes     INTEGER NOT NULL,
    deleting       INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1)),
    deleting_until INTEGER,
    UNIQUE (backend, hash)
) STRICT;

CREATE TABLE blob_inline (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    hash          TEXT    UNIQUE,
    size_bytes    INTEGER NOT NULL,
    modified_date INTEGER NOT NULL
) STRICT;

CREATE TABLE blob_piece (
    inline_id INTEGER NOT NULL REFERENCES blob_inline (id) ON DELETE CASCADE,
    part      INTEGER NOT NULL,
    data      BLOB    NOT NULL,
    PRIMARY KEY (inline_id, part)
) STRICT;

CREATE TABLE blob_pin (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    blob_id      INTEGER NOT NULL REFERENCES blob (id) ON DELETE CASCADE,
    expires_date INTEGER
) STRICT;

CREATE INDEX blob_pin_by_blob ON blob_pin (blob_id);

CREATE TABLE checksum_due (
    series_id INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE console_line (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    number        INTEGER NOT NULL CHECK (number >= 0),
    text          TEXT    NOT NULL,
    written_date  INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

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

CREATE TABLE experiment (
    id           TEXT    NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL DEFAULT '',
    status       TEXT    NOT NULL CHECK (status IN ('IN_PROGRESS', 'STOPPED', 'FINISHED')),
    created_date INTEGER NOT NULL,
    end_date     INTEGER
, deleted_date INTEGER, deleted_by TEXT, updated_date INTEGER NOT NULL DEFAULT 0, objective TEXT NOT NULL DEFAULT '', created_by TEXT, created_key TEXT) STRICT;

CREATE INDEX experiment_by_project ON experiment (project_id, created_date, id, deleted_date);

CREATE INDEX experiment_deleted ON experiment (deleted_date) WHERE deleted_date IS NOT NULL;

CREATE TABLE experiment_key (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    kind          TEXT    NOT NULL CHECK (kind IN ('metric', 'param', 'summary')),
    key           TEXT    NOT NULL,
    iterations    INTEGER NOT NULL,
    PRIMARY KEY (experiment_id, kind, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER experiment_key_unused AFTER UPDATE OF iterations ON experiment_key WHEN NEW.iterations = 0 BEGIN
    DELETE FROM experiment_key
    WHERE experiment_id = NEW.experiment_id AND kind = NEW.kind AND key = NEW.key;
END;

CREATE TABLE experiment_view (
    id            TEXT    NOT NULL PRIMARY KEY,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    query         TEXT    NOT NULL,
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL, panels TEXT, created_by TEXT, created_key TEXT, client TEXT,
    UNIQUE (experiment_id, name)
) STRICT;

CREATE TABLE idempotency (
    user_id      TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    body_hash    BLOB    NOT NULL,
    answer       TEXT    NOT NULL,
    created_date INTEGER NOT NULL,
    PRIMARY KEY (user_id, path, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_date ON idempotency (created_date);

CREATE TABLE iteration (
    num           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    parent_num    INTEGER REFERENCES iteration (num) ON DELETE SET NULL,
    name          TEXT    NOT NULL,
    notes         TEXT    NOT NULL DEFAULT '',
    status        TEXT    NOT NULL CHECK (status IN ('RUNNING', 'SUCCEEDED', 'FAILED', 'KILLED')),
    error_message TEXT    NOT NULL DEFAULT '',
    created_date  INTEGER NOT NULL,
    end_date      INTEGER,
    last_seen     INTEGER NOT NULL, deleted_date INTEGER, deleted_by TEXT, stop_requested INTEGER, stop_requested_by TEXT, created_by TEXT, created_key TEXT,
    CHECK ((status = 'RUNNING') = (end_date IS NULL))
) STRICT;

CREATE INDEX iteration_by_experiment ON iteration (experiment_id, num, deleted_date, created_date, id);

CREATE INDEX iteration_by_name ON iteration (experiment_id, name);

CREATE INDEX iteration_by_parent ON iteration (parent_num) WHERE parent_num IS NOT NULL;

CREATE TRIGGER iteration_copies_deleted BEFORE DELETE ON iteration BEGIN
    DELETE FROM search_value WHERE id IN (SELECT (search_key.id << 32) + OLD.num FROM search_key);
END;

CREATE INDEX iteration_deleted ON iteration (deleted_date) WHERE deleted_date IS NOT NULL;

CREATE TRIGGER iteration_deleted BEFORE DELETE ON iteration WHEN OLD.deleted_date IS NULL BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'summary' AND key IN (SELECT substr(key, 17) FROM property
        WHERE iteration_num = OLD.num AND key > 'tracker.summary.' AND key < 'tracker.summary/');
END;

CREATE TRIGGER iteration_discarded AFTER UPDATE OF deleted_date ON iteration
WHEN OLD.deleted_date IS NULL AND NEW.deleted_date IS NOT NULL BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'summary' AND key IN (SELECT substr(key, 17) FROM property
        WHERE iteration_num = OLD.num AND key > 'tracker.summary.' AND key < 'tracker.summary/');
END;

CREATE INDEX iteration_ended ON iteration (end_date) WHERE end_date IS NOT NULL AND deleted_date IS NULL;

CREATE TRIGGER iteration_restored AFTER UPDATE OF deleted_date ON iteration
WHEN OLD.deleted_date IS NOT NULL AND NEW.deleted_date IS NULL BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'metric', key, 1 FROM series WHERE iteration_num = NEW.num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'param', key, 1 FROM parameter WHERE iteration_num = NEW.num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'summary', substr(key, 17), 1 FROM property
    WHERE iteration_num = NEW.num AND key > 'tracker.summary.' AND key < 'tracker.summary/'
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE INDEX iteration_running ON iteration (num) WHERE status = 'RUNNING' AND deleted_date IS NULL;

CREATE TABLE iteration_dataset (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    dataset_id    INTEGER NOT NULL REFERENCES dataset (id) ON DELETE CASCADE,
    context       TEXT,
    tags          TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, dataset_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX iteration_dataset_by_dataset ON iteration_dataset (dataset_id);

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

CREATE TABLE logged_model_use (
    iteration_num    INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    role             TEXT    NOT NULL CHECK (role IN ('input', 'output')),
    logged_model_num INTEGER NOT NULL REFERENCES logged_model (num) ON DELETE CASCADE,
    step             INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, role, logged_model_num, step)
) STRICT, WITHOUT ROWID;

CREATE INDEX logged_model_use_by_model ON logged_model_use (logged_model_num);

CREATE TABLE metric (
    series_id   INTEGER NOT NULL,
    step        INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    value       REAL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (series_id, step, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_moved (
    seq           INTEGER PRIMARY KEY,
    old_series_id INTEGER NOT NULL,
    old_step      INTEGER NOT NULL,
    series_id     INTEGER NOT NULL,
    step          INTEGER NOT NULL
) STRICT;

CREATE INDEX metric_moved_by_series ON metric_moved (series_id);

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
, created_by TEXT, created_key TEXT) STRICT;

CREATE UNIQUE INDEX model_by_name ON model (project_id, name) WHERE deleted_date IS NULL;

CREATE INDEX model_by_project ON model (project_id, deleted_date);

CREATE INDEX model_deleted ON model (deleted_date) WHERE deleted_date IS NOT NULL;

CREATE TABLE model_alias (
    model_id   TEXT NOT NULL REFERENCES model (id) ON DELETE CASCADE,
    alias      TEXT NOT NULL,
    version_id TEXT NOT NULL REFERENCES model_version (id) ON DELETE CASCADE,
    PRIMARY KEY (model_id, alias)
) STRICT, WITHOUT ROWID;

CREATE INDEX model_alias_by_version ON model_alias (version_id, alias);

CREATE TABLE model_version (
    id            TEXT    NOT NULL PRIMARY KEY,
    model_id      TEXT    NOT NULL REFERENCES model (id) ON DELETE CASCADE,
    version       INTEGER NOT NULL CHECK (version > 0),
    iteration_num INTEGER REFERENCES iteration (num),
    resource_num  INTEGER REFERENCES resource (num),
    stage         TEXT    NOT NULL CHECK (stage IN ('NONE', 'STAGING', 'PRODUCTION', 'ARCHIVED')),
    description   TEXT    NOT NULL DEFAULT '',
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL,
    deleted_date  INTEGER,
    deleted_by    TEXT, source TEXT NOT NULL DEFAULT '', location TEXT NOT NULL DEFAULT '', run_id TEXT NOT NULL DEFAULT '', run_link TEXT NOT NULL DEFAULT '', beside INTEGER NOT NULL DEFAULT 0 CHECK (beside IN (0, 1)), created_by TEXT, created_key TEXT,
    UNIQUE (model_id, version)
) STRICT;

CREATE INDEX model_version_by_iteration ON model_version (iteration_num);

CREATE INDEX model_version_by_resource ON model_version (resource_num) WHERE resource_num IS NOT NULL;

CREATE INDEX model_version_by_source ON model_version (source) WHERE source <> '';

CREATE INDEX model_version_deleted ON model_version (deleted_date) WHERE deleted_date IS NOT NULL;

CREATE UNIQUE INDEX model_version_in_production ON model_version (model_id) WHERE stage = 'PRODUCTION' AND beside = 0;

CREATE TABLE owner (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
) STRICT;

CREATE TABLE parameter (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    key           TEXT    NOT NULL,
    id            TEXT    NOT NULL UNIQUE,
    value         TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER parameter_added AFTER INSERT ON parameter BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'param', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER parameter_removed AFTER DELETE ON parameter BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'param' AND key = OLD.key;
END;

CREATE TRIGGER parameter_renamed AFTER UPDATE OF key ON parameter WHEN NEW.key <> OLD.key BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'param', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'param' AND key = OLD.key;
END;

CREATE TABLE project (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL DEFAULT '',
    created_date INTEGER NOT NULL
, deleted_date INTEGER, deleted_by TEXT, created_by TEXT, created_key TEXT) STRICT;

CREATE INDEX project_by_date ON project (created_date, id);

CREATE INDEX project_deleted ON project (deleted_date) WHERE deleted_date IS NOT NULL;

CREATE TABLE "property" (
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

CREATE UNIQUE INDEX property_by_experiment ON property (experiment_id, key) WHERE experiment_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_iteration ON property (iteration_num, key) WHERE iteration_num IS NOT NULL;

CREATE UNIQUE INDEX property_by_logged_model ON property (logged_model_num, key) WHERE logged_model_num IS NOT NULL;

CREATE UNIQUE INDEX property_by_model ON property (model_id, key) WHERE model_id IS NOT NULL;

CREATE UNIQUE INDEX property_by_model_version ON property (model_version_id, key) WHERE model_version_id IS NOT NULL;

CREATE TRIGGER summary_added AFTER INSERT ON property
WHEN NEW.iteration_num IS NOT NULL AND NEW.key > 'tracker.summary.' AND NEW.key < 'tracker.summary/' BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'summary', substr(NEW.key, 17), 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER summary_removed AFTER DELETE ON property
WHEN OLD.iteration_num IS NOT NULL AND OLD.key > 'tracker.summary.' AND OLD.key < 'tracker.summary/' BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'summary' AND key = substr(OLD.key, 17);
END;

CREATE TRIGGER summary_renamed AFTER UPDATE OF key ON property WHEN NEW.iteration_num IS NOT NULL AND NEW.key <> OLD.key BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'summary' AND key = substr(OLD.key, 17)
    AND OLD.key > 'tracker.summary.' AND OLD.key < 'tracker.summary/';
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'summary', substr(NEW.key, 17), 1 FROM iteration
    WHERE num = NEW.iteration_num AND deleted_date IS NULL
    AND NEW.key > 'tracker.summary.' AND NEW.key < 'tracker.summary/'
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TABLE recent (
    seq         INTEGER PRIMARY KEY,
    series_id   INTEGER NOT NULL,
    step        INTEGER NOT NULL,
    value       REAL,
    recorded_at INTEGER NOT NULL
) STRICT;

CREATE TABLE report (
    id           TEXT    NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    created_date INTEGER NOT NULL,
    updated_date INTEGER NOT NULL,
    deleted_date INTEGER,
    deleted_by   TEXT
, created_by TEXT, created_key TEXT, client TEXT) STRICT;

CREATE INDEX report_by_project ON report (project_id, created_date, id, deleted_date);

CREATE INDEX report_deleted ON report (deleted_date) WHERE deleted_date IS NOT NULL;

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
, deleted_date INTEGER, deleted_by TEXT, created_by TEXT, created_key TEXT) STRICT;

CREATE INDEX resource_by_blob ON resource (blob_id);

CREATE INDEX resource_by_experiment ON resource (experiment_id, num);

CREATE INDEX resource_by_iteration ON resource (iteration_num, num) WHERE iteration_num IS NOT NULL;

CREATE INDEX resource_by_iteration_name ON resource (iteration_num, name) WHERE iteration_num IS NOT NULL;

CREATE INDEX resource_by_name ON resource (experiment_id, name) WHERE iteration_num IS NULL;

CREATE INDEX resource_deleted ON resource (deleted_date) WHERE deleted_date IS NOT NULL;

CREATE TABLE rollup (
    id    INTEGER PRIMARY KEY,
    cells BLOB    NOT NULL
) STRICT;

CREATE TABLE search_key (
    id  INTEGER PRIMARY KEY,
    key TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE search_value (
    id    INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    last  REAL,
    min   REAL,
    max   REAL,
    mean  REAL
) STRICT;

CREATE TABLE series (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    key           TEXT    NOT NULL,
    count         INTEGER NOT NULL DEFAULT 0,
    finite        INTEGER NOT NULL DEFAULT 0,
    last          REAL,
    last_step     INTEGER,
    last_at       INTEGER,
    min           REAL,
    min_step      INTEGER,
    max           REAL,
    max_step      INTEGER,
    sum           REAL    NOT NULL DEFAULT 0, counted_seq INTEGER NOT NULL DEFAULT 0, moved_seq INTEGER NOT NULL DEFAULT 0, roll_shift INTEGER, rolled_to INTEGER, checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (iteration_num, key)
) STRICT;

CREATE TRIGGER series_added AFTER INSERT ON series BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'metric', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + NEW.iteration_num FROM search_key WHERE search_key.key = NEW.key);
END;

CREATE TRIGGER series_changed AFTER UPDATE ON series BEGIN
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + NEW.iteration_num FROM search_key WHERE search_key.key = NEW.key);
END;

CREATE TRIGGER series_deleted AFTER DELETE ON series BEGIN
    DELETE FROM metric WHERE series_id = OLD.id;
    DELETE FROM metric_moved WHERE series_id = OLD.id;
    DELETE FROM rollup WHERE id BETWEEN OLD.id << 36 AND (OLD.id << 36) + 0xfffffffff AND OLD.id < 1 << 27;
END;

CREATE TRIGGER series_removed AFTER DELETE ON series BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'metric' AND key = OLD.key;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + OLD.iteration_num FROM search_key WHERE search_key.key = OLD.key);
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

CREATE INDEX series_without_rollups ON series (id) WHERE rolled_to IS NULL AND count >= 512;

CREATE TABLE snapshot (
    iteration_num INTEGER PRIMARY KEY REFERENCES iteration (num) ON DELETE CASCADE,
    id            TEXT    NOT NULL,
    git_sha       TEXT    NOT NULL DEFAULT '',
    git_dirty     INTEGER CHECK (git_dirty IN (0, 1)),
    git_remote    TEXT    NOT NULL DEFAULT '',
    git_diff      TEXT    NOT NULL DEFAULT '',
    entrypoint    TEXT    NOT NULL DEFAULT '',
    command       TEXT    NOT NULL DEFAULT '',
    hostname      TEXT    NOT NULL DEFAULT '',
    runtime       TEXT    NOT NULL DEFAULT '',
    dependencies  TEXT    NOT NULL DEFAULT '',
    created_date  INTEGER NOT NULL
) STRICT;

CREATE TABLE source (
    id            TEXT    NOT NULL PRIMARY KEY,
    iteration_num INTEGER REFERENCES iteration (num) ON DELETE SET NULL,
    path          TEXT    NOT NULL,
    size          INTEGER NOT NULL,
    fingerprint   TEXT    NOT NULL,
    position      INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    updated_date  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX source_by_iteration ON source (iteration_num) WHERE iteration_num IS NOT NULL;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE tag (
    id            TEXT    NOT NULL PRIMARY KEY,
    project_id    TEXT    REFERENCES project (id) ON DELETE CASCADE,
    experiment_id TEXT    REFERENCES experiment (id) ON DELETE CASCADE,
    iteration_num INTEGER REFERENCES iteration (num) ON DELETE CASCADE,
    value         TEXT    NOT NULL,
    created_date  INTEGER NOT NULL,
    UNIQUE (project_id, value),
    UNIQUE (experiment_id, value),
    UNIQUE (iteration_num, value),
    CHECK ((project_id IS NOT NULL) + (experiment_id IS NOT NULL) + (iteration_num IS NOT NULL) = 1)
) STRICT;

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

CREATE TABLE user (
    id            TEXT    NOT NULL PRIMARY KEY,
    username      TEXT    NOT NULL UNIQUE,
    password_hash TEXT    NOT NULL,
    first_name    TEXT    NOT NULL DEFAULT '',
    last_name     TEXT    NOT NULL DEFAULT '',
    is_admin      INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
    created_date  INTEGER NOT NULL
, password_changed INTEGER NOT NULL DEFAULT 0, seen_date INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE user_permission (
    id                TEXT    NOT NULL PRIMARY KEY,
    user_id           TEXT    NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    project_id        TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    create_permission INTEGER NOT NULL CHECK (create_permission IN (0, 1)),
    read_permission   INTEGER NOT NULL CHECK (read_permission IN (0, 1)),
    update_permission INTEGER NOT NULL CHECK (update_permission IN (0, 1)),
    delete_permission INTEGER NOT NULL CHECK (delete_permission IN (0, 1)), owner INTEGER NOT NULL DEFAULT 0 CHECK (owner IN (0, 1)),
    UNIQUE (user_id, project_id)
) STRICT;

CREATE INDEX user_permission_by_project ON user_permission (project_id);

CREATE TABLE wandb_row (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    step          INTEGER NOT NULL,
    content       TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE wandb_row_sum (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    sum           INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, sum)
) STRICT, WITHOUT ROWID;

CREATE TABLE wandb_run (
    iteration_num INTEGER PRIMARY KEY REFERENCES iteration (num) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    config        TEXT    NOT NULL,
    summary       TEXT    NOT NULL,
    about         TEXT    NOT NULL
) STRICT;

CREATE TABLE wandb_sweep (
    num           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    config        TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('PENDING', 'RUNNING', 'PAUSED', 'FINISHED', 'CANCELED')),
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL
) STRICT;

CREATE INDEX wandb_sweep_by_experiment ON wandb_sweep (experiment_id);

CREATE TABLE wandb_trial (
    sweep_num  INTEGER NOT NULL REFERENCES wandb_sweep (num) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    point      TEXT    NOT NULL,
    settings   TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('GIVEN', 'STARTED', 'DONE')),
    given_date INTEGER NOT NULL,
    brackets   TEXT    NOT NULL,
    value      REAL,
    PRIMARY KEY (sweep_num, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX wandb_trial_open ON wandb_trial (sweep_num) WHERE state <> 'DONE';

CREATE TABLE wandb_writer (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    client        TEXT    NOT NULL, -- id that the client chose
    history_lines INTEGER NOT NULL, -- number of history lines that were applied
    event_lines   INTEGER NOT NULL,
    complete      INTEGER NOT NULL, -- 1 if the client has announced the end of the run
    console       TEXT    NOT NULL, -- JSON: where the client's printed lines are in the console of the run
    PRIMARY KEY (iteration_num, client)
) STRICT, WITHOUT ROWID;

CREATE VIEW metric_points (iteration_id, key, step, value, recorded_at) AS
SELECT iteration.id, series.key, metric.step, metric.value, metric.recorded_at
FROM metric
JOIN series ON series.id = metric.series_id
JOIN iteration ON iteration.num = series.iteration_num
JOIN experiment ON experiment.id = iteration.experiment_id
JOIN project ON project.id = experiment.project_id
WHERE iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL
UNION ALL
SELECT iteration.id, series.key, recent.step, recent.value, recent.recorded_at
FROM recent
JOIN series ON series.id = recent.series_id AND series.moved_seq < recent.seq
JOIN iteration ON iteration.num = series.iteration_num
JOIN experiment ON experiment.id = iteration.experiment_id
JOIN project ON project.id = experiment.project_id
WHERE iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL;
