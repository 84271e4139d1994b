-- The lines that a run has printed, numbered from 0. A line can be replaced, for example by a
-- progress bar. If there are too many lines, the oldest are deleted.
CREATE TABLE console_line (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    number        INTEGER NOT NULL CHECK (number >= 0),
    text          TEXT    NOT NULL,
    written_date  INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, number)
) STRICT, WITHOUT ROWID;
