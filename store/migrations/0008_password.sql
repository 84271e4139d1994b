-- When the password was last changed: a token from before that is not renewed.
-- 0 for never, or before this column was there.
ALTER TABLE user ADD COLUMN password_changed INTEGER NOT NULL DEFAULT 0;
