
-- The time up to which a user has seen the ended runs on the first page, 0 for never.
ALTER TABLE user ADD COLUMN seen_date INTEGER NOT NULL DEFAULT 0;
