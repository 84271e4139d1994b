package store

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/sqlite"
)

// Permission holds the rights of one user in one project.
type Permission struct {
	ID          string `json:"id" db:"id"`
	UserID      string `json:"user_id" db:"user_id"`
	Username    string `json:"username" db:"username"`
	ProjectID   string `json:"project_id" db:"project_id"`
	ProjectName string `json:"project_name" db:"project_name"`
	Create      bool   `json:"create_permission" db:"create_permission"`
	Read        bool   `json:"read_permission" db:"read_permission"`
	Update      bool   `json:"update_permission" db:"update_permission"`
	Delete      bool   `json:"delete_permission" db:"delete_permission"`
}

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

// right is one of the four permissions.
type right string

const (
	rightCreate right = "create"
	rightRead   right = "read"
	rightUpdate right = "update"
	rightDelete right = "delete"
)

// grant holds the rights of an actor in a project.
type grant map[right]bool

// allow fails unless actor has the right in the project, which must exist.
func (tx *tx) allow(actor Actor, projectID string, want right) error {
	if actor.system {
		return nil
	}
	g, err := tx.grantOf(actor, projectID)
	if err == nil && !g[want] {
		err = Errorf(CodeProjectPermissionRequired,
			"This needs the %s permission on the project; ask an admin for it.", want)
	}
	return err
}

// grantOf returns the rights of actor in a project. They are looked up once for
// all reads of a snapshot, because they do not change in it.
func (tx *tx) grantOf(actor Actor, projectID string) (grant, error) {
	key := grantKey{actor.UserID, projectID}
	if g, ok := tx.grants[key]; ok {
		return g, nil
	}
	var admin, create, read, update, remove bool
	err := tx.Row(`SELECT
			user.is_admin,
			coalesce(user_permission.create_permission, 0),
			coalesce(user_permission.read_permission, 0),
			coalesce(user_permission.update_permission, 0),
			coalesce(user_permission.delete_permission, 0)
		FROM user
		LEFT JOIN user_permission ON user_permission.user_id = user.id AND user_permission.project_id = ?
		WHERE user.id = ?`, projectID, actor.UserID).
		Scan(&admin, &create, &read, &update, &remove)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	g := grant{rightCreate: admin || create, rightRead: admin || read, rightUpdate: admin || update, rightDelete: admin || remove}
	if !tx.Writer() {
		if tx.grants == nil {
			tx.grants = map[grantKey]grant{}
		}
		tx.grants[key] = g
	}
	return g, nil
}

type grantKey struct{ userID, projectID string }

// Rights returns the rights of the actor in a project: all for an admin. Needs
// read.
func (v *View) Rights(projectID string) (Permission, error) {
	p := Permission{UserID: v.actor.UserID, ProjectID: projectID}
	if err := v.tx.allowProject(v.actor, projectID, rightRead); err != nil {
		return p, err
	}
	for has, want := range map[*bool]right{
		&p.Create: rightCreate, &p.Read: rightRead, &p.Update: rightUpdate, &p.Delete: rightDelete} {
		err := v.tx.allow(v.actor, projectID, want)
		if *has = err == nil; err != nil && AsError(err).Code != CodeProjectPermissionRequired {
			return p, err
		}
	}
	return p, nil
}

// UserPermissions lists the permissions of a user by project name. For that user
// and admins.
func (db *DB) UserPermissions(ctx context.Context, actor Actor, userID string, p Page) (List[Permission], error) {
	return read(ctx, db, func(tx *tx) (l List[Permission], err error) {
		if err := tx.sameUser(actor, userID); err != nil {
			return l, err
		}
		if err := tx.exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return l, err
		}
		return list[Permission](tx, p, permissionColumns,
			permissionFrom+`WHERE user_permission.user_id = ?`, `project.name, project.id`, userID)
	})
}

// ProjectMembers lists the permissions in a project by user name. Needs read.
func (v *View) ProjectMembers(projectID string, p Page) (l List[Permission], err error) {
	if err := v.tx.allowProject(v.actor, projectID, rightRead); err != nil {
		return l, err
	}
	return list[Permission](v.tx, p, permissionColumns,
		permissionFrom+`WHERE user_permission.project_id = ?`, `user.username`, projectID)
}

// ProjectMembers is View.ProjectMembers.
func (db *DB) ProjectMembers(ctx context.Context, actor Actor, projectID string, p Page) (List[Permission], error) {
	return view(ctx, db, actor, func(v *View) (List[Permission], error) { return v.ProjectMembers(projectID, p) })
}

// UserPermission returns the permission of a user in a project; NOT_FOUND when
// none was granted. For admins.
func (db *DB) UserPermission(ctx context.Context, actor Actor, userID, projectID string) (Permission, error) {
	return read(ctx, db, func(tx *tx) (p Permission, err error) {
		if err := tx.admin(actor); err != nil {
			return p, err
		}
		err = tx.Get(&p, `SELECT `+permissionColumns+` `+permissionFrom+
			`WHERE user_permission.user_id = ? AND user_permission.project_id = ?`, userID, projectID)
		return p, orNotFound(err, "permission of this user on this project")
	})
}

// CreateUserPermission grants a user a permission in a project; CONFLICT when
// there is one. For admins.
func (db *DB) CreateUserPermission(ctx context.Context, actor Actor, userID, projectID string, p PermissionPatch) (Created, error) {
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		if err := tx.admin(actor); err != nil {
			return Created{}, err
		}
		if err := tx.exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return Created{}, err
		}
		if err := tx.exists(`SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL`, projectID, "project"); err != nil {
			return Created{}, err
		}
		grant := Permission{UserID: userID, ProjectID: projectID, Read: true}
		for set, to := range map[*bool]*bool{
			&grant.Create: p.Create, &grant.Read: p.Read, &grant.Update: p.Update, &grant.Delete: p.Delete} {
			if to != nil {
				*set = *to
			}
		}
		id, err := tx.insertPermission(grant)
		if sqlite.IsDuplicate(err) {
			return Created{}, Errorf(CodeConflict,
				"This user already has a permission on this project; change that one.")
		}
		return Created{ID: id}, err
	})
}

func (tx *tx) insertPermission(p Permission) (string, error) {
	id, err := newID()
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO user_permission
		(id, user_id, project_id, create_permission, read_permission, update_permission, delete_permission)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		id, p.UserID, p.ProjectID, p.Create, p.Read, p.Update, p.Delete)
	return id, err
}

// UpdateUserPermission changes a permission. For admins.
func (db *DB) UpdateUserPermission(ctx context.Context, actor Actor, id string, p PermissionPatch) error {
	return change(ctx, db, actor, func(tx *tx) error {
		if err := tx.admin(actor); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE user_permission SET
				create_permission = coalesce(?, create_permission),
				read_permission   = coalesce(?, read_permission),
				update_permission = coalesce(?, update_permission),
				delete_permission = coalesce(?, delete_permission)
			WHERE id = ? AND `+permissionShown, p.Create, p.Read, p.Update, p.Delete, id)
		return changedOne(n, err, "permission")
	})
}

// DeleteUserPermission removes a permission. For admins.
func (db *DB) DeleteUserPermission(ctx context.Context, actor Actor, id string) error {
	return remove(ctx, db, actor, func(tx *tx) error {
		if err := tx.admin(actor); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM user_permission WHERE id = ? AND `+permissionShown, id)
		return changedOne(n, err, "permission")
	})
}

// exists fails with NOT_FOUND unless query finds a row for id.
func (tx *tx) exists(query, id, what string) error {
	var one int
	return orNotFound(tx.Row(query, id).Scan(&one), what)
}
