package domain

// Permission holds a user's rights in a project.
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
	Owner       bool   `json:"owner" db:"owner"` // the user can give and take permissions in the project
}

// InsertPermission inserts a permission and returns its id. The caller must have checked that
// the actor may grant the permission.
func (tx *Tx) InsertPermission(p Permission) (string, error) {
	id := NewID()
	_, err := tx.Exec(`INSERT INTO user_permission
		(id, user_id, project_id, create_permission, read_permission, update_permission, delete_permission, owner)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, p.UserID, p.ProjectID, p.Create, p.Read, p.Update, p.Delete, p.Owner)
	return id, err
}

// NewProject holds the arguments of CreateProject.
type NewProject struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Check checks that the name and the description are valid.
func (n NewProject) Check() error {
	return FirstError(CheckName("name", n.Name), CheckText("description", n.Description))
}

// InsertProject inserts a project and makes actor its owner with all four rights. The caller must have
// called n.Check.
func (tx *Tx) InsertProject(actor Actor, n NewProject) (Created, error) {
	if err := tx.AllowNewProject(actor); err != nil {
		return Created{}, err
	}
	id := NewID()
	_, err := tx.Exec(`INSERT INTO project (id, name, description, created_date, created_by, created_key)
		VALUES (?, ?, ?, ?, `+CreatorValues+`)`,
		id, n.Name, n.Description, tx.Now, actor.CreatorID(), actor.Key)
	if err == nil && !actor.system {
		_, err = tx.InsertPermission(Permission{UserID: actor.UserID, ProjectID: id,
			Create: true, Read: true, Update: true, Delete: true, Owner: true})
	}
	return Created{ID: id}, err
}

// AllowShare checks that actor may give and take permissions in a project, as its owners and admins
// may. An API key with limits can't be used for it.
func (tx *Tx) AllowShare(actor Actor, projectID string) error {
	u, err := tx.account(actor)
	if err != nil {
		return err
	}
	if !u.IsAdmin {
		owner, err := tx.Has(`SELECT 1 FROM user_permission WHERE user_id = ? AND project_id = ? AND owner`, u.ID, projectID)
		if err != nil {
			return err
		}
		if !owner {
			return Errorf(CodeAdminRequired, "Only an owner of the project or an admin may do this.")
		}
	}
	if actor.Scope.Limited() {
		return Errorf(CodeAdminRequired, "%s", actor.limit())
	}
	return nil
}

// AllowNewProject checks that actor may create a project. Every account may, but an API key can be
// limited to reading or to a project.
func (tx *Tx) AllowNewProject(actor Actor) error {
	if _, err := tx.account(actor); err != nil {
		return err
	}
	if actor.Scope.Only == ScopeRead || actor.Scope.ProjectID != "" {
		return Errorf(CodeProjectPermissionRequired, "%s", actor.limit())
	}
	return nil
}

// AllowProject checks that actor has the wanted right in a project. It returns NOT_FOUND if the
// project does not exist.
func (tx *Tx) AllowProject(actor Actor, id string, want Right) error {
	if err := tx.Exists(`SELECT 1 FROM project WHERE id = ? AND `+tx.Found("project"), id, "project"); err != nil {
		return err
	}
	return tx.Allow(actor, id, want)
}
