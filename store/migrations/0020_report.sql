-- Markdown pages about the runs of a project. created_by is NULL for the command line or a deleted user.
CREATE TABLE report (
    id           TEXT    NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    created_by   TEXT    REFERENCES user (id) ON DELETE SET NULL,
    created_date INTEGER NOT NULL,
    updated_date INTEGER NOT NULL,
    deleted_date INTEGER,
    deleted_by   TEXT
) STRICT;

CREATE INDEX report_by_project ON report (project_id, created_date, id, deleted_date);

CREATE INDEX report_by_user ON report (created_by) WHERE created_by IS NOT NULL;

CREATE INDEX report_deleted ON report (deleted_date) WHERE deleted_date IS NOT NULL;
