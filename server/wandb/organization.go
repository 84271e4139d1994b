package wandb

import (
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/users"
)

// registryPrefix begins the names of projects that are registries for W&B's clients.
const registryPrefix = "wandb-registry-"

// entity returns the user or team with a name. There are no teams, so every name stands for the
// caller. The entity is also its own organization.
func (c *call) entity(name string) object {
	if name == "" {
		name = c.user.Username
	}
	return object{"__typename": "Entity", "id": name, "name": name, "isTeam": false, "entityType": "user", "available": false, "photoUrl": nil,
		"readOnly": false, "readOnlyAdmin": false, "privateOnly": false, "storageBytes": 0, "codeSavingEnabled": true, "defaultAccess": "PRIVATE",
		"isPaid":       false,
		"projects":     c.projects,
		"project":      func(a args) (any, error) { return c.project(name, a.str("name")) },
		"triggers":     connection(nil),
		"integrations": connection(nil),
		"organization": func(args) (any, error) { return c.organization(name), nil },
		"user":         func(args) (any, error) { return c.userObject(c.user), nil },
		"members":      func(args) (any, error) { return c.visibleUsers("", c.memberObject) },
	}
}

// organization returns the organization with a name. It stands for this server.
func (c *call) organization(name string) object {
	if name == "" {
		name = c.user.Username
	}
	orgEntity := func(args) (any, error) {
		o := c.entity(name)
		o["entityType"] = "organization"
		o["projects"] = func(a args) (any, error) {
			all, err := c.registries(a.str("filters"))
			if err != nil {
				return nil, err
			}
			ordered(all, a.str("order"), registryField)
			return listed(all, a, func(p projects.Project) object { return c.projectObject(name, p) })
		}
		o["artifactCollections"] = func(a args) (any, error) {
			all, err := c.registryCollections(name, a.str("projectFilters"), a.str("filters"))
			if err != nil {
				return nil, err
			}
			ordered(all, a.str("order"), listedCollection.field)
			return listed(all, a, func(l listedCollection) object { return l.object() })
		}
		o["artifactMemberships"] = func(a args) (any, error) { return c.registryVersions(name, a) }
		return o, nil
	}
	return object{"__typename": "Organization", "id": name, "name": name, "orgEntity": orgEntity, "advancedRegistryFeatures": nil}
}

// memberObject returns an account as a member of a team or a registry.
func (c *call) memberObject(u domain.User) object {
	role := "member"
	if u.IsAdmin {
		role = "admin"
	}
	return object{"__typename": "Member", "id": u.ID, "admin": u.IsAdmin, "role": role, "pending": false, "email": nil, "username": u.Username,
		"name": fullName(u), "photoUrl": nil, "accountType": "MEMBER", "apiKey": nil}
}

// visibleUsers returns the objects of the accounts whose names contain part, ignoring case. The
// caller sees only their own account, unless they are an admin.
func (c *call) visibleUsers(part string, of func(domain.User) object) ([]object, error) {
	all := []domain.User{c.user}
	if c.user.IsAdmin {
		var err error
		all, err = everyPage(func(p domain.Page) (domain.List[domain.User], error) { return c.db.Users.Users(c.ctx, c.actor, p) })
		if err != nil {
			return nil, err
		}
	}
	part = strings.ToLower(part)
	nodes := []object{}
	for _, u := range all {
		if strings.Contains(strings.ToLower(u.Username), part) || strings.Contains(strings.ToLower(fullName(u)), part) {
			nodes = append(nodes, of(u))
		}
	}
	return nodes, nil
}

// userObject returns an account with all fields that clients query.
func (c *call) userObject(u domain.User) object {
	return object{
		"__typename": "User", "id": u.ID, "entity": u.Username, "username": u.Username, "name": fullName(u), "admin": u.IsAdmin,
		"email": "", "flags": "{}", "deletedAt": nil,
		"teams":         connection([]object{{"__typename": "Entity", "name": u.Username}}),
		"organizations": func(args) (any, error) { return []object{c.organization(u.Username)}, nil },
		"apiKeys": func(args) (any, error) {
			if u.ID != c.user.ID && !c.user.IsAdmin {
				return connection(nil), nil
			}
			var keys []users.APIKey
			err := c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
				keys, err = v.Users.APIKeys(u.ID)
				return err
			})
			nodes := make([]object, len(keys))
			for i, k := range keys {
				nodes[i] = object{"__typename": "ApiKey", "id": k.ID, "name": k.Name, "description": k.Name}
			}
			return connection(nodes), err
		},
		"accounts": connection(nil),
		"projects": c.projects,
	}
}

// registryField returns a field of a registry for filters and orders.
func registryField(p projects.Project, name string) any {
	switch name {
	case "name":
		return p.Name
	case "id", "project_id":
		return p.ID
	case "description":
		return p.Description
	case "created_at", "createdAt", "updated_at", "updatedAt":
		return isoTime(p.CreatedDate)
	}
	return nil
}

// maxRegistries is the maximum number of registries that are searched at once.
const maxRegistries = 1000

// registries returns the registries for which the filter holds, the newest first.
func (c *call) registries(filter string) (all []projects.Project, err error) {
	l, err := c.db.Projects.Projects(c.ctx, c.actor, projects.ProjectQuery{Page: domain.Page{Limit: maxRegistries}, Name: registryPrefix})
	if err != nil {
		return nil, err
	}
	for _, p := range l.Data {
		if strings.HasPrefix(p.Name, registryPrefix) {
			all = append(all, p)
		}
	}
	return filtered(c, all, filter, registryField)
}

// registryCollections returns the collections of the registries for which the filters hold, the
// newest of each registry first.
func (c *call) registryCollections(entity, registryFilter, filter string) (all []listedCollection, err error) {
	found, err := c.registries(registryFilter)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		some, err := c.collections(entity, p.ID, p.Name)
		if err != nil {
			return nil, err
		}
		for _, l := range some {
			if _, _, isSequence := sequenceID(l.id); !isSequence {
				all = append(all, l)
			}
		}
	}
	return filtered(c, all, filter, listedCollection.field)
}

// registryVersions returns a page of the linked versions in the registries for which the filters
// hold.
func (c *call) registryVersions(entity string, a args) (any, error) {
	found, err := c.registryCollections(entity, a.str("projectFilters"), a.str("collectionFilters"))
	if err != nil {
		return nil, err
	}
	var all []member
	for _, l := range found {
		some, err := l.members()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if all, err = filtered(c, all, a.str("filters"), member.field); err != nil {
		return nil, err
	}
	ordered(all, a.str("order"), member.field)
	return listed(all, a, func(m member) object { return c.membership(entity, m) })
}

// renameProject changes the name of a project.
func (c *call) renameProject(a args) (any, error) {
	id, err := c.projectNamed(a.str("oldProjectName"))
	if err != nil {
		return nil, err
	}
	name := a.str("newProjectName")
	if err := c.db.Projects.UpdateProject(c.ctx, c.actor, id, projects.ProjectPatch{Name: &name}); err != nil {
		return nil, err
	}
	p, err := c.project(a.str("entityName"), id)
	return object{"project": p, "inserted": false}, err
}

// deleteProject moves a project to the trash.
func (c *call) deleteProject(a args) (any, error) {
	err := c.db.Projects.DeleteProject(c.ctx, c.actor, a.str("id"))
	return object{"success": err == nil}, err
}

// projectNamed returns the id of the project with a name that a client has sent.
func (c *call) projectNamed(name string) (id string, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
		id, err = v.Wandb.Project(name)
		return err
	})
	return id, err
}
