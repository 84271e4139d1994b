package wandb

import (
	"hash/fnv"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/scalar"
)

// queries returns the fields of the GraphQL type Query.
func (c *call) queries() object {
	return object{
		"__typename": "Query",
		"viewer":     func(args) (any, error) { return c.viewer(), nil },
		"serverInfo": func(args) (any, error) { return c.serverInfo(), nil },
		"__type":     func(a args) (any, error) { return typeNamed(a.str("name")), nil },
		"entity":     func(a args) (any, error) { return c.entity(a.str("name")), nil },
		"model":      func(a args) (any, error) { return c.project(a.str("entityName"), a.str("name")) },
		"project":    func(a args) (any, error) { return c.project(a.str("entityName"), a.str("name")) },
		"artifact": func(a args) (any, error) {
			found, err := c.db.Collections.Version(c.ctx, c.actor, a.str("id"))
			if isNotFound(err) {
				return nil, nil
			}
			return c.artifactObject(c.user.Username, &found), err
		},
		"clientIDMapping": func(a args) (any, error) {
			found, err := c.db.Collections.Version(c.ctx, c.actor, a.str("clientID"))
			if isNotFound(err) {
				return nil, nil
			}
			return object{"serverID": found.ID}, err
		},
		"models":   c.projects,
		"projects": c.projects,
	}
}

func (c *call) viewer() object {
	u := c.user
	return object{
		"__typename": "User", "id": u.ID, "entity": u.Username, "username": u.Username, "name": fullName(u), "admin": u.IsAdmin,
		"email": "", "flags": "{}", "deletedAt": nil,
		"teams":    connection([]object{{"__typename": "Entity", "name": u.Username}}),
		"apiKeys":  connection(nil),
		"accounts": connection(nil),
		"projects": c.projects,
	}
}

func fullName(u domain.User) string {
	switch {
	case u.FirstName != "" && u.LastName != "":
		return u.FirstName + " " + u.LastName
	case u.FirstName+u.LastName != "":
		return u.FirstName + u.LastName
	}
	return u.Username
}

func (c *call) serverInfo() object {
	return object{"__typename": "ServerInfo", "cliVersionInfo": map[string]any{"max_cli_version": "9.9.9"}, "latestLocalVersionInfo": nil,
		// Without the first feature, list(artifact.files()) raises NotImplementedError in the
		// client.
		"features": []object{{"__typename": "ServerFeature", "name": "TOTAL_COUNT_IN_FILE_CONNECTION", "isEnabled": true},
			{"__typename": "ServerFeature", "name": "ARTIFACT_TAGS", "isEnabled": true}}, "serverFeatures": []object{}, "exposesExplicitRunFinish": false}
}

// entity returns the user or team with a name. There are no teams, so every name stands for the
// caller.
func (c *call) entity(name string) object {
	if name == "" {
		name = c.user.Username
	}
	return object{"__typename": "Entity", "id": name, "name": name, "isTeam": false, "organization": nil, "projects": c.projects,
		"triggers": connection(nil), "integrations": connection(nil)}
}

// isoTime formats a time in the format that clients parse.
func isoTime(t scalar.Time) string { return t.Time().UTC().Format("2006-01-02T15:04:05.000Z") }

// defaultProject is the project of a run without a project name, as in W&B.
const defaultProject = "uncategorized"

// project returns a project, or nil if the project does not exist or the caller can't read it.
func (c *call) project(entity, name string) (any, error) {
	if name == "" {
		name = defaultProject
	}
	var p projects.Project
	err := c.db.View(c.ctx, c.actor, func(v *store.View) error {
		id, err := v.Wandb.Project(name)
		if err == nil {
			p, err = v.Projects.Project(id)
		}
		return err
	})
	if isNotFound(err) || err != nil && domain.AsError(err).Code == domain.CodeProjectPermissionRequired {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.projectObject(entity, p), nil
}

func (c *call) projectObject(entity string, p projects.Project) object {
	if entity == "" {
		entity = c.user.Username
	}
	runs := func(a args) (any, error) { return c.runs(entity, p, a) }
	one := func(a args) (any, error) { return c.run(entity, p.Name, a.str("name")) }
	o := object{
		"__typename": "Project", "id": p.ID, "internalId": number(p.ID), "name": p.Name, "entityName": entity,
		"description": p.Description, "createdAt": isoTime(p.CreatedDate), "isBenchmark": false, "readOnly": false,
		"access": "PRIVATE", "entity": c.entity(entity), "triggers": []object{},
		"runCount": func(a args) (any, error) { return c.runCount(p, a) },
		"runs":     runs, "run": one, "bucket": one,
	}
	c.projectSweeps(o, entity, p)
	c.projectArtifacts(o, entity, p.ID)
	return o
}

// number returns a decimal integer computed from id. Some clients need a numeric id.
func number(id string) string {
	h := fnv.New32a()
	h.Write([]byte(id)) // a hash never returns an error
	return itoa(int64(h.Sum32()))
}

func (c *call) projects(a args) (any, error) {
	l, err := c.db.Projects.Projects(c.ctx, c.actor, projects.ProjectQuery{Page: domain.Page{Limit: domain.MaxLimit}})
	if err != nil {
		return nil, err
	}
	entity := a.str("entityName")
	nodes := make([]object, len(l.Data))
	for i, p := range l.Data {
		nodes[i] = c.projectObject(entity, p)
	}
	return connection(nodes), nil
}
