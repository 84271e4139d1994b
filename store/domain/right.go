package domain

import (
	"database/sql"
	"errors"
)

// Right is one of the four rights in a project.
type Right string

// The four rights in a project.
const (
	RightCreate Right = "create"
	RightRead   Right = "read"
	RightUpdate Right = "update"
	RightDelete Right = "delete"
	// RightFind is the right to find projects and experiments by name. Accounts that can read a
	// project have it. An API key that is limited to logging needs it to find the place of a run.
	RightFind Right = "find"
)

// ofAccount returns the right of an account that w requires.
func (w Right) ofAccount() Right {
	if w == RightFind {
		return RightRead
	}
	return w
}

// column returns the column of user_permission that w requires.
func (w Right) column() string { return string(w.ofAccount()) + `_permission` }

// grant holds an actor's rights in a project.
type grant map[Right]bool

// Allow returns PROJECT_PERMISSION_REQUIRED if actor does not have the wanted right in the
// project. The project must exist.
func (tx *Tx) Allow(actor Actor, projectID string, want Right) error {
	if actor.system {
		return nil
	}
	g, err := tx.grantOf(actor, projectID)
	switch {
	case err != nil:
		return err
	case !g[want.ofAccount()]:
		return Errorf(CodeProjectPermissionRequired,
			"This needs the %s permission on the project; ask an admin for it.", want.ofAccount())
	case !actor.Scope.permits(want) || actor.Scope.ProjectID != "" && actor.Scope.ProjectID != projectID:
		return Errorf(CodeProjectPermissionRequired, "%s", actor.limit())
	}
	return nil
}

// grantOf returns the rights of the account of actor in a project. Rights can't change in a snapshot, so
// grantOf caches them in a snapshot.
func (tx *Tx) grantOf(actor Actor, projectID string) (grant, error) {
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
	g := grant{RightCreate: admin || create, RightRead: admin || read, RightUpdate: admin || update, RightDelete: admin || remove}
	if !tx.Writer() {
		if tx.grants == nil {
			tx.grants = map[grantKey]grant{}
		}
		tx.grants[key] = g
	}
	return g, nil
}

type grantKey struct{ userID, projectID string }
