-- Saved views of an experiment. query is the query string of the dashboard's URL. created_by is
-- NULL for the command line or if the user was deleted.
CREATE TABLE experiment_view (
    id            TEXT    NOT NULL PRIMARY KEY,
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    query         TEXT    NOT NULL,
    created_by    TEXT    REFERENCES user (id) ON DELETE SET NULL,
    created_date  INTEGER NOT NULL,
    updated_date  INTEGER NOT NULL,
    UNIQUE (experiment_id, name)
) STRICT;

CREATE INDEX experiment_view_by_user ON experiment_view (created_by) WHERE created_by IS NOT NULL;
