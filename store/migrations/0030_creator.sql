-- The account that created a record, and the name of the API key that it used. Both are names, so
-- that they remain when the account or the key is deleted. They are NULL for records of earlier
-- versions, for the command line, and without sign-in.
ALTER TABLE project ADD COLUMN created_by TEXT;
ALTER TABLE project ADD COLUMN created_key TEXT;
ALTER TABLE experiment ADD COLUMN created_by TEXT;
ALTER TABLE experiment ADD COLUMN created_key TEXT;
ALTER TABLE iteration ADD COLUMN created_by TEXT;
ALTER TABLE iteration ADD COLUMN created_key TEXT;
ALTER TABLE resource ADD COLUMN created_by TEXT;
ALTER TABLE resource ADD COLUMN created_key TEXT;
ALTER TABLE artifact_version ADD COLUMN created_by TEXT;
ALTER TABLE artifact_version ADD COLUMN created_key TEXT;
ALTER TABLE model ADD COLUMN created_by TEXT;
ALTER TABLE model ADD COLUMN created_key TEXT;
ALTER TABLE model_version ADD COLUMN created_by TEXT;
ALTER TABLE model_version ADD COLUMN created_key TEXT;

-- Reports and saved views had the id of the account.
DROP INDEX report_by_user;
ALTER TABLE report RENAME COLUMN created_by TO user_id;
ALTER TABLE report ADD COLUMN created_by TEXT;
ALTER TABLE report ADD COLUMN created_key TEXT;
UPDATE report SET created_by = (SELECT username FROM user WHERE user.id = user_id) WHERE user_id IS NOT NULL;
ALTER TABLE report DROP COLUMN user_id;

DROP INDEX experiment_view_by_user;
ALTER TABLE experiment_view RENAME COLUMN created_by TO user_id;
ALTER TABLE experiment_view ADD COLUMN created_by TEXT;
ALTER TABLE experiment_view ADD COLUMN created_key TEXT;
UPDATE experiment_view SET created_by = (SELECT username FROM user WHERE user.id = user_id) WHERE user_id IS NOT NULL;
ALTER TABLE experiment_view DROP COLUMN user_id;
