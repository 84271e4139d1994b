package store

import (
	"context"

	"tracker/store/access"
	"tracker/store/sqlite"
)

// PermissionPatch sets some of the four rights; nil leaves one as it is. In a new
// permission the default is to read only.
type PermissionPatch struct {
	Create *bool `json:"create_permission"`
	Read   *bool `json:"read_permission"`
	Update *bool `json:"update_permission"`
	Delete *bool `json:"delete_permission"`
}

const (
	permissionColumns = `
	user_permission.id,
	user_permission.user_id,
	user.username,
	user_permission.project_id,
	project.name AS project_name,
	user_permission.create_permission,
	user_permission.read_permission,
	user_permission.update_permission,
	user_permission.delete_permission`

	permissionFrom = `FROM user_permission
	JOIN user ON user.id = user_permission.user_id
	JOIN project ON project.id = user_permission.project_id AND project.deleted_date IS NULL `

	// permissionShown is the SQL condition for a project that is not in the trash.
	permissionShown = `project_id IN (SELECT id FROM project WHERE deleted_date IS NULL)`
)

// Rights returns the rights of the actor in a project: all for an admin. Needs
// read.
func (v *View) Rights(projectID string) (Permission, error) {
	p := Permission{UserID: v.tx.Actor.UserID, ProjectID: projectID}
	if err := v.tx.AllowProject(v.tx.Actor, projectID, access.RightRead); err != nil {
		return p, err
	}
	for has, want := range map[*bool]access.Right{
		&p.Create: access.RightCreate, &p.Read: access.RightRead, &p.Update: access.RightUpdate, &p.Delete: access.RightDelete} {
		err := v.tx.Allow(v.tx.Actor, projectID, want)
		if *has = err == nil; err != nil && access.AsError(err).Code != CodeProjectPermissionRequired {
			return p, err
		}
	}
	return p, nil
}

// UserPermissions lists the permissions of a user by project name. For that user
// and admins.
func (db *DB) UserPermissions(ctx context.Context, actor Actor, userID string, p Page) (List[Permission], error) {
	return access.Read(ctx, db.base, func(tx *access.Tx) (l List[Permission], err error) {
		if err := tx.SameUser(actor, userID); err != nil {
			return l, err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return l, err
		}
		return access.PageOf[Permission](tx, p, permissionColumns,
			permissionFrom+`WHERE user_permission.user_id = ?`, `project.name, project.id`, userID)
	})
}

// ProjectMembers lists the permissions in a project by user name. Needs read.
func (v *View) ProjectMembers(projectID string, p Page) (l List[Permission], err error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, access.RightRead); err != nil {
		return l, err
	}
	return access.PageOf[Permission](v.tx, p, permissionColumns,
		permissionFrom+`WHERE user_permission.project_id = ?`, `user.username`, projectID)
}

// ProjectMembers is View.ProjectMembers.
func (db *DB) ProjectMembers(ctx context.Context, actor Actor, projectID string, p Page) (List[Permission], error) {
	return view(ctx, db, actor, func(v *View) (List[Permission], error) { return v.ProjectMembers(projectID, p) })
}

// UserPermission returns the permission of a user in a project; NOT_FOUND when
// none was granted. For admins.
func (db *DB) UserPermission(ctx context.Context, actor Actor, userID, projectID string) (Permission, error) {
	return access.Read(ctx, db.base, func(tx *access.Tx) (p Permission, err error) {
		if err := tx.Admin(actor); err != nil {
			return p, err
		}
		err = tx.Get(&p, `SELECT `+permissionColumns+` `+permissionFrom+
			`WHERE user_permission.user_id = ? AND user_permission.project_id = ?`, userID, projectID)
		return p, access.OrNotFound(err, "permission of this user on this project")
	})
}

// CreateUserPermission grants a user a permission in a project; CONFLICT when
// there is one. For admins.
func (db *DB) CreateUserPermission(ctx context.Context, actor Actor, userID, projectID string, p PermissionPatch) (Created, error) {
	return access.Write(ctx, db.base, actor, func(tx *access.Tx) (Created, error) {
		if err := tx.Admin(actor); err != nil {
			return Created{}, err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return Created{}, err
		}
		if err := tx.Exists(`SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL`, projectID, "project"); err != nil {
			return Created{}, err
		}
		grant := Permission{UserID: userID, ProjectID: projectID, Read: true}
		for set, to := range map[*bool]*bool{
			&grant.Create: p.Create, &grant.Read: p.Read, &grant.Update: p.Update, &grant.Delete: p.Delete} {
			if to != nil {
				*set = *to
			}
		}
		id, err := tx.InsertPermission(grant)
		if sqlite.IsDuplicate(err) {
			return Created{}, access.Errorf(CodeConflict,
				"This user already has a permission on this project; change that one.")
		}
		return Created{ID: id}, err
	})
}

// UpdateUserPermission changes a permission. For admins.
func (db *DB) UpdateUserPermission(ctx context.Context, actor Actor, id string, p PermissionPatch) error {
	return access.Change(ctx, db.base, actor, func(tx *access.Tx) error {
		if err := tx.Admin(actor); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE user_permission SET
				create_permission = coalesce(?, create_permission),
				read_permission   = coalesce(?, read_permission),
				update_permission = coalesce(?, update_permission),
				delete_permission = coalesce(?, delete_permission)
			WHERE id = ? AND `+permissionShown, p.Create, p.Read, p.Update, p.Delete, id)
		return access.ChangedOne(n, err, "permission")
	})
}

// DeleteUserPermission removes a permission. For admins.
func (db *DB) DeleteUserPermission(ctx context.Context, actor Actor, id string) error {
	return access.Remove(ctx, db.base, actor, func(tx *access.Tx) error {
		if err := tx.Admin(actor); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM user_permission WHERE id = ? AND `+permissionShown, id)
		return access.ChangedOne(n, err, "permission")
	})
}
