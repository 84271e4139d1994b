-- The lines that a run has printed, by number from 0. A line may be written again, as
-- that of a progress bar is. The oldest are deleted when there are too many.
CREATE TABLE console_line (
    iteration_num INTEGER NOT NULL REFERENCES iteration (num) ON DELETE CASCADE,
    number        INTEGER NOT NULL CHECK (number >= 0),
    text          TEXT    NOT NULL,
    written_date  INTEGER NOT NULL,
    PRIMARY KEY (iteration_num, number)
) STRICT, WITHOUT ROWID;
