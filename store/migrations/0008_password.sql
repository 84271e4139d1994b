-- The time when the password was last changed. Tokens issued before this time are not renewed. 0
-- means that the password was not changed since this column was added.
ALTER TABLE user ADD COLUMN password_changed INTEGER NOT NULL DEFAULT 0;
