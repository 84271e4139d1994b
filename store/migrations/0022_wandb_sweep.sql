-- Sweeps: searches for good settings that are carried out by W&B's clients.
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

-- The runs that a sweep has assigned to its agents. A run becomes an iteration when its client
-- starts it.
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
