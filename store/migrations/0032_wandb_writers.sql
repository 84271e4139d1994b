-- Several W&B clients can write to one run. Each numbers the lines that it sends from 0.
CREATE TABLE wandb_writer (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    client        TEXT    NOT NULL, -- id that the client chose
    history_lines INTEGER NOT NULL, -- number of history lines that were applied
    event_lines   INTEGER NOT NULL,
    complete      INTEGER NOT NULL, -- 1 if the client has announced the end of the run
    console       TEXT    NOT NULL, -- JSON: where the client's printed lines are in the console of the run
    PRIMARY KEY (iteration_num, client)
) STRICT, WITHOUT ROWID;

-- Checksums of the history rows of runs with several writers. A row that a client sends later under
-- another id, as wandb sync does, is recognized by its checksum.
CREATE TABLE wandb_row_sum (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    sum           INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, sum)
) STRICT, WITHOUT ROWID;
