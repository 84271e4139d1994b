-- What W&B's clients say about a run that has no place among the other records.
CREATE TABLE wandb_run (
    iteration_num INTEGER PRIMARY KEY REFERENCES iteration (num) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    config        TEXT    NOT NULL,
    summary       TEXT    NOT NULL,
    about         TEXT    NOT NULL
) STRICT;

-- The values of a history that are no numbers, by step: an object of JSON.
CREATE TABLE wandb_row (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    step          INTEGER NOT NULL,
    content       TEXT    NOT NULL,
    PRIMARY KEY (iteration_num, step)
) STRICT, WITHOUT ROWID;

-- Keys of accounts: unlike tokens they are kept, as hashes, and can be revoked.
CREATE TABLE api_key (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE,
    created_date INTEGER NOT NULL
) STRICT;

CREATE INDEX api_key_by_user ON api_key (user_id);
