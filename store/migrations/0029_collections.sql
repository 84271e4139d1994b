-- Versions of artifacts belong to all clients now, not only to W&B's. A version is one state of a
-- collection of files. Its files are artifacts of the run that logged it, named NAME:vN/FILE.
ALTER TABLE wandb_artifact RENAME TO artifact_version;
ALTER TABLE wandb_alias RENAME TO artifact_alias;
ALTER TABLE wandb_artifact_use RENAME TO artifact_use;
ALTER TABLE wandb_file RENAME TO artifact_file;

DROP INDEX wandb_artifact_by_iteration;
DROP INDEX wandb_alias_by_artifact;
DROP INDEX wandb_artifact_use_by_iteration;
DROP INDEX wandb_file_by_md5;

CREATE INDEX artifact_version_by_iteration ON artifact_version (iteration_num);
CREATE INDEX artifact_alias_by_version ON artifact_alias (artifact_num);
CREATE INDEX artifact_use_by_iteration ON artifact_use (iteration_num);
CREATE INDEX artifact_file_by_md5 ON artifact_file (md5);

-- The tags of a version. Several versions of a collection can have the same tag.
CREATE TABLE artifact_tag (
    artifact_num INTEGER NOT NULL REFERENCES artifact_version (num) ON DELETE CASCADE,
    tag          TEXT    NOT NULL,
    PRIMARY KEY (artifact_num, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_tag_by_tag ON artifact_tag (tag);
