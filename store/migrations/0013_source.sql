-- Files of other tools from which runs were imported, and the positions up to which they were
-- read. The rows of a deleted run remain, so that the run is not imported again.
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
