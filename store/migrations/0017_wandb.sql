-- Data about runs from W&B's clients that do not fit into other tables.
CREATE TABLE wandb_run (
    iteration_num INTEGER PRIMARY KEY REFERENCES iteration (num) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    config        TEXT    NOT NULL,
    summary       TEXT    NOT NULL,
    about         TEXT    NOT NULL
) STRICT;

-- Non-numeric values in the history of a run, as a JSON object for each step.
CREATE TABLE wandb_row (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    step          INTEGER NOT NULL,
    content       TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, step)
) STRICT, WITHOUT ROWID;

-- API keys of accounts. Unlike tokens, they are stored, as hashes, and can be revoked.
CREATE TABLE api_key (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE,
    created_date INTEGER NOT NULL
) STRICT;

CREATE INDEX api_key_by_user ON api_key (user_id);
