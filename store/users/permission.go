package users

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
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
	Owner  *bool `json:"owner"`
}

// NewMember holds the arguments of ShareProject.
type NewMember struct {
	Username string `json:"username"`
	PermissionPatch
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
	user_permission.delete_permission,
	user_permission.owner`

	permissionFrom = `FROM user_permission
	JOIN user ON user.id = user_permission.user_id
	JOIN project ON project.id = user_permission.project_id AND project.deleted_date IS NULL `

	// permissionShown is the SQL condition for permissions in projects outside the trash.
	permissionShown = `project_id IN (SELECT id FROM project WHERE deleted_date IS NULL)`
)

// Rights returns the actor's rights in a project. An admin has all rights. Owner is set if the
// actor may give and take permissions. Rights requires the right to read.
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
	err := v.tx.AllowShare(v.tx.Actor, projectID)
	if p.Owner = err == nil; err != nil && domain.AsError(err).Code != domain.CodeAdminRequired {
		return p, err
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
// no permission in the project. The actor must be an owner of the project or an admin.
func (db *DB) UserPermission(ctx context.Context, actor domain.Actor, userID, projectID string) (domain.Permission, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (p domain.Permission, err error) {
		if err := tx.AllowShare(actor, projectID); err != nil {
			return p, err
		}
		err = tx.Get(&p, `SELECT `+permissionColumns+` `+permissionFrom+
			`WHERE user_permission.user_id = ? AND user_permission.project_id = ?`, userID, projectID)
		return p, domain.OrNotFound(err, "permission of this user on this project")
	})
}

// CreateUserPermission grants a user a permission in a project. It returns CONFLICT if the user
// already has a permission in the project. The actor must be an owner of the project or an admin.
func (db *DB) CreateUserPermission(ctx context.Context, actor domain.Actor, userID, projectID string, p PermissionPatch) (domain.Created, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if err := tx.AllowShare(actor, projectID); err != nil {
			return domain.Created{}, err
		}
		if err := tx.Exists(`SELECT 1 FROM user WHERE id = ?`, userID, "user"); err != nil {
			return domain.Created{}, err
		}
		if err := tx.Exists(`SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL`, projectID, "project"); err != nil {
			return domain.Created{}, err
		}
		return insertPermission(tx, userID, projectID, p)
	})
}

func insertPermission(tx *domain.Tx, userID, projectID string, p PermissionPatch) (domain.Created, error) {
	grant := domain.Permission{UserID: userID, ProjectID: projectID, Read: true}
	for set, to := range map[*bool]*bool{
		&grant.Create: p.Create, &grant.Read: p.Read, &grant.Update: p.Update, &grant.Delete: p.Delete, &grant.Owner: p.Owner} {
		if to != nil {
			*set = *to
		}
	}
	id, err := tx.InsertPermission(grant)
	if sqlite.IsDuplicate(err) {
		return domain.Created{}, domain.Errorf(domain.CodeConflict,
			"This user already has a permission on this project; change that one.")
	}
	if err != nil {
		return domain.Created{}, err
	}
	made, err := permission(tx, id)
	if err != nil {
		return domain.Created{}, err
	}
	return domain.Created{ID: id}, auditPermission(tx, domain.ActionGrant, made)
}

// AddMember is CreateUserPermission for the user with the given name.
func (db *DB) AddMember(ctx context.Context, actor domain.Actor, projectID string, n NewMember) (domain.Created, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		userID, err := memberNamed(tx, actor, projectID, n.Username)
		if err != nil {
			return domain.Created{}, err
		}
		return insertPermission(tx, userID, projectID, n.PermissionPatch)
	})
}

// ShareProject is AddMember, but it changes an existing permission. Existing reports whether it did.
func (db *DB) ShareProject(ctx context.Context, actor domain.Actor, projectID string, n NewMember) (domain.Created, error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		userID, err := memberNamed(tx, actor, projectID, n.Username)
		if err != nil {
			return domain.Created{}, err
		}
		var id string
		err = tx.Row(`SELECT id FROM user_permission WHERE user_id = ? AND project_id = ?`, userID, projectID).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return insertPermission(tx, userID, projectID, n.PermissionPatch)
		}
		if err == nil {
			err = updatePermission(tx, actor, id, n.PermissionPatch)
		}
		return domain.Created{ID: id, Existing: true}, err
	})
}

// memberNamed returns the id of the user with the given name, after checking that actor may share the
// project. It returns INVALID_PAYLOAD if the user does not exist.
func memberNamed(tx *domain.Tx, actor domain.Actor, projectID, username string) (id string, err error) {
	if err := tx.AllowShare(actor, projectID); err != nil {
		return "", err
	}
	if err := tx.Exists(`SELECT 1 FROM project WHERE id = ? AND deleted_date IS NULL`, projectID, "project"); err != nil {
		return "", err
	}
	err = tx.Row(`SELECT id FROM user WHERE username = ?`, username).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.Invalid("username", "There is no user with this name.")
	}
	return id, err
}

// UpdateUserPermission changes a permission. The actor must be an owner of the project or an admin.
// UpdateUserPermission returns CONFLICT if the actor is the last owner and gives that up.
func (db *DB) UpdateUserPermission(ctx context.Context, actor domain.Actor, id string, p PermissionPatch) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		return updatePermission(tx, actor, id, p)
	})
}

func updatePermission(tx *domain.Tx, actor domain.Actor, id string, p PermissionPatch) error {
	before, err := allowPermission(tx, actor, id, p.Owner != nil && !*p.Owner)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE user_permission SET
			create_permission = coalesce(?, create_permission),
			read_permission   = coalesce(?, read_permission),
			update_permission = coalesce(?, update_permission),
			delete_permission = coalesce(?, delete_permission),
			owner             = coalesce(?, owner)
		WHERE id = ?`, p.Create, p.Read, p.Update, p.Delete, p.Owner, id)
	if err != nil {
		return err
	}
	after, err := permission(tx, id)
	if err != nil || after == before {
		return err
	}
	return auditPermission(tx, domain.ActionGrant, after)
}

