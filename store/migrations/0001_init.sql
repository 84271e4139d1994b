-- Times are Unix milliseconds, UTC. Booleans are 0 or 1.

CREATE TABLE user (
    id            TEXT    NOT NULL PRIMARY KEY,
    username      TEXT    NOT NULL UNIQUE,
    password_hash TEXT    NOT NULL,
    first_name    TEXT    NOT NULL DEFAULT '',
    last_name     TEXT    NOT NULL DEFAULT '',
    is_admin      INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
    created_date  INTEGER NOT NULL
) STRICT;

CREATE TABLE project (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL DEFAULT '',
    created_date INTEGER NOT NULL
) STRICT;

CREATE INDEX project_by_date ON project (created_date, id);

CREATE TABLE user_permission (
    id                TEXT    NOT NULL PRIMARY KEY,
    user_id           TEXT    NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    project_id        TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    create_permission INTEGER NOT NULL CHECK (create_permission IN (0, 1)),
    read_permission   INTEGER NOT NULL CHECK (read_permission IN (0, 1)),
    update_permission INTEGER NOT NULL CHECK (update_permission IN (0, 1)),
    delete_permission INTEGER NOT NULL CHECK (delete_permission IN (0, 1)),
    UNIQUE (user_id, project_id)
) STRICT;

CREATE INDEX user_permission_by_project ON user_permission (project_id);

CREATE TABLE experiment (
    id           TEXT    NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    description  TEXT    NOT NULL DEFAULT '',
    status       TEXT    NOT NULL CHECK (status IN ('IN_PROGRESS', 'STOPPED', 'FINISHED')),
    created_date INTEGER NOT NULL,
    end_date     INTEGER
) STRICT;

CREATE INDEX experiment_by_project ON experiment (project_id, created_date, id);

-- num is the key that logged data refer to. It is eight times shorter than id and grows in the
-- order of creation.
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
    last_seen     INTEGER NOT NULL,
    CHECK ((status = 'RUNNING') = (end_date IS NULL))
) STRICT;

CREATE INDEX iteration_by_experiment ON iteration (experiment_id, num);
CREATE INDEX iteration_by_name ON iteration (experiment_id, name);
CREATE INDEX iteration_by_parent ON iteration (parent_num) WHERE parent_num IS NOT NULL;

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

CREATE TABLE parameter (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    key           TEXT    NOT NULL,
    id            TEXT    NOT NULL UNIQUE,
    value         TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, key)
) STRICT, WITHOUT ROWID;

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

-- One row for each metric name of an iteration, with the statistics of its points. NaN is stored
-- as NULL. min, max and sum cover only finite values, and finite is the number of finite values.
-- last is the value at the largest step. If several points have this step, it is the value that
-- was written last.
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
    sum           REAL    NOT NULL DEFAULT 0,
    UNIQUE (iteration_num, key)
) STRICT;

-- seq is unique in the whole file and grows in the order of writing. series_id is not a foreign
-- key, which would need a lookup for each point. Instead, the trigger below removes the points of
-- a deleted series, and `tracker check` verifies this.
CREATE TABLE metric (
    series_id   INTEGER NOT NULL,
    step        INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    value       REAL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (series_id, step, seq)
) STRICT, WITHOUT ROWID;

-- The points whose key or step was changed by a PATCH. Their ids still contain the old series and
-- step.
CREATE TABLE metric_moved (
    seq           INTEGER PRIMARY KEY,
    old_series_id INTEGER NOT NULL,
    old_step      INTEGER NOT NULL,
    series_id     INTEGER NOT NULL,
    step          INTEGER NOT NULL
) STRICT;

CREATE INDEX metric_moved_by_series ON metric_moved (series_id);

CREATE TRIGGER series_deleted AFTER DELETE ON series BEGIN
    DELETE FROM metric WHERE series_id = OLD.id;
    DELETE FROM metric_moved WHERE series_id = OLD.id;
END;

CREATE TABLE counter (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

INSERT INTO counter (name, value) VALUES ('metric_seq', 0);

-- The responses to requests with an Idempotency-Key. They are stored for a day.
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

-- All points with the names of their metrics, for users who read the file with other tools. The
-- columns are part of the public interface. value is NULL for NaN.
CREATE VIEW metric_points (iteration_id, key, step, value, recorded_at) AS
SELECT iteration.id, series.key, metric.step, metric.value, metric.recorded_at
FROM metric
JOIN series ON series.id = metric.series_id
JOIN iteration ON iteration.num = series.iteration_num;
