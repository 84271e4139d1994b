package domain

// ScopeKind is the kind of use to which an API key is limited.
type ScopeKind string

// The kinds of use.
const (
	ScopeAll  ScopeKind = ""     // no limit
	ScopeRead ScopeKind = "read" // reading
	ScopeLog  ScopeKind = "log"  // logging: adding records, and changing and reading the key's own runs
)

// Scope limits the rights of an API key. The rights of the actor are the rights of the account that
// the scope permits. The zero value permits all of them.
type Scope struct {
	Only      ScopeKind
	ProjectID string // the only project that the key can be used in; "" for all projects
}

// Limited reports whether s limits the rights of the account.
func (s Scope) Limited() bool { return s != Scope{} }

// permits reports whether s permits the use of a right in its projects.
func (s Scope) permits(want Right) bool {
	switch s.Only {
	case ScopeAll:
		return true
	case ScopeRead:
		return want == RightRead || want == RightFind
	case ScopeLog:
		return want == RightCreate || want == RightFind
	}
	return false
}

// limit returns a message that says what the API key of a permits.
func (a Actor) limit() string {
	limits := map[ScopeKind]string{ScopeAll: "to one project", ScopeRead: "to reading", ScopeLog: "to logging"}[a.Scope.Only]
	if a.Scope.Only != ScopeAll && a.Scope.ProjectID != "" {
		limits += " in one project"
	}
	return "The API key is limited " + limits + "; use another key for this."
}

// AllowRun is Allow for a right that concerns an iteration. An API key that is limited to logging
// also has the account's rights to read and update the iterations that were created with it.
func (tx *Tx) AllowRun(actor Actor, projectID string, num int64, want Right) error {
	if actor.Scope.Only == ScopeLog && want != RightDelete {
		own, err := tx.Has(`SELECT 1 FROM iteration
			JOIN user ON user.id = ? AND user.username = iteration.created_by
			WHERE iteration.num = ? AND iteration.created_key = ?`, actor.UserID, num, actor.Key)
		if err != nil {
			return err
		}
		if own {
			actor.Scope.Only = ScopeAll
		}
	}
	return tx.Allow(actor, projectID, want)
}

// Given returns an SQL condition that is true if actor finds the project, whose id is in the given
// column, by its name. The condition is true for the projects that the account owns or was given. It
// is true for all projects if sign-in is off. For an admin, it is also true for projects without any
// member, but not for projects of others. Otherwise anybody could create a project with a common name,
// and read what others log under that name.
func (tx *Tx) Given(actor Actor, column string) (condition string, args []any, err error) {
	u, err := tx.account(actor)
	if err != nil || actor.system || actor.Anonymous {
		return `TRUE`, nil, err
	}
	condition, args = column+` IN (SELECT project_id FROM user_permission WHERE user_id = ?)`, []any{u.ID}
	if u.IsAdmin {
		condition += ` OR NOT EXISTS (SELECT 1 FROM user_permission WHERE project_id = ` + column + `)`
	}
	condition = `(` + condition + `)`
	if actor.Scope.ProjectID != "" {
		condition, args = condition+` AND `+column+` = ?`, append(args, actor.Scope.ProjectID)
	}
	return condition, args, nil
}

// ProjectNamed returns the id of the project with the given id or, if there is none, of the project
// with the given name that Given finds. If several projects have the name, ProjectNamed prefers
// projects that actor owns, and then the oldest project. It returns NOT_FOUND if no
// project matches. It does not check rights in a project that is selected by its id.
func (tx *Tx) ProjectNamed(actor Actor, id, name string) (found string, err error) {
	given, args, err := tx.Given(actor, `project.id`)
	if err != nil {
		return "", err
	}
	err = tx.Row(`SELECT project.id FROM project
		LEFT JOIN user_permission AS mine ON mine.project_id = project.id AND mine.user_id = ?
		WHERE project.deleted_date IS NULL AND (project.id = ? OR project.name = ? AND `+given+`)
		ORDER BY project.id = ? DESC, coalesce(mine.owner, 0) DESC, project.created_date, project.id
		LIMIT 1`, append(append([]any{actor.UserID, id, name}, args...), id)...).Scan(&found)
	return found, OrNotFound(err, "project")
}

// Having returns an SQL condition that is true if actor has the right want in the project whose id
// is in the given column. args are the parameters of the condition.
func (tx *Tx) Having(actor Actor, want Right, column string) (condition string, args []any, err error) {
	u, err := tx.account(actor)
	if err != nil {
		return "", nil, err
	}
	if !actor.Scope.permits(want) {
		return `FALSE`, nil, nil
	}
	condition = `TRUE`
	if !u.IsAdmin {
		condition = column + ` IN (SELECT project_id FROM user_permission WHERE user_id = ? AND ` + want.column() + `)`
		args = append(args, u.ID)
	}
	if actor.Scope.ProjectID != "" {
		condition += ` AND ` + column + ` = ?`
		args = append(args, actor.Scope.ProjectID)
	}
	return `(` + condition + `)`, args, nil
}
