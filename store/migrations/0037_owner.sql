-- An owner of a project can give and take permissions in it. The account that created a project becomes its owner: it has
-- the first permission in the project, with all rights, because the permission was inserted together with the project.
ALTER TABLE user_permission ADD COLUMN owner INTEGER NOT NULL DEFAULT 0 CHECK (owner IN (0, 1));

UPDATE user_permission SET owner = 1
WHERE create_permission AND read_permission AND update_permission AND delete_permission
AND id = (SELECT min(first.id) FROM user_permission AS first WHERE first.project_id = user_permission.project_id)
AND EXISTS (SELECT 1 FROM project JOIN user ON user.id = user_permission.user_id
	WHERE project.id = user_permission.project_id AND coalesce(project.created_by, user.username) = user.username);