// permission returns the permission with the given id. The project must not be in the trash.
func permission(tx *domain.Tx, id string) (p domain.Permission, err error) {
	err = tx.Get(&p, `SELECT `+permissionColumns+` `+permissionFrom+`WHERE user_permission.id = ? AND `+permissionShown, id)
	return p, domain.OrNotFound(err, "permission")
}

// auditPermission appends an event about a permission to the audit trail. The record is the project, and
// the detail names the account and its rights.
func auditPermission(tx *domain.Tx, action domain.Action, p domain.Permission) error {
	detail := p.Username
	if action == domain.ActionGrant {
		var rights []string
		for _, r := range []struct {
			has  bool
			name domain.Right
		}{{p.Create, domain.RightCreate}, {p.Read, domain.RightRead}, {p.Update, domain.RightUpdate}, {p.Delete, domain.RightDelete}, {p.Owner, "owner"}} {
			if r.has {
				rights = append(rights, string(r.name))
			}
		}
		detail += ": " + cmp.Or(strings.Join(rights, ", "), "no rights")
	}
	return tx.Audit(domain.Event{Action: action, Kind: domain.AuditKind(domain.TrashedProject), ID: p.ProjectID, Name: p.ProjectName, Detail: detail})
}

// allowPermission returns the permission with the given id, after checking that actor may change it. If
// disowns is set, it returns CONFLICT for the permission of the last owner, except for an admin.
func allowPermission(tx *domain.Tx, actor domain.Actor, id string, disowns bool) (p domain.Permission, err error) {
	p, err = permission(tx, id)
	if err != nil {
		if domain.AsError(err).Code == domain.CodeNotFound {
			err = cmp.Or(tx.Admin(actor), err) // tell only admins that no permission has this id
		}
		return p, err
	}
	if err := tx.AllowShare(actor, p.ProjectID); err != nil || !disowns || !p.Owner {
		return p, err
	}
	u, err := tx.User(actor)
	if err != nil || u.IsAdmin {
		return p, err
	}
	others, err := tx.Has(`SELECT 1 FROM user_permission WHERE project_id = ? AND owner AND id <> ?`, p.ProjectID, id)
	if err == nil && !others {
		err = domain.Errorf(domain.CodeConflict, "The last owner of a project must stay; make another user an owner first.")
	}
	return p, err
}

// DeleteUserPermission deletes a permission. The actor must be an owner of the project or an admin.
// DeleteUserPermission returns CONFLICT if the actor is the last owner.
func (db *DB) DeleteUserPermission(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		p, err := allowPermission(tx, actor, id, true)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM user_permission WHERE id = ?`, id); err != nil {
			return err
		}
		return auditPermission(tx, domain.ActionRevoke, p)
	})
}
