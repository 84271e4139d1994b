-- Limits of API keys: the kind of use ('' for all), the only project, and the time of expiry. used_date is the time of
-- the last use; it is at most a minute old while the key is used.
ALTER TABLE api_key ADD COLUMN only_use TEXT NOT NULL DEFAULT '' CHECK (only_use IN ('', 'read', 'log'));
ALTER TABLE api_key ADD COLUMN project_id TEXT REFERENCES project (id) ON DELETE CASCADE;
ALTER TABLE api_key ADD COLUMN expires INTEGER;
ALTER TABLE api_key ADD COLUMN used_date INTEGER;

CREATE INDEX api_key_by_project ON api_key (project_id);
