package users

import (
	"cmp"
	"context"
	"strings"

	"tracker/store/domain"
	"tracker/store/sqlite"
)

// PermissionPatch holds the rights to set. A nil right is not changed. In a new permission, nil
// means true for Read and false for all other rights.
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

	// permissionShown is the SQL condition for permissions in projects outside the trash.
	permissionShown = `project_id IN (SELECT id FROM project WHERE deleted_date IS NULL)`
)

// Rights returns the actor's rights in a project. An admin has all rights. Rights requires the
// right to read.
func (v *View) Rights(projectID string) (domain.Permission, error) {
	p := domain.Permission{UserID: v.tx.Actor.UserID, ProjectID: projectID}
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return p, err
	}
	for has, want := range map[*bool]domain.Right{
		&p.Create: domain.RightCreate, &p.Read: domain.RightRead, &p.Update: domain.RightUpdate, &p.Delete: domain.RightDelete} {
		err := v.tx.Allow(v.tx.Actor, projectID, want)
		if *has = err == nil; err != nil && domain.AsError(err).Code != domain.CodeProjectPermissionRequired {
			return p, err
		}
	}
	return p, nil
}

// UserPermissions returns the permissions of a user, sorted by project name. The actor must be
// the user or an admin.
func (db *DB) UserPermissions(ctx context.Context, actor domain.Actor, userID string, p domain.Page) (domain.List[domain.Permission], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (l domain.List[domain.Permission], err error) {
		if err := tx.SameUser(actor, userID); err != nil {
			return l, err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return l, err
		}
		return domain.PageOf[domain.Permission](tx, p, permissionColumns,
			permissionFrom+`WHERE user_permission.user_id = ?`, `project.name, project.id`, userID)
	})
}

// ProjectMembers returns the permissions in a project, sorted by user name. It requires the
// right to read.
func (v *View) ProjectMembers(projectID string, p domain.Page) (l domain.List[domain.Permission], err error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return l, err
	}
	return domain.PageOf[domain.Permission](v.tx, p, permissionColumns,
		permissionFrom+`WHERE user_permission.project_id = ?`, `user.username`, projectID)
}

// ProjectMembers calls View.ProjectMembers on a new snapshot.
func (db *DB) ProjectMembers(ctx context.Context, actor domain.Actor, projectID string, p domain.Page) (domain.List[domain.Permission], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[domain.Permission], error) { return v.ProjectMembers(projectID, p) })
}

// UserPermission returns a user's permission in a project. It returns NOT_FOUND if the user has
// no permission in the project. The actor must be an admin.
func (db *DB) UserPermission(ctx context.Context, actor domain.Actor, userID, projectID string) (domain.Permission, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (p domain.Permission, err error) {
		if err := tx.Admin(actor); err != nil {
			return p, err
		}
		err = tx.Get(&p, `SELECT `+permissionColumns+` `+permissionFrom+
			`WHERE user_permission.user_id = ? AND user_permission.project_id = ?`, userID, projectID)
		return p, domain.OrNotFound(err, "permission of this user on this project")
	})
}

// CreateUserPermission grants a user a permission in a project. It returns CONFLICT if the user
// already has a permission in the project. The actor must be an admin.
func (db *DB) CreateUserPermission(ctx context.Context, actor domain.Actor, userID, projectID string, p PermissionPatch) (domain.Created, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if err := tx.Admin(actor); err != nil {
			return domain.Created{}, err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return domain.Created{}, err
		}
		if err := tx.Exists(`SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL`, projectID, "project"); err != nil {
			return domain.Created{}, err
		}
		grant := domain.Permission{UserID: userID, ProjectID: projectID, Read: true}
		for set, to := range map[*bool]*bool{
			&grant.Create: p.Create, &grant.Read: p.Read, &grant.Update: p.Update, &grant.Delete: p.Delete} {
			if to != nil {
				*set = *to
			}
		}
		id, err := tx.InsertPermission(grant)
		if sqlite.IsDuplicate(err) {
			return domain.Created{}, domain.Errorf(domain.CodeConflict,
				"This user already has a permission on this project; change that one.")
		}
		if err == nil {
			err = auditPermission(tx, domain.ActionGrant, id)
		}
		return domain.Created{ID: id}, err
	})
}

// UpdateUserPermission changes a permission. The actor must be an admin.
func (db *DB) UpdateUserPermission(ctx context.Context, actor domain.Actor, id string, p PermissionPatch) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.Admin(actor); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE user_permission SET
				create_permission = coalesce(?, create_permission),
				read_permission   = coalesce(?, read_permission),
				update_permission = coalesce(?, update_permission),
				delete_permission = coalesce(?, delete_permission)
			WHERE id = ? AND `+permissionShown, p.Create, p.Read, p.Update, p.Delete, id)
		if err := domain.ChangedOne(n, err, "permission"); err != nil {
			return err
		}
		return auditPermission(tx, domain.ActionGrant, id)
	})
}

// auditPermission appends an event about a permission to the audit trail. The record is the project, and
// the detail names the account and its rights.
func auditPermission(tx *domain.Tx, action domain.Action, id string) error {
	var p domain.Permission
	err := tx.Get(&p, `SELECT `+permissionColumns+` `+permissionFrom+`WHERE user_permission.id = ?`, id)
	if err != nil {
		return domain.OrNotFound(err, "permission")
	}
	detail := p.Username
	if action == domain.ActionGrant {
		var rights []string
		for _, r := range []struct {
			has  bool
			name domain.Right
		}{{p.Create, domain.RightCreate}, {p.Read, domain.RightRead}, {p.Update, domain.RightUpdate}, {p.Delete, domain.RightDelete}} {
			if r.has {
				rights = append(rights, string(r.name))
			}
		}
		detail += ": " + cmp.Or(strings.Join(rights, ", "), "no rights")
	}
	return tx.Audit(domain.Event{Action: action, Kind: domain.AuditKind(domain.TrashedProject), ID: p.ProjectID, Name: p.ProjectName, Detail: detail})
}

// DeleteUserPermission deletes a permission. The actor must be an admin.
func (db *DB) DeleteUserPermission(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.Admin(actor); err != nil {
			return err
		}
		if err := auditPermission(tx, domain.ActionRevoke, id); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM user_permission WHERE id = ? AND `+permissionShown, id)
		return domain.ChangedOne(n, err, "permission")
	})
}
